"""Simulators that fail: NaN, exceptions, nonsense, and Ctrl-C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings, Status, StopReason
from archeng.errors import SimulatorError
from archeng.settings import SurrogateName

either = pytest.mark.parametrize("surrogate", ["auto", "none"])

OPTIMUM = 0.875  # of x^2 + y^2 + x on x + y >= 1: at (1/4, 3/4)


def make() -> Model:
    model = Model("fragile")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    return model


def objective(design: Design) -> float:
    return float(design.x @ design.x + design.x[0])


def nan_on_the_left(design: Design) -> float:
    return np.nan if design.x[0] < 0 else objective(design)


def infinite_on_the_left(design: Design) -> float:
    return -np.inf if design.x[0] < 0 else objective(design)


def nothing_on_the_left(design: Design) -> Any:
    return None if design.x[0] < 0 else objective(design)


def raising_on_the_left(design: Design) -> float:
    if design.x[0] < 0:
        raise FloatingPointError("the mesh is tangled")
    return objective(design)


@pytest.mark.parametrize(
    ("simulator", "status"),
    [
        (nan_on_the_left, "invalid"),
        (infinite_on_the_left, "invalid"),
        (nothing_on_the_left, "invalid"),
        (raising_on_the_left, "failed"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
@either
def test_failures_in_a_part_of_the_space(
    simulator: Any, status: str, seed: int, surrogate: SurrogateName
) -> None:
    settings = Settings(surrogate=surrogate)
    result = archeng.solve(
        make(), simulator, seed=seed, start=[0.2, 3], sigma=0.5, settings=settings
    )
    assert result.fun == pytest.approx(OPTIMUM, abs=1e-6)
    np.testing.assert_allclose(result.x, [0.25, 0.75], atol=1e-3)
    assert result.n_infeasible_calls == 0
    bad = [e for e in result.evaluations if e.status != "ok"]
    assert bad
    for e in bad:
        assert e.status == status
        assert e.x[0] < 0
        assert np.isnan(e.objective)
        assert e.message
    assert all(e.x[0] >= 0 for e in result.evaluations if e.status == "ok")
    if status == "failed":
        assert "FloatingPointError: the mesh is tangled" in bad[0].message
        assert "the mesh is tangled" in str(result)
    assert f"{len(bad)} calls did not end well" in str(result)


@either
def test_generations_that_failed_altogether_are_no_convergence(surrogate: SurrogateName) -> None:
    """Failures have no objective, so they cannot have equal objectives."""
    calls = 0

    def broken_for_a_while(design: Design) -> float:
        nonlocal calls
        calls += 1
        return np.nan if 10 < calls <= 40 else objective(design)

    settings = Settings(surrogate=surrogate)
    result = archeng.solve(make(), broken_for_a_while, seed=1, settings=settings)
    assert sum(e.status == "invalid" for e in result.evaluations) == 30
    assert result.stop_reason is not StopReason.EQUAL_OBJECTIVES
    assert result.fun == pytest.approx(OPTIMUM, abs=1e-6)


def test_no_call_ends_well() -> None:
    run = archeng.Run(make(), seed=1, max_evaluations=300)
    while not run.stopped:
        run.tell([None] * len(run.ask()))
    result = run.result()
    assert result.status is Status.NONE
    assert not result.success
    assert np.isnan(result.fun)
    assert np.isnan(result.x).all()
    assert all(np.isnan(r.value) and not r.active for r in result.rows)
    assert result.active == []
    assert result.nfev > 0
    assert "no simulation of a feasible design ended well" in str(result)


def test_a_first_generation_of_exceptions_ends_the_run_with_the_traceback() -> None:
    with pytest.raises(SimulatorError, match=r"(?s)first generation.*ZeroDivisionError") as caught:
        archeng.solve(make(), lambda d: 1 / 0, seed=1)
    assert len(caught.value.evaluations) >= 4
    assert {e.status for e in caught.value.evaluations} == {"failed"}


@pytest.mark.parametrize("value", ["1.0", None, True, [1.0, 2.0], {}, np.nan])
def test_a_first_generation_without_a_number_ends_the_run(value: Any) -> None:
    with pytest.raises(SimulatorError, match="returned"):
        archeng.solve(make(), lambda d: value, seed=1)


@pytest.mark.parametrize("calls_that_fail", [1, 3])
@either
def test_an_exception_on_the_first_calls_does_not_end_the_run(
    calls_that_fail: int, surrogate: SurrogateName
) -> None:
    calls = 0

    def hesitant(design: Design) -> float:
        nonlocal calls
        calls += 1
        return 1 / 0 if calls <= calls_that_fail else objective(design)

    settings = Settings(surrogate=surrogate, stop_tests=False)
    result = archeng.solve(make(), hesitant, seed=1, max_evaluations=50, settings=settings)
    statuses = [e.status for e in result.evaluations]
    assert statuses == ["failed"] * calls_that_fail + ["ok"] * (50 - calls_that_fail)


@either
def test_nan_on_the_first_call_does_not_end_the_run(surrogate: SurrogateName) -> None:
    calls = 0

    def hesitant(design: Design) -> float:
        nonlocal calls
        calls += 1
        return np.nan if calls == 1 else objective(design)

    settings = Settings(surrogate=surrogate, stop_tests=False)
    result = archeng.solve(make(), hesitant, seed=1, max_evaluations=50, settings=settings)
    assert [e.status for e in result.evaluations] == ["invalid"] + ["ok"] * 49
    assert result.nfev == 50


@pytest.mark.parametrize("at", [1, 2, 10])
def test_ctrl_c_keeps_what_was_computed(at: int) -> None:
    calls = 0

    def interrupted(design: Design) -> float:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return objective(design)

    result = archeng.solve(make(), interrupted, seed=1)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.nfev == at - 1
    assert not result.success
    whole = archeng.solve(make(), objective, seed=1, max_evaluations=12)
    for a, b in zip(result.evaluations, whole.evaluations[: at - 1], strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert a.objective == b.objective
    if at > 1:
        assert result.status is Status.STOPPED
        assert result.fun == min(e.objective for e in result.evaluations)
    else:
        assert result.status is Status.NONE
    assert "interrupted" in str(result)


@either
def test_ctrl_c_in_the_callback(surrogate: SurrogateName) -> None:
    seen: list[int] = []

    def callback(run: Any) -> None:
        seen.append(run.n_evaluations)
        if len(run.history) == 2:
            raise KeyboardInterrupt

    settings = Settings(surrogate=surrogate)
    result = archeng.solve(make(), objective, seed=1, callback=callback, settings=settings)
    assert result.stop_reason is StopReason.INTERRUPTED
    if surrogate == "none":
        assert seen == [6, 12]
    else:
        assert 3 == seen[0] < seen[1]
        assert set(result.history[1].repairs) == {"proposed"}
    assert result.nfev == seen[-1]
    assert len(seen) == len(result.history) == 2


def test_a_simulator_cannot_change_the_design() -> None:
    def meddling(design: Design) -> float:
        design.x[0] = 99.0
        return 0.0

    with pytest.raises(SimulatorError, match="read-only"):
        archeng.solve(make(), meddling, seed=1)
