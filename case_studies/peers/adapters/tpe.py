"""Optuna's tree-structured Parzen estimator with constraints.

Set-up. ``TPESampler`` with its defaults; the start is the first trial. Constraints are one-sided
rows, through ``Trial.set_constraint`` (Optuna 5) or ``constraints_func``. TPE orders infeasible
trials by their violations and does not look at their values, so f is not called there: they get
the value 0 and cost nothing. There are as many trials as calls in the budget. A failed call is
NaN: Optuna marks the trial as failed and goes on. Optuna's CMA-ES takes no constraints, its
Gaussian process sampler needs PyTorch; both are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna

from case_studies.peers.case import Case

KEY = "constraints"


def solve(case: Case) -> None:
    """Run one study."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    new_style = hasattr(optuna.trial.Trial, "set_constraint")
    arguments: dict[str, Any] = {"seed": case.seed}
    if not new_style:
        arguments["constraints_func"] = lambda trial: trial.user_attrs[KEY]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(**arguments))
    names = [f"x{i}" for i in range(case.n)]
    study.enqueue_trial(dict(zip(names, case.start.tolist(), strict=True)))

    def objective(trial: Any) -> float:
        x = np.array(
            [
                trial.suggest_float(name, low, high)
                for name, low, high in zip(names, case.lower, case.upper, strict=True)
            ]
        )
        rows = case.constraints.excess(x).tolist()
        if new_style:
            for j, row in enumerate(rows):
                trial.set_constraint(f"{KEY}{j}", row)
        else:
            trial.set_user_attr(KEY, rows)
        return 0.0 if any(row > 0 for row in rows) else case.objective(x)

    study.optimize(objective, n_trials=case.objective.calls_left)
