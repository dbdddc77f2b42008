"""Composite problems: the objective is a formula of what the simulator returns."""
