"""Naming the independent variables, in models and in whatever is imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import casadi as ca
import pyomo.environ as pyo
import pytest

import archeng
from archeng.errors import JournalError, ModelError
from archeng.model import Model, differences, from_data, to_data


def make(kind: str = "SX") -> tuple[Model, Any, Any, Any]:
    model = Model("mixer", symbols=kind)
    t = model.variable("t", lower=1, upper=5)
    w = model.variable("w", lower=[0, 0, 2], upper=[1, 1, 2], shape=3)
    m = model.variable("M", lower=0, upper=1, shape=(2, 2))
    p = model.parameter("load", 1.5)
    model.subject_to(w[0] + w[1] == 0.1 * p * t, name="balance")
    return model, t, w, m


def named(model: Model) -> list[str]:
    return [model.element_names()[i] for i in model.independents]


# -- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_symbols_entries_and_parts(kind: str) -> None:
    model, t, w, m = make(kind)
    assert model.independents == ()
    model.independent(t)
    assert named(model) == ["t"]
    model.independent(w[1], m[0, 1])
    model.independent(t, w[1])  # again: nothing new
    assert named(model) == ["t", "w[1]", "M[0,1]"]
    model.independent(m[:, 0])
    assert named(model) == ["t", "w[1]", "M[0,0]", "M[1,0]", "M[0,1]"]


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_a_vector_is_named_without_its_fixed_entries(kind: str) -> None:
    model, _, w, _ = make(kind)
    model.independent(w)
    assert named(model) == ["w[0]", "w[1]"]


def test_names() -> None:
    model, *_ = make()
    model.independent("w", "M[1,1]")
    assert named(model) == ["w[0]", "w[1]", "M[1,1]"]
    model.independent(["t"])
    assert named(model)[0] == "t"


def test_rows_of_tables_and_integers() -> None:
    model = Model("frame")
    section = model.catalogue("section", [{"name": "a", "A": 1.0}, {"name": "b", "A": 2.0}])
    n = model.integer("n", lower=1, upper=4)
    model.independent(section, n)
    assert named(model) == ["section", "n"]


@pytest.mark.parametrize("kind", ["SX", "MX"])
@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda m, t, w, M: 2 * t, "is a formula, not a variable"),
        (lambda m, t, w, M: t + w[0], "is a formula"),
        (lambda m, t, w, M: -w, "is a formula"),
        (lambda m, t, w, M: type(t)(0.0), "is a formula"),
        (lambda m, t, w, M: type(t).sym("t"), "is not a variable of the model"),
        (lambda m, t, w, M: m.parameter_symbols, "is not a variable of the model"),
        (lambda m, t, w, M: 3, "3 is not a variable of the model"),
        (lambda m, t, w, M: None, "None is not a variable"),
        (lambda m, t, w, M: w[2], "'w\\[2\\]' is fixed at 2"),
        (lambda m, t, w, M: "w[2]", "'w\\[2\\]' is fixed at 2"),
        (lambda m, t, w, M: "wx", "no variable 'wx'"),
        (lambda m, t, w, M: "", "no variable ''"),
        (lambda m, t, w, M: "T", "It has t, w"),
        (lambda m, t, w, M: "load", "no variable 'load'"),
    ],
)
def test_what_is_no_free_variable_is_refused(kind: str, what: Any, words: str) -> None:
    model, t, w, m = make(kind)
    with pytest.raises(ModelError, match=words):
        model.independent(t, what(model, t, w, m))
    assert model.independents == ()


def test_symbols_of_another_kind_are_refused() -> None:
    model, *_ = make("MX")
    with pytest.raises(ModelError, match="is a formula"):
        model.independent(ca.SX(1.0))


def test_they_stay_with_other_parameters_and_further_variables() -> None:
    model, t, _, _ = make()
    model.independent(t)
    model.variable("later", lower=0, upper=1)
    other = model.with_parameters(load=2.0)
    assert named(model) == named(other) == named(model.relaxed()) == ["t"]
    other.independent("later")
    assert named(model) == ["t"]


# -- stored ---------------------------------------------------------------------------------------


def stored(model: Model) -> Any:
    return json.loads(json.dumps(to_data(model)))


def test_stored_models_have_them() -> None:
    model, t, w, _ = make()
    plain = stored(model)
    assert "independents" not in plain  # journals of older versions look like this
    assert from_data(plain).independents == ()
    model.independent(w[1], t)
    data = stored(model)
    assert named(from_data(data)) == ["t", "w[1]"]
    assert differences(data, data) == []
    assert differences(plain, data) == ["independent variables: none became ['t', 'w[1]']"]
    assert differences(data, plain) == ["independent variables: ['t', 'w[1]'] became none"]


@pytest.mark.parametrize("bad", [[99], [-1], ["t"], [8], 3])
def test_damaged_data_are_refused(bad: Any) -> None:
    model, t, _, _ = make()
    model.independent(t)
    with pytest.raises(ModelError):
        from_data({**stored(model), "independents": bad})


def run(model: Any, path: Path, **options: Any) -> archeng.Result:
    return archeng.solve(
        model, lambda d: (d["a"] - 0.3) ** 2 + d["b"], max_evaluations=4, seed=1, journal=path,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_a_run_goes_on_with_the_same_choice_only(kind: str, tmp_path: Path) -> None:
    def blend(*names: str) -> Model:
        model = Model("blend", symbols=kind)
        a, b = (model.variable(x, lower=0, upper=1) for x in "ab")
        model.subject_to(a + b == 1, name="fractions")
        model.independent(*names)
        return model

    path = tmp_path / "run.db"
    run(blend("a"), path)
    more: dict[str, Any] = {"max_evaluations": 6}
    for other in (blend("b"), blend(), blend("a", "b")):
        with pytest.raises(JournalError, match="independent variables: \\['a'\\] became"):
            archeng.resume(path, lambda d: d["a"], model=other, **more)
    result = archeng.resume(path, lambda d: d["a"], model=blend("a"), **more)
    assert result.nfev == 6


def test_a_run_of_a_pyomo_model_goes_on(tmp_path: Path) -> None:
    m = pyo.ConcreteModel("blend")
    m.a, m.b = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.fractions = pyo.Constraint(expr=m.a + m.b == 1)
    path = tmp_path / "run.db"
    run(m, path, independent=[m.a])
    result = archeng.resume(path, lambda d: d["a"], model=m, max_evaluations=6)
    assert result.nfev == 6
    with pytest.raises(archeng.errors.SettingsError, match="keeps that of its journal"):
        archeng.resume(path, lambda d: d["a"], independent=["a"])


# -- imported -------------------------------------------------------------------------------------


def flowsheet() -> Any:
    m = pyo.ConcreteModel("plant")
    m.u = pyo.Var(bounds=(0, 1))
    m.v = pyo.Var([1, 2, 3], bounds=(0, 1))
    m.b = pyo.Block()
    m.b.x = pyo.Var(bounds=(0, 4))
    m.v[2].fix(0.5)
    m.balance = pyo.Constraint(expr=m.u + m.v[1] + m.v[3] == m.b.x)
    m.goal = pyo.Objective(expr=(m.u - 0.2) ** 2 + m.b.x)
    return m


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (lambda m: [m.u], ["u"]),
        (lambda m: [m.v], ["v[1]", "v[3]"]),
        (lambda m: [m.v[3], m.b.x], ["v[3]", "b.x"]),
        (lambda m: (m.v[:], "u"), ["u", "v[1]", "v[3]"]),
        (lambda m: ["v"], ["v[1]", "v[3]"]),
        (lambda m: {"b.x"}, ["b.x"]),
        (lambda m: [], []),
        (lambda m: None, []),
    ],
)
def test_pyomo(choice: Any, names: list[str]) -> None:
    m = flowsheet()
    assert named(archeng.from_pyomo(m, independent=choice(m))) == names


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (lambda m: [m.balance], "is not a variable of Pyomo model 'plant'"),
        (lambda m: [m.u + 1], "is not a variable of Pyomo model"),
        (lambda m: [flowsheet().u], "independent: u is not a variable of Pyomo model"),
        (lambda m: [m.b], "is not a variable of Pyomo model"),
        (lambda m: [7], "7 is not a variable"),
        (lambda m: [m.v[2]], "'v\\[2\\]' is fixed at 0.5"),
        (lambda m: ["x"], "no variable 'x'"),
        (lambda m: m.u, "independent must be a list"),
        (lambda m: m.v, "independent must be a list"),
        (lambda m: "u", "independent must be a list"),
    ],
)
def test_what_is_no_variable_of_pyomo_is_refused(choice: Any, words: str) -> None:
    m = flowsheet()
    with pytest.raises(ModelError, match=words):
        archeng.from_pyomo(m, independent=choice(m))


def test_what_a_black_box_computes_is_not_independent() -> None:
    m = pyo.ConcreteModel("boxed")
    m.f = pyo.ExternalFunction(function=lambda a: a**2, gradient=lambda a, _: [2 * a[0]])
    m.a, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 9))
    m.law = pyo.Constraint(expr=m.y == m.f(m.a))
    m.goal = pyo.Objective(expr=m.y)
    assert named(archeng.from_pyomo(m, independent=[m.a])) == ["a"]
    for name in (m.y, "y"):
        with pytest.raises(ModelError, match="an equality defines it by outputs"):
            archeng.from_pyomo(m, independent=[name])


def test_the_pyomo_solver_and_solve_take_them() -> None:
    m = flowsheet()
    options = {"max_evaluations": 10, "seed": 1, "independent": [m.u, m.v]}
    assert archeng.solve(m, **options).fun < 1
    assert pyo.SolverFactory("archeng").solve(m, options=options).archeng.fun < 1
    assert archeng.diagnose(m, independent=["u"]).feasible
    with pytest.raises(ModelError, match=r"Write model\.independent"):
        archeng.solve(archeng.from_pyomo(m), independent=["u"])


def test_opti_and_nlp() -> None:
    opti = ca.Opti()
    x, y = opti.variable(2), opti.variable()
    opti.subject_to(x[0] + x[1] == y)
    opti.subject_to(opti.bounded(0, x, 1))
    options: dict[str, Any] = {"scale": 1.0}
    assert named(archeng.from_opti(opti, independent=[x[1]], **options)) == ["x_1[1]"]
    given = {"names": ["x", "y"], "independent": ["x"]}
    assert named(archeng.from_opti(opti, **given, **options)) == ["x[0]", "x[1]"]
    with pytest.raises(ModelError, match="is a formula"):
        archeng.from_opti(opti, independent=[x[0] + 1], **options)
    s = ca.SX.sym("s", 3)
    nlp = {"x": s, "g": s[0] + s[1] - s[2]}
    box: dict[str, Any] = {"lbx": 0, "ubx": 1, "lbg": 0, "ubg": 0}
    assert named(archeng.from_nlp(nlp, independent=[s[2]], **box)) == ["s_2"]
    assert named(archeng.from_nlp(nlp, independent=["s_0"], **box)) == ["s_0"]


def test_nl_files(tmp_path: Path) -> None:
    m = flowsheet()
    file = tmp_path / "plant.nl"
    m.write(str(file), io_options={"symbolic_solver_labels": True})
    assert named(archeng.from_nl(file, independent=["v", "b.x"])) == ["b.x", "v[1]", "v[3]"]
    with pytest.raises(ModelError, match="no variable 'flow'"):
        archeng.from_nl(file, independent=["flow"])
