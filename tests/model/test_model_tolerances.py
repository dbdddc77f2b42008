"""Default tolerances of equalities: relative to their rows, whatever the units."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import ModelError
from archeng.model import DEFAULT_SHARE, Model, compile_model, from_data, refuse_wide, to_data
from archeng.model.compile import FeasibleSet


def bar(unit: float = 1.0, symbols: str = "SX", **options: Any) -> Model:
    """Return a bar with a prescribed second moment of area; ``unit`` is one metre."""
    model = Model("bar", symbols=symbols)
    b = model.variable("b", lower=0.005 * unit, upper=0.05 * unit)
    h = model.variable("h", lower=0.005 * unit, upper=0.05 * unit)
    model.subject_to(b * h**3 / 12 == 2e-8 * unit**4, name="inertia", **options)
    return model


def half(model: Model, row: int = 0) -> float:
    widths = [w for c in model.constraints for w in c.widths()]
    return float(widths[row])


def scaled_row(factor: float, row: Callable[[Any, Any], Any]) -> Model:
    model = Model()
    x, y = model.variable("x", lower=1, upper=4), model.variable("y", lower=-1, upper=2)
    model.subject_to(factor * row(x, y) == 3 * factor)
    return model


# -- how large it is -------------------------------------------------------------------------


def test_of_a_linear_row_it_is_a_share_of_its_change_over_one_deviation() -> None:
    model = Model()
    x, y = model.variable("x", lower=0, upper=10), model.variable("y", scale=0.5, start=3)
    model.subject_to(3 * x - 4 * y == 1)
    assert half(model) == pytest.approx(DEFAULT_SHARE * np.hypot(3 * 2, 4 * 0.5), rel=0.01)


@pytest.mark.parametrize("symbols", ["SX", "MX"])
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-6])
def test_it_means_the_same_in_other_units(unit: float, symbols: str) -> None:
    share = half(bar(unit, symbols)) / (2e-8 * unit**4)
    assert 1e-8 < share < 1e-6
    assert share == pytest.approx(half(bar()) / 2e-8, rel=0.02)


@pytest.mark.parametrize("factor", [1e-12, 2.0**-7, 1e5, 1e12])
@pytest.mark.parametrize(
    "row",
    [lambda x, y: x + y, lambda x, y: x * ca.exp(y), lambda x, y: x**3 - ca.sin(y)],
)
def test_a_row_times_a_constant_has_a_tolerance_times_it(factor: float, row: Any) -> None:
    ratio = half(scaled_row(factor, row)) / half(scaled_row(1.0, row))
    assert ratio == pytest.approx(factor, rel=0.02)


def test_a_row_that_changes_by_orders_of_magnitude_is_measured_where_it_holds() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    model.subject_to(ca.exp(3 * x) == 20)  # its change in the middle of the box is 10^6 times more
    assert half(model) == pytest.approx(DEFAULT_SHARE * 20 * 3 * 2, rel=0.05)


def test_it_stays_above_the_rounding_errors() -> None:
    model = Model()
    x, y = (model.variable(n, lower=1e9, upper=1e9 + 1e-3) for n in "xy")
    model.subject_to(x == y, name="equal")
    fs = compile_model(model)
    noise = fs.rounding_noise(np.full(2, 1e9))[-1]
    assert half(model) > 32 * noise


def test_each_row_of_a_vector_has_its_own() -> None:
    model = Model()
    x = model.variable("x", shape=2, lower=0, upper=[1, 1000])
    model.subject_to(x == [0.5, 500])
    small, large = (half(model, i) for i in range(2))
    assert large == pytest.approx(1000 * small, rel=0.01)


def test_bounds_that_are_written_as_rows_count_as_bounds() -> None:
    opti = ca.Opti()
    x, y = opti.variable(), opti.variable()
    opti.subject_to(opti.bounded(-10, x, 10))
    opti.subject_to(-y <= 5)
    opti.subject_to(y <= 5)
    opti.subject_to(x + y == 1)
    model = archeng.from_opti(opti)
    assert half(model, 3) == pytest.approx(DEFAULT_SHARE * np.hypot(4, 2), rel=0.01)


@pytest.mark.parametrize(
    "row",
    [
        lambda x: (x - 1) ** 2,  # flat where it holds
        lambda x: ca.log(x - 1.9),  # undefined at most points
        lambda x: ca.floor(x),  # flat
        lambda x: 0 * x + ca.fmax(0, x - 5),  # zero everywhere in the box
    ],
)
def test_odd_rows_have_a_tolerance_too(row: Any) -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=2)
    model.subject_to(row(x), lower=0, upper=0)
    assert 0 < half(model) < 1e-4


def test_a_constant_row_may_be_wrong_by_rounding() -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    a, b = (model.variable(n, lower=v, upper=v) for n, v in (("a", 0.1), ("b", 0.2)))
    model.subject_to(a + b == 0.3)  # 0.30000000000000004
    assert compile_model(model).m == 1


# -- where it is seen and kept -----------------------------------------------------------------


def test_the_model_table_shows_it() -> None:
    model = bar()
    assert f"2e-08 +- {half(model):.3g}" in str(model)


def test_the_compiled_model_and_the_violations_use_it() -> None:
    model = bar()
    fs = compile_model(model)
    width = half(model)
    assert (fs.lower[-1], fs.upper[-1]) == (2e-8 - width, 2e-8 + width)
    entry = model.violations({"b": 0.03, "h": 0.02})["inertia"]
    assert (entry.lower, entry.upper) == (fs.lower[-1], fs.upper[-1])


def test_it_is_stored_with_the_model() -> None:
    data = json.loads(json.dumps(to_data(bar())))
    (stored,) = data["constraints"]
    assert stored["tolerance"] is None
    stored["half_widths"] = [3e-15]  # as another machine, or version, may have found it
    again = from_data(data)
    assert half(again) == 3e-15
    assert json.loads(json.dumps(to_data(again))) == data


@pytest.mark.parametrize("wrong", [[1e-9, 1e-9], [-1e-9], [float("inf")], ["a"], [None]])
def test_damaged_tolerances_are_refused(wrong: Any) -> None:
    data = json.loads(json.dumps(to_data(bar())))
    data["constraints"][0]["half_widths"] = wrong
    with pytest.raises(ModelError):
        from_data(data)


# -- tolerances that are too wide ----------------------------------------------------------------


def compiled(row: Any, **options: Any) -> FeasibleSet:
    model = Model()
    x, y = model.variable("x", lower=0, upper=2), model.variable("y", lower=0, upper=1)
    model.subject_to(row(x, y), name="row", **options)
    return compile_model(model)


def test_a_tolerance_wider_than_the_row_is_refused_before_any_call() -> None:
    calls: list[Any] = []
    with pytest.raises(ModelError, match=r"inertia.*1e-06 is wider.*5\.2\d*e-11 to 5\.2\d*e-07"):
        archeng.solve(bar(tolerance=1e-6), calls.append, max_evaluations=5)
    assert not calls
    with pytest.raises(ModelError, match="wider"):
        archeng.sample_feasible(bar(tolerance=1e-6), 2)


@pytest.mark.parametrize(
    ("row", "tolerance", "wide"),
    [
        (lambda x, y: x + y == 1.5, 1.0, False),
        (lambda x, y: x + y == 1.5, 1.5, True),  # holds everywhere
        (lambda x, y: x + y == 5, 2.5, False),
        (lambda x, y: x + y == 5, 3.0, True),  # wider than all that it changes
        (lambda x, y: x * ca.exp(y) == 3, 1.0, False),
        (lambda x, y: x * ca.exp(y) == 3, 3.1, True),
        (lambda x, y: ca.fmax(0, x - 1.99) == 0, 1e-6, False),  # flat nearly everywhere
    ],
)
def test_what_is_too_wide(row: Any, tolerance: float, wide: bool) -> None:
    fs = compiled(row, tolerance=tolerance)
    if wide:
        with pytest.raises(ModelError, match=r"row.*wider than what the row can change"):
            refuse_wide(fs)
    else:
        refuse_wide(fs)


def test_a_row_of_an_unbounded_variable_can_change_without_limit() -> None:
    model = Model()
    x = model.variable("x", start=0, scale=1)
    model.subject_to(ca.sin(x) == 0, tolerance=100)
    refuse_wide(compile_model(model))


# -- runs ------------------------------------------------------------------------------------------


def test_a_small_equality_holds_in_a_run() -> None:
    result = archeng.solve(bar(), lambda d: d["b"] * d["h"], seed=1, max_evaluations=60)
    design = result.design
    assert design["b"] * design["h"] ** 3 / 12 == pytest.approx(2e-8, rel=1e-6)
    assert result.fun == pytest.approx(0.005 * (12 * 2e-8 / 0.005) ** (1 / 3), rel=1e-5)


def test_balances_of_small_flows_hold_in_a_run() -> None:
    model = Model("dosing")
    q = [model.variable(f"q{i}", lower=0, upper=5e-7) for i in range(3)]
    model.subject_to(q[0] + q[1] == q[2])
    model.subject_to(q[2] == 3e-7)
    result = archeng.solve(model, lambda d: d["q0"] ** 2 + 2 * d["q1"] ** 2, seed=1)
    np.testing.assert_allclose(result.x, [2e-7, 1e-7, 3e-7], rtol=1e-3)


def test_limits_have_as_many_digits_as_values() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    model.subject_to(x == 5, name="five", tolerance=1e-6)
    assert "5.000001" in str(model.violations([5.000001]))
    value, low, high = str(model.violations([5.000001])).splitlines()[-1].split()[1:4]
    assert float(low) <= float(value) <= float(high)


def test_bounds_that_mean_none_do_not_make_an_equality_void() -> None:
    """1e20 is how many programs write infinity; a tolerance of 1e-7 of it would be no limit."""
    model = Model("wide")
    x = model.variable("x", lower=-1e20, upper=1e20)
    model.subject_to(3 * x == 6, name="two")
    y = model.variable("y", lower=-1e20, upper=1e20)
    model.subject_to(x * y + y**2 == 7, name="curved")
    assert 0 < half(model, 0) < 1e-4
    assert 0 < half(model, 1) < 1e-4
