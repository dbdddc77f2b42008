"""Declaring variables: names, shapes, bounds, starts, scales, units, and every way to be wrong."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng.errors import ArchengError, ModelError
from archeng.model import Model, Variable


def declared(*args: Any, **options: Any) -> Variable:
    model = Model()
    model.variable(*args, **options)
    return model.variables[0]


def test_scalar_without_options_is_unbounded_and_has_no_start_and_no_scale() -> None:
    v = declared("x")
    assert v.shape == ()
    assert v.size == 1
    assert v.unit == ""
    np.testing.assert_array_equal(v.lower, [-np.inf])
    np.testing.assert_array_equal(v.upper, [np.inf])
    np.testing.assert_array_equal(v.start, [np.nan])
    np.testing.assert_array_equal(v.scale, [np.nan])


def test_scalar_options_are_kept() -> None:
    v = declared("t", lower=1, upper=5.5, start=2, scale=0.25, unit="mm")
    assert (v.name, v.unit) == ("t", "mm")
    assert [a.tolist() for a in (v.lower, v.upper, v.start, v.scale)] == [
        [1.0],
        [5.5],
        [2.0],
        [0.25],
    ]


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(1), np.array(1.0), True])
def test_numpy_scalars_are_numbers(value: Any) -> None:
    assert declared("x", lower=value, upper=9).lower.tolist() == [float(value)]


@pytest.mark.parametrize(
    ("shape", "casadi_shape", "size", "names"),
    [
        ((), (1, 1), 1, ["x"]),
        (1, (1, 1), 1, ["x[0]"]),
        ((1,), (1, 1), 1, ["x[0]"]),
        (3, (3, 1), 3, ["x[0]", "x[1]", "x[2]"]),
        ((3,), (3, 1), 3, ["x[0]", "x[1]", "x[2]"]),
        ((1, 1), (1, 1), 1, ["x[0,0]"]),
        ((1, 2), (1, 2), 2, ["x[0,0]", "x[0,1]"]),
        ((2, 2), (2, 2), 4, ["x[0,0]", "x[1,0]", "x[0,1]", "x[1,1]"]),
    ],
)
@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_shape_of_symbol_and_names_of_elements(
    shape: Any, casadi_shape: tuple[int, int], size: int, names: list[str], kind: str
) -> None:
    model = Model(symbols=kind)
    symbol = model.variable("x", shape=shape)
    assert isinstance(symbol, ca.SX if kind == "SX" else ca.MX)
    assert symbol.shape == casadi_shape
    assert model.variables[0].size == size == model.n_variables
    assert model.element_names() == names


def test_vector_bounds_are_broadcast_or_taken_element_by_element() -> None:
    v = declared("w", shape=3, lower=[0, 1, 2], upper=5, start=[1, 2, 3], scale=0.5)
    assert v.lower.tolist() == [0, 1, 2]
    assert v.upper.tolist() == [5, 5, 5]
    assert v.start.tolist() == [1, 2, 3]
    assert v.scale.tolist() == [0.5, 0.5, 0.5]


def test_matrix_bounds_are_stored_column_by_column() -> None:
    v = declared("W", shape=(2, 3), lower=[[1, 2, 3], [4, 5, 6]], upper=9)
    assert v.lower.tolist() == [1, 4, 2, 5, 3, 6]


def test_a_row_is_broadcast_over_a_matrix_as_numpy_does() -> None:
    v = declared("W", shape=(2, 3), upper=[7, 8, 9])
    np.testing.assert_array_equal(v.reshape(v.upper), np.broadcast_to([7, 8, 9], (2, 3)))


@pytest.mark.parametrize("shape", [(), 1, 4, (2, 3), (3, 1), (1, 3)])
def test_reshape_inverts_column_major_flattening(shape: Any) -> None:
    v = declared("x", shape=shape)
    rng = np.random.default_rng(0)
    value = rng.random(v.shape)
    back = v.reshape(np.asarray(value).reshape(-1, order="F"))
    np.testing.assert_array_equal(back, value)
    assert isinstance(back, float) == (shape == ())


def test_stored_arrays_are_read_only_copies() -> None:
    lower = np.zeros(2)
    v = declared("x", shape=2, lower=lower, upper=1)
    lower[:] = 77
    assert v.lower.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        v.lower[0] = 3


def test_equal_bounds_are_allowed_and_a_start_may_be_outside_the_bounds() -> None:
    assert declared("x", lower=1, upper=1).upper.tolist() == [1]
    assert declared("x", lower=0, upper=1, start=7).start.tolist() == [7]


@pytest.mark.parametrize("name", ["", 3, None, b"x"])
def test_bad_name(name: Any) -> None:
    with pytest.raises(ModelError, match="non-empty name"):
        declared(name)


@pytest.mark.parametrize("shape", [0, -1, (0,), (2, -1), (1, 2, 3), (2.0,), "ab", 2.5, None])
def test_bad_shape(shape: Any) -> None:
    with pytest.raises(ModelError, match=r"Variable 'x': shape must be"):
        declared("x", shape=shape)


@pytest.mark.parametrize("shape", [np.int64(3), (np.int64(3),)])
def test_numpy_integers_are_shapes(shape: Any) -> None:
    assert declared("x", shape=shape).size == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 2, "upper": 1}, "lower bound 2 is above upper bound 1"),
        ({"lower": np.nan}, "bounds must be numbers"),
        ({"upper": np.nan}, "bounds must be numbers"),
        ({"lower": np.inf}, "bounds must be numbers"),
        ({"upper": -np.inf}, "bounds must be numbers"),
        ({"lower": "a"}, "lower='a' is not a number"),
        ({"upper": 1 + 2j}, "upper=.* is not a number"),
        ({"lower": [1, 2]}, "lower=.* is not a number or an array of shape"),
        ({"shape": 3, "lower": [1, 2]}, r"array of shape \(3,\)"),
        ({"shape": (2, 2), "upper": np.ones((3, 3))}, r"array of shape \(2, 2\)"),
        ({"start": np.nan}, "start must be finite"),
        ({"start": np.inf}, "start must be finite"),
        ({"shape": 2, "start": [1, np.nan]}, "start must be finite"),
        ({"scale": 0}, "scale must be positive"),
        ({"scale": -1}, "scale must be positive"),
        ({"scale": np.inf}, "scale must be positive"),
        ({"scale": np.nan}, "scale must be positive"),
        ({"shape": 2, "scale": [1, 0]}, "scale must be positive"),
        ({"lower": ca.SX.sym("q")}, "number"),
    ],
)
def test_bad_numbers_name_the_variable(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        declared("thickness", **options)
    assert "thickness" in str(caught.value)


def test_contradictory_bounds_name_the_element() -> None:
    with pytest.raises(ModelError, match=r"'w\[1\]'"):
        declared("w", shape=3, lower=[0, 5, 0], upper=1)


def test_names_are_unique() -> None:
    model = Model()
    model.variable("x")
    with pytest.raises(ModelError, match="'x' exists already"):
        model.variable("x", shape=2)
    assert model.n_variables == 1


def test_a_refused_variable_leaves_no_trace() -> None:
    model = Model()
    with pytest.raises(ModelError):
        model.variable("x", lower=2, upper=1)
    model.variable("x", lower=1, upper=2)
    assert model.element_names() == ["x"]


@pytest.mark.parametrize("symbols", ["DM", "sx", None, ca.SX])
def test_bad_kind_of_symbols(symbols: Any) -> None:
    with pytest.raises(ModelError, match="one of SX, MX"):
        Model(symbols=symbols)


def test_model_error_is_an_archeng_error_and_a_value_error() -> None:
    with pytest.raises(ArchengError):
        declared("")
    with pytest.raises(ValueError, match="non-empty name"):
        declared("")


def test_symbols_are_stacked_in_declaration_order() -> None:
    model = Model()
    b = model.variable("b", shape=(2, 2))
    a = model.variable("a")
    function = ca.Function("f", [model.symbols], [b, a])
    matrix, scalar = function([1, 2, 3, 4, 5])
    np.testing.assert_array_equal(matrix.full(), [[1, 3], [2, 4]])
    assert float(scalar) == 5


# -- objective -----------------------------------------


def test_objective_is_a_function_of_the_flat_vector() -> None:
    model = Model()
    x = model.variable("x", shape=2)
    assert not model.has_objective
    model.set_objective(x[0] - 3 * x[1])
    assert model.has_objective
    assert model.objective_function()([5.0, 1.0]) == 2.0


@pytest.mark.parametrize("bad", [3, "x", None])
def test_objective_must_be_symbolic(bad: Any) -> None:
    with pytest.raises(ModelError, match="scalar expression"):
        Model().set_objective(bad)


def test_objective_must_be_scalar() -> None:
    model = Model()
    x = model.variable("x", shape=2)
    with pytest.raises(ModelError, match="scalar expression"):
        model.set_objective(x)


@pytest.mark.parametrize("foreign", [ca.SX.sym("q"), ca.MX.sym("q")])
def test_objective_of_foreign_symbols_is_refused(foreign: Any) -> None:
    model = Model("m")
    model.variable("x")
    with pytest.raises(ModelError):
        model.set_objective(foreign**2)


def test_no_objective() -> None:
    with pytest.raises(ModelError, match="'beam' has no objective"):
        Model("beam").objective_function()
