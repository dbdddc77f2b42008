"""Small discrete problems, of which everything can be known: what a run says must be so."""

from __future__ import annotations

from typing import Any

import pytest

import archeng
from archeng import Model

pytestmark = pytest.mark.slow

PARTS = [
    {"name": "a", "area": 1.0, "cost": 2.0},
    {"name": "b", "area": 2.0, "cost": 1.0},
    {"name": "c", "area": 3.0, "cost": 5.0},
]


def gear_pair() -> Model:
    model = Model("gear pair")
    driver = model.integer("driver", lower=12, upper=20)
    driven = model.integer("driven", lower=30, upper=40)
    model.subject_to(driven >= 2 * driver, name="ratio")
    return model


def ratio_error(design: Any) -> float:
    return float((design["driven"] / design["driver"] - 2.4) ** 2)


def better_neighbours(result: archeng.Result) -> list[tuple[int, int]]:
    a, b = result.design["driver"], result.design["driven"]
    around = [(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)]
    inside = [(x, y) for x, y in around if 12 <= x <= 20 and 30 <= y <= 40 and y >= 2 * x]
    return [n for n in inside if ratio_error({"driver": n[0], "driven": n[1]}) < result.fun]


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_converged_run_has_no_better_neighbour(seed: int) -> None:
    result = archeng.solve(gear_pair(), ratio_error, seed=seed)
    assert result.n_infeasible_calls == 0
    assert len({tuple(call.x) for call in result.evaluations}) == result.nfev
    assert not result.success or not better_neighbours(result)


@pytest.mark.parametrize("seed", range(1, 4))
def test_restarts_find_the_best_of_all(seed: int) -> None:
    result = archeng.solve(gear_pair(), ratio_error, seed=seed, restarts=4, max_evaluations=99)
    assert (result.design["driver"], result.design["driven"]) == (15, 36)


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_converged_run_with_a_simulated_limit_has_no_better_neighbour(seed: int) -> None:
    """At n = 4 the best cost is 5.25, and at n = 3, beside it, 5."""
    model = Model("rods")
    part = model.catalogue("part", PARTS)
    n = model.integer("n", lower=1, upper=4)
    x = model.variable("x", lower=0, upper=5)
    model.category("kind", {"p": {"price": 1.0}, "q": {"price": 3.0}})
    model.subject_to(x * n >= part["area"], name="area")

    def simulator(design: Any) -> archeng.Evaluation:
        cost = design["x"] ** 2 + design["part"]["cost"] + design["n"] * design["kind"]["price"]
        return archeng.Evaluation(objective=cost, constraints={"sum": design["x"] + design["n"]})

    result = archeng.solve(
        model, simulator, simulated={"sum": (4, None)}, seed=seed, max_evaluations=80
    )
    assert result.n_infeasible_calls == 0
    assert not result.success or result.fun < 5.001


@pytest.mark.timeout(60)
def test_an_integer_with_many_values_is_no_burden() -> None:
    model = Model("counter")
    model.integer("n", lower=0, upper=99_999)
    result = archeng.solve(model, lambda d: (d["n"] - 31_415) ** 2, seed=1, max_evaluations=30)
    assert result.design["n"] == 31_415
