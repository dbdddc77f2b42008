"""Journals of the version before the state was one tree: read, told alike, and reused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pinned_runs import LIMITS, PAPER, beam, bowl, disc, weld

import archeng
from archeng import StopReason
from archeng.cli import main
from archeng.errors import JournalError

STORED = Path(__file__).with_name("journals")
ENDED = {
    "converged": (45, StopReason.CONVERGED),
    "budget": (40, StopReason.MAX_EVALUATIONS),
    "broken": (33, StopReason.CUT_OFF),
    "broken_paper": (33, StopReason.CUT_OFF),
}


@pytest.mark.parametrize("name", ENDED)
def test_they_are_read_and_told_alike(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(STORED / f"{name}.db", tmp_path))
    before, (calls, reason) = path.read_bytes(), ENDED[name]
    result = archeng.read_journal(path)
    assert (result.nfev, result.stop_reason) == (calls, reason)
    result.report(tmp_path / "run.html")
    assert main(["status", "--json", str(path)]) == 0
    status: dict[str, Any] = json.loads(capsys.readouterr().out)
    ended = reason is not StopReason.CUT_OFF
    assert (status["calls"], status["state"]) == (calls, "ended" if ended else "stopped")
    assert status["best"]["objective"] == result.fun
    with pytest.raises(JournalError, match=r"version 4.*seed=\d+ and reuse="):
        archeng.resume(path, bowl, max_evaluations=200)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "model", "simulator", "options"),
    [
        ("broken", beam, weld, {"simulated": LIMITS}),
        ("broken_paper", disc, bowl, {"settings": PAPER}),
    ],
)
def test_a_new_run_repeats_no_finished_call(
    name: str, model: Any, simulator: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    path = Path(shutil.copy(STORED / f"{name}.db", tmp_path))
    seed = archeng.read_journal(path).provenance["seed"]
    new = tmp_path / "new.db"
    again = archeng.solve(
        model(), simulator, max_evaluations=20, seed=seed, reuse=path, journal=new, **options
    )
    kept = [call.status for call in again.evaluations[:32]]
    assert kept[0] == "reused"
    assert kept.count("reused") >= 8  # all 32 where rounding is that of the journal's processor
    assert again.nfev == 20
