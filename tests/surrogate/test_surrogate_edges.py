"""Rare input: unbounded variables, huge numbers, old and repeated calls, other handlers."""

from __future__ import annotations

import numpy as np
import pytest
from surrogate_helpers import plain_frame

import archeng
from archeng import Design, Model, Settings
from archeng.outcomes import PastCalls
from archeng.surrogate.data import select
from archeng.surrogate.fit import Kernels, fit
from archeng.surrogate.priors import QUADRATIC


def bowl(design: Design) -> float:
    return float(design.x @ design.x)


def square(n: int = 2) -> Model:
    model = Model("square")
    x = model.variable("x", shape=n, lower=-2, upper=3)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    return model


def test_variables_without_bounds() -> None:
    """A start and a step size are enough, as without a model."""
    model = Model("unbounded")
    x = model.variable("x", shape=2)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    result = archeng.solve(model, bowl, seed=1, start=[3, 3], sigma=0.5, max_evaluations=150)
    assert result.fun == pytest.approx(0.5, abs=1e-3)


def test_variables_with_a_scale_instead_of_bounds() -> None:
    model = Model("scaled")
    x = model.variable("x", shape=2, start=3.0, scale=0.5)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    result = archeng.solve(model, bowl, seed=1, max_evaluations=150)
    assert result.fun == pytest.approx(0.5, abs=1e-6)


def test_a_slope_without_an_end() -> None:
    """Unbounded downwards: steps grow, but numbers stay finite."""
    model = Model("unbounded")
    model.variable("x", shape=2, start=0.0, scale=1.0)
    result = archeng.solve(model, lambda d: float(d.x.sum()), seed=1, max_evaluations=60)
    assert result.nfev == 60
    assert all(np.all(np.isfinite(e.x)) for e in result.evaluations)


def test_a_model_of_objectives_over_hundreds_of_decades() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((12, 2)), np.append(np.linspace(0, 2, 11), 1e200)
    found = fit(Kernels(A), y, QUADRATIC)
    assert found is not None
    found.random(rng)


def test_a_run_with_objectives_over_hundreds_of_decades() -> None:
    result = archeng.solve(
        square(), lambda d: float(np.exp(25 * bowl(d))), seed=1, max_evaluations=100
    )
    assert np.log(result.fun) < 25


@pytest.mark.parametrize("unit", [1e-300, 1e150])
def test_objectives_in_strange_units(unit: float) -> None:
    result = archeng.solve(square(), lambda d: unit * bowl(d), seed=1, max_evaluations=80)
    assert result.fun / unit == pytest.approx(0.5, abs=1e-3)


def test_objectives_that_differ_by_rounding_only() -> None:
    result = archeng.solve(square(), lambda d: 1e9 + 1e-6 * bowl(d), seed=1, max_evaluations=150)
    assert result.n_infeasible_calls == 0
    assert bowl(result.design) < 3


def test_no_objective_at_all() -> None:
    known = PastCalls(np.ones((3, 2)), np.full(3, np.nan))
    assert select(plain_frame(np.ones(2)), known) is None


def test_a_centre_that_was_simulated_long_ago() -> None:
    """It is among the designs of the model, whenever it was simulated."""
    points = np.random.default_rng(0).standard_normal((4000, 2))
    points[0] = 0
    data = select(plain_frame(np.zeros(2)), PastCalls(points, np.sum(points**2, axis=1)))
    assert data is not None
    np.testing.assert_array_equal(data.A[0], np.zeros(2))


def test_a_centre_that_was_simulated_twice() -> None:
    points = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [1, 1]])
    data = select(plain_frame(np.zeros(2)), PastCalls(points, np.array([0.0, 0, 1, 1, 2, 3])))
    assert data is not None
    assert len(np.unique(data.A, axis=0)) == len(data.A) == 4


def test_designs_that_are_simulated_again() -> None:
    result = archeng.solve(
        square(), bowl, seed=1, max_evaluations=120, settings=Settings(reuse_designs=False)
    )
    assert result.fun == pytest.approx(0.5, abs=1e-6)


def test_other_handlers_have_no_model() -> None:
    for handler in (
        "arch-nearest",
        "resampling",
        "death-penalty",
        "active-set-es",
        "one-plus-one-ach",
    ):
        result = archeng.solve(
            square(), bowl, seed=1, max_evaluations=40, settings=Settings(handler=handler)
        )
        assert all(e.repair_kind != "proposed" for e in result.evaluations), handler


def test_the_name_of_the_model_is_checked() -> None:
    with pytest.raises(archeng.errors.SettingsError, match="surrogate"):
        Settings(surrogate="kriging")  # type: ignore[arg-type]


def test_without_stop_tests_the_model_does_not_end_a_run() -> None:
    settings = Settings(stop_tests=False)
    result = archeng.solve(square(), bowl, seed=1, max_evaluations=150, settings=settings)
    assert result.nfev == 150


def test_a_large_population() -> None:
    result = archeng.solve(square(), bowl, seed=1, population_size=20, max_evaluations=150)
    assert result.fun == pytest.approx(0.5, abs=1e-6)
    assert any(e.repair_kind == "proposed" for e in result.evaluations)


def test_many_variables() -> None:
    """More than the first generation has designs."""
    model = Model("many")
    model.variable("x", shape=20, lower=-2, upper=3)
    c = np.linspace(-1, 1, 20)
    c[c == 0] = 0.01
    result = archeng.solve(model, lambda d: float(c @ d.x), seed=1, max_evaluations=120)
    assert result.n_infeasible_calls == 0
    best = float(np.sum(np.where(c > 0, -2 * c, 3 * c)))
    assert result.fun <= best + 1e-3 * abs(best)
