"""Every kind of model, JSON, text, options and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from archeng.cli import main
from archeng.errors import ModelError, SettingsError


def pyomo_model(limit: float) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel(name="plant")
    m.x = pyo.Var([1, 2], bounds=(0, 3))
    m.y = pyo.Var(bounds=(1, 4))
    m.demand = pyo.Constraint(expr=m.x[1] * m.y + m.x[2] >= limit)
    m.supply = pyo.Constraint(expr=m.x[1] + m.x[2] <= 2)
    m.o = pyo.Objective(expr=m.y)
    return m


def test_pyomo_models_and_nl_files(tmp_path: Path) -> None:
    assert archeng.diagnose(pyomo_model(6)).feasible
    bad = archeng.diagnose(pyomo_model(9))
    assert bad.conflict is not None
    assert set(bad.conflict.names) == {"demand", "supply", "y <= 4 (bound)"}
    path = tmp_path / "plant.nl"
    pyomo_model(9).write(str(path), io_options={"symbolic_solver_labels": True})
    again = archeng.diagnose(str(path))
    assert again.conflict is not None
    assert len(again.conflict.members) == 3
    assert not again.feasible


def test_opti_and_nlp_dictionaries() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(opti.bounded(0, x, 1))
    opti.subject_to(ca.sum1(x) == 3)
    found = archeng.diagnose(opti).conflict
    assert found is not None
    assert len(found.rows) == 3
    s = ca.SX.sym("s", 2)
    nlp = {"x": s, "g": ca.vertcat(s[0] * s[1], s[0] + s[1])}
    limits = {"lbx": [0, 0], "ubx": [1, 1], "lbg": [2, -np.inf], "ubg": [np.inf, 5]}
    found = archeng.diagnose(nlp, **limits).conflict
    assert found is not None
    assert len(found.members) == 3


def test_functions_that_casadi_cannot_expand() -> None:
    table = ca.interpolant("table", "bspline", [[0, 1, 2, 3, 4]], [0, 1, 4, 9, 16])
    for limit, feasible in ((9, True), (5, False)):
        model = archeng.Model("table", symbols="MX")
        x = model.variable("x", lower=0, upper=4)
        y = model.variable("y", lower=0, upper=4)
        model.subject_to(table(x) + y <= limit, name="sum")
        model.subject_to(table(x) >= 8, name="least")
        diagnosis = archeng.diagnose(model)
        assert diagnosis.feasible is feasible
        if not feasible:
            assert diagnosis.conflict is not None
            assert set(diagnosis.conflict.names) == {"sum", "least"}


def test_the_design_is_feasible_and_by_name() -> None:
    model = archeng.Model("named")
    w = model.variable("w", lower=0, upper=2, shape=2)
    k = model.variable("k", lower=3, upper=3)
    model.subject_to(k * w[0] * w[1] == 2, name="product")
    design = archeng.diagnose(model).design
    assert design is not None
    assert list(design) == ["w[0]", "w[1]"]
    assert model.violations([design["w[0]"], design["w[1]"], 3.0]).maximum == 0.0


@pytest.mark.parametrize("limit", [1.0, 30.0])
def test_json(limit: float) -> None:
    model = archeng.Model("json")
    x = model.variable("x", lower=0, upper=2)
    y = model.variable("y", lower=0, upper=2)
    model.subject_to(x * y >= limit, name="product")
    diagnosis = archeng.diagnose(model)
    data = json.loads(json.dumps(diagnosis.to_dict(), allow_nan=False))
    assert data["feasible"] is diagnosis.feasible
    assert data["name"] == "json"
    if limit > 4:
        labels = [m["label"] for m in data["conflicts"][0]["members"]]
        assert labels == ["product", "x <= 2 (bound)", "y <= 2 (bound)"]
        assert data["conflicts"][0]["members"][0]["alone"]["limit"] == pytest.approx(4, rel=1e-3)
    else:
        assert data["share"]["value"] == pytest.approx(0.403, abs=0.06)
        assert data["design"].keys() == {"x", "y"}


def test_text_of_a_conflict() -> None:
    model = archeng.Model("text")
    x = model.variable("x", lower=0, upper=2)
    model.subject_to(3 * x >= 9, name="load")
    text = str(archeng.diagnose(model))
    assert "NONE FOUND, and there is none (proved by linear program)" in text
    assert "these 2 constraints cannot hold together" in text
    assert "test_diagnose_inputs.py:" in text
    assert "x <= 2 (bound)" in text
    assert "load >= 9 -> >= 6 (-3)" in text
    assert "x <= 2 -> <= 3 (+1)" in text


@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"seed": 1.5}, {"seed": True}, {"samples": 5}, {"samples": "many"}]
)
def test_wrong_options(options: dict) -> None:
    model = archeng.Model("options")
    model.variable("x", lower=0, upper=1)
    with pytest.raises(SettingsError):
        archeng.diagnose(model, **options)


def test_wrong_models() -> None:
    with pytest.raises(ModelError):
        archeng.diagnose(3)
    model = archeng.Model("options")
    model.variable("x", lower=0, upper=1)
    with pytest.raises(ModelError, match="tolerance"):
        archeng.diagnose(model, tolerance=1e-3)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "import archeng\nm = archeng.Model('tank')\nx = m.variable('x', lower=0, upper=2)\n"
        "y = m.variable('y', lower=0, upper=2)\nm.subject_to(x * y >= {}, name='area')\n"
    )
    path = tmp_path / "tank.py"
    for limit, code in ((3, 0), (5, 1)):
        path.write_text(text.format(limit))
        assert main(["check", str(path)]) == code
        out = capsys.readouterr().out
        assert out.startswith("tank: 2 variables, 3 rows")
        assert ("conflict: these 3 constraints" in out) is (code == 1)
        assert ("share of the box" in out) is (code == 0)
        assert main(["check", str(path), "--json"]) == code
        assert json.loads(capsys.readouterr().out)["feasible"] is (code == 0)


def test_a_model_without_a_place_to_search_is_shown_and_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "open.py"
    path.write_text("import archeng\nm = archeng.Model('open')\nx = m.variable('x')\n")
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "variables that nothing limits" in out
    assert "no lower and upper bound" in err
