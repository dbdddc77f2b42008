"""SciPy's ``least_squares``, which sees the residuals one by one.

Set-up. Trust region reflective with ``x_scale="jac"``; the Jacobian is by forward differences, all
calls counted; bounds only. It begins again from the next feasible design when it has converged.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from case_studies.greybox.definition import Floats
from case_studies.greybox.trial import Trial


def least_squares(trial: Trial) -> None:
    """Run ``scipy.optimize.least_squares`` from one start after the other."""
    for x0 in trial.starts():
        optimize.least_squares(
            lambda x: residuals(trial, x),
            np.clip(x0, trial.lower, trial.upper),
            bounds=(trial.lower, trial.upper),
            x_scale="jac",
        )


def residuals(trial: Trial, x: Floats) -> Floats:
    """Residuals (m,) of a design (n,)."""
    assert trial.problem.residuals is not None
    return trial.problem.residuals(trial.measured.look_up(np.asarray(x, dtype=float))[0])
