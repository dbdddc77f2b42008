"""What is wrong with outputs, parameters or formulas is said at once, by name, with what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from outputs_helpers import beam, bend

import archeng
from archeng import Evaluation, Model
from archeng.errors import ArchengError, ModelError, SettingsError, SimulatorError

GOOD = {"stress": [1.0, 2.0], "deflection": 1e-3}
RETURN = r'Return the dictionary \{"stress": \.\.\., "deflection": \.\.\.\}'


def with_slopes(**slopes: Any) -> Evaluation:
    return Evaluation(outputs=GOOD, gradients=slopes)


# -- models ---------------------------------------------------------------------------------------

Mistake = Callable[[Model, Any], Any]

MODELS: dict[str, tuple[Mistake, str]] = {
    "output like a variable": (lambda m, x: m.output("x"), "variable named 'x' exists already"),
    "variable like an output": (
        lambda m, x: (m.output("y"), m.variable("y", lower=0, upper=1)),
        "output named 'y' exists already",
    ),
    "output like a parameter": (
        lambda m, x: (m.parameter("y", 1), m.output("y")),
        "parameter named 'y' exists already",
    ),
    "reserved": (lambda m, x: m.output("objective"), "cannot be named 'objective'"),
    "equality": (
        lambda m, x: m.subject_to(m.output("z") == 1, name="hit"),
        r"'hit' \(test_outputs_mistakes.py:\d+\): an equality with outputs needs tolerance=",
    ),
    "equality of a vector": (
        lambda m, x: m.subject_to(ca.vertcat(m.output("z"), x) == 1),
        "needs tolerance=",
    ),
    "NaN": (lambda m, x: m.parameter("p", np.nan), "'p' needs a finite number.*got nan"),
    "infinity": (lambda m, x: m.parameter("p", [1, np.inf]), r"'p' needs .*got \[1, inf\]"),
    "text": (lambda m, x: m.parameter("p", "abc"), "'p' needs .*got 'abc'"),
    "texts": (lambda m, x: m.parameter("p", ["1"]), "'p' needs a finite number"),
    "truth value": (lambda m, x: m.parameter("p", True), "'p' needs .*got True"),
    "nothing": (lambda m, x: m.parameter("p", []), "'p' needs a finite number"),
    "three dimensions": (lambda m, x: m.parameter("p", np.zeros((2, 2, 2))), "'p' needs"),
    "bounds of an output": (lambda m, x: m.output("z", lower=0), "no option lower.*name, unit"),
    "two objectives": (lambda m, x: m.minimize([x, x]), "add the objectives with weights"),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    mistake, message = MODELS[name]
    model = Model("m")
    x = model.variable("x", lower=1, upper=2)
    with pytest.raises(ModelError, match=message):
        mistake(model, x)


# -- options --------------------------------------------------------------------------------------

OPTIONS: dict[str, tuple[dict[str, Any], type[ArchengError], str]] = {
    "unknown parameter": (
        {"parameters": {"strenght": 1}},
        ModelError,
        r"no parameters \['strenght'\]; it has loads, strength",
    ),
    "NaN": ({"parameters": {"strength": np.nan}}, ModelError, "'strength' needs a finite number"),
    "shape": (
        {"parameters": {"loads": 1}},
        ModelError,
        r"'loads': expected shape \(2,\), got \(\)",
    ),
    "no mapping": ({"parameters": [1]}, SettingsError, 'such as {"load": 15e3}'),
    "a formula already": (
        {"simulated": {"stiffness": (None, 1)}},
        SettingsError,
        r"\['stiffness'\] are constraints of the model already",
    ),
    "explicit already": (
        {"simulated": {"slenderness": (None, 1)}},
        SettingsError,
        r"\['slenderness'\] are constraints of the model already",
    ),
    "sense": ({"sense": "maximize"}, SettingsError, "is a formula to minimize: leave sense out"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_refused_before_any_call(name: str) -> None:
    options, kind, message = OPTIONS[name]

    def never(design: Any) -> Any:
        raise AssertionError("it was called")

    with pytest.raises(kind, match=message):
        archeng.solve(beam(), never, max_evaluations=3, **options)


def test_the_sense_of_the_model_may_be_said_again() -> None:
    result = archeng.solve(beam(), bend, max_evaluations=3, seed=1, sense="minimize")
    assert not result.maximize


def test_outputs_need_a_simulator() -> None:
    with pytest.raises(
        SettingsError, match=r"the model has the outputs \['stress', 'deflection'\]"
    ):
        archeng.solve(beam())


def test_a_row_that_parameters_alone_break_is_named() -> None:
    model = beam()
    model.subject_to(model.parameter_symbols[2] <= 1e8, name="steel")
    with pytest.raises(ArchengError, match="steel"):
        archeng.solve(model, bend, max_evaluations=3)
    assert (
        archeng.solve(model, bend, max_evaluations=3, seed=1, parameters={"strength": 9e7}).nfev
        == 3
    )


# -- answers --------------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Any, str]] = {
    "number": (3.0, r"returned the objective 3, but .* is a formula: .*Höhe.*" + RETURN),
    "objective": (Evaluation(3.0, outputs=GOOD), "the objective of the model is a formula"),
    "nothing": (None, "NoneType None, not a number.*" + RETURN),
    "array": (np.ones(2), "not a number.*" + RETURN),
    "empty": ({}, "dictionary with the keys .*" + RETURN),
    "missing": ({"stress": [1, 2]}, r"no value of the outputs \['deflection'\]\. " + RETURN),
    "extra": ({**GOOD, "mass": 1}, r"values of \['mass'\], which the model does not declare"),
    "longer": ({**GOOD, "stress": [1, 2, 3]}, r"as output 'stress'; expected numbers of shape"),
    "scalar": ({**GOOD, "stress": 3}, r"3.0 as output 'stress'; expected numbers of shape \(2,\)"),
    "matrix": ({**GOOD, "stress": [[1, 2]]}, r"expected numbers of shape \(2,\)"),
    "text": ({**GOOD, "deflection": "big"}, "'big' as output 'deflection'; expected a number"),
    "no constraint": (
        Evaluation(outputs=GOOD, constraints={"a": 1}),
        r"values of \['a'\], which simulated= does not declare",
    ),
    "gradient of nothing": (with_slopes(strss=[1, 2]), r"gradient of 'strss'; .*\['stress', 'defl"),
    "short gradient": (with_slopes(stress=[1, 2]), r"has shape \(2,\); expected \(2, 2\)"),
    "long gradient": (with_slopes(deflection=[1, 2, 3]), r"has shape \(3,\); expected \(2,\)"),
    "gradient by some": (
        with_slopes(deflection={"width": 1}),
        r"has the variables \['width'\]; expected \['width', 'Höhe'\]",
    ),
    "gradient by name": (
        with_slopes(deflection={"width": [1, 2], "Höhe": 1}),
        "by variable 'width' has 2 entries; expected 1 x 1",
    ),
    "nested gradient": (
        with_slopes(deflection={"width": {"a": 1}, "Höhe": 1}),
        "as gradient of 'deflection'; expected numbers",
    ),
    "text as gradient": (with_slopes(deflection="x"), "str 'x' as gradient of 'deflection'"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_mistake_in_the_simulator_ends_the_run_after_one_call(name: str) -> None:
    answer, message = ANSWERS[name]
    calls = []
    with pytest.raises(SimulatorError, match=f"(?s)mistake in the simulator.*{message}"):
        archeng.solve(beam(), lambda d: calls.append(d) or answer, max_evaluations=8, seed=1)
    assert len(calls) == 1


FAILED: dict[str, tuple[Any, str]] = {
    "NaN in a vector": ({**GOOD, "stress": [1, np.nan]}, r"\[1.0, nan\] as output 'stress'"),
    "infinity": ({**GOOD, "deflection": np.inf}, "inf as output 'deflection'"),
    "NaN": (np.nan, "returned nan"),
    "gradient": (with_slopes(deflection=[np.nan, 1]), "gradient of output 'deflection' is not fin"),
}


@pytest.mark.parametrize("name", FAILED)
def test_numbers_that_are_not_finite_are_a_failed_call(name: str) -> None:
    """As of a simulation that diverged: the run goes on."""
    answer, message = FAILED[name]
    result = archeng.solve(
        beam(),
        lambda d: answer if d["width"] > 0.12 else bend(d),
        max_evaluations=12,
        seed=1,
    )
    failed = [e for e in result.evaluations if not e.good]
    assert 0 < len(failed) < 12
    for e in failed:
        assert e.status == "invalid"
        assert np.isnan(e.objective)
        assert not e.constraints
        assert re.search(message, e.message), e.message


def test_a_formula_without_a_value_is_a_failed_call() -> None:
    model = Model("root")
    x = model.variable("x", lower=-1, upper=1)
    z = model.output("depth", shape=2)
    model.minimize(ca.sqrt(z[0]) + z[1] + x)
    result = archeng.solve(model, lambda d: {"depth": [d["x"], 1.0]}, max_evaluations=10, seed=1)
    failed = [e for e in result.evaluations if e.x[0] < 0]
    assert failed
    for e in failed:
        assert e.status == "invalid"
        assert f"the objective is nan with depth[0] = {e.x[0]:g}, depth[1] = 1" in e.message
    assert all(e.good for e in result.evaluations if e.x[0] >= 0)


@pytest.mark.parametrize(
    "answer",
    [
        {"outputs": GOOD},
        {**GOOD, "deflection": [1e-3]},
        {**GOOD, "deflection": np.array([[1e-3]])},
        Evaluation(outputs={**GOOD, "solver": "direct"}),
        with_slopes(stress={"width": [1, 2], "Höhe": [3, 4]}),
        with_slopes(stress=[[1, 3], [2, 4]]),
    ],
)
def test_what_may_be_returned(answer: Any) -> None:
    result = archeng.solve(beam(), lambda d: answer, max_evaluations=2, seed=1)
    for e in result.evaluations:
        assert e.status == "ok"
        assert e.constraints["stiffness"] == 1e-3
        assert e.gradients in ({}, {"stress": [[1.0, 3.0], [2.0, 4.0]]})
