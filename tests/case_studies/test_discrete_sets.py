"""The sets of the study of repairs, and the referees of the least distance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from archeng.model import compile_model
from case_studies.discrete import nearest, repairs
from case_studies.discrete.sets import SETS, Set


def test_there_are_twenty_sets_with_five_to_thirty_integers() -> None:
    counts = {name: int(make().integer.sum()) for name, make in SETS.items()}
    assert len(counts) == 20
    assert (min(counts.values()), max(counts.values())) == (5, 30)
    assert all(name.endswith(f"-{count}") for name, count in counts.items())


@pytest.mark.parametrize("name", SETS)
def test_the_model_is_the_set(name: str) -> None:
    set_ = SETS[name]()
    fs, rng = compile_model(set_.model()), np.random.default_rng(3)
    assert set_.meets(set_.inside)
    assert fs.is_feasible(fs.reduce(set_.inside))
    verdicts = set()
    for _ in range(60):
        x = set_.inside + rng.normal(0, 1, set_.n) * (rng.random(set_.n) < 2 / set_.n)
        x = np.clip(np.where(set_.integer, np.round(x), x), set_.lower, set_.upper)
        verdicts.add(set_.meets(x))
        assert set_.meets(x) == fs.is_feasible(fs.reduce(x))
    assert verdicts == {True, False}
    halved = set_.inside.copy()
    halved[0] += 0.5
    assert not set_.meets(halved)


def _by_enumeration(set_: Set, x: np.ndarray, inverse: np.ndarray) -> float:
    """Least squared distance to a cell over all designs of integers, by bounded least squares."""
    from scipy.optimize import lsq_linear

    best = np.inf
    for z in itertools.product(*(np.arange(low, high + 1) for low, high in _around(set_, x))):
        design = np.array(z)
        if not set_.meets(design):
            continue
        low = np.where(design == set_.lower, -np.inf, design - 0.5)
        high = np.where(design == set_.upper, np.inf, design + 0.5)
        best = min(best, 2 * lsq_linear(inverse, inverse @ x, (low, high), tol=1e-12).cost)
    return best


def _around(set_: Set, x: np.ndarray) -> list[tuple[float, float]]:
    """Integers within 2 of a sample: farther ones are not nearest in these tests."""
    return [
        (max(low, np.floor(v) - 1), min(high, np.ceil(v) + 1))
        for v, low, high in zip(
            np.clip(x, set_.lower, set_.upper), set_.lower, set_.upper, strict=True
        )
    ]


@pytest.mark.parametrize("name", ["linear-5", "quadratic-5"])
def test_referees_agree_with_enumeration(name: str) -> None:
    pytest.importorskip("pyscipopt")
    set_, rng = SETS[name](), np.random.default_rng(4)
    around = repairs.metric(set_, seed=1)
    inverse = around.inverse_factor / around.sigma
    x = around.mean + 0.5 * around.sigma * around.steps(rng.standard_normal(set_.n))
    least = _by_enumeration(set_, x, inverse)
    by_scip = nearest.by_scip(set_, x, inverse)
    by_bonmin = nearest.Bonmin(set_).ask(x, inverse)
    assert by_scip.proven
    assert by_scip.distance_squared == pytest.approx(least, abs=1e-4)
    assert by_bonmin.distance_squared == pytest.approx(least, abs=1e-4)


def test_a_sample_whose_rounding_is_feasible_has_distance_zero() -> None:
    pytest.importorskip("pyscipopt")
    set_ = SETS["linear-5"]()
    around = repairs.metric(set_, seed=1)
    inverse = around.inverse_factor / around.sigma
    x = set_.inside + np.array([0.4, -0.4, 0.3, 0.0, 0.49])
    assert nearest.by_scip(set_, x, inverse).distance_squared == pytest.approx(0.0, abs=1e-6)


def test_the_outermost_cells_go_on_to_infinity() -> None:
    pytest.importorskip("pyscipopt")
    set_ = Set(
        name="a corner is cut off",
        lower=np.zeros(2),
        upper=np.full(2, 5.0),
        integer=np.ones(2, dtype=bool),
        matrix=np.ones((1, 2)),
        row_lower=np.array([2.0]),
        row_upper=np.array([np.inf]),
        inside=np.array([2.0, 2.0]),
    )
    for x, distance in (
        ((-9.0, 3.0), 0.0),
        ((9.0, -9.0), 0.0),
        ((-9.0, 0.2), 1.3),
        ((0.0, 0.0), 0.5**0.5),
    ):
        sample = np.array(x, dtype=float)
        for answer in (
            nearest.by_scip(set_, sample, np.eye(2)),
            nearest.Bonmin(set_).ask(sample, np.eye(2)),
        ):
            assert answer.distance_squared == pytest.approx(distance**2, abs=1e-5)


@pytest.mark.parametrize("name", ["linear-5", "quadratic-5", "knapsack-10", "one-hot-12"])
def test_repairs_are_feasible_and_as_near_as_scip_says(name: str) -> None:
    pytest.importorskip("pyscipopt")
    found = repairs.study(name, samples=4, refereed=1)
    assert all(r.feasible for r in found)
    assert sum(r.scip is not None for r in found) == 1
    assert {repairs.verdict(r) for r in found if r.proven} <= {"", "agrees"}
    assert all(repairs.verdict(r) != "nearer" for r in found)


def test_verdicts_compare_with_referees_that_proved_something() -> None:
    def repaired(distance: float, **more: float | None) -> repairs.Repaired:
        return repairs.Repaired("a", 0, "nearest", 0.1, distance, True, True, **more)

    assert repairs.verdict(repaired(2.0)) == ""
    assert repairs.verdict(repaired(2.0, scip=2.00001)) == "agrees"
    assert repairs.verdict(repaired(2.0, scip=2.1, bonmin=2.2)) == "nearer"
    assert repairs.verdict(repaired(2.0, scip=2.1, bonmin=1.9)) == "farther"
    text = repairs.table([repaired(2.0, scip=2.0), repaired(2.0, bonmin=1.9)])
    assert "| a | 2 | 1e+02 | 1e+02 | 100% | 0 | 0 | 1/2 | 0 | 1 | 1 |" in text
