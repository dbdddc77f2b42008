"""Runs with simulated constraints move with the design space and ignore increasing maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from simulated_helpers import AUTO, NONE, Vector, gap, plane

import archeng
from archeng import Design, Evaluation, Model, Result, Settings
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.outcomes import Limits, Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler

BOTH = pytest.mark.parametrize("settings", [AUTO, NONE], ids=["auto", "none"])
INF = np.inf
LIMITS = Limits(("bend", "band"), np.array([-INF, -0.5]), np.array([0.9, 0.35]))


def simulate(x: Vector) -> tuple[float, list[float]]:
    """Far from quadratic, so that a run does not end at once; both constraints matter."""
    f = np.sum(30 * (x[1:] - x[:-1] ** 2) ** 2 + (1.5 - x[:-1]) ** 2) + np.exp(0.5 * x[2])
    bend = x[0] * x[1] + 0.3 * x[2] ** 2
    return float(f), [float(bend), float(x[0] - x[1] + 0.2 * np.sin(x[2]))]


# -- affine maps --------------------------------------------------------------------------------


def played(A: Vector, t: Vector, calls: int, settings: Settings, seed: int) -> list[Any]:
    """Designs of a search in y = A x + t, given back as x, with how they came about."""
    n, inverse = len(t), np.linalg.inv(A)
    start = A @ np.array([1.2, 0.9, 0.6]) + t
    model = Model("mapped")
    y = model.variable("y", shape=n, start=start, scale=np.linalg.norm(A, axis=1))
    x = ca.mtimes(ca.DM(inverse), y - ca.DM(t))
    model.subject_to(2 * x[0] + x[1] >= 1.5, name="steep")
    model.subject_to(ca.sumsqr(x) <= 4 * n, name="ball")
    repairer = Repairer(compile_model(model), settings)
    F = 0.5 * np.eye(n) + 0.2 * np.diag((-1.0) ** np.arange(n - 1), k=1)
    distribution = Distribution(start, 0.8, A @ F, np.linalg.inv(A @ F))
    handler = make_handler(repairer, repairer, settings, distribution, LIMITS)
    search, rng = handler.init(distribution, start, None), np.random.default_rng(seed)
    known, result = PastCalls(np.zeros((0, n)), np.zeros(0), np.zeros((0, 2))), []
    while len(known) < calls:
        search, population = handler.ask(search, rng, known)
        local = getattr(search, "local", None)
        mode = None if local is None or local.trial is None else local.trial.kind
        new = np.array([r.x for r in population.repairs])
        answers = [simulate((x - t) @ inverse.T) for x in new]
        found = Outcomes(np.array([f for f, _ in answers]), np.array([c for _, c in answers]))
        known = PastCalls(
            np.concatenate((known.points, new)),
            np.append(known.objectives, found.objectives),
            np.concatenate((known.simulated, found.simulated)),
        )
        search = handler.tell(search, population, found, known, rng)
        result += [((x - t) @ inverse.T, population.proposed, mode) for x in new]
    return result[:calls]


def units() -> tuple[Vector, Vector]:
    factors = np.array([1e3, 1e-2, 7.0])
    return np.diag(factors), factors * np.array([1.0, -0.5, -2.0])


def mixing() -> tuple[Vector, Vector]:
    rng = np.random.default_rng(8)
    return rng.standard_normal((3, 3)) + 2 * np.eye(3), rng.standard_normal(3)


@BOTH
@pytest.mark.parametrize("change", [units, mixing])
def test_affine_maps_move_the_run(
    change: Callable[[], tuple[Vector, Vector]], settings: Settings
) -> None:
    calls = 22 if settings.surrogate == "auto" else 70
    one = played(np.eye(3), np.zeros(3), calls, settings, 2)
    two = played(*change(), calls, settings, 2)
    if settings.surrogate == "auto":
        assert sum(new for _, new, _ in one) >= 3
    for k in range(calls):
        np.testing.assert_allclose(two[k][0], one[k][0], atol=1e-5, err_msg=f"call {k}")
        assert two[k][1:] == one[k][1:]
    outside = LIMITS.violations(np.array([simulate(x)[1] for x, *_ in one])) > 0
    assert outside.any(axis=0).all()  # both constraints had to be respected
    assert not outside.all(axis=1).all()


# -- the whole run through the public interface -------------------------------------------------


def identity(value: float) -> float:
    return value


def run(
    settings: Settings,
    objective: Callable[[float], float] = identity,
    constraint: Callable[[float], float] = identity,
    limit: float = 4.0,
    flip: bool = False,
    **options: Any,
) -> Result:
    """The disc, with objective and constraint seen through functions."""

    def simulator(design: Design) -> Evaluation:
        value = constraint(float(design.x @ design.x))
        return Evaluation(objective(gap(design.x)), {"c": -value if flip else value})

    bound = constraint(limit)
    limits = {"c": (-bound, None) if flip else (None, bound)}
    calls = 20 if settings.surrogate == "auto" else 240
    return archeng.solve(
        plane(), simulator, simulated=limits, settings=settings,
        **{"max_evaluations": calls, "seed": 3, **options},
    )  # fmt: skip


def same_designs(one: Result, two: Result) -> None:
    assert len(one.evaluations) == len(two.evaluations) > 10
    for a, b in zip(one.evaluations, two.evaluations, strict=True):
        assert a.x.tobytes() == b.x.tobytes(), f"call {a.index}"
        assert a.acceptable == b.acceptable
    assert one.x.tobytes() == two.x.tobytes()


INCREASING: dict[str, Callable[[float], float]] = {
    "exp": lambda v: float(np.exp(v / 20)),
    "cube": lambda v: (v - 10.0) ** 3,
    "affine": lambda v: 4.0 * v - 1e3,
    "arctan": lambda v: float(np.arctan(v / 10)),
}


@pytest.mark.parametrize("name", INCREASING)
def test_increasing_maps_of_the_objective_do_not_change_a_bit(name: str) -> None:
    h, settings = INCREASING[name], Settings(surrogate="none", stop_tests=False)
    one, two = run(settings), run(settings, objective=h)
    same_designs(one, two)
    assert [h(e.objective) for e in one.evaluations] == [e.objective for e in two.evaluations]


@pytest.mark.parametrize("name", INCREASING)
def test_increasing_maps_of_a_constraint_do_not_change_a_bit(name: str) -> None:
    settings = Settings(surrogate="none", stop_tests=False)
    one = run(settings)
    assert {e.acceptable for e in one.evaluations} == {True, False}
    same_designs(one, run(settings, constraint=INCREASING[name]))


def test_what_is_not_increasing_changes_the_run() -> None:
    one, two = run(NONE), run(NONE, objective=lambda v: -v)
    assert one.evaluations[-1].x.tobytes() != two.evaluations[-1].x.tobytes()


@BOTH
def test_an_upper_limit_is_a_lower_one_of_the_negative(settings: Settings) -> None:
    same_designs(run(settings), run(settings, flip=True))


@BOTH
def test_powers_of_two_as_units_do_not_change_a_bit(settings: Settings) -> None:
    other = run(settings, lambda v: 2.0**20 * v, lambda v: 2.0**-13 * v)
    same_designs(run(settings), other)


def test_other_units_hardly_change_a_run_with_a_model() -> None:
    """Rounding only; where it ends depends on the size of the objective."""
    one = run(AUTO, max_evaluations=10)
    two = run(AUTO, lambda v: 0.3 * v + 5, lambda v: 1e8 * v, max_evaluations=10)
    for a, b in zip(one.evaluations, two.evaluations, strict=True):
        np.testing.assert_allclose(a.x, b.x, atol=1e-4)


@BOTH
def test_maximising_is_minimising_the_negative(settings: Settings) -> None:
    same_designs(run(settings), run(settings, lambda v: -v, sense="maximize"))
