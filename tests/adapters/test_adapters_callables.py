"""Python functions as rows: values, derivatives, domains, journals, other processes."""

from __future__ import annotations

import gc
import logging
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import BFGS, NonlinearConstraint

import archeng
from archeng.errors import JournalError, ModelError
from archeng.model import FeasibleSet, Model, compile_model


def curves(x: Any) -> Any:
    return np.array([x[0] ** 2 * x[1], np.exp(0.5 * x[0]) + x[1] ** 3])


def gradients(x: Any) -> Any:
    return np.array([[2 * x[0] * x[1], x[0] ** 2], [0.5 * np.exp(0.5 * x[0]), 3 * x[1] ** 2]])


def curvature(x: Any, v: Any) -> Any:
    first = np.array([[2 * x[1], 2 * x[0]], [2 * x[0], 0.0]])
    second = np.array([[0.25 * np.exp(0.5 * x[0]), 0.0], [0.0, 6 * x[1]]])
    return v[0] * first + v[1] * second


def compiled(**options: Any) -> FeasibleSet:
    rows = NonlinearConstraint(curves, [-5.0, -np.inf], [5.0, 9.0], **options)
    return compile_model(
        archeng.from_scipy([1.0, 0.5], bounds=[(-2, 2), (-3, 3)], constraints=rows)
    )


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({}, 1e-8, 1e-5),
        ({"jac": "3-point", "hess": BFGS()}, 1e-8, 1e-5),
        ({"jac": "cs"}, 1e-14, 1e-8),
        ({"jac": gradients}, 1e-15, 1e-8),
        ({"jac": gradients, "hess": curvature}, 1e-15, 1e-14),
    ],
    ids=["default", "3-point", "complex step", "jac", "jac and hess"],
)
def test_derivatives_of_functions(options: dict[str, Any], first: float, second: float) -> None:
    fs = compiled(**options)
    for k in np.random.default_rng(1).integers(-16, 16, (5, 2)):
        x = k * np.array([4, 6]) / 32  # of the grid on which second derivatives are computed
        values, jacobian = fs.values_and_jacobian(x)
        np.testing.assert_array_equal(values[2:], curves(x))
        np.testing.assert_allclose(jacobian[2:], gradients(x), rtol=first, atol=10 * first)
        weights = np.array([0.0, 0.0, 0.7, -1.3])
        hessian = fs.hessian(x, weights)
        np.testing.assert_allclose(
            hessian, curvature(x, weights[2:]), rtol=second, atol=10 * second
        )


def test_steps_follow_the_size_of_the_variables() -> None:
    def pressure(x: Any) -> Any:
        return x[0] ** 2 / 1e-12 + x[1] / 1e6

    rows = NonlinearConstraint(pressure, -np.inf, 2.0)
    fs = compile_model(
        archeng.from_scipy([1e-6, 5e5], bounds=[(0, 2e-6), (0, 1e6)], constraints=rows)
    )
    _, jacobian = fs.values_and_jacobian(np.array([0.5e-6, 2e5]))
    np.testing.assert_allclose(jacobian[2], [1e6, 1e-6], rtol=1e-6)


def test_one_sided_differences_at_the_edge_of_the_domain() -> None:
    def root(x: Any) -> float:
        return math.sqrt(x[0]) ** 3 + x[1]  # raises ValueError for x[0] < 0

    rows = NonlinearConstraint(root, -np.inf, 1.0)
    fs = compile_model(archeng.from_scipy([1, 0], bounds=[(0, 4), (-1, 1)], constraints=rows))
    _, jacobian = fs.values_and_jacobian(np.array([0.0, 0.25]))
    np.testing.assert_allclose(jacobian[2], [0.0, 1.0], atol=1e-2)
    assert np.isnan(fs.values(np.array([-1.0, 0.0]))[2])
    assert not fs.is_feasible(np.array([-1.0, 0.0]))


def test_fixed_variables_reach_the_function() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(x.copy())
        return x[0] + x[1] ** 2 + x[2]

    rows = NonlinearConstraint(f, -np.inf, 6.0)
    model = archeng.from_scipy([1, 7, 2], bounds=[(0, 4), (2, 2), (0, 4)], constraints=rows)
    fs = compile_model(model)
    assert fs.n == 2
    np.testing.assert_array_equal(fs.values(np.array([0.5, 1.0]))[2:], [5.5])
    assert all(x[1] == 2 for x in seen)


def test_a_bug_in_a_function_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def fragile(x: Any) -> Any:
        if x[0] > 1.5:
            raise KeyError("table")
        return x[0]

    rows = NonlinearConstraint(fragile, -np.inf, 1.0)
    fs = compile_model(archeng.from_scipy([0.0], bounds=[(0, 2)], constraints=rows))
    with caplog.at_level(logging.WARNING, "archeng"):
        assert np.isnan(fs.values(np.array([1.9]))[1])
        assert np.isnan(fs.values(np.array([1.8]))[1])
    assert len(caplog.records) == 1
    assert "fragile" in caplog.text
    assert "KeyError" in caplog.text


def test_functions_outlive_the_model() -> None:
    fs = compiled()
    gc.collect()
    x = np.array([0.3, 0.4])
    np.testing.assert_array_equal(fs.values(x)[2:], curves(x))
    assert np.all(np.isfinite(fs.hessian(x, np.ones(4))))


def test_functions_stay_in_their_process() -> None:
    with pytest.raises(TypeError, match="Python function"):
        pickle.dumps(compiled())


def test_the_function_is_called_once_for_each_point() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x.copy())
        return x @ x

    model = archeng.from_scipy(
        [0.0, 0.0], bounds=[(-1, 1)] * 2, constraints=NonlinearConstraint(f, 0, 1)
    )
    fs = compile_model(model)
    calls.clear()
    x = np.array([0.1, 0.2])
    for _ in range(3):
        fs.values(x)
    assert len(calls) == 1


def test_second_derivatives_are_computed_once_nearby() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x.copy())
        return x[0] ** 2 * x[1]

    rows = NonlinearConstraint(f, 0, 1)
    fs = compile_model(archeng.from_scipy([0, 0], bounds=[(-1, 1)] * 2, constraints=rows))
    first = fs.hessian(np.array([0.5, 0.25]), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(first, [[0.5, 1.0], [1.0, 0.0]], atol=1e-6)
    calls.clear()
    nearby = fs.hessian(np.array([0.51, 0.26]), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(nearby, first)
    assert len(calls) <= 4  # for the first derivatives


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"fun": lambda x: 1 / 0}, "ZeroDivisionError"),
        ({"fun": lambda x: np.zeros((2, 2))}, r"shape \(2, 2\)"),
        ({"fun": lambda x: x, "jac": lambda x: np.zeros(3)}, "jac must return"),
        ({"fun": lambda x: x, "jac": lambda x: {}["a"]}, "jac raised KeyError"),
    ],
)
def test_functions_that_cannot_be_used(options: dict[str, Any], says: str) -> None:
    fun = options.pop("fun")
    with pytest.raises(ModelError, match=says):
        archeng.from_scipy([1, 1], constraints=NonlinearConstraint(fun, 0, 1, **options))


def disk_model(shift: float = 0.0) -> Model:
    def disk(x: Any) -> Any:
        return (x[0] - shift) ** 2 + x[1] ** 2

    return archeng.from_scipy(
        [0.1, 0.2], bounds=[(-2, 2)] * 2, constraints=NonlinearConstraint(disk, 0.25, 1.0)
    )


def linear(design: archeng.Design) -> float:
    return float(design["x"] @ [1.0, 2.0])


def test_journal_goes_on_with_the_same_functions_only(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    whole = archeng.solve(disk_model(), linear, max_evaluations=16, seed=3)
    archeng.solve(disk_model(), linear, max_evaluations=8, seed=3, journal=path)
    with pytest.raises(JournalError, match="pass it again as model="):
        archeng.resume(path, linear, max_evaluations=16)
    with pytest.raises(JournalError, match="not the one of the journal"):
        archeng.resume(path, linear, model=disk_model(shift=0.5), max_evaluations=16)
    resumed = archeng.resume(path, linear, model=disk_model(), max_evaluations=16)
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert [e.objective for e in resumed.evaluations] == [e.objective for e in whole.evaluations]


def test_diagnose_and_sample_take_functions() -> None:
    designs = archeng.sample_feasible(disk_model(), 12, seed=1)
    radii = np.sum(designs.x**2, axis=1)
    assert len(designs) == 12
    assert np.all((radii >= 0.25) & (radii <= 1.0))
    assert "feasible design: found" in str(archeng.diagnose(disk_model()))
