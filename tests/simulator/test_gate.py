"""The gate: no design that violates anything passes, however small the violation."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from archeng.errors import ArchengError, GateError
from archeng.model import FeasibleSet, Model, compile_model
from archeng.simulator import Gate


@pytest.fixture
def fs() -> FeasibleSet:
    model = Model()
    x = model.variable("x", lower=0, upper=5)
    c = model.variable("c", lower=2, upper=2)
    y = model.variable("y", lower=-4.5, upper=5)
    model.subject_to(x + c * y <= 4, name="line", source="a.py:1")
    model.subject_to(x**2 + y**2 <= 25, name="disc", source="a.py:2")
    model.subject_to(ca.sqrt(x) - y, lower=-3, name="root", source="a.py:3")
    return compile_model(model)


@pytest.mark.parametrize(
    "point",
    [
        [1.0, 2.0, 1.0],
        [4.0, 2.0, 0.0],  # on the line
        [0.0, 2.0, -4.5],  # on two bounds
        [3.0, 2.0, -4.0],  # on the circle
    ],
)
def test_feasible_designs_pass_also_on_the_boundary(fs: FeasibleSet, point: list[float]) -> None:
    assert Gate(fs).check(np.array(point)) == 0.0


@pytest.mark.parametrize(
    ("point", "row"),
    [
        ([np.nextafter(4.0, 9), 2.0, 0.0], "line \\(a.py:1\\)"),
        ([-5e-324, 2.0, 0.0], "bounds of x|root"),
        ([0.0, 2.0, np.nextafter(-4.5, -9)], "bounds of y"),
        ([3.0, 2.0, np.nextafter(-4.0, -9)], "disc \\(a.py:2\\)"),
        ([1.0, 2.0, 6.0], "disc.* by 12"),
        ([-1.0, 2.0, 0.0], "root \\(a.py:3\\) by inf"),
    ],
)
def test_the_smallest_violation_is_refused_by_name(
    fs: FeasibleSet, point: list[float], row: str
) -> None:
    with pytest.raises(GateError, match=row):
        Gate(fs).check(np.array(point))


@pytest.mark.parametrize("value", [np.nextafter(2.0, 3), np.nextafter(2.0, 1), 3.0, np.nan])
def test_a_changed_fixed_variable_is_refused(fs: FeasibleSet, value: float) -> None:
    with pytest.raises(GateError, match="fixed variable"):
        Gate(fs).check(np.array([1.0, value, 1.0]))


@pytest.mark.parametrize("position", [0, 2])
def test_nan_is_refused(fs: FeasibleSet, position: int) -> None:
    point = np.array([1.0, 2.0, 1.0])
    point[position] = np.nan
    with pytest.raises(GateError):
        Gate(fs).check(point)


def test_equalities_pass_within_their_tolerance_only() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] * x[1] == 1, name="hyperbola", tolerance=0.25)
    fs = compile_model(model)
    Gate(fs).check(np.array([1.25, 1.0]))
    Gate(fs).check(np.array([0.75, 1.0]))
    with pytest.raises(GateError, match="hyperbola"):
        Gate(fs).check(np.array([np.nextafter(1.25, 2), 1.0]))


def test_a_model_without_rows_lets_every_number_pass_but_not_nan() -> None:
    model = Model()
    model.variable("x", shape=2, start=0, scale=1)
    fs = compile_model(model)
    assert Gate(fs).check(np.array([1e300, -7.0])) == 0.0
    with pytest.raises(GateError):
        Gate(fs).check(np.array([1.0, np.nan]))


def test_gate_error_is_an_archeng_error() -> None:
    assert issubclass(GateError, ArchengError)
