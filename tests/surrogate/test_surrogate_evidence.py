"""Evidence: a claim where the design is an optimum, and none where it is not or nobody knows."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model, Settings, Status, StopReason
from archeng.distribution import Floats
from archeng.model import FeasibleSet, compile_model
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate.data import Frame, select
from archeng.surrogate.evidence import best_evidence, evidence, objective_size
from archeng.surrogate.slopes import centre_of

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
    assert result.status in (Status.STOPPED, Status.WITHIN_NOISE)
    assert result.estimate is not None


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


# -- formulas of outputs -------------------------------------------------------------------------


def grey(model: Model, x: Floats, z: Floats, slopes: Floats | None = None) -> PastCalls:
    """Return designs x (k, n) with outputs z (k, q) of a model whose only rows have outputs."""
    formulas = compile_model(model).formulas
    assert formulas is not None
    every = formulas.at_all(x, z)
    return PastCalls(x, every[:, 0], every[:, 1:], z, slopes)


def limits_of(model: Model) -> Limits:
    formulas = compile_model(model).formulas
    assert formulas is not None
    low = np.array([row.lower for row in formulas.rows])
    return Limits(formulas.row_names, low, np.array([row.upper for row in formulas.rows]))


@pytest.mark.parametrize(("n", "waves"), [(2, 5), (3, 3), (3, 8)])
def test_slopes_that_the_simulator_gives_are_those_that_count(n: int, waves: int) -> None:
    """A ripple on a bowl, whose lowest point is not at 0; models do not see it, slopes do."""
    model = Model("ripple")
    model.variable("x", shape=n, lower=-5, upper=5)
    model.minimize(model.output("z"))
    x = 1.5 * np.random.default_rng(0).standard_normal((3 * n + 9, n))
    x[0] = 0
    z = 10 + np.sum(x**2, axis=1) + 1e-3 * np.sin(waves * x[:, 0])
    slopes = 2 * x
    slopes[:, 0] += 1e-3 * waves * np.cos(waves * x[:, 0])
    past = grey(model, x, z[:, None], slopes[:, None])
    found = best_evidence(frame_at(x[0]), past, limits_of(model), compile_model(model))
    assert found is not None
    assert found.residual == pytest.approx(1e-3 * waves / objective_size(past, Limits()), rel=1e-9)
    assert found.residual_not_excluded == pytest.approx(found.residual, rel=1e-9)
    assert not found.claim


def corner(cost: tuple[float, float]) -> Model:
    """Two outputs below 1, and a formula of the design alone to be minimised."""
    model = Model("corner")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    z = model.output("z", shape=2)
    model.subject_to(z <= 1, name="z")
    model.minimize(20 + cost[0] * x[0] + cost[1] * x[1])
    return model


def bent(x: Floats) -> Floats:
    """Two outputs (k, 2) that are both 1 at 0, with slopes (1, 0.3) and (0.2, 1)."""
    u, v = x.T
    return np.stack((1 + np.sin(u + 0.3 * v) + u * v, 1 + 0.2 * u + v + u * v + v**2), axis=1)


def sparse(seed: int) -> Floats:
    """The corner, two designs close to it, two far away: fewer than a quadratic needs."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((5, 2)) * np.array([0, 1e-3, 1e-3, 1, 1])[:, None]


def slopes_drawn(model: Model, x: Floats) -> Floats:
    """Slopes of the rows (20, 2, 2) by random models."""
    fs = compile_model(model)
    data = select(frame_at(x[0]), grey(model, x, bent(x)), fs.formulas)
    assert data is not None
    centre = centre_of(data, limits_of(model))
    assert centre is not None
    draws = centre.by_random(20, np.zeros((0, 2)), np.random.default_rng(0))
    return np.array([slopes.rows for slopes in draws])


@pytest.mark.parametrize("seed", range(8))
def test_random_slopes_follow_the_designs_next_to_the_centre(seed: int) -> None:
    """Models may take differences for noise; what is not excluded must not."""
    x = sparse(seed)
    drawn = slopes_drawn(corner((-1.0, -1.0)), x)
    known = bent(x[1:3]) - bent(x[:1])  # (2, outputs), of steps (2, n)
    predicted = np.einsum("kn,dqn->dkq", x[1:3], drawn)
    assert np.abs(predicted - known).max() < 1e-4
    assert 1e-7 < np.ptp(drawn, axis=0).max() < 0.5


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_nothing_is_left_at_a_corner_of_outputs(seed: int) -> None:
    """As many limits as variables, all pushing: whatever the slopes exactly are, nothing."""
    model, x = corner((-1.0, -1.0)), sparse(seed)
    found = best_evidence(
        frame_at(x[0]), grey(model, x, bent(x)), limits_of(model), compile_model(model)
    )
    assert found is not None
    assert found.claim
    assert (found.residual, found.residual_not_excluded) == (0.0, 0.0)
    assert found.fresh_designs == 2


@pytest.mark.parametrize("seed", range(12))
def test_noise_that_is_none_hides_nothing(seed: int) -> None:
    """The cost lies just outside of the cone of the limits' slopes: no optimum."""
    angle = np.deg2rad(12)  # the first limit's slope is at 17 degrees
    model, x = corner((-float(np.cos(angle)), -float(np.sin(angle)))), sparse(seed)
    found = best_evidence(
        frame_at(x[0]), grey(model, x, bent(x)), limits_of(model), compile_model(model)
    )
    assert found is None or not found.claim


@pytest.mark.parametrize("cost", [(-1.0, 0.2), (0.2, -1.0), (-0.1, -1.0)])
def test_something_is_left_at_a_corner_where_a_limit_does_not_push(
    cost: tuple[float, float],
) -> None:
    """Multipliers m of the limits solve G^T m = -cost; one of them is negative."""
    assert np.linalg.solve(np.array([[1, 0.2], [0.3, 1]]), -np.array(cost)).min() < 0
    model, rng = corner(cost), np.random.default_rng(1)
    scales = np.repeat([1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5], 3)[:, None]
    x = np.concatenate((np.zeros((1, 2)), scales * rng.standard_normal((18, 2))))
    found = best_evidence(
        frame_at(x[0]), grey(model, x, bent(x)), limits_of(model), compile_model(model)
    )
    assert found is not None
    assert found.residual > 1e-4
    assert not found.claim


def test_few_designs_do_not_settle_a_curved_limit() -> None:
    """The optimum on a disc needs the slope of its edge: four designs far away do not tell it."""
    model = Model("disc")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(model.output("z") <= 1, name="z")
    model.minimize(20 - ca.sum1(x))
    at = np.concatenate(
        (np.full((1, 2), np.sqrt(0.5)), 2 * np.random.default_rng(2).uniform(-1, 1, (5, 2)))
    )
    z = np.exp(np.sum(at**2, axis=1, keepdims=True) - 1)
    found = best_evidence(
        frame_at(at[0]), grey(model, at, z), limits_of(model), compile_model(model)
    )
    assert found is not None
    assert not found.claim
    assert found.residual_not_excluded > 1e-3


def test_the_least_of_the_largest_outputs_is_claimed() -> None:
    """max(u + v^2, -u + v^2, 0.1 - v): two pieces meet at the optimum, a third is below them."""
    model = Model("largest")
    model.variable("x", shape=2, lower=-5, upper=5)
    z = model.output("z", shape=3)
    model.minimize(5 + ca.mmax(z))

    def largest(x: Floats) -> Floats:
        u, v = x.T
        return np.stack((u + v**2, -u + v**2, -0.1 - v), axis=1)

    for place, optimal in ((np.zeros(2), True), (np.array([0.0, 0.05]), False)):
        scales = np.repeat([1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5], 3)[:, None]
        steps = scales * np.random.default_rng(4).standard_normal((18, 2))
        x = np.concatenate((place[None], place + steps))
        past = grey(model, x, largest(x))
        found = best_evidence(frame_at(place), past, Limits(), compile_model(model))
        assert found is not None
        assert found.claim is optimal
        assert math.copysign(1.0, found.residual) == 1.0
