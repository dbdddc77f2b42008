"""What the commands of all case studies promise."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Main = Callable[[Sequence[str]], int]


def run_twice(
    main: Main, arguments: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[pytest.CaptureResult[str], dict[str, Any]]:
    """Run seed 1 and the command again: nothing is left to run, the same is shown.

    Returns what the first one printed, and its record.
    """
    assert main(arguments) == 0
    first = capsys.readouterr()
    data = json.loads(path.read_text("utf-8"))
    assert [seed["seed"] for seed in data["seeds"]] == [1]
    assert main(arguments) == 0
    second = capsys.readouterr()
    assert (second.out, second.err) == (first.out, "")
    return first, data


def compare_one(
    main: Main, study: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[str, dict[str, Any]]:
    """Run archeng alone in a study that compares methods: what is printed, and the grey row."""
    methods = "archeng grey box,archeng black box"
    assert main(["--quick", "--calls", "15", "--methods", methods, "--out", str(out)]) == 0
    assert is_picture(out / f"{study}.png")
    record = json.loads((out / f"{study}.json").read_text("utf-8"))
    assert record["calls"] == 15
    assert [row["method"] for row in record["runs"]] == methods.split(",")
    assert [row["illegal"] for row in record["runs"]] == [0, 0]
    shown = capsys.readouterr()
    assert "/15 calls" in shown.err
    assert "0 of them at infeasible designs" in shown.out
    assert "calls to 1 %" in shown.out
    return shown.out, record["runs"][0]


def refused(main: Main, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command says of arguments that it does not take."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def is_picture(path: Path) -> bool:
    """Whether a file is a PNG."""
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
