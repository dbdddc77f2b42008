"""Mistakes that everybody makes with symbols: our own error, the line, and what to write."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.pynumero.interfaces.external_grey_box import (
    ExternalGreyBoxBlock,
    ExternalGreyBoxModel,
)

import archeng
from archeng.cli import main
from archeng.errors import ModelError

HEAD = """\
import math
import casadi
import archeng
model = archeng.Model("beam", symbols="KIND")
x = model.variable("x", lower=0, upper=5)
y = model.variable("y", lower=0, upper=5)
w = model.variable("w", lower=0, upper=5, shape=3)
"""

MISTAKES = {
    "model.subject_to(1 <= x <= 3)": "`model.subject_to(1 <= x)` and `model.subject_to(x <= 3)`",
    "model.subject_to(5 >= x + y > 1)": "(5 >= x + y)` and `model.subject_to(x + y > 1)`",
    "model.subject_to(1 <= w <= 3)": "`model.subject_to(1 <= w)` and `model.subject_to(w <= 3)`",
    "model.subject_to(1 <= casadi.sin(x) <= 3)": "`model.subject_to(1 <= casadi.sin(x))` and",
    "model.subject_to(x <= 1 and y <= 2)": "`model.subject_to(x <= 1)` and `model.subject_to(y",
    "model.subject_to(x <= 1 or y <= 2)": "`casadi.fmin(a, b) <= 0` holds where",
    "model.subject_to(not x <= 1)": "Turn the comparison around",
    "model.subject_to(max(x, 2 * y) <= 3)": "Write `casadi.fmax(x, 2 * y)`",
    "model.subject_to(min(x, y, 3) >= 1)": "Write `casadi.mmin(casadi.vertcat(x, y, 3))`",
    "load = 3 * x if x > y else y": "Write `casadi.if_else(x > y, 3 * x, y)`",
    "if x > 3: y = 2 * y": "Write `casadi.if_else(x > 3, value, other_value)`",
    "if x > 3 and y > 2: y = 2 * y": "Write `casadi.if_else(x > 3 and y > 2, value",
    "assert x + y > 3": "Write `model.subject_to(x + y > 3)`",
    "largest = sorted([x, y])[0]": "casadi.fmax and casadi.fmin",
    "model.subject_to(math.sqrt(x) <= 3)": "Write `casadi.sqrt(x)`",
    "model.subject_to(2 * math.exp(x + y) <= 3)": "Write `casadi.exp(x + y)`",
    "width = float(x)": "Use the functions of casadi",
}


@pytest.mark.parametrize("kind", ["SX", "MX"])
@pytest.mark.parametrize("line", MISTAKES)
def test_the_command_line_teaches(
    kind: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "beam.py"
    study.write_text(HEAD.replace("KIND", kind) + line + "\n", encoding="utf-8")
    assert main(["check", str(study)]) == 2
    shown = capsys.readouterr().err
    assert "beam.py:8: " in shown
    assert MISTAKES[line] in shown
    assert "[ARCH-MODEL]" in shown


@pytest.mark.parametrize("kind", ["SX", "MX"])
@pytest.mark.parametrize("line", [m for m in MISTAKES if "casadi" not in m])
def test_scripts_are_taught_as_well(kind: str, line: str, tmp_path: Path) -> None:
    script = tmp_path / "beam.py"
    script.write_text(HEAD.replace("KIND", kind) + line + "\n", encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        exec(compile(script.read_text(), str(script), "exec"), {})
    assert str(caught.value).startswith("beam.py:8: ")
    assert MISTAKES[line] in str(caught.value)


def test_without_a_source_the_advice_is_general() -> None:
    with pytest.raises(ModelError, match="one by one"):
        exec(compile(HEAD.replace("KIND", "SX") + "1 <= x <= 3", "<console>", "exec"), {})


def test_an_ordinary_mistake_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "beam.py"
    study.write_text("import archeng\n\ndef make_model():\n    return widht\n", encoding="utf-8")
    assert main(["check", str(study)]) == 2
    assert "beam.py:4: NameError in make_model()" in capsys.readouterr().err
    study.write_text("import archeng\nmodel = = 3\n", encoding="utf-8")
    assert main(["check", str(study)]) == 2
    assert "beam.py:2: SyntaxError" in capsys.readouterr().err


def test_nan_of_a_formula_is_explained() -> None:
    model = archeng.Model()
    x = model.variable("x", lower=0, upper=1)
    with pytest.raises(ModelError, match=r"use casadi\.sqrt"):
        model.subject_to(x <= float("nan") * x)
    with pytest.raises(ModelError, match=r"use casadi\.sqrt"):
        model.subject_to(float("nan") <= 3)


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_symbols_are_those_of_casadi(kind: str) -> None:
    """Whatever works with a symbol of CasADi works with one of a model, to the same formula."""
    plain = getattr(ca, kind)
    model = archeng.Model(symbols=kind)
    own = [model.variable("x", lower=0, upper=1), model.variable("w", shape=3, start=1, scale=1)]
    theirs = [plain.sym("x"), plain.sym("w", 3)]
    uses: list[Any] = [
        lambda x, w: x + 2 - w * 3 / x,
        lambda x, w: 2 ** (x - 1) + x**2 - abs(-x) + w[0] // 2 + w[1:][0] % 2,
        lambda x, w: ca.if_else(x > 0.5, ca.sin(x), ca.dot(w, w)) + ca.fmax(x, w[1]),
        lambda x, w: ca.vertcat(x, w, x).T @ ca.vertcat(x, w, x) + np.eye(3) @ w,
        lambda x, w: np.sqrt(x) + np.sum(w) + np.float64(2) * x,
        lambda x, w: np.array([1.0, 2.0, 3.0]) * w + np.array([x, x + 1]).sum(),
        lambda x, w: ca.vertcat(*[x <= 3, w[0] <= 1, x == w[1], x != 3, w < 2, x < 3]),
        lambda x, w: ca.jacobian(x**2 * w, ca.vertcat(x, w)),
        lambda x, w: copy.deepcopy(x) + copy.copy(w) + ca.substitute(x * w, x, w[2]),
        lambda x, w: ca.Function("f", [x, w], [x * w])(x, w),
        lambda x, w: ca.vertcat(x, *ca.vertsplit(w)) + w.nz[0] + w.shape[0] + w.numel(),
    ]
    point = [0.7, [0.3, 1.5, -2.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of CasADi: NumPy functions of symbols
        for k, use in enumerate(uses):
            values = [
                ca.Function("f", symbols, [use(*symbols)])(*point).full()
                for symbols in (own, theirs)
            ]
            np.testing.assert_array_equal(*values, err_msg=f"use {k}")
    assert isinstance(own[0], plain)
    assert bool(own[0] - own[0] == 0) is True
    assert float(0 * own[0]) == 0.0
    assert hash(own[0]) == hash(ca.symvar(own[0])[0])
    with ca.global_pickle_context():
        data = pickle.dumps(own[0])
    with ca.global_unpickle_context():
        assert str(pickle.loads(data)) == "x"


def test_integers_and_other_habits() -> None:
    model = archeng.Model()
    for habit in ({"integer": True}, {"domain": "integer"}, {"binary": True}):
        with pytest.raises(ModelError, match=r"Use model\.(integer|binary)\(\)"):
            model.variable("n", **habit)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="Use lower= and upper="):
        model.variable("n", bounds=(0, 1))  # type: ignore[call-arg]
    with pytest.raises(ModelError, match=r"no option lowr\. Did you mean lower\?"):
        model.variable("n", lowr=0)  # type: ignore[call-arg]
    with pytest.raises(ModelError, match=r"got 0 without the name.*lower=, upper="):
        model.variable("n", 0, 5)  # type: ignore[misc]
    assert model.variables == ()


def test_several_objectives() -> None:
    model = archeng.Model()
    x = model.variable("x", lower=0, upper=1)
    for several in ((x, 1 - x), [x, 1 - x], ca.vertcat(x, 1 - x)):
        with pytest.raises(ModelError, match="archeng optimises one number"):
            model.set_objective(several)
    with pytest.raises(archeng.errors.SimulatorError, match="archeng optimises one number"):
        archeng.solve(model, lambda design: (design["x"], 1 - design["x"]), max_evaluations=8)


class Squared(ExternalGreyBoxModel):  # type: ignore[misc]
    def input_names(self) -> list[str]:
        return ["length"]

    def output_names(self) -> list[str]:
        return ["area"]


def test_the_grey_box_of_pyomo() -> None:
    model = pyo.ConcreteModel("plant")
    model.x = pyo.Var(bounds=(0, 1))
    model.unit = pyo.Block()
    model.unit.box = ExternalGreyBoxBlock(external_model=Squared())
    assert [o.name for o in archeng.from_pyomo(model).outputs] == ["unit.box.outputs[area]"]
    model.unit.box.deactivate()
    assert archeng.from_pyomo(model).element_names() == ["x"]
