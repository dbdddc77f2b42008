"""Options of importers in ``study.toml`` and in Python files: bounds and integers of an nlp."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archeng.cli import main
from archeng.cli.study_file import read_study
from archeng.cli.study_import import opened
from archeng.model import Model
from archeng.model.domain import Kind

NLP = """
import casadi as ca

x = ca.SX.sym("x", 2)
nlp = {"x": x, "g": x[0] * x[1], "f": ca.sumsqr(x)}
"""

STUDY = """
[study]
name = "product"
model = "model.py:nlp"

[import]
lbx = 0.0
ubx = [9.5, 4.0]
lbg = 6.5
discrete = [true, false]
"""


def study(folder: Path, text: str = STUDY) -> Path:
    (folder / "model.py").write_text(NLP)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


@pytest.mark.parametrize("named", [True, False])
def test_options_of_the_importer_reach_it(tmp_path: Path, named: bool) -> None:
    text = STUDY if named else STUDY.replace('name = "product"\n', "")
    with opened(read_study(study(tmp_path, text))) as parts:
        model = parts.with_parameters()
        assert isinstance(model, Model)
        assert [v.domain.kind for v in model.variables] == [Kind.INTEGER, Kind.REAL]
        assert model.variables[0].upper.tolist() == [9]


def test_unknown_and_wrong_ones_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = study(tmp_path, STUDY.replace("discrete", "discreet"))
    assert main(["check", str(file)]) == 2
    assert "import.discreet: unknown key. Did you mean discrete" in capsys.readouterr().err
    file = study(tmp_path, STUDY.replace("[true, false]", "[true]"))
    assert main(["check", str(file)]) == 2
    assert "one True or False for each of the 2 variables" in capsys.readouterr().err


def test_a_python_file_with_options_is_checked_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.py"
    more = "options = {'lbx': 0, 'ubx': [9.5, 4], 'lbg': 6.5, 'discrete': [True, False]}\n"
    file.write_text(NLP + more)
    assert main(["check", str(file), "--object", "nlp"]) == 0
    assert "9.5" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_study_with_import_options_is_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = study(tmp_path, STUDY + "\n[run]\nseed = 1\nmax_evaluations = 60\n")
    assert main(["run", str(file), "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    best = min(n * n + (6.5 / n) ** 2 for n in range(2, 10))
    assert found["objective"] == pytest.approx(best, rel=1e-4)


PLANT = """
import pyomo.environ as pyo

m = pyo.ConcreteModel()
m.a, m.b = pyo.Var(bounds=(0, 1)), pyo.Var([1, 2], bounds=(0, 1))
m.fractions = pyo.Constraint(expr=m.a + m.b[1] + m.b[2] == 1)
m.goal = pyo.Objective(expr=(m.a - 0.2) ** 2 + m.b[1])
"""

RUN = """
[study]
model = "model.py:m"

[run]
seed = 1
max_evaluations = 4

[import]
independent = ["b"]
"""


def plant(folder: Path, text: str = RUN) -> Path:
    (folder / "model.py").write_text(PLANT)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_independent_variables_are_named_in_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(read_study(plant(tmp_path))) as parts:
        assert parts.with_parameters().independents == (1, 2)
    file = plant(tmp_path, RUN.replace('"b"', '"c"'))
    assert main(["check", str(file)]) == 2
    assert "independent: the model has no variable 'c'" in capsys.readouterr().err
    file = plant(tmp_path, RUN.replace('["b"]', '"b"'))
    assert main(["check", str(file)]) == 2
    assert "independent must be a list" in capsys.readouterr().err


def test_a_study_goes_on_with_the_same_independent_variables_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(plant(tmp_path))
    assert main(["run", file, "--quiet"]) == 0
    more = ["resume", file, "--quiet", "--max-evaluations", "6"]
    plant(tmp_path, RUN.replace('"b"', '"a"'))
    assert main(more) == 2
    said = "independent variables: ['b[1]', 'b[2]'] became ['a']"
    assert said in capsys.readouterr().err
    plant(tmp_path)
    assert main(more) == 0
