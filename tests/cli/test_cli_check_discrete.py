"""``archeng check`` of models with discrete variables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import command

CONFLICT = """
import archeng
model = archeng.Model("parity")
x, y = (model.integer(name, lower=0, upper=30) for name in "xy")
model.subject_to(2 * x + 4 * y == 7, name="sum")
"""
FEASIBLE = """
import archeng
model = archeng.Model("beam")
s = model.catalogue("section", [{"name": "small", "area": 4.0}, {"name": "large", "area": 9.0}])
model.subject_to(s["area"] >= 5, name="strength")
"""


def model_file(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(text)
    return path


def test_a_conflict_by_discrete_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, CONFLICT)
    assert command("check", path) == 1
    text = capsys.readouterr().out
    assert "there is none (proved by trying all combinations)" in text
    assert "because of the values that these 2 variables can take" in text
    assert "a whole number from 0 to 30" in text
    assert command("check", path, "--json") == 1
    [conflict] = json.loads(capsys.readouterr().out)["conflicts"]
    kinds = {member["name"]: member["kind"] for member in conflict["members"]}
    assert kinds == {"sum": "row", "x": "discrete", "y": "discrete"}


def test_a_design_with_names_and_rows_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model_file(tmp_path, FEASIBLE)
    assert command("check", path) == 0
    text = capsys.readouterr().out
    assert "section = large" in text
    assert "values that no design can take:\n  section: small" in text
    assert command("check", path, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["design"] == {"section": "large"}
    assert [f["text"] for f in data["unusable"]] == ["small"]
