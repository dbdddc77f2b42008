"""The kind of a variable is decided in one file: declared, stored, shown and imported alike."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import casadi as ca
import pyomo.environ as pyo
import pytest
from pyomo.opt import ProblemFormat

import archeng
from archeng.errors import ModelError
from archeng.model import compile_model, from_data, from_scipy, to_data
from archeng.model.domain import REAL, Kind
from archeng.model.variable import Variable, make_variable


def test_variables_are_real_numbers_by_default_and_say_so() -> None:
    variable = make_variable("t", lower=1, upper=3)
    assert variable.domain is REAL
    assert REAL.violation(0.5, 1.0, 3.0) == 0.5
    assert REAL.violation(2.0, 1.0, 3.0) == 0.0
    assert REAL.violation(float("nan"), 1.0, 3.0) == float("inf")
    assert [REAL.shown(v) for v in (0.1, 5e-324, float("inf"))] == ["0.1", "0", "-"]


def test_data_of_real_variables_are_those_of_earlier_versions() -> None:
    variable = make_variable("w", lower=[0, 1], upper=[2, float("inf")], unit="mm", shape=2)
    data = variable.to_data()
    assert list(data) == ["name", "shape", "lower", "upper", "start", "scale", "unit"]
    again = Variable.from_data(json.loads(json.dumps(data)))
    assert again.to_data() == data
    assert again.domain == REAL


def test_an_unknown_kind_in_a_stored_model_is_damage() -> None:
    model = archeng.Model("m")
    model.variable("x", lower=0, upper=1)
    data: Any = to_data(model)
    data["variables"][0]["domain"] = "colour"
    with pytest.raises(ModelError, match=r"damaged.*colour"):
        from_data(data)


def pyomo_model() -> Any:
    m = pyo.ConcreteModel()
    m.n = pyo.Var(domain=pyo.Integers, bounds=(1, 5))
    m.c = pyo.Constraint(expr=m.n**2 <= 9)
    m.o = pyo.Objective(expr=m.n)
    return m


def opti() -> archeng.Model:
    problem = ca.Opti()
    n = problem.variable()
    problem.set_domain(n, "integer")
    problem.subject_to(problem.bounded(1, n, 5))
    return archeng.from_opti(problem)


def test_all_importers_make_integers_alike(tmp_path: Path) -> None:
    file = str(tmp_path / "m.nl")
    pyomo_model().write(file, format=ProblemFormat.nl)
    x = ca.SX.sym("x")
    ways = (
        opti,
        lambda: archeng.from_pyomo(pyomo_model()),
        lambda: archeng.from_nl(file),
        lambda: archeng.from_nlp({"x": x}, lbx=0.5, ubx=5.7, discrete=[True]),
        lambda: from_scipy([2.2], bounds=[(0.5, 5.7)], integrality=1),
    )
    for way in ways:
        (variable,) = way().variables
        assert variable.domain.kind is Kind.INTEGER
        lattice = compile_model(way()).lattice
        assert lattice is not None
        assert lattice.levels[0].tolist()[0] == 1.0


@pytest.mark.parametrize(
    ("keyword", "method"),
    [
        ("integer", "model.integer()"),
        ("binary", "model.binary()"),
        ("values", "model.choice()"),
        ("domain", "model.integer(), binary(), choice()"),
    ],
)
def test_words_of_other_packages_lead_to_the_method_for_it(keyword: str, method: str) -> None:
    with pytest.raises(ModelError, match=re.escape(f"Use {method}")):
        archeng.Model().variable("n", **{keyword: True})  # type: ignore[arg-type]


def test_importers_say_how_discrete_variables_are_imported() -> None:
    with pytest.raises(ModelError, match=r"imported as their package says it.*set_domain"):
        archeng.from_opti(ca.Opti(), discrete=[True])  # type: ignore[call-arg]
    with pytest.raises(ModelError, match=r"discrete= of an nlp dictionary"):
        archeng.from_nlp({"x": ca.SX.sym("x")}, integer=[0])  # type: ignore[call-arg]
