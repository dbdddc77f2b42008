"""Noisy simulators: how good the returned design truly is, and whether its interval is true."""
