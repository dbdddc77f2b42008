"""The invariances of [SA22 tab:class]: where they are claimed, and where they are not.

Increasing maps of f, factors on the constraints, and affine maps of the design space.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from handlers_helpers import HANDLERS, Vector, bowl, box, designs, model_for, settings_of, solved

from archeng import Design, Model
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.runner.handlers import make_handler
from archeng.settings import HandlerName

INCREASING: dict[str, Callable[[float], float]] = {
    "exp": lambda v: float(np.exp(v / 10)),
    "cube": lambda v: (v - 20) ** 3,
    "logarithm": lambda v: float(np.log(v)),
    "affine": lambda v: 4.0 * v - 1e3,
}
CALLS = 90
PENALTIES = ("ap-bch", "al")
DRAW_AGAIN = ("resampling", "one-plus-one-ach", "xcma-es-ach")  # until samples are feasible


def calls(handler: HandlerName, h: Callable[[float], float]) -> list[bytes]:
    def simulator(design: Design) -> float:
        return h(bowl(design))

    return designs(
        solved(
            handler,
            simulator=simulator,
            max_evaluations=CALLS,
            restarts=9,
            changes={"stop_tests": False},
        )
    )


@pytest.mark.parametrize("handler", [h for h in HANDLERS if h not in PENALTIES])
def test_increasing_maps_of_the_objective_do_not_change_a_bit(handler: HandlerName) -> None:
    plain = calls(handler, lambda v: v)
    assert len(plain) == CALLS
    for h in INCREASING.values():
        assert calls(handler, h) == plain


@pytest.mark.parametrize("handler", PENALTIES)
def test_penalties_depend_on_the_values_of_the_objective(handler: HandlerName) -> None:
    plain = calls(handler, lambda v: v)
    for name in ("exp", "cube", "logarithm"):
        assert calls(handler, INCREASING[name]) != plain


def test_the_box_penalty_does_not_depend_on_the_unit_of_the_objective() -> None:
    """The weights come from the spread of f; those of AL begin at fixed numbers."""
    assert calls("ap-bch", lambda v: 4 * v) == calls("ap-bch", lambda v: v)
    assert calls("al", lambda v: 4 * v) != calls("al", lambda v: v)


# -- constraints --------------------------------------------------------------------------------


def scaled_wedge(*factors: float) -> Model:
    """The wedge with its rows in other units."""
    model = Model("wedge")
    x = model.variable("x", shape=3, lower=-5, upper=5, start=2.0, scale=1.0)
    rows = [(2 * x[0] + x[1], 3), (x[0] + 2 * x[1], 3), (-x[0] - x[1] - x[2], -8)]
    for k, (factor, (row, limit)) in enumerate(zip(factors, rows, strict=True)):
        model.subject_to(factor * row >= factor * limit, name=f"row {k}")
    return model


SUMMED = ("al", "stochastic-ranking", "epsilon-lexicographic")


@pytest.mark.parametrize("handler", [h for h in HANDLERS if h not in ("ap-bch", "lexicographic")])
def test_units_of_the_constraints(handler: HandlerName) -> None:
    """Sums of violations and penalties depend on them, ranks and repairs do not.

    The lexicographic order may come out the same, if enough candidates are feasible.
    """
    options = {"max_evaluations": CALLS, "changes": {"stop_tests": False}}
    one = solved(handler, scaled_wedge(1, 1, 1), **options)
    two = solved(handler, scaled_wedge(2**6, 2**-5, 2**3), **options)
    assert (designs(one) == designs(two)) == (handler not in SUMMED)


# -- design space -------------------------------------------------------------------------------


def played(handler: HandlerName, A: Vector, t: Vector, generations: int) -> list[Vector]:
    """Candidates of some generations, y = A x + t, given back as x."""
    inverse = np.linalg.inv(A)
    model = Model("mapped")
    y = model.variable("y", shape=3)
    x = ca.mtimes(ca.DM(inverse), y - ca.DM(t))
    model.subject_to(2 * x[0] + x[1] >= 3, name="steep")
    model.subject_to(x[0] + 2 * x[1] >= 3, name="flat")
    model.subject_to(ca.sumsqr(x) <= 40, name="ball")
    fs, settings = compile_model(model), settings_of(handler)
    repairer = Repairer(fs, settings)
    F = 0.5 * np.eye(3) + 0.2 * np.diag([1.0, -1.0], k=1)
    start = A @ np.array([1.6, 1.4, 1.0]) + t
    distribution = Distribution(start, 0.8, A @ F, np.linalg.inv(A @ F))
    made = make_handler(repairer, repairer, settings, distribution)
    search, rng, result = made.init(distribution, start, None), np.random.default_rng(6), []
    for _ in range(generations):
        search, population = made.ask(search, rng, PastCalls(np.zeros((0, 3)), np.zeros(0)))
        points = np.array([(r.x - t) @ inverse.T for r in population.repairs])
        simulated = np.array([made.outside or r.feasible for r in population.repairs])
        objectives = np.where(simulated, np.sum(points**2 * [1, 4, 9], axis=1), np.nan)
        search = made.tell(search, population, Outcomes(objectives), None, rng)
        result.append((population.sampled - t) @ inverse.T)
    return result


AFFINE: tuple[HandlerName, ...] = (
    "arch",
    "resampling",
    "death-penalty",
    "al",
    "mcr",
    "stochastic-ranking",
    "ma-es-ach",
    "lexicographic",
    "epsilon-lexicographic",
    "one-plus-one-ach",
    "xcma-es-ach",
    "mu-lambda-ach",
)


@pytest.mark.parametrize("handler", AFFINE)
def test_affine_maps_of_the_design_space_do_not_change_the_search(handler: HandlerName) -> None:
    rng = np.random.default_rng(8)
    A, t = rng.standard_normal((3, 3)) + 2 * np.eye(3), np.array([1.0, -2.0, 0.5])
    one = played(handler, np.eye(3), np.zeros(3), 15)
    two = played(handler, A, t, 15)
    for k, (a, b) in enumerate(zip(one, two, strict=True)):
        np.testing.assert_allclose(b, a, atol=1e-6, err_msg=f"generation {k}")


def test_the_box_penalty_depends_on_the_units_of_the_variables() -> None:
    """It compares squared distances in different coordinates."""

    def run(unit: float) -> Vector:
        model = Model("units")
        lower = np.array([1.0, unit])
        model.variable("x", shape=2, lower=lower, upper=9 * lower, start=3 * lower, scale=lower)
        result = solved(
            "ap-bch",
            model,
            simulator=lambda d: float(np.sum((d.x / lower) ** 2)),
            max_evaluations=60,
        )
        return np.array([e.sampled / lower for e in result.evaluations])

    np.testing.assert_allclose(run(1.0)[:6], run(64.0)[:6], rtol=1e-9)
    assert np.abs(run(1.0)[-6:] - run(64.0)[-6:]).max() > 1e-3


def test_the_models_of_these_tests_have_active_limits() -> None:
    """Otherwise invariance would say nothing."""
    for handler in HANDLERS:
        result = solved(handler, model_for(handler), max_evaluations=CALLS)
        kinds = {k for g in result.history for k in g.repairs}
        assert kinds & {"intersection", "nearest", "unrepaired"} or handler in DRAW_AGAIN
    assert not compile_model(box(3, 2)).is_feasible(np.zeros(3))
