"""What a run shows, and its calls as a table."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import bowl, line, reading, reference, solve_case

import archeng
import archeng.cli
from archeng import Model, ProgressLine
from archeng.errors import SettingsError

NAME = "budget within a generation"


def test_a_quiet_run_writes_nothing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with caplog.at_level(logging.WARNING, logger="archeng"):
        solve_case("failures", workers=1, journal=tmp_path / "run.db")
        archeng.resume(tmp_path / "run.db", bowl)
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")
    assert caplog.records == []


def test_verbose_writes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    result = solve_case("failures", verbose=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.splitlines()[-1]
    assert "60/60 calls" in last
    assert f"best {result.fun:.8g}" in last
    bad = sum(not e.good for e in result.evaluations)
    assert f"{bad} calls failed" in last
    assert "s/call" in last
    assert "left" not in last


@pytest.mark.parametrize("verbose", [1, "yes", None])
def test_bad_verbose(verbose: Any) -> None:
    with pytest.raises(SettingsError, match="verbose"):
        archeng.solve(line(), bowl, verbose=verbose, max_evaluations=3)


def test_a_resumed_run_counts_its_own_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=24)
    archeng.resume(tmp_path / "run.db", bowl, verbose=True, max_evaluations=36)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("30/36 calls")
    assert last.startswith("36/36 calls")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_line_and_the_time_left() -> None:
    stream = Terminal()
    solve_case(NAME, callback=ProgressLine(stream, every=0.0))
    lines = stream.getvalue().split("\r")
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\n")
    assert len(lines) == 7  # nothing, then six generations
    assert "33/33 calls" in lines[-1]


def test_to_pandas() -> None:
    result = solve_case("failures")
    table = result.to_pandas()
    assert len(table) == result.nfev
    np.testing.assert_array_equal(
        table[["x[0]", "x[1]"]].to_numpy(), [e.x for e in result.evaluations]
    )
    np.testing.assert_array_equal(table["objective"], [e.objective for e in result.evaluations])
    assert table["status"].tolist() == [e.status for e in result.evaluations]
    assert table["index"].tolist() == list(range(result.nfev))
    assert {"generation", "restart", "seconds", "attempts", "message"} <= set(table.columns)
    assert not {"x", "sampled"} & set(table.columns)


@pytest.mark.parametrize("name", ["seconds", "index", "objective", "message", "x", "generation"])
def test_variables_may_have_any_name_in_tables(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model("names")
    model.variable(name, lower=1, upper=2)
    result = archeng.solve(
        model, lambda d: 10 + d.x[0], max_evaluations=6, seed=1, journal=tmp_path / "run.db"
    )
    table = result.to_pandas()
    designs = [e.x[0] for e in result.evaluations]
    assert any(table[c].tolist() == designs for c in table.columns)
    assert len(set(table.columns)) == len(table.columns)
    assert archeng.cli.main(["export", str(tmp_path / "run.db")]) == 0
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert len(set(header)) == len(header)


def test_to_pandas_without_any_call() -> None:
    run = archeng.Run(line(), seed=1)
    table = run.result().to_pandas()
    assert len(table) == 0
    assert {"objective", "x[0]", "x[1]"} <= set(table.columns)


def test_to_pandas_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(SettingsError, match=r"archeng\[pandas\]"):
        reference(NAME).to_pandas()


def test_a_changed_version_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    solve_case(NAME, journal=tmp_path / "run.db", max_evaluations=8)
    with reading(tmp_path / "run.db") as opened:
        assert set(opened.header()["versions"]) >= {"archeng", "casadi", "numpy", "python"}
    monkeypatch.setattr("archeng.runner.stored.__version__", "99.0")
    archeng.resume(tmp_path / "run.db", bowl)
    assert "99.0" in caplog.text
