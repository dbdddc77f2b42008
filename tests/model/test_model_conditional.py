"""Rows with ``when=``: exact where they are in force, absent elsewhere, relaxed in between."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.errors import ModelError
from archeng.model import compile_model, differences, from_data, serialized, to_data
from archeng.model.ranges import range_of

STEELS = {"S355": {"E": 210.0}, "Al": {"E": 70.0}, "Ti": {"E": 110.0}}


def beam(symbols: str = "SX") -> Model:
    """Real x and y, a binary, a category and an integer, with conditions of all kinds."""
    model = Model("beam", symbols=symbols)
    x = model.variable("x", lower=-2, upper=3)
    y = model.variable("y", lower=0, upper=4)
    b = model.binary("stiffener")
    material = model.category("material", STEELS)
    n = model.integer("bolts", lower=0, upper=5)
    model.subject_to(ca.sqrt(x) <= 1, when=b, name="root")
    model.subject_to(x + 2 * y <= 3, when=1 - b, name="line")
    model.subject_to(x * y == 1, when=material.is_("Al"), name="hyperbola")
    model.subject_to(x - y, lower=-1, upper=2, when=b * material.is_("S355"), name="band")
    model.subject_to(n + y <= 4, when=n >= 2, name="many")
    both = ca.vertcat(b, 1 - b)
    model.subject_to(ca.vertcat(x, y) <= ca.vertcat(1, 2), when=both, name="each")
    return model


def holds(model: Model, design: np.ndarray) -> bool:
    """The meaning of the model above, in plain Python."""
    x, y, b, material, n = design.tolist()
    width = next(c for c in model.constraints if c.name == "hyperbola").half_widths[0]
    answer = [y <= 2] if b == 0 else [x <= 1, x >= 0 and x**0.5 <= 1]
    answer += [x + 2 * y <= 3] if b == 0 else []
    answer += [abs(x * y - 1) <= width] if material == 1 else []
    answer += [-1 <= x - y <= 2] if b == 1 and material == 0 else []
    answer += [n + y <= 4] if n >= 2 else []
    return all(answer)


def designs(count: int) -> Any:
    rng = np.random.default_rng(0)
    for _ in range(count):
        x, y = rng.uniform(-2, 3), rng.uniform(0, 4)
        design = np.array([x, y, rng.integers(2), rng.integers(3), rng.integers(6)], dtype=float)
        if design[3] == 1 and x > 0.3 and rng.random() < 0.7:
            design[1] = 1 / x
        yield design


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_gate_and_tables_have_the_meaning_of_the_model(symbols: str) -> None:
    model = beam(symbols)
    fs = compile_model(model)
    count = {True: 0, False: 0}
    for design in designs(3000):
        expected = holds(model, design)
        count[expected] += 1
        assert fs.is_feasible(design) == expected
        assert (fs.violations(design).max() == 0) == expected
        assert (model.violations(design).maximum == 0) == expected
    assert min(count.values()) > 200


def test_rows_in_force_have_their_own_values_to_the_last_bit() -> None:
    model = beam()
    fs = compile_model(model)
    names = [row.name for row in fs.rows]
    for design in itertools.islice(designs(3000), 500):
        x, y, b, material, n = design.tolist()
        values = dict(zip(names, fs.values(design), strict=True))
        if b == 0:
            assert values["line"] == x + 2 * y
        if material == 1:
            assert values["hyperbola (upper)"] == values["hyperbola (lower)"] == x * y
        if n >= 2:
            assert values["many"] == n + y


def test_linear_rows_with_linear_conditions_stay_linear() -> None:
    fs = compile_model(beam())
    kinds = {row.name: row.kind.value for row in fs.rows}
    assert kinds["line"] == kinds["each[0]"] == kinds["each[1]"] == "linear"
    assert kinds["root"] == "nonlinear"
    assert not any(row.equality for row in fs.rows)


def test_undefined_rows_that_are_not_in_force_have_finite_values_and_derivatives() -> None:
    model = beam()
    fs = compile_model(model)
    x = np.array([-1.5, 0.5, 0, 0, 1])
    values, jacobian = fs.values_and_jacobian(x)
    assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(jacobian))
    assert np.all(np.isfinite(fs.hessian(x, np.ones(fs.m))))
    row = model.violations(x)["root"]
    assert np.isnan(row.value)
    assert row.violation == 0
    shown = dict(zip((r.name for r in fs.rows), fs.shown_values(x), strict=True))
    assert np.isnan(shown["root"])
    assert shown["line"] == -0.5
    x[2] = 1
    assert not fs.is_feasible(x)


def test_a_relaxation_holds_with_any_condition_that_is_met_in_part() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    b = model.binary("b")
    model.subject_to(x <= 2, when=b)
    fs = compile_model(model)
    assert fs.holds(fs.values(np.array([10.0, 0.0])))
    assert fs.holds(fs.values(np.array([5.9, 0.5])))
    assert not fs.holds(fs.values(np.array([6.1, 0.5])))


@pytest.mark.parametrize("fixed", [0, 1])
def test_a_condition_that_is_fixed_drops_its_row_or_makes_it_an_ordinary_one(fixed: int) -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    y = model.variable("y", lower=0, upper=10)
    b = model.binary("b")
    model.subject_to(b == fixed if fixed else b <= 0)
    model.subject_to(x * y == 2, when=b, name="equal")
    if fixed:
        model = Model()
        x = model.variable("x", lower=0, upper=10)
        y = model.variable("y", lower=0, upper=10)
        b = model.choice("b", [1])
        model.subject_to(x * y == 2, when=b, name="equal")
    fs = compile_model(model)
    rows = {row.name: row.equality for row in fs.rows}
    if fixed:
        assert rows["equal"] is True
    else:
        assert "equal" not in rows
        assert any("condition is never met" in note for note in fs.notes)


def test_default_tolerances_are_those_of_the_row_itself() -> None:
    def width(**options: Any) -> float:
        model = Model()
        x = model.variable("x", lower=0, upper=10)
        y = model.variable("y", lower=0, upper=10)
        b = model.binary("b")
        more = {"when": b} if options else {}
        model.subject_to(x**2 + 3 * y == 7, **more)
        return model.constraints[0].half_widths[0]

    assert width() == width(when=True) > 0


def test_feasible_sets_with_conditions_can_be_sent() -> None:
    fs = compile_model(beam())
    again = pickle.loads(pickle.dumps(fs))
    for design in itertools.islice(designs(20), 20):
        np.testing.assert_array_equal(fs.values(design), again.values(design))
        np.testing.assert_array_equal(fs.shown_values(design), again.shown_values(design))


def test_bounds_in_conditional_rows_are_no_bounds() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    b = model.binary("b")
    model.subject_to(x <= 2, when=b)
    assert compile_model(model).box()[1].tolist() == [10, 1]


def test_parameters_change_conditional_rows() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    p = model.parameter("limit", 3.0)
    b = model.binary("b")
    model.subject_to(x <= p, when=b)
    for value in (3.0, 8.0):
        fs = compile_model(model.with_parameters(limit=value))
        assert fs.is_feasible(np.array([value, 1.0]))
        assert not fs.is_feasible(np.array([value + 0.1, 1.0]))
        assert fs.is_feasible(np.array([10.0, 0.0]))


# -- simulated ------------------------------------------------------------------------------------


def test_simulated_rows_hold_where_their_condition_is_not_met() -> None:
    model = Model("plate")
    x = model.variable("x", lower=0, upper=10)
    b = model.binary("b")
    stress = model.output("stress")
    model.subject_to(stress <= 5, when=b, name="strength")
    model.subject_to(stress * x == 4, when=b, tolerance=0.1, name="balance")
    model.subject_to(stress >= 1, name="always")
    model.minimize(stress + x)
    text = str(model)
    assert "stress when b" in text
    fs = compile_model(model)
    assert fs.formulas is not None
    rows = {row.name: k for k, row in enumerate(fs.formulas.rows)}

    def violated(design: list[float], z: float) -> set[str]:
        _, values = fs.formulas.at(np.array(design), np.array([z]))  # type: ignore[union-attr]
        limits = fs.formulas.rows  # type: ignore[union-attr]
        return {
            name for name, k in rows.items() if not limits[k].lower <= values[k] <= limits[k].upper
        }

    assert violated([1, 1], 9) == {"strength", "balance"}
    assert violated([1, 0], 9) == set()
    assert violated([1, 1], 4) == set()
    assert violated([1, 0], 0) == {"always"}


def test_a_condition_may_not_hold_outputs_or_parameters() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    z, p = model.output("z"), model.parameter("p", 1.0)
    for wrong in (z, p):
        with pytest.raises(ModelError, match="must hold variables of the model, and only these"):
            model.subject_to(x <= 1, when=wrong)


# -- stored and shown ------------------------------------------------------------------------------


def test_conditions_are_stored_compared_and_shown() -> None:
    model = beam()
    data = to_data(model)
    assert data is not None
    again = from_data(json.loads(json.dumps(data)))
    assert to_data(again) == data
    assert str(again) == str(model)
    for part in ("when stiffener", "when 1-stiffener", "when material is 'Al'", "when 2<=bolts"):
        assert part in str(model)
    assert "when stiffener*(material is 'S355')" in str(model)
    first, second = compile_model(model), compile_model(again)
    for design in itertools.islice(designs(50), 50):
        np.testing.assert_array_equal(first.values(design), second.values(design))

    def changed(when: Any) -> Model:
        other = Model("m")
        x = other.variable("x", lower=0, upper=1)
        b, c = other.binary("b"), other.binary("c")
        options = {} if when is None else {"when": (b, c)[when]}
        other.subject_to(x <= 0.5, name="row", **options)
        return other

    stored: list[Any] = [to_data(changed(k)) for k in (None, 0, 1)]
    for old, new in itertools.permutations(stored, 2):
        assert differences(old, new) == ["constraint 'row', condition"]
    assert len({serialized(changed(k)) for k in (None, 0, 1)}) == 3
    assert "when" not in stored[0]["constraints"][0]


def test_damaged_conditions_are_told() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=1)
    b = model.binary("b")
    model.subject_to(x <= 0.5, when=b)
    for wrong in ([], [0, 0], ["a"], [10**6]):
        data: Any = to_data(model)
        data["constraints"][0]["when"] = wrong
        with pytest.raises(ModelError, match="damaged"):
            from_data(data)


# -- what cannot be a condition --------------------------------------------------------------------


def test_conditions_that_are_none() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    b, n = model.binary("b"), model.integer("n", lower=0, upper=3)
    material = model.category("material", STEELS)
    other = Model().binary("b")
    for wrong, match in (
        (x, "holds the variable 'x', which is not discrete"),
        (n, "is 2 at n = 2; it must be 0 or 1"),
        (b + 1, "is 2 at b = 1"),
        (material, r"use its is_\(\)"),
        (True, "must be a binary of the model"),
        ("b", "must be a binary of the model"),
        (other, "must hold variables of the model"),
        (ca.SX(1), "must hold variables of the model"),
        (ca.vertcat(b, b, b), "when= has 3 elements, the relation has 2"),
        (material["E"], "is 210 at material = S355"),
    ):
        with pytest.raises(ModelError, match=match):
            model.subject_to(ca.vertcat(x, x) <= 1, when=wrong)
    assert model.declared == ()


def test_elements_that_always_hold_keep_the_conditions_of_the_others() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=10)
    b = model.binary("b", shape=2)
    model.subject_to(ca.vertcat(0.0 * x, x) <= 1, when=b)
    fs = compile_model(model)
    assert not fs.is_feasible(np.array([5.0, 0, 1]))
    assert fs.is_feasible(np.array([5.0, 1, 0]))


# -- ranges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: 3 * x - 2 * y + 1,
        lambda x, y: x * y - y**2,
        lambda x, y: ca.exp(x) / (1 + y**2),
        lambda x, y: ca.sqrt(4 + x) * ca.log(5 + y),
        lambda x, y: ca.fabs(x) ** 3 + ca.sin(y) * ca.cos(x),
        lambda x, y: (2 + x) ** 2.5 - 1 / (3 + y),
        lambda x, y: ca.fmax(x, y) - ca.fmin(x, 0) + ca.tanh(y) + ca.atan(x),
        lambda x, y: 2**x + x**4 - x**3,
    ],
)
def test_ranges_hold_all_values(formula: Any) -> None:
    v = ca.SX.sym("v", 2)
    expression = formula(v[0], v[1])
    low, high = np.array([-1.5, -2.0]), np.array([1.0, 2.5])
    least, most = range_of(expression, v, low, high)
    assert np.isfinite(most - least)
    f = ca.Function("f", [v], [expression])
    values = [float(f(low + s * (high - low))) for s in np.random.default_rng(0).random((300, 2))]
    assert least <= min(values)
    assert max(values) <= most
    assert most - least < 20 * (max(values) - min(values))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: ca.sqrt(x),
        lambda x: ca.log(x + 1),
        lambda x: 1 / x,
        lambda x: x**0.5,
        lambda x: x**-2,
        lambda x: ca.exp(1000 * x),
        lambda x: ca.asin(2 * x),
        lambda x: ca.floor(x) / x,
    ],
)
def test_ranges_are_infinite_where_a_formula_may_be_undefined(formula: Any) -> None:
    v = ca.SX.sym("v")
    assert range_of(formula(v), v, np.array([-1.0]), np.array([1.0])) == (-np.inf, np.inf)
    m = ca.MX.sym("v")
    assert range_of(m + 1, m, np.array([-1.0]), np.array([1.0])) == (-np.inf, np.inf)
    w = ca.SX.sym("w")
    assert range_of(w + 1, w, np.array([-1.0]), np.array([np.inf])) == (-np.inf, np.inf)
