"""Composite problems: the objective is a formula of what the simulator returns."""

from case_studies.greybox.definition import Definition, Plain, Problem
from case_studies.greybox.suite import names, problem, register

__all__ = ["Definition", "Plain", "Problem", "names", "problem", "register"]
