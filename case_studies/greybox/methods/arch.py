"""archeng with its default settings, and restarts until the budget is used.

``grey``: the model has outputs and formulas, the simulator returns outputs. ``black``: the same
simulator returns objective and simulated constraints, the model has the explicit ones only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import archeng
from case_studies.greybox.trial import Trial
from case_studies.peers.adapters.arch import RESTARTS


def grey(trial: Trial) -> None:
    """Run on outputs and formulas."""
    _solve(trial, trial.problem.model, trial.measured.grey)


def black(trial: Trial) -> None:
    """Run on the total."""
    limits = trial.problem.limits
    _solve(trial, trial.problem.black, trial.measured.black, simulated=limits or None)


def _solve(
    trial: Trial, model: archeng.Model, simulator: Callable[[Any], Any], **options: Any
) -> None:
    archeng.solve(
        model,
        simulator,
        start=trial.start,
        seed=trial.seed,
        restarts=RESTARTS,
        max_evaluations=trial.objective.calls_left,
        callback=lambda run: trial.objective.tick(),
        **options,
    )
