"""Several proposals at a time."""

from __future__ import annotations

from collections import Counter

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import SettingsError
from archeng.outcomes import PastCalls


def disc() -> archeng.Model:
    model = archeng.Model("disc")
    x = model.variable("x", shape=3, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x) <= 2)
    return model


def valley(design: archeng.Design) -> float:
    x = design.x
    return float(np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))


def proposed(result: archeng.Result) -> Counter[int]:
    """Number of proposals by generation."""
    return Counter(e.generation for e in result.evaluations if e.repair_kind == "proposed")


@pytest.mark.parametrize("k", [1, 4])
def test_generations_have_as_many_proposals_as_asked_for(k: int) -> None:
    settings = archeng.Settings(proposals=k)
    result = archeng.solve(disc(), valley, seed=1, max_evaluations=60, settings=settings)
    sizes = proposed(result)
    assert sizes.pop(0) == 4  # the first designs
    assert max(sizes.values()) == k
    assert np.median(list(sizes.values())) == k
    assert result.n_infeasible_calls == 0
    points = np.array([e.x for e in result.evaluations])
    assert len(np.unique(points, axis=0)) == len(points)


def test_batches_need_fewer_rounds_to_the_same_objective() -> None:
    rounds = []
    for k in (1, 4):
        result = archeng.solve(
            disc(),
            valley,
            seed=2,
            max_evaluations=300,
            settings=archeng.Settings(proposals=k),
            target=0.1193,
        )
        assert result.stop_reason is archeng.StopReason.TARGET
        rounds.append(len(result.history))
    assert rounds[1] < rounds[0]


def test_workers_do_not_change_a_run_with_batches() -> None:
    one, two = (
        archeng.solve(
            disc(),
            valley,
            seed=3,
            max_evaluations=40,
            workers=workers,
            parallel=3,
        )
        for workers in (None, "threads:2")
    )
    assert [e.objective for e in one.evaluations] == [e.objective for e in two.evaluations]


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_a_number_that_is_none(value: object) -> None:
    with pytest.raises(SettingsError, match="proposals must be an integer of at least 1"):
        archeng.Settings(proposals=value)  # type: ignore[arg-type]


def test_pending_designs_have_no_objective() -> None:
    known = PastCalls(np.zeros((2, 3)), np.array([1.0, 2.0])).and_pending(np.ones(3))
    assert len(known) == 3
    assert np.isnan(known.objectives[2])
    np.testing.assert_array_equal(known.points[2], 1)


def test_an_old_design_stays_among_the_last() -> None:
    known = PastCalls(np.arange(10.0)[:, None], np.arange(10.0))
    np.testing.assert_array_equal(known.last_and(1, 3).objectives, [1, 7, 8, 9])
    np.testing.assert_array_equal(known.last_and(8, 3).objectives, [7, 8, 9])
