"""One generation is followed with few jumps between files."""

from __future__ import annotations

from pathlib import Path

import generation_flow
import pytest

MOST_FILES = 36  # files of the package that a plain generation goes through
MOST_JUMPS = 400  # calls from one of them into another; it was 885 before the ledger


def test_a_generation_is_short_to_follow(tmp_path: Path) -> None:
    flow = generation_flow.one_generation(tmp_path)
    assert len(flow.files) <= MOST_FILES, flow.summary()
    assert flow.jumps.total() <= MOST_JUMPS, f"{flow.summary()}\n{flow.pairs()}"
    assert any(name.startswith("repair/") for name in map(flow.short, flow.files))
    assert any(name.startswith("strategy/") for name in map(flow.short, flow.files))


def test_the_same_run_is_counted_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir(), second.mkdir()
    flows = [generation_flow.one_generation(folder) for folder in (first, second)]
    assert flows[0].summary() == flows[1].summary()


def test_the_command_prints_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    generation_flow.main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert "file-to-file jumps" in lines[0]
    assert " -> " in lines[1]
