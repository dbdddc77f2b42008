"""How a run ended is told alike by all that read its journal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import MODEL, PATIENCE, command, environment

import archeng
from archeng import StopReason


def simulator(design: Any) -> float:
    return float(design.x @ design.x + design.x[0])


def stop(run: archeng.Run) -> None:
    raise StopIteration


def model() -> archeng.Model:
    names: dict[str, Any] = {}
    exec(MODEL, names)
    return names["model"]


ENDS: dict[str, tuple[dict[str, Any], StopReason]] = {
    "budget": ({"max_evaluations": 10}, StopReason.MAX_EVALUATIONS),
    "budget within a generation": (
        {"max_evaluations": 9, "settings": archeng.Settings(surrogate="none")},
        StopReason.MAX_EVALUATIONS,
    ),
    "time": ({"max_time": 1e-6}, StopReason.MAX_TIME),
    "target": ({"target": 100.0}, StopReason.TARGET),
    "callback": ({"callback": stop}, StopReason.CALLBACK),
}
DIES = """
import os, archeng
{model}
def simulator(design):
    return float(design.x @ design.x)
def die(run):
    if run.n_evaluations == {dies}:
        os._exit(1)
archeng.solve(model, simulator, seed=1, max_evaluations=12, population_size=6, journal="run.db",
              settings=archeng.Settings(surrogate="none"), callback=die)
"""


def told(journal: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str | None, int]]:
    """Return state, reason and number of calls as each reader tells them."""
    capsys.readouterr()
    result = archeng.read_journal(journal)
    reason = result.stop_reason.name if result.ended else None
    seen = [("ended" if result.ended else "stopped", reason, result.nfev)]
    assert command("status", journal, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    seen.append((data["state"], data["stop_reason"], data["calls"]))
    assert command("compare", journal, journal, "--json") == 0
    for run in json.loads(capsys.readouterr().out)["runs"]:
        seen.append((run["state"], run["stop_reason"], run["calls"]))
    assert command("export", journal, "--json") == 0
    calls = json.loads(capsys.readouterr().out)
    seen.append((*seen[0][:2], len(calls)))
    return seen


@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_told_alike(end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options, reason = ENDS[end]
    journal = tmp_path / "run.db"
    result = archeng.solve(model(), simulator, seed=1, journal=journal, **options)
    assert result.stop_reason is reason
    assert set(told(journal, capsys)) == {("ended", reason.name, result.nfev)}
    assert command("status", journal) == 0
    assert f"plate: ended because {reason.value}\n" in capsys.readouterr().out
    assert command("compare", journal, journal) == 0
    assert capsys.readouterr().out.count(f"ended: {reason.name.lower()}") == 2
    page = tmp_path / "run.html"
    assert command("report", journal, "--output", page) == 0
    assert reason.value in re.sub(r"\s+", " ", page.read_text("utf-8"))
    if end != "callback":  # a callback of another process may say otherwise
        again = archeng.resume(journal, simulator)
        assert (again.stop_reason, again.nfev) == (reason, result.nfev)
        assert set(told(journal, capsys)) == {("ended", reason.name, result.nfev)}


@pytest.mark.parametrize(
    ("dies", "state", "reason"),
    [(12, "ended", "MAX_EVALUATIONS"), (6, "stopped", None)],
    ids=["after its last call", "before"],
)
def test_a_process_that_died(
    dies: int,
    state: str,
    reason: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It cannot say why it ended; if its budget is used up, that is why."""
    script = DIES.format(model=MODEL, dies=dies)
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert set(told(tmp_path / "run.db", capsys)) == {(state, reason, dies)}
    command("status", tmp_path / "run.db")
    said = capsys.readouterr().out
    assert ("resume" in said) == (state == "stopped")
