"""`Run`: ask and tell is the same run as `solve`."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Candidate, Design, Model, Result, Run, Settings, StopReason
from archeng.errors import SettingsError
from archeng.settings import SurrogateName

ALONE = Settings(surrogate="none")  # six candidates from the first generation on

either = pytest.mark.parametrize("surrogate", ["auto", "none"])


def make() -> Model:
    model = Model("m")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    c = model.variable("c", lower=3, upper=3)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    model.subject_to(ca.sumsqr(x) + c <= 12, name="disc")
    return model


def objective(design: Design) -> float:
    return float(np.sum((design["x"] - [1, -2]) ** 2))


def by_hand(run: Run) -> Result:
    while not run.stopped:
        run.tell([objective(c.design) if c.design else None for c in run.ask()])
    return run.result()


def fingerprint(result: Result) -> list[tuple[bytes, float, int, int]]:
    return [(e.x.tobytes(), e.objective, e.generation, e.restart) for e in result.evaluations]


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, {"tol_objective": 1e-6}),
        ({"max_evaluations": 120}, {}),
        ({"restarts": 1}, {"tol_objective": 1e-2}),
        ({"population_size": 9, "max_evaluations": 90}, {}),
    ],
)
@either
def test_ask_and_tell_is_the_same_run_as_solve(
    options: dict[str, Any], changes: dict[str, Any], surrogate: SurrogateName
) -> None:
    settings = Settings(surrogate=surrogate, **changes)
    solved = archeng.solve(make(), objective, seed=5, settings=settings, **options)
    told = by_hand(Run(make(), seed=5, settings=settings, **options))
    assert fingerprint(solved) == fingerprint(told)
    assert solved.stop_reason is told.stop_reason
    assert solved.fun == told.fun
    assert solved.status is told.status


def test_step_by_step_is_the_same_run_too() -> None:
    run = Run(make(), objective, seed=5, max_evaluations=100)
    while not run.stopped:
        run.step()
    run.step()  # nothing happens any more
    assert fingerprint(run.result()) == fingerprint(
        archeng.solve(make(), objective, seed=5, max_evaluations=100)
    )


def test_candidates_are_feasible_designs_with_their_certificate() -> None:
    run = Run(make(), seed=1, settings=ALONE)
    candidates = run.ask()
    assert len(candidates) == 6
    for c in candidates:
        assert isinstance(c, Candidate)
        assert c.design is not None
        assert make().violations(c.design.x).maximum == 0
        assert c.repair.max_violation == 0
        assert c.design["c"] == 3 == c.sampled[2]
        if c.repair.distance_squared == 0:
            np.testing.assert_array_equal(c.sampled, c.design.x)


def test_asking_again_returns_the_same_candidates() -> None:
    run = Run(make(), seed=1, settings=ALONE)
    first, second = run.ask(), run.ask()
    assert [a.design == b.design for a, b in zip(first, second, strict=True)] == [True] * 6
    assert run.n_evaluations == 0


def test_what_is_written_into_a_candidate_is_not_recorded() -> None:
    run = Run(make(), seed=1, settings=ALONE)
    certified = [c.design.x.copy() for c in run.ask() if c.design is not None]
    for candidate in run.ask():
        assert candidate.design is not None
        for array in (candidate.design.x, candidate.sampled):
            array.setflags(write=True)
            array[:] = 0.123
    run.tell([1.0] * 6)
    assert [e.x.tolist() for e in run.evaluations] == [x.tolist() for x in certified]
    assert not any(np.all(e.sampled == 0.123) for e in run.evaluations)


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 5, [1.0] * 7])
def test_tell_needs_one_value_for_each_candidate(values: list[float]) -> None:
    run = Run(make(), seed=1, settings=ALONE)
    run.ask()
    with pytest.raises(SettingsError, match=f"{len(values)} objectives for 6 candidates"):
        run.tell(values)
    assert run.n_evaluations == 0
    run.tell([1.0] * 6)
    assert run.n_evaluations == 6


def test_tell_without_ask() -> None:
    run = Run(make(), seed=1, settings=ALONE)
    with pytest.raises(SettingsError, match=r"without ask"):
        run.tell([1.0] * 6)
    run.ask()
    run.tell([1.0] * 6)
    with pytest.raises(SettingsError, match=r"without ask"):
        run.tell([1.0] * 6)


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
def test_failed_simulations_are_told_as_none_or_nan(bad: Any) -> None:
    run = Run(make(), seed=1, settings=ALONE)
    run.ask()
    run.tell([3.0, bad, 2.0, bad, 5.0, 4.0])
    assert [e.status for e in run.evaluations] == ["ok", "invalid", "ok", "invalid", "ok", "ok"]
    assert run.best is not None
    assert run.best.objective == 2.0
    assert not run.stopped


def test_target_is_seen_in_tell() -> None:
    run = Run(make(), seed=1, target=0.5, settings=ALONE)
    run.ask()
    run.tell([3.0, 0.2, 0.1, 5.0, 5.0, 5.0])
    assert run.stop_reason is StopReason.TARGET
    assert run.stopped
    assert run.result().fun == 0.1
    assert run.ask() == []


@pytest.mark.parametrize("limit", [5, 8, 13])
def test_the_budget_is_a_hard_limit_here_too(limit: int) -> None:
    run = Run(make(), seed=1, max_evaluations=limit)
    simulated: set[bytes] = set()
    while not run.stopped:
        candidates = run.ask()
        open_designs = [c.design for c in candidates if c.design and c.known is None]
        simulated |= {d.x.tobytes() for d in open_designs}
        run.tell([objective(c.design) if c.design else None for c in candidates])
    assert run.n_evaluations == limit
    assert len(simulated) == limit
    assert run.stop_reason is StopReason.MAX_EVALUATIONS


def test_result_of_an_unfinished_run() -> None:
    run = Run(make(), seed=1, settings=ALONE)
    run.ask()
    run.tell([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    result = run.result()
    assert result.nfev == 6
    assert result.fun == 1.0
    assert not result.success
    run.tell([0.5] * len(run.ask()))
    assert run.result().nfev == run.n_evaluations > 6
    assert run.result().fun == 0.5
    assert result.nfev == 6  # an earlier result does not grow


# -- designs that come up again ----------------------------------------------------------------


def corner() -> Model:
    """Most samples are repaired to the corner (1, 2) of the box."""
    model = Model("corner")
    model.variable("x", shape=2, lower=-1, upper=[1, 2])
    return model


def towards_the_corner(design: Design) -> float:
    return float(np.sum((design["x"] - 5) ** 2))


@either
def test_no_design_is_simulated_twice(surrogate: SurrogateName) -> None:
    calls: list[bytes] = []

    def simulator(design: Design) -> float:
        calls.append(design.x.tobytes())
        return towards_the_corner(design)

    settings = Settings(surrogate=surrogate)
    result = archeng.solve(corner(), simulator, seed=1, max_evaluations=60, settings=settings)
    assert len(set(calls)) == len(calls) == result.nfev
    np.testing.assert_allclose(result.x, [1, 2], atol=1e-6)


def test_without_reuse_every_candidate_is_simulated() -> None:
    calls: list[bytes] = []

    def simulator(design: Design) -> float:
        calls.append(design.x.tobytes())
        return towards_the_corner(design)

    settings = Settings(surrogate="none", reuse_designs=False)
    result = archeng.solve(corner(), simulator, seed=1, max_evaluations=60, settings=settings)
    assert len(calls) == result.nfev == 60
    assert len(set(calls)) < 60
    assert [sum(e.generation == g for e in result.evaluations) for g in range(10)] == [6] * 10


@either
def test_known_designs_carry_their_objective_and_what_is_told_of_them_is_ignored(
    surrogate: SurrogateName,
) -> None:
    run = Run(corner(), seed=1, max_evaluations=60, settings=Settings(surrogate=surrogate))
    honest: dict[bytes, float] = {}
    repeated = 0
    while not run.stopped:
        values = []
        for c in run.ask():
            assert c.design is not None
            key = c.design.x.tobytes()
            if c.known is not None:
                repeated += 1
                assert c.known == honest[key]
                values.append(-1e9)  # a lie
            else:
                honest[key] = towards_the_corner(c.design)
                values.append(honest[key])
        run.tell(values)
    assert repeated > 0
    assert run.result().fun == min(honest.values())


def test_step_needs_a_simulator() -> None:
    with pytest.raises(SettingsError, match="no simulator"):
        Run(make(), seed=1, settings=ALONE).step()


def test_nlp_without_objective_can_be_asked() -> None:
    x = ca.SX.sym("x", 2)
    run = Run({"x": x, "g": ca.sum1(x)}, lbx=0, ubx=5, ubg=4, seed=1)
    assert all(c.design is not None and c.design.x.sum() <= 4 for c in run.ask())


def test_opti_without_objective_can_be_asked() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(0, x, 5))
    run = Run(opti, seed=1)
    assert all(c.design is not None and (c.design.x >= 0).all() for c in run.ask())
