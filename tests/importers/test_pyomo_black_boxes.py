"""External functions and grey boxes of Pyomo as outputs: what is read, called and eliminated."""

from __future__ import annotations

import logging
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pyomo.environ as pyo
import pytest
from black_box_models import (
    Formula,
    OwnObjective,
    Residuals,
    WithJacobian,
    box,
    reactor,
)
from importer_helpers import base_model, problems, snapshot
from pyomo.contrib.pynumero.interfaces.external_grey_box import ExternalGreyBoxBlock

import archeng
from archeng.errors import ModelError
from archeng.model.pyomo.importer import OUTPUT_TOLERANCE


def names(records: Any) -> list[str]:
    return [record.name for record in records]


def design_of(model: Any, seed: int = 0) -> archeng.Design:
    """Return a random design inside the bounds, or in [0.2, 1.2] where there are none."""
    low = np.array([v.lower[0] if np.isfinite(v.lower[0]) else 0.2 for v in model.variables])
    high = np.array([v.upper[0] if np.isfinite(v.upper[0]) else 1.2 for v in model.variables])
    x = np.random.default_rng(seed).uniform(low, high)
    return archeng.Design(model.variables, x, model.parameters)


def answer(model: Any, design: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """Outputs and gradients of the model's own black boxes."""
    found = model.black_box(design)
    return (found["outputs"], found["gradients"]) if "gradients" in found else (found, {})


def by_differences(model: Any, design: Any, output: str, step: float = 1e-6) -> Any:
    """Gradient of an output by central differences of the black boxes."""
    slopes = []
    for k in range(len(design.x)):
        values = []
        for sign in (1, -1):
            x = design.x.copy()
            x[k] += sign * step
            values.append(answer(model, archeng.Design(model.variables, x, model.parameters))[0])
        slopes.append((values[0][output] - values[1][output]) / (2 * step))
    return np.array(slopes)


# -- external functions ------------------------------------------------------------------------


def test_a_call_is_one_output_however_often_it_is_written() -> None:
    m = base_model()
    m.f = pyo.ExternalFunction(function=lambda a, b: a - 2 * b)
    m.c = pyo.Constraint(expr=m.f(m.x, m.y) + 3 * m.f(m.x, m.y) <= 1)
    m.d = pyo.Constraint(expr=m.f(m.x * m.y + 1, 2.0) <= m.f(m.x * m.y + 1, 2.0) ** 2 + m.z)
    m.e = pyo.Constraint(expr=m.f(m.y, m.x) + m.f(m.x * m.y + 2, 2.0) <= 5)
    model = archeng.from_pyomo(m)
    assert names(model.outputs) == ["f(x, y)", "f(x*y + 1, 2.0)", "f(y, x)", "f(x*y + 2, 2.0)"]
    design = design_of(model)
    x, y, _ = design.x
    outputs, gradients = answer(model, design)
    assert gradients == {}
    expected = [x - 2 * y, x * y + 1 - 4, y - 2 * x, x * y + 2 - 4]
    np.testing.assert_allclose(list(outputs.values()), expected, rtol=1e-12)
    assert {c.name for c in model.simulated} == {"c", "d", "e"}
    assert model.constraints == ()


def test_importing_calls_nothing_and_changes_nothing() -> None:
    m = reactor()
    before = snapshot(m)
    model = archeng.from_pyomo(m)
    archeng.diagnose(m)
    archeng.sample_feasible(m, 5, seed=1)
    assert m.seen == []
    design = design_of(model)
    outputs, _ = answer(model, design)
    assert m.seen == [tuple(design.x)]
    assert outputs == {"f(x, y)": pytest.approx(design["x"] ** 2 + np.exp(-design["y"]))}
    assert snapshot(m) == before


def test_long_names_are_cut_and_stay_different() -> None:
    m = base_model()
    m.f = pyo.ExternalFunction(function=lambda a: a)
    m.c = pyo.Constraint(
        [1, 2], rule=lambda b, i: b.f(sum(b.x**k * b.y * i for k in range(1, 12))) <= 1
    )
    assert names(archeng.from_pyomo(m).outputs) == ["f(...)", "f(...) #2"]


def test_gradients_by_the_chain_rule_through_arguments_and_other_functions() -> None:
    m = base_model()
    m.f = pyo.ExternalFunction(lambda a, b: a**2 * b, lambda v, fixed: [2 * v[0] * v[1], v[0] ** 2])
    m.g = pyo.ExternalFunction(lambda a: np.sin(a), lambda v, fixed: [np.cos(v[0])])
    m.c = pyo.Constraint(expr=m.f(m.g(m.x * m.y) + m.z, pyo.exp(m.x)) <= 9)
    model = archeng.from_pyomo(m)
    for seed in range(5):
        design = design_of(model, seed)
        outputs, gradients = answer(model, design)
        assert list(outputs) == list(gradients) == names(model.outputs)
        for output, gradient in gradients.items():
            expected = by_differences(model, design, output)
            np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def test_gradients_only_where_all_of_the_chain_is_known() -> None:
    m = base_model()
    m.f = pyo.ExternalFunction(lambda a: a**2, lambda v, fixed: [2 * v[0]])
    m.g = pyo.ExternalFunction(lambda a: a + 1)
    m.h = pyo.ExternalFunction(fgh=lambda v, fgh, fixed: (3 * v[0], [3.0], None))
    m.c = pyo.Constraint(expr=m.f(m.g(m.x)) + m.f(m.y) + m.h(m.x) <= 9)
    model = archeng.from_pyomo(m)
    _, gradients = answer(model, design_of(model))
    assert set(gradients) == {"f(y)", "h(x)"}
    np.testing.assert_allclose(gradients["h(x)"], [3, 0, 0])


@pytest.mark.parametrize("model", [lambda: reactor(gradient=True), lambda: _two_boxes()])
def test_gradients_can_be_left_out(model: Any) -> None:
    plain = archeng.from_pyomo(model(), gradients=False)
    asked = archeng.from_pyomo(model())
    design = design_of(plain)
    outputs, gradients = answer(plain, design)
    assert gradients == {}
    assert (outputs, True) == (answer(asked, design)[0], bool(answer(asked, design)[1]))


def test_inputs_that_are_not_numbers_fail_the_call() -> None:
    m = reactor()
    m.more = pyo.Constraint(expr=m.f(pyo.log(m.x - 5), m.y) <= 1)
    model = archeng.from_pyomo(m)
    with pytest.raises(ArithmeticError, match=r"f was not called.*nan"):
        model.black_box(design_of(model))
    assert all(np.isfinite(arguments).all() for arguments in m.seen)


def test_the_black_box_can_be_pickled() -> None:
    for m in (reactor(gradient=True), _two_boxes()):
        model = archeng.from_pyomo(m)
        design = design_of(model)
        copy = cloudpickle.loads(cloudpickle.dumps(model.black_box))
        expected, found = model.black_box(design), copy(design)
        assert list(found) == list(expected)
        np.testing.assert_equal(found, expected)


LIBRARY = """
typedef struct arglist {
    int n, nr; int *at; double *ra; char **sa; double *derivs; double *hes; char *dig;
} arglist;
typedef double (*function)(arglist *);
typedef struct AmplExports {
    void *StdErr; void (*Addfunc)(char *, function, int, int, void *, struct AmplExports *);
} AmplExports;
static double scaled(arglist *al) {  /* (text, a, b): a b, or a + b if the text begins with s */
    int sum = al->sa[0][0] == 's';
    double a = al->ra[0], b = al->ra[1];
    if (al->derivs) { al->derivs[0] = sum ? 1 : b; al->derivs[1] = sum ? 1 : a; }
    return sum ? a + b : a * b;
}
static double plain(arglist *al) { return al->ra[0] * al->ra[0]; }
void funcadd_ASL(AmplExports *ae) {
    ae->Addfunc("scaled", scaled, 1, 3, 0, ae);
    ae->Addfunc("plain", plain, 0, 1, 0, ae);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_functions_of_ampl_libraries(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text(LIBRARY)
    library = tmp_path / "library.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "library.c"], check=True)
    m = base_model()
    m.f = pyo.ExternalFunction(library=str(library), function="scaled")
    m.g = pyo.ExternalFunction(library=str(library), function="plain")
    m.c = pyo.Constraint(expr=m.f("sum", m.x, m.y) + m.f("product", 2 * m.x, m.y) + m.g(m.z) <= 9)
    model = archeng.from_pyomo(m)
    design = design_of(model)
    x, y, z = design.x
    for black_box in (model.black_box, cloudpickle.loads(cloudpickle.dumps(model.black_box))):
        found = black_box(design)
        np.testing.assert_allclose(list(found["outputs"].values()), [x + y, 2 * x * y, z**2])
        slopes = list(found["gradients"].values())  # none of g: its library does not compute them
        np.testing.assert_allclose(slopes, [[1, 1, 0], [2 * y, 2 * x, 0]])


# -- grey boxes --------------------------------------------------------------------------------


def _two_boxes() -> Any:
    """``second`` is declared first and fed by ``first``."""
    m = pyo.ConcreteModel(name="two")
    m.x = pyo.Var(bounds=(0.5, 2))
    m.y = pyo.Var(bounds=(0.5, 2))
    m.middle = pyo.Var(bounds=(None, 7))
    product = WithJacobian(["m", "y"], ["product", "sum"], lambda a, b: [a * b, a + b])
    box(m, "second", product, inputs=[m.middle, m.y])
    box(m, "first", WithJacobian(["x"], ["m"], lambda a: [a**3]), inputs=[m.x], outputs=[m.middle])
    m.c = pyo.Constraint(expr=m.second.outputs["product"] + m.middle <= 10)
    m.o = pyo.Objective(expr=m.second.outputs["sum"], sense=pyo.maximize)
    return m


def test_a_box_that_is_fed_by_another_comes_after_it() -> None:
    model = archeng.from_pyomo(_two_boxes())
    assert names(model.variables) == ["x", "y"]
    assert names(model.outputs) == ["second.outputs[product]", "second.outputs[sum]", "middle"]
    design = design_of(model)
    x, y = design.x
    outputs, gradients = answer(model, design)
    np.testing.assert_allclose(list(outputs.values()), [x**3 * y, x**3 + y, x**3])
    np.testing.assert_allclose(gradients["second.outputs[product]"], [3 * x**2 * y, x**3])
    np.testing.assert_allclose(gradients["middle"], [3 * x**2, 0])
    assert model.objective_sense == "maximize"
    assert {c.name for c in model.simulated} == {"c", "bounds of middle"}


def test_boxes_that_feed_each_other_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.a, m.b, m.end = pyo.Var(bounds=(0, 5)), pyo.Var(bounds=(0, 5)), pyo.Var()
    box(m, "last", Formula(["a"], ["e"], lambda a: [2 * a]), inputs=[m.a], outputs=[m.end])
    box(
        m,
        "one",
        Formula(["x", "b"], ["a"], lambda x, b: [x + b / 2]),
        inputs=[m.x, m.b],
        outputs=[m.a],
    )
    box(m, "two", Formula(["a"], ["b"], lambda a: [a / 2]), inputs=[m.a], outputs=[m.b])
    m.o = pyo.Objective(expr=m.end)
    with caplog.at_level(logging.INFO, logger="archeng"):
        model = archeng.from_pyomo(m)
    assert names(model.variables) == ["x", "b"]
    (row,) = [c for c in model.simulated if any(c.equalities())]
    assert (row.name, row.tolerance) == ("b as computed", OUTPUT_TOLERANCE)
    outputs, _ = answer(model, archeng.Design(model.variables, [0.5, 1.0]))
    assert outputs == {"end": 2.0, "a": 1.0, "b (computed)": 0.5}
    assert "stay variables: b" in caplog.text


def test_residuals_are_simulated_equalities() -> None:
    m = pyo.ConcreteModel()
    box(m, "box", Residuals(["u", "v"], ["mass", "heat"], lambda u, v: [u + v - 1, u * v - 0.2]))
    for var in m.box.inputs.values():
        var.setlb(0)
        var.setub(1)
    m.o = pyo.Objective(expr=m.box.inputs["u"])
    model = archeng.from_pyomo(m, tolerance=1e-3)
    assert names(model.variables) == ["box.inputs[u]", "box.inputs[v]"]
    assert [(c.name, c.tolerance) for c in model.simulated] == [
        ("box.mass", 1e-3),
        ("box.heat", 1e-3),
    ]
    outputs, _ = answer(model, archeng.Design(model.variables, [0.5, 0.25]))
    assert outputs == {
        "box.residual[mass]": pytest.approx(-0.25),
        "box.residual[heat]": pytest.approx(-0.075),
    }


def test_the_objective_of_a_grey_box() -> None:
    m = pyo.ConcreteModel()
    box(m, "box", OwnObjective(["u"], ["cost"], lambda u: [(u - 0.25) ** 2]))
    m.box.inputs["u"].setlb(0)
    m.box.inputs["u"].setub(1)
    result = archeng.solve(m, seed=1, max_evaluations=60)
    assert result.design["box.inputs[u]"] == pytest.approx(0.25, abs=1e-2)
    m.o = pyo.Objective(expr=m.box.inputs["u"])
    assert problems(m) == {"box": ("a second active objective besides 'o'",)}


def test_outputs_of_grey_boxes_that_are_fixed_or_bounded() -> None:
    m = pyo.ConcreteModel()
    box(m, "box", Formula(["u"], ["a", "b"], lambda u: [u, 2 * u]))
    m.box.outputs["a"].setub(3)
    m.box.outputs["b"].fix(1.5)
    rows = {c.name: c.limits() for c in archeng.from_pyomo(m, tolerance=0.5).simulated}
    assert rows == {
        "bounds of box.outputs[a]": ([-np.inf], [3]),
        "fixed value of box.outputs[b]": ([1], [2]),
    }


def test_grey_boxes_that_cannot_be_read() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.y, m.n = pyo.Var(), pyo.Var(domain=pyo.Integers)
    box(m, "none", None)
    m.never = ExternalGreyBoxBlock()
    external = Formula(["u"], ["v"], lambda u: [u])
    for name, output in (("first", m.y), ("again", m.y), ("whole", m.n)):
        box(m, name, external, inputs=[m.x], outputs=[output])
    found = problems(m)
    assert set(found) == {"none", "never", "y", "n"}
    assert "no external model" in found["none"][0]
    assert "set_external_model" in found["never"][0]
    assert "two grey boxes" in found["y"][0]
    assert "must be a real number" in found["n"][0]


# -- what is not searched for --------------------------------------------------------------------


def test_a_variable_that_an_equality_defines_by_outputs_is_eliminated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    m = reactor()
    m.e = pyo.Var(bounds=(None, 20))
    m.twice = pyo.Constraint(expr=0.5 * m.e - m.d + m.x == 1)
    m.sum = pyo.Constraint(expr=m.e + m.x <= 8)
    with caplog.at_level(logging.INFO, logger="archeng"):
        model = archeng.from_pyomo(m)
    assert names(model.variables) == ["x", "y"]
    assert names(model.constraints) == ["room", "hyperbola"]
    assert {c.name for c in model.simulated} == {"sum", "bounds of d", "bounds of e"}
    assert "not searched for, because equalities define them: d, e" in caplog.text
    fs = archeng.model.compile_model(model)
    x, y, z = 0.7, 1.3, 5.0
    objective, rows = fs.formulas.at(np.array([x, y]), np.array([z]))
    e = (1 - x + z) / 0.5
    assert objective == pytest.approx((x - 1) ** 2 + (y - 2) ** 2 + z**2)
    assert dict(zip(fs.formulas.row_names, rows, strict=True)) == pytest.approx(
        {"sum": e + x, "bounds of d": z, "bounds of e": e}
    )


@pytest.mark.parametrize("kind", ["nonlinear", "product", "fixed"])
def test_what_is_not_linear_or_not_free_is_not_eliminated(kind: str) -> None:
    m = reactor()
    m.del_component(m.define)
    left = {"nonlinear": m.d**2, "product": m.d * m.x, "fixed": m.d}[kind]
    m.define = pyo.Constraint(expr=left == m.f(m.x, m.y))
    if kind == "fixed":
        m.d.fix(1.5)
    model = archeng.from_pyomo(m)
    assert names(model.variables) == ["x", "y", "d"]
    (row,) = model.simulated
    assert (row.name, row.tolerance) == ("define", OUTPUT_TOLERANCE)


@pytest.mark.parametrize("limited", ["", "bound", "row"])
def test_an_input_of_a_second_box_is_eliminated_if_nothing_else_limits_it(limited: str) -> None:
    m = base_model()
    m.t = pyo.Var(bounds=(None, 3) if limited == "bound" else None)
    m.f = pyo.ExternalFunction(function=lambda a: a**2)
    m.define = pyo.Constraint(expr=m.t == m.f(m.x))
    m.second = pyo.Constraint(expr=m.f(m.t + 1) <= 3)
    if limited == "row":
        m.row = pyo.Constraint(expr=m.t + m.y <= 4)
    model = archeng.from_pyomo(m)
    assert ("t" in names(model.variables)) is bool(limited)
    outputs, _ = answer(model, design_of(model))
    first, second = outputs["f(x)"], outputs["f(t + 1)"]
    t = design_of(model)["t"] if limited else first
    assert second == pytest.approx((t + 1) ** 2)


def test_an_input_that_depends_on_its_own_box_stays_a_variable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    m = base_model()
    m.t = pyo.Var()
    m.f = pyo.ExternalFunction(function=lambda a, b: a + b / 2)
    m.loop = pyo.Constraint(expr=m.t == m.f(m.x, m.t))
    with caplog.at_level(logging.INFO, logger="archeng"):
        model = archeng.from_pyomo(m, tolerance=0.25)
    assert "t" in names(model.variables)
    (row,) = model.simulated
    assert (row.name, *row.limits()) == ("loop", [-0.25], [0.25])
    assert "stay variables: t" in caplog.text


def test_two_inputs_that_close_a_circle_together() -> None:
    m = base_model()
    m.s, m.t = pyo.Var(), pyo.Var()
    m.f = pyo.ExternalFunction(function=lambda a: a / 2 + 1)
    m.one = pyo.Constraint(expr=m.s == m.f(m.t))
    m.two = pyo.Constraint(expr=m.t == m.f(m.s))
    model = archeng.from_pyomo(m)
    assert len([n for n in names(model.variables) if n in "st"]) == 1
    (row,) = model.simulated
    assert any(row.equalities())
    answer(model, design_of(model))


def test_inputs_of_grey_boxes_that_are_other_words_for_variables() -> None:
    m = pyo.ConcreteModel()
    m.temperature = pyo.Var(bounds=(0, 9))
    m.y, m.end = pyo.Var(bounds=(0, 2)), pyo.Var()
    box(m, "one", WithJacobian(["T", "c"], ["q"], lambda t, c: [t * c]))
    m.one.inputs["T"].setub(5)
    m.link = pyo.Constraint(expr=m.one.inputs["T"] == 2 * m.temperature + 1)
    m.const = pyo.Constraint(expr=m.one.inputs["c"] == 3)
    m.out = pyo.Constraint(expr=m.y == m.one.outputs["q"])
    model = archeng.from_pyomo(m)
    assert names(model.variables) == ["temperature", "end"]
    assert [c.name for c in model.constraints] == ["bounds of one.inputs[T]"]
    assert [c.name for c in model.simulated] == ["bounds of y"]
    outputs, gradients = answer(model, archeng.Design(model.variables, [1.5, 0.0]))
    assert outputs == {"one.outputs[q]": 12.0}
    np.testing.assert_allclose(gradients["one.outputs[q]"], [6, 0])


def test_the_order_of_equations_does_not_matter() -> None:
    """A bounded variable between two boxes keeps its bounds in every call, in any order."""
    for order in ("link first", "definition first"):
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 2))
        box(m, "one", Formula(["u"], ["v"], lambda u: [u]), inputs=[m.x])
        box(m, "two", Formula(["u"], ["v"], lambda u: [u]))
        link = m.two.inputs["u"] == m.y
        define = m.y == m.one.outputs["v"]
        rows = [link, define] if order == "link first" else [define, link]
        m.c = pyo.Constraint([0, 1], rule=lambda b, k, rows=rows: rows[k])
        assert names(archeng.from_pyomo(m).variables) == ["x", "y"]


# -- Params as parameters ------------------------------------------------------------------------


def _loaded() -> Any:
    m = pyo.ConcreteModel(name="loaded")
    m.force = pyo.Param(initialize=2.0, mutable=True)
    m.part = pyo.Param(["a", "b"], initialize={"a": 1.0, "b": 3.0}, mutable=True)
    m.still = pyo.Param(initialize=4.0)
    m.x = pyo.Var(bounds=(0, m.force), initialize=0.5)
    m.y = pyo.Var(bounds=(0, 5))
    m.body = pyo.Constraint(expr=m.force * m.x + m.part["a"] * m.y <= 10)
    m.limit = pyo.Constraint(expr=m.x + m.y >= m.force / 4)
    m.both = pyo.Constraint(expr=(m.force - 9, m.x - m.y, m.force * 2))
    m.equal = pyo.Constraint(expr=m.x * m.y == m.force / 8)
    m.f = pyo.ExternalFunction(lambda a, b: a * b, lambda v, fixed: [v[1], v[0]])
    m.box = pyo.Constraint(expr=m.f(m.x, m.force + 1) + m.f(m.force, 2.0) <= 9)
    m.o = pyo.Objective(expr=m.y + m.force * m.x)
    return m


@pytest.mark.parametrize("value", [2.0, 3.5])
@pytest.mark.parametrize("how", ["name", "component"])
def test_params_that_are_parameters_are_as_if_pyomo_had_the_value(value: float, how: str) -> None:
    m = _loaded()
    chosen = ["force"] if how == "name" else [m.force]
    model = archeng.from_pyomo(m, parameters=chosen).with_parameters(force=value)
    assert [(p.name, p.value) for p in model.parameters] == [("force", value)]
    m.force = value
    plain = archeng.from_pyomo(m)
    fs, expected = archeng.model.compile_model(model), archeng.model.compile_model(plain)
    for x in ([0.5, 0.5], [1.9, 0.13], [value, 4.0], [value + 0.1, 1.0]):
        at = np.array(x)
        assert (fs.violations_in_full(at).max() > 1e-3) == (
            expected.violations_in_full(at).max() > 1e-3
        )
        outputs, gradients = answer(model, archeng.Design(model.variables, at, model.parameters))
        wanted, slopes = answer(plain, archeng.Design(plain.variables, at))
        # a function of Params only is a number in Pyomo, and an output with parameters
        assert list(outputs.values()) == [wanted["f(x, force + 1)"], 2 * value]
        np.testing.assert_allclose(gradients["f(x, force + 1)"], slopes["f(x, force + 1)"])
        z = np.array(list(outputs.values()))
        mine, rows = fs.formulas.at(at, z)
        theirs, others = expected.formulas.at(at, z[:1])
        assert (mine, *rows) == pytest.approx((theirs, *others))


def test_indexed_params_are_a_parameter_for_each_element() -> None:
    model = archeng.from_pyomo(_loaded(), parameters=["part"])
    assert [(p.name, p.value) for p in model.parameters] == [("part[a]", 1.0), ("part[b]", 3.0)]


def test_only_parameters_that_feed_boxes_are_read() -> None:
    model = archeng.from_pyomo(_loaded(), parameters=["part", "force"])
    design = design_of(model)
    model.black_box(design)
    assert set(design.parameters.names_read) == {"force"}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["forse"], r"no Param 'forse'.*force, part"),
        (["still"], r"'still' is not mutable.*mutable=True"),
        (["x"], r"no Param 'x'"),
        ("force", r"must be a list"),
        (3, r"must be a list"),
    ],
)
def test_parameters_that_make_no_sense(wanted: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        archeng.from_pyomo(_loaded(), parameters=wanted)


def test_a_param_of_another_model() -> None:
    with pytest.raises(ModelError, match="no Param 'force'"):
        archeng.from_pyomo(_loaded(), parameters=[_loaded().force])
