"""What is told of a journal: the same by `status` and the report, and harmless to look at."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import PLAIN, bowl, solve_case

import archeng
from archeng import Evaluation, Model, Result, StopReason
from archeng.cli import main
from archeng.plain_text import cell, visible

pytestmark = pytest.mark.slow

RED = "\x1b[31mred\x1b[0m"


def status_of(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    capsys.readouterr()
    assert main(["status", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert main(["status", str(path)]) == 0
    return data, capsys.readouterr().out


def stopper(run: archeng.Run) -> None:
    if len(run.history) == 2:
        raise StopIteration


def interrupter(run: archeng.Run) -> None:
    if len(run.history) == 2:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, StopReason.MAX_EVALUATIONS),  # within a generation
        ({"max_evaluations": 12}, StopReason.MAX_EVALUATIONS),  # with a generation
        ({"max_time": 1e-9}, StopReason.MAX_TIME),
        ({"target": 1e9}, StopReason.TARGET),
        ({"callback": stopper}, StopReason.CALLBACK),
        ({"callback": interrupter}, StopReason.INTERRUPTED),
        ({"max_evaluations": 500}, None),
    ],
    ids=["cut", "budget", "time", "target", "callback", "interrupted", "by itself"],
)
def test_status_and_report_agree(
    options: dict[str, Any],
    reason: StopReason | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.db"
    result = solve_case("budget within a generation", journal=path, **options)
    assert reason in (None, result.stop_reason)
    data, text = status_of(path, capsys)
    read = archeng.read_journal(path)
    assert (data["state"], data["stop_reason"]) == ("ended", result.stop_reason.name)
    assert read.stop_reason is result.stop_reason
    assert result.stop_reason.value in text
    assert data["calls"] == read.nfev == result.nfev


def test_status_knows_the_budget_of_the_latest_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.db"
    solve_case("budget within a generation", journal=path)
    archeng.resume(path, bowl, max_evaluations=44)
    data, text = status_of(path, capsys)
    assert data["max_evaluations"] == 44
    assert "calls: 44 of 44" in text


def test_a_run_that_ended_with_an_error_is_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(run: archeng.Run) -> None:
        if len(run.history) == 2:
            raise ValueError("a bug of the user")

    with pytest.raises(ValueError, match="a bug"):
        solve_case("budget within a generation", journal=tmp_path / "run.db", callback=broken)
    data, text = status_of(tmp_path / "run.db", capsys)
    assert (data["state"], data["stop_reason"]) == ("stopped", None)
    assert "archeng resume" in text
    assert archeng.read_journal(tmp_path / "run.db").stop_reason is StopReason.CUT_OFF


# -- names ------------------------------------------------------------------------------------


def odd_study(folder: Path, name: str) -> Result:
    model = Model(f"study {name}")
    x = model.variable(name, lower=0, upper=1)
    y = model.variable("y", lower=0, upper=1)
    model.subject_to(x + y >= 0.5, name=f"row {name}")

    def simulator(design: archeng.Design) -> Evaluation:
        value = float(design.x.sum())
        return Evaluation(value, constraints={name: value}, outputs={f"o {name}": name})

    return archeng.solve(
        model,
        simulator,
        simulated={name: (None, 1.5)},
        seed=1,
        max_evaluations=8,
        settings=PLAIN,
        journal=folder / "run.db",
    )


@pytest.mark.parametrize("command", ["status", "compare", "export"])
def test_no_escape_sequences_of_names(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd_study(tmp_path, RED)
    journals = [str(tmp_path / "run.db")] * (2 if command == "compare" else 1)
    capsys.readouterr()
    more = ["--json"] if command == "export" else []
    assert main([command, *journals, *more]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert r"\x1b[31mred" in shown or r"\u001b[31mred" in shown


def test_visible() -> None:
    assert visible("Größe 压力 🚀\n") == "Größe 压力 🚀\n"
    assert visible("\x1b]0;title\x07\r\x9b2J") == r"\x1b]0;title\x07\r\x9b2J"
    assert visible("a\u202eb\u2028c\ud800") == r"a\u202eb\u2028c\ud800"


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\tx"])
def test_cells_are_no_formulas(name: str, tmp_path: Path) -> None:
    result = odd_study(tmp_path, name)
    assert main(["export", str(tmp_path / "run.db"), "--csv", str(tmp_path / "calls.csv")]) == 0
    with (tmp_path / "calls.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    assert f"'{name}" in header
    column = header.index(f"outputs.o {name}")
    assert {row[column] for row in rows} == {f"'{name}"}
    values = [float(row[header.index(f"'{name}")]) for row in rows]
    assert values == [float(e.x[0]) for e in result.evaluations]
    for row in rows:
        assert not any(c.startswith(("=", "+", "@", "\t")) for c in row)


def test_numbers_are_left_alone(tmp_path: Path) -> None:
    assert [cell(v) for v in (-1.5, -3, None, True)] == [-1.5, -3, None, True]
    model = Model("designs")
    model.variable("=x", lower=-2, upper=-1)
    designs = archeng.sample_feasible(model, 3, seed=1)
    designs.to_csv(tmp_path / "designs.csv")
    head, *values = (tmp_path / "designs.csv").read_text().splitlines()
    assert head == "'=x"
    assert [float(v) for v in values] == designs.x[:, 0].tolist()


WORDS = [
    "Druck 压力",
    "🚀",
    "ضغط",
    "a\x07b",
    "\ud800x",
    "\u202eabc",
]


@pytest.mark.parametrize("name", WORDS, ids=ascii)
def test_reports_with_words_that_the_font_lacks(name: str, tmp_path: Path) -> None:
    result = odd_study(tmp_path, name)
    result.report(tmp_path / "run.html")
    if not name.isprintable():  # others: tests/report/test_report_pdf.py
        result.report(tmp_path / "run.pdf")
        assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "y" in page
    if name.isprintable():
        assert name in page
