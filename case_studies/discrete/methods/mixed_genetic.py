"""pymoo's genetic algorithm for mixed variables.

Set-up. ``MixedVariableGA`` with its defaults; discrete variables are integers, the numbers of
levels, categories are choices. Constraints are one-sided rows ("G"); f is not called where one is
violated, since pymoo compares such designs by their violations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.mixed import MixedVariableGA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.variable import Choice, Integer, Real
from pymoo.optimize import minimize

from case_studies.discrete.trial import Trial


def solve(trial: Trial) -> None:
    """Run it until the recorder stops it."""

    class _Problem(ElementwiseProblem):
        def __init__(self) -> None:
            kinds = {f"x{i}": _variable(trial, i) for i in range(trial.n)}
            super().__init__(vars=kinds, n_obj=1, n_ieq_constr=trial.constraints.n_excess)

        def _evaluate(self, x: Any, out: dict[str, Any], *_: Any, **__: Any) -> None:
            u = np.array([x[f"x{i}"] for i in range(trial.n)], dtype=float)
            rows = trial.constraints.excess(u)
            out["F"] = trial.objective.finite(u) if (rows <= 0).all() else 0.0
            if trial.constraints.n_excess:
                out["G"] = rows

    while True:
        minimize(
            _Problem(), MixedVariableGA(), ("n_gen", 10**6), seed=trial.new_seed(), verbose=False
        )


def _variable(trial: Trial, i: int) -> Any:
    if trial.unordered[i]:
        return Choice(options=list(range(trial.counts[i])))
    if trial.discrete[i]:
        return Integer(bounds=(0, int(trial.upper[i])))
    return Real(bounds=(trial.lower[i], trial.upper[i]))
