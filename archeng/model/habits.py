"""Habits from other packages that do not work here, and what to write instead."""

from __future__ import annotations

_CONTINUOUS = (
    "archeng searches over continuous variables only: solve one problem for each value, with "
    "lower= and upper= equal to it, and keep the best."
)
VARIABLE_HINTS = {
    **dict.fromkeys(("integer", "binary", "boolean", "domain", "discrete", "type"), _CONTINUOUS),
    **dict.fromkeys(("bounds", "lb", "ub", "low", "high", "min", "max"), "Use lower= and upper=."),
    **dict.fromkeys(("initial", "initialize", "init_guess", "guess", "x0", "value"), "Use start=."),
    **dict.fromkeys(("size", "n", "length"), "Use shape=."),
}
CONSTRAINT_HINTS = {
    **dict.fromkeys(("lb", "min"), "Use lower=."),
    **dict.fromkeys(("ub", "max"), "Use upper=."),
}
ONE_OBJECTIVE = (
    "archeng optimises one number: add the objectives with weights, or keep one and limit the "
    "others (as constraints of the model, or by simulated= if the simulator computes them)."
)
"""What to do with several objectives."""
