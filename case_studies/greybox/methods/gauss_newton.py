"""DFO-LS: derivative-free Gauss-Newton, which sees the residuals one by one.

Set-up. In the unit cube with ``rhobeg=0.1``; linear rows are given as projections. It begins again
from the next feasible design when it has converged.
"""

from __future__ import annotations

from collections.abc import Callable

import dfols
import numpy as np

from case_studies.greybox.definition import Floats
from case_studies.greybox.methods.residuals import residuals
from case_studies.greybox.trial import Trial

RADIUS, LAST_RADIUS = 0.1, 1e-8
"""First and last radius of the trust region, relative to the box."""


def solve(trial: Trial) -> None:
    """Run DFO-LS from one start after the other."""
    zero, one = np.zeros(trial.n), np.ones(trial.n)
    for x0 in trial.starts():
        dfols.solve(
            lambda u: residuals(trial, trial.from_unit(np.clip(u, 0.0, 1.0))),
            np.clip(trial.to_unit(x0), 0.0, 1.0),
            bounds=(zero, one),
            projections=_projections(trial),
            rhobeg=RADIUS,
            rhoend=LAST_RADIUS,
            maxfun=max(trial.objective.calls_left, 1),
            do_logging=False,
        )


def _projections(trial: Trial) -> list[Callable[[Floats], Floats]]:
    """One function for each linear row: the nearest point, in units of the box, that meets it."""
    rows = trial.constraints
    if not rows.n_linear:
        return []
    matrix, constants = rows.linear_part()
    slopes = matrix * trial.width
    constants = constants + matrix @ trial.lower
    lows, highs = rows.row_lower[: rows.n_linear], rows.row_upper[: rows.n_linear]
    return [
        _onto(slope, low - constant, high - constant)
        for slope, constant, low, high in zip(slopes, constants, lows, highs, strict=True)
    ]


def _onto(slope: Floats, low: float, high: float) -> Callable[[Floats], Floats]:
    def project(u: Floats) -> Floats:
        value = float(slope @ u)
        return u + (np.clip(value, low, high) - value) / float(slope @ slope) * slope

    return project
