"""archeng with its default settings, and restarts until the budget is used."""

from __future__ import annotations

import numpy as np

import archeng
from case_studies.discrete.trial import Trial
from case_studies.peers.adapters.arch import RESTARTS


def solve(trial: Trial) -> None:
    """Run on the model; every design is judged as the flat vector that archeng gives."""
    archeng.solve(
        trial.problem.model(),
        lambda design: trial.objective.design(np.asarray(design.x, dtype=float)),
        seed=trial.seed,
        restarts=RESTARTS,
        max_evaluations=trial.objective.calls_left,
        callback=lambda run: trial.objective.tick(),
    )
