"""How a run begins: with the designs that a linear model takes, and with what it says then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import few, seeds

import archeng
from archeng import Model, Run, Settings
from archeng.distribution import Distribution, Floats
from archeng.handlers.arch import begin
from archeng.model import compile_model
from archeng.repair import Repairer
from archeng.surrogate import Frame, constants
from archeng.surrogate.choice import Selection
from archeng.surrogate.proposer import Proposal, Proposer
from archeng.surrogate.rounds import AssistedSearch, Phase, after_proposals, first_state
from archeng.surrogate.trust import ProposalKind


def simplex(n: int, equalities: int = 0) -> Model:
    """Shares that sum to at most one, or to exactly one; each further equality ties two of them."""
    model = Model("simplex")
    x = model.variable("x", shape=n, lower=0, upper=1, start=1 / n)
    total = ca.sum1(x)
    model.subject_to(total == 1 if equalities else total <= 1, name="total")
    for k in range(equalities - 1):
        model.subject_to(x[2 * k] == x[2 * k + 1], name=f"tie {k}")
    return model


def prices(n: int) -> Floats:
    return np.linspace(-1.0, 1.0, n)


def begun(model: Model, simulator: Any, **options: Any) -> Run:
    run = Run(model, simulator, seed=3, **options)
    run.step()
    return run


@pytest.mark.parametrize(("n", "equalities"), [(3, 0), (6, 1), (6, 3), (20, 8)])
def test_one_design_for_each_free_direction_beside_the_start(n: int, equalities: int) -> None:
    run = begun(simplex(n, equalities), lambda d: float(prices(n) @ d["x"]))
    free = n - equalities
    assert len(run.evaluations) <= free + 1  # fewer if many directions end at the same corners
    assert len(run.evaluations) >= free // 2 + 1
    assert run.history[0].repairs["proposed"] == len(run.evaluations)
    np.testing.assert_allclose(run.evaluations[0].x, 1 / n, atol=1e-6)
    assert run.state.search.phase is Phase.PROPOSE
    assert run.result().n_infeasible_calls == 0


@pytest.mark.parametrize("width", [2, 4, 7])
def test_no_worker_is_idle(width: int) -> None:
    model = Model("box")
    model.variable("x", shape=4, lower=-1, upper=1, start=0.1)
    run = begun(model, lambda d: float(np.sum(d["x"])), parallel=width)
    assert len(run.evaluations) >= 5
    assert len(run.evaluations) % width == 0


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (18, {}),  # its models begin with four designs
        (4, {"settings": Settings(surrogate="none")}),
        (4, {"population_size": 40}),  # a global search
        (4, {"simulated": {"c": (None, 1.0)}}),
    ],
)
def test_where_arch_makes_the_first_generation(n: int, options: dict[str, Any]) -> None:
    def simulator(design: archeng.Design) -> Any:
        f = float(np.sum(design["x"] ** 2))
        return archeng.Evaluation(f, {"c": f}) if "simulated" in options else f

    run = begun(simplex(n), simulator, **options)
    assert run.history[0].repairs.get("proposed", 0) == 0
    assert len(run.evaluations) == run.state.search.population_size


@few
@given(n=st.integers(1, 8), seed=seeds)
def test_they_are_feasible_apart_and_move_with_the_design_space(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, t = rng.standard_normal((n, n)) + 3 * np.eye(n), rng.standard_normal(n)
    found = []
    for M, shift in ((np.eye(n), np.zeros(n)), (A, t)):
        model = Model("ball")
        y = model.variable("y", shape=n, scale=1.0, start=shift)
        x = ca.mtimes(ca.DM(np.linalg.inv(M)), y - ca.DM(shift))
        model.subject_to(ca.sumsqr(x) <= 2, name="ball")
        frame = Frame(shift, M, np.linalg.inv(M))
        proposer = Proposer(Repairer(compile_model(model), Settings()))
        designs = proposer.first_designs(frame, n + 1, np.random.default_rng(seed))
        found.append((designs - shift) @ np.linalg.inv(M).T)
    plain, mapped = found
    np.testing.assert_allclose(mapped, plain, atol=1e-6)
    assert 2 <= len(plain) <= n + 1
    assert np.all(np.sum(plain**2, axis=1) <= 2)
    apart = np.linalg.norm(plain[:, None] - plain, axis=2) + np.eye(len(plain)) * 9
    assert apart.min() > constants.FIRST_APART
    # Inside of the ball they are as they were sampled: orthogonal
    inner = plain[1:][np.sum(plain[1:] ** 2, axis=1) < 1.99]
    np.testing.assert_allclose(inner @ inner.T, n * np.eye(len(inner)), atol=1e-6)


def test_a_linear_objective_is_solved_by_the_first_models() -> None:
    n, calls = 5, []

    def simulator(design: archeng.Design) -> float:
        calls.append(design["x"])
        return float(prices(n) @ design["x"])

    result = archeng.solve(simplex(n), simulator, seed=1, target=-1 + 1e-6, max_evaluations=50)
    assert result.stop_reason is archeng.StopReason.TARGET
    assert len(calls) <= n + 3  # the first designs, a step, the minimum anywhere
    assert result.n_infeasible_calls == 0


def test_a_budget_below_the_first_designs_is_kept() -> None:
    result = archeng.solve(simplex(6), lambda d: float(d["x"][0]), seed=1, max_evaluations=3)
    assert result.nfev == 3
    assert result.stop_reason is archeng.StopReason.MAX_EVALUATIONS


def test_failures_of_some_first_designs_are_no_end() -> None:
    def simulator(design: archeng.Design) -> float:
        if design["x"][0] > 0.4:
            raise RuntimeError("no convergence")
        return float(np.sum((design["x"] - 0.2) ** 2))

    result = archeng.solve(simplex(3), simulator, seed=2, max_evaluations=60)
    assert result.fun < 1e-6


def test_a_simulator_that_always_fails_is_an_error() -> None:
    def simulator(design: archeng.Design) -> float:
        raise RuntimeError("no licence")

    with pytest.raises(archeng.errors.SimulatorError, match="no licence"):
        archeng.solve(simplex(3), simulator, seed=2, max_evaluations=60)


@pytest.mark.parametrize(
    ("actual", "chosen", "kind"),
    [
        (0.9, False, ProposalKind.LEAP),  # as good as promised
        (0.3, False, ProposalKind.EXPLOIT),
        (-0.1, False, ProposalKind.EXPLOIT),
        (0.9, True, ProposalKind.EXPLOIT),  # models that know their errors look when it is slow
    ],
)
def test_a_linear_model_that_was_right_is_asked_for_its_minimum_anywhere(
    actual: float, chosen: bool, kind: ProposalKind
) -> None:
    zero, eye = np.zeros(3), np.eye(3)
    search: AssistedSearch = first_state(begin(Distribution(zero, 1.0, eye, eye), zero, None))
    model: Any = Repairer(compile_model(simplex(3)), Settings())
    repair = model.repair(np.full(3, 0.2), Distribution(zero, 1.0, eye, eye), None)
    last = Proposal(repair, ProposalKind.EXPLOIT, 1.0, 2.0, 1.0, 1.0, zero, radius=2.0)
    search = replace(search, phase=Phase.PROPOSE, best=5.0, last=last)
    if chosen:
        search = replace(search, selection=Selection("quadratic", "identity", 0.0, None, False, 5))
    after = after_proposals(search, np.array([5.0 - actual]), Settings())
    assert after.trust.kind is kind
