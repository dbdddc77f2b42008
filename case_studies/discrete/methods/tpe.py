"""Optuna's tree-structured Parzen estimator with constraints.

Set-up. ``TPESampler`` with its defaults; discrete variables are integers, the numbers of levels,
categories are categorical. TPE orders infeasible trials by their violations and does not look at
their values, so f is not called there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna

from case_studies.discrete.trial import Trial

MANY = 10**6
"""Trials, more than the time allows."""


def solve(trial: Trial) -> None:
    """Run one study."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=trial.seed))

    def objective(asked: Any) -> float:
        u = np.array([_suggested(trial, asked, i) for i in range(trial.n)], dtype=float)
        rows = trial.constraints.excess(u).tolist()
        for j, row in enumerate(rows):
            asked.set_constraint(f"row{j}", row)
        return 0.0 if any(row > 0 for row in rows) else trial.objective.finite(u)

    study.optimize(objective, n_trials=MANY)


def _suggested(trial: Trial, asked: Any, i: int) -> float:
    name = f"x{i}"
    if trial.unordered[i]:
        return float(asked.suggest_categorical(name, list(range(trial.counts[i]))))
    if trial.discrete[i]:
        return float(asked.suggest_int(name, 0, int(trial.upper[i])))
    return float(asked.suggest_float(name, trial.lower[i], trial.upper[i]))
