"""Evidence: a claim where the design is an optimum, and none where it is not or nobody knows."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model, Settings, Status, StopReason
from archeng.model import FeasibleSet, compile_model
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate.data import Frame
from archeng.surrogate.evidence import best_evidence, evidence

Vector = np.ndarray
ABOVE = Limits(("c",), np.array([-np.inf]), np.array([1.0]))


def square(n: int = 2) -> FeasibleSet:
    model = Model("square")
    model.variable("x", shape=n, lower=-5, upper=5)
    return compile_model(model)


def bowl(x: Vector) -> float:
    return float(5 + (x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2 + x[0] * x[1] / 5)


def around(
    centre: Vector, f: Callable[[Vector], float], c: Callable[[Vector], float] | None, seed: int = 0
) -> PastCalls:
    """The centre, designs at distances from 1 to 1e-5 all around."""
    rng = np.random.default_rng(seed)
    points = [centre]
    for scale in (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        directions = rng.standard_normal((4, len(centre)))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        points += list(np.clip(centre + scale * directions, -5, 5))
    simulated = None if c is None else np.array([[c(x)] for x in points])
    values = np.array([f(x) for x in points])
    x = np.array(points)
    return PastCalls(x, values) if simulated is None else PastCalls(x, values, simulated)


def frame_at(centre: Vector) -> Frame:
    return Frame(centre, np.eye(len(centre)), np.eye(len(centre)))


def minimum() -> Vector:
    return np.linalg.solve([[2, 0.2], [0.2, 6]], [2, -12])


def test_an_optimum_is_claimed() -> None:
    x = minimum()
    found = best_evidence(frame_at(x), around(x, bowl, None), Limits(), square())
    assert found is not None
    assert found.claim
    assert found.residual < 1e-6
    assert found.fresh_designs >= 2


@pytest.mark.parametrize("off", [0.3, 0.03, 0.003])
def test_a_slope_is_not(off: float) -> None:
    x = minimum() + off * np.array([1.0, 0.3])
    found = best_evidence(frame_at(x), around(x, bowl, None), Limits(), square())
    assert found is not None
    assert not found.claim
    assert found.gain > 0


def test_designs_on_a_line_show_nothing() -> None:
    """The slope along the line is zero, the one across it is not known."""
    x = np.array([1.0, 1.0])
    steps = np.array([0, 1, -1, 1e-2, -1e-2, 1e-3, -1e-3, 1e-4, -1e-4, 1e-5, -1e-5])
    points = x + np.outer(steps, [1.0, 0.0])
    known = PastCalls(points, np.array([float(3 + (p[0] - 1) ** 2) for p in points]))
    found = best_evidence(frame_at(x), known, Limits(), square())
    assert found is None or not found.claim


def test_a_simulated_constraint_holds_the_optimum() -> None:
    """min x0 + x1 with x0^2 + x1^2 <= 1, the disc known to the simulator only."""
    x = np.full(2, -np.sqrt(0.5))
    known = around(x, lambda p: 10 + float(p.sum()), lambda p: float(p @ p))
    found = best_evidence(frame_at(x), known, ABOVE, square())
    assert found is not None
    assert found.claim
    off = np.array([np.cos(4.2), np.sin(4.2)])  # elsewhere on the circle
    other = around(off, lambda p: 10 + float(p.sum()), lambda p: float(p @ p))
    found = best_evidence(frame_at(off), other, ABOVE, square())
    assert found is not None
    assert not found.claim


def test_too_few_designs_show_nothing() -> None:
    known = PastCalls(np.zeros((1, 2)), np.ones(1))
    assert evidence(frame_at(np.zeros(2)), known, Limits(), square(), 1e-3) is None


# -- the result ----------------------------------------------------------------------------------


def valley() -> Model:
    model = Model("valley")
    x = model.variable("x", shape=3, lower=-2, upper=2)
    model.subject_to(ca.sum1(x) == 1, name="sum", tolerance=1e-6)
    return model


def rounded(design: archeng.Design) -> float:
    return float(1 + np.sum(np.arange(1, 4) * (design.x - 0.5) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [Settings(), Settings(surrogate="none")])
def test_converged_means_that_there_is_evidence(settings: Settings, tmp_path) -> None:
    result = archeng.solve(valley(), rounded, seed=1, max_evaluations=2000, settings=settings)
    assert result.status is Status.CONVERGED
    assert result.optimality is not None
    assert result.optimality.claim
    # min sum k (x_k - 1/2)^2 with sum x = 1: x_k = 1/2 - mu / k, mu = 1/2 / (1 + 1/2 + 1/3)
    mu = 0.5 / (1 + 1 / 2 + 1 / 3)
    exact = 1 + mu**2 * (1 + 1 / 2 + 1 / 3)
    assert result.fun == pytest.approx(exact, rel=1e-5)
    assert "to first order" in str(result)
    result.save(tmp_path / "result.json")
    assert archeng.Result.load(tmp_path / "result.json").optimality == result.optimality


def test_a_budget_that_is_used_up_is_no_convergence() -> None:
    result = archeng.solve(valley(), rounded, seed=1, max_evaluations=9)
    assert result.status is Status.STOPPED
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


def test_noise_is_not_called_convergence() -> None:
    rng = np.random.default_rng(3)

    def noisy(design: archeng.Design) -> float:
        return rounded(design) + 1e-2 * float(rng.standard_normal())

    result = archeng.solve(valley(), noisy, seed=2, max_evaluations=150)
    assert result.status is Status.STOPPED


def test_failures_in_the_way_leave_the_work_to_arch() -> None:
    """It fails in the half space of the optimum; models must not propose into it for ever."""
    model = Model("hidden")
    x = model.variable("x", shape=5, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x) <= 9, name="ball")

    def simulator(design: archeng.Design) -> float:
        if design.x.sum() / np.sqrt(5) > 0.4 * np.sqrt(5):
            raise ValueError("no mesh")
        return float(np.sum((design.x - 0.9) ** 2))

    results = [archeng.solve(model, simulator, seed=s, max_evaluations=300) for s in range(3)]
    failed = [sum(e.status == "failed" for e in r.evaluations) / r.nfev for r in results]
    assert np.median(failed) < 0.5
    assert np.median([r.fun - 1.25 for r in results]) < 0.3
