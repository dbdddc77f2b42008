"""`archeng import` and `archeng new --data`: tables of earlier designs on the command line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import archeng
from archeng.cli.main import main

TABLE = """\
run;Dicke [mm];breite;bolts;steel;mass [kg];remark
1;1,5;20,5;3;S235;12,5;a
2;2,5;25;4;S355;11,5;b
3;0,5;29;7;S355;;c
4;1,0;29;5;S235;10,0;d
"""
SIMULATOR = """\
def simulator(design):
    return design["Dicke"] * design["breite"] + design["bolts"]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "old.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["new", "guessed", "--data", "old.csv"]) == 0
    folder = tmp_path / "guessed"
    (folder / "simulator.py").write_text(SIMULATOR, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_a_study_is_guessed_from_a_table(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (study / "model.py").read_text(encoding="utf-8")
    assert 'model.variable("Dicke", lower=0.2, upper=2.7, unit="mm")' in text
    assert 'model.integer("bolts", lower=3, upper=7)' in text
    assert 'model.category("steel", {"S235": {}, "S355": {}})' in text
    assert "remark" not in text
    assert "run" not in text
    run = tomllib.loads((study / "study.toml").read_text(encoding="utf-8"))["run"]
    assert run["data"] == ["old.csv"]
    assert run["data_columns"] == {"Dicke": "Dicke [mm]", "objective": "mass [kg]"}
    assert main(["check"]) == 0
    capsys.readouterr()
    assert main(["run", "--quiet", "--json", "--max-evaluations", "2"]) == 0
    first = archeng.read_journal("run.db").evaluations[0]
    assert first.x.tolist() == [1.0, 29.0, 5.0, 0.0]  # the best row of the table
    assert json.loads(capsys.readouterr().out)["calls"] == 2


def test_a_table_becomes_a_journal(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["import", "old.csv", "old.db"]) == 0
    assert "4 designs, 3 with all values" in capsys.readouterr().out
    result = archeng.read_journal("old.db")
    assert result.stop_reason is archeng.StopReason.IMPORTED
    assert result.fun == 10.0
    assert [e.status for e in result.evaluations] == ["reused", "reused", "failed", "reused"]
    for command in ("status", "report", "export"):
        assert main([command, "old.db"]) == 0
    assert main(["run", "--quiet", "--max-evaluations", "1", "--data", "old.db"]) == 0
    assert main(["run", "--quiet", "--max-evaluations", "1", "--reuse", "old.db", "--force"]) == 0
    assert archeng.read_journal("run.db").evaluations[0].status == "reused"
    assert main(["import", "old.csv", "old.db"]) == 2  # it is never overwritten


def test_columns_and_errors_on_the_command_line(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "other.csv").write_text("d,breite,bolts,steel,m\n1,20,3,S235,x\n", encoding="utf-8")
    words = ["import", "other.csv", "a.db", "--data-column", "Dicke=d"]
    assert main([*words, "--data-column", "objective=m"]) == 2
    assert "other.csv:2, column 'm': expected a number" in capsys.readouterr().err
    assert not (study / "a.db").exists()
    assert main([*words, "--data-column", "objective"]) == 2
    assert main(["new", "nothing", "--data", "none.csv"]) == 2
    assert "cannot be read" in capsys.readouterr().err
