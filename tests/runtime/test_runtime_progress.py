"""What a run shows, and its calls as a table."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import (
    assert_same,
    bowl,
    environment,
    line,
    reading,
    reference,
    solve_case,
)

import archeng
import archeng.cli
from archeng import Design, Model, ProgressLine
from archeng.errors import SettingsError
from archeng.simulator import Call, CallStatus

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


class Broken(io.StringIO):
    """A stream whose reader goes away, or whose disk fills up, after some writes."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.writes = error, 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.writes > 2:
            raise self.error
        return super().write(text)


@pytest.mark.parametrize(
    "error",
    [
        BrokenPipeError(32, "Broken pipe"),
        OSError(5, "Input/output error"),
        OSError(28, "No space left on device"),
        ValueError("I/O operation on closed file."),
    ],
)
def test_a_stream_that_breaks_does_not_end_the_run(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    stream = Broken(error)
    result = solve_case("failures", callback=ProgressLine(stream, every=0.0))
    assert_same(result, reference("failures"))
    assert stream.writes == 3
    [warning] = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "no longer shown" in warning.getMessage()


@pytest.mark.slow
def test_a_standard_error_whose_reader_ends_does_not_end_the_run(tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(
        "import sys, time, archeng\n"
        "model = archeng.Model('m')\n"
        "model.variable('x', lower=0, upper=1, shape=3)\n"
        "def simulator(design):\n"
        "    time.sleep(0.03)\n"
        "    return float(design.x @ design.x)\n"
        "run = archeng.Run(model, simulator, seed=1, max_evaluations=120,\n"
        "    settings=archeng.Settings(surrogate='none', stop_tests=False),\n"
        "    callback=archeng.ProgressLine(every=0.01))\n"
        "print(run.run().nfev)\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as run:
        assert run.stderr is not None
        assert run.stdout is not None
        assert "calls" in run.stderr.readline()
        run.stderr.close()
        assert run.stdout.read().strip() == "120"


class Ascii(io.StringIO):
    encoding = "ascii"

    def write(self, text: str) -> int:
        return super().write(text.encode("ascii").decode())


def test_failures_are_shown_in_any_encoding_and_only_so_many() -> None:
    stream = Ascii()
    progress = ProgressLine(stream)
    for k in range(30):
        progress.failed(Call(CallStatus.FAILED, float("nan"), f"σ too large {k}", 1.5))
    shown = stream.getvalue().splitlines()
    assert shown[0] == "call failed after 1.5 s: \\u03c3 too large 0"
    assert len(shown) == 11
    assert "only counted" in shown[-1]


def test_idle_workers_are_said_with_what_would_use_more() -> None:
    def slow(design: Design) -> float:
        time.sleep(0.05)
        return bowl(design)

    stream = io.StringIO()
    options: dict[str, Any] = {"simulator": slow, "workers": "threads:8", "max_evaluations": 22}
    solve_case("proposals", callback=ProgressLine(stream, every=0.0), **options)
    assert stream.getvalue().count("parallel=8 would use more") == 1
    last = stream.getvalue().splitlines()[-1]
    [(busy, of)] = re.findall(r"(\d\.\d) of (\d) workers busy", last)
    assert 0.1 < float(busy) <= 1.0
    assert of == "8"


def test_busy_workers_are_not_said_to_be_idle() -> None:
    def slow(design: Design) -> float:
        time.sleep(0.05)
        return bowl(design)

    stream = io.StringIO()
    options: dict[str, Any] = {"simulator": slow, "workers": "threads:1", "max_evaluations": 48}
    solve_case(NAME, callback=ProgressLine(stream, every=0.0), **options)
    assert "workers busy" not in stream.getvalue()


def test_short_calls_are_no_reason_for_advice() -> None:
    """Workers are idle because the calls take no time: more proposals would not use them."""
    stream = io.StringIO()
    options: dict[str, Any] = {"workers": "threads:8", "max_evaluations": 22}
    solve_case("proposals", callback=ProgressLine(stream, every=0.0), **options)
    assert "would use more" not in stream.getvalue()


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
    monkeypatch.setattr("archeng.runner.moved.__version__", "99.0")
    archeng.resume(tmp_path / "run.db", bowl)
    assert "99.0" in caplog.text
