"""What ``archeng check`` says about the equations of a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archeng.cli import main

PLANT = """
import pyomo.environ as pyo

model = pyo.ConcreteModel("plant")
model.feed = pyo.Var(bounds=(1, 9), initialize=5)
model.F = pyo.Var(["in", "out", "back", "purge", "product"], bounds=(0, 90), initialize=6)
model.mixer = pyo.Constraint(expr=model.F["in"] == model.feed + model.F["back"])
model.reactor = pyo.Constraint(expr=model.F["out"] == 0.7 * model.F["in"])
model.splitter = pyo.Constraint(expr=model.F["out"] == model.F["back"] + model.F["purge"])
model.yields = pyo.Constraint(expr=model.F["product"] == 0.3 * model.F["in"])
model.ratio = pyo.Constraint(expr=model.F["purge"] == 0.1 * model.F["out"])
"""


def check(folder: Path, text: str, *more: str) -> int:
    file = folder / "plant.py"
    file.write_text(text)
    return main(["check", str(file), *more])


def test_equations_are_rows_and_blocks_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, PLANT + "options = {'independent': ['feed']}\n") == 0
    out = capsys.readouterr().out
    for row in ("mixer", "reactor", "splitter", "yields", "ratio"):
        assert f"\n{row} " in out
    assert "degrees of freedom: 1 = 6 free variables - 5 of 5 equalities" in out
    assert "independent, named: feed" in out
    assert "1 of them with more than one equation" in out
    assert "largest block: 4 equations, " in out


def test_an_equation_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = PLANT + "model.ratio.deactivate()\noptions = {'independent': ['feed']}\n"
    assert check(tmp_path, lines, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    (mismatch,) = data["structure"]["mismatches"]
    assert mismatch["kind"] == "not determined"
    assert "F[purge]" in mismatch["variables"]
    assert data["structure"]["named"] == ["feed"]
    assert data["left_out"] == []


def test_named_variables_that_cannot_be_are_told_and_then_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, PLANT + "options = {'independent': ['feed', 'F[in]']}\n") == 2
    shown = capsys.readouterr()
    assert "too many equations: " in shown.out
    assert "do not name all of feed, F[in] as independent" in shown.out
    assert "cannot all be independent" in shown.err


def test_a_loop_without_a_solution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = PLANT.replace("0.7 * model.F", "1.4 * model.F").replace("0.1 * model", "-0.2 * model")
    assert check(tmp_path, lines + "options = {'independent': ['feed']}\n") == 1
    out = capsys.readouterr().out
    assert "conflict" in out
    assert "a loop of 4 equations" in out
