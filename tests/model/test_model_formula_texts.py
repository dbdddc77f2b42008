"""Formulas as text: with the names that the engineer gave, also those of parameters."""

from __future__ import annotations

import casadi as ca
import pytest

from archeng import Model
from archeng.model import compile_model, formulas_of, from_data, to_data

KINDS = pytest.mark.parametrize("symbols", ["SX", "MX"])


@KINDS
def test_names_of_other_alphabets(symbols: str) -> None:
    """CasADi's own names of both variables are the same: `L_nge`."""
    model = Model("m", symbols=symbols)
    a = model.variable("Länge", lower=1, upper=2)
    b = model.variable("Lünge", lower=1, upper=2)
    z = model.output("σ max [MPa]")
    model.minimize(3 * a - b / z)
    model.subject_to(z * b <= a, name="c")
    objective, (row,) = formulas_of(model)
    assert objective == "(3*Länge)-(Lünge/σ max [MPa])"
    assert row.text == "(σ max [MPa]*Lünge)-Länge"


@KINDS
def test_entries_of_vectors_and_matrices(symbols: str) -> None:
    model = Model("m", symbols=symbols)
    w = model.variable("w", shape=2, lower=1, upper=2)
    z = model.output("Z", shape=(2, 2))
    p = model.parameter("p", [3.0, 4.0])
    model.minimize(w[1] * z[0, 1] + p[0])
    model.subject_to(z[:, 0] <= p, name="c")
    objective, rows = formulas_of(model)
    assert objective == "(w[1]*Z[0,1])+p[0]"
    assert [row.text for row in rows] == ["Z[0,0]-p[0]", "Z[1,0]-p[1]"]


def test_parameters_have_their_names_and_the_formula_their_values() -> None:
    model = Model("m")
    x = model.variable("x", lower=1, upper=2)
    load = model.parameter("load", 12e3)
    z = model.output("z")
    model.minimize(load * z + x)
    model.subject_to(z <= load, name="c")
    formulas = compile_model(model.with_parameters(load=5.0)).formulas
    assert formulas is not None
    assert (formulas.objective, formulas.rows[0].text) == ("(load*z)+x", "z-load")
    f, c = formulas.at(compile_model(model).box()[0], ca.DM(2).full()[0])
    assert (f, c.tolist()) == (11.0, [-3.0])


def test_a_stored_model_has_the_same_texts() -> None:
    model = Model("m", symbols="MX")
    x = model.variable("Größe", shape=2, lower=1, upper=2)
    z = model.output("z")
    model.minimize(ca.sumsqr(x) * z, name="Kosten")
    data = to_data(model)
    assert data is not None
    assert formulas_of(from_data(data)) == formulas_of(model)
    assert from_data(data).objective_name == "Kosten"


def test_functions_of_mx_are_shown_by_their_names() -> None:
    model = Model("m", symbols="MX")
    x = model.variable("Höhe", shape=2, lower=0, upper=2)
    table = ca.interpolant("price", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
    model.minimize(table(x[1]) + model.output("z"))
    objective, _ = formulas_of(model)
    assert "price(Höhe[1])" in objective


def test_long_formulas_are_cut() -> None:
    model = Model("m")
    x = model.variable("a_long_name", shape=30, lower=0, upper=1)
    model.minimize(ca.sum1(x) + model.output("z"))
    objective, _ = formulas_of(model)
    assert len(objective) == 120
    assert objective.endswith("...")


def test_print_shows_them() -> None:
    model = Model("m")
    x = model.variable("x", lower=0, upper=1)
    z = model.output("z")
    model.subject_to(x * z >= 2, name="c", source="a.py:3")
    model.maximize(z - x, name="gain")
    lines = [" ".join(line.split()) for line in str(model).splitlines()]
    assert "c 2 - x*z a.py:3" in lines
    assert lines[-1] == "maximize gain = z-x"
