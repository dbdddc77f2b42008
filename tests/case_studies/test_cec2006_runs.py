"""No simulator call is ever infeasible: all 24 problems, refereed by the organisers' code.

The simulator is wrapped by a checker that knows nothing of archeng: pygmo's definitions of the
constraints, evaluated at the vector that arrives. g20 has no feasible design, as
``tests/diagnose/test_diagnose_broken_models.py`` shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import archeng
from case_studies.cec2006 import names, problem

pytestmark = pytest.mark.slow

pygmo = pytest.importorskip("pygmo")


SLOW = {"g02": 80, "g21": 60, "g22": 40}
"""Calls of the problems whose repairs are slow."""


ROUNDING = {"g21": 1e-11}
"""Differences of rounding between two ways to write a row with terms of 1e4 (zero elsewhere)."""


class Referee:
    """Counts calls, and those that violate a constraint or a bound."""

    def __init__(self, name: str) -> None:
        self._problem = problem(name)
        self._referee = pygmo.problem(pygmo.cec2006(prob_id=int(name[1:])))
        self._rounding = ROUNDING.get(name, 0.0)
        self.calls = 0
        self.infeasible: list[tuple[float, float]] = []

    def __call__(self, design: archeng.Design) -> float:
        x = np.asarray(design)
        self.calls += 1
        fitness = self._referee.fitness(x)
        n_equal = self._referee.get_nec()
        equalities, inequalities = fitness[1 : 1 + n_equal], fitness[1 + n_equal :]
        worst = max(
            float(np.max(np.abs(equalities) - 1e-4, initial=-np.inf)),
            float(np.max(inequalities, initial=-np.inf)),
        )
        outside = float(np.max(np.maximum(self._problem.lower - x, x - self._problem.upper)))
        if not (worst <= self._rounding and outside <= 0):
            self.infeasible.append((worst, outside))
        return self._problem.objective(x)


@pytest.mark.parametrize("name", [n for n in names() if n != "g20"])
@pytest.mark.parametrize("preset", [archeng.Settings(), archeng.Settings.paper()])
def test_no_infeasible_call(name: str, preset: archeng.Settings) -> None:
    referee = Referee(name)
    calls = SLOW.get(name, 150)
    result = archeng.solve(
        problem(name).model, referee, max_evaluations=calls, restarts=3, seed=7, settings=preset
    )
    assert referee.calls == result.nfev > 0
    assert referee.infeasible == []
    assert result.n_infeasible_calls == 0
    assert np.isfinite(result.fun)


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [("g01", 900), ("g04", 250), ("g05", 700), ("g06", 60), ("g07", 2000), ("g10", 1200),
     ("g11", 150), ("g15", 600), ("g16", 400), ("g24", 100)],
)  # fmt: skip
def test_reaches_the_optimum_within_a_ceiling_of_calls(name: str, ceiling: int) -> None:
    p = problem(name)
    target = p.f_opt + 1e-4 * abs(p.f_opt)
    result = archeng.solve(
        p.model, p.objective, target=target, max_evaluations=ceiling, restarts=10, seed=3
    )
    assert result.stop_reason is archeng.StopReason.TARGET
    assert result.success
    assert result.fun <= target
    assert result.nfev <= ceiling
    assert result.n_infeasible_calls == 0
