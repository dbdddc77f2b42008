"""The kind of a variable is decided in one file: declared, stored, shown, and refused alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import casadi as ca
import pyomo.environ as pyo
import pytest
from pyomo.opt import ProblemFormat

import archeng
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model import from_data, from_scipy, to_data
from archeng.model.domain import REAL, refusal, refused_keywords
from archeng.model.variable import Variable, make_variable

REFUSED = "archeng searches over continuous variables only"


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


def opti() -> archeng.Model:
    problem = ca.Opti()
    problem.set_domain(problem.variable(), "integer")
    return archeng.from_opti(problem)


def pyomo_model() -> Any:
    m = pyo.ConcreteModel()
    m.n = pyo.Var(domain=pyo.Integers, bounds=(1, 5))
    m.c = pyo.Constraint(expr=m.n**2 <= 9)
    m.o = pyo.Objective(expr=m.n)
    return m


def test_all_importers_refuse_other_kinds_in_the_same_words(tmp_path: Path) -> None:
    file = str(tmp_path / "m.nl")
    pyomo_model().write(file, format=ProblemFormat.nl)
    ways = (opti, lambda: archeng.from_pyomo(pyomo_model()), lambda: archeng.from_nl(file))
    for way in ways:
        with pytest.raises(UnsupportedModelError, match=f"variable .*{REFUSED}: fix it or relax"):
            way()
    assert REFUSED in refusal("integer", "anywhere")


def test_keywords_for_other_kinds_are_refused_in_the_same_words() -> None:
    x = ca.SX.sym("x")
    calls = (
        lambda: archeng.Model().variable("n", integer=True),  # type: ignore[call-arg]
        lambda: archeng.from_nlp({"x": x}, discrete=[True]),  # type: ignore[call-arg]
        lambda: from_scipy([1.0], integrality=[1]),  # type: ignore[call-arg]
        lambda: archeng.from_opti(ca.Opti(), discrete=[True]),  # type: ignore[call-arg]
    )
    for call in calls:
        with pytest.raises(ModelError, match=REFUSED):
            call()
    assert all(REFUSED in hint for hint in refused_keywords("do this.").values())
