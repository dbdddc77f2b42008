"""Small studies, and commands as real processes and in real terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pexpect

from archeng.cli import main
from archeng.journal import Journal

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds; only reached when something is wrong

MODEL = """\
import archeng

model = archeng.Model("plate")
x = model.variable("x", shape=2, lower=-5, upper=5, unit="mm")
model.subject_to(x[0] + x[1] >= 1, name="line")
"""
SIMULATOR = """\
def simulator(design):
    return float(design.x @ design.x + design.x[0])
"""
TOML = """\
[study]
name = "plate"

[run]
max_evaluations = 10
seed = 1
"""


def write_study(
    folder: Path, toml: str = TOML, model: str = MODEL, simulator: str = SIMULATOR
) -> Path:
    """Write a small study and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(model)
    (folder / "simulator.py").write_text(simulator)
    (folder / "study.toml").write_text(toml)
    return folder


def command(*arguments: Any) -> int:
    """Run a command in this process."""
    return main([str(a) for a in arguments])


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "COLUMNS": "120",
    }


def process(folder: Path, *arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "archeng", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        **{"env": environment(), "text": True, **options},
    )


def terminal(folder: Path, *arguments: Any) -> Any:
    """Start a command in a terminal of its own."""
    return pexpect.spawn(
        sys.executable,
        ["-m", "archeng", *map(str, arguments)],
        cwd=str(folder),
        env=environment(),
        dimensions=(50, 120),
        encoding="utf-8",
        timeout=PATIENCE,
    )


def typed(folder: Path, *arguments: Any) -> tuple[int, str]:
    """Run a command in a terminal to its end; return its exit code and what it showed."""
    child = terminal(folder, *arguments)
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, child.before.replace("\r\n", "\n")


def calls(journal: Path) -> list[tuple[str, float, str]]:
    """Return design (hexadecimal), objective and status of every call."""
    opened = Journal.read(journal)
    try:
        records = [stored.call for stored in opened.calls()]
    finally:
        opened.close()
    return [(e.x.tobytes().hex(), e.objective, e.status) for e in records]


def contents(folder: Path) -> Mapping[str, bytes]:
    """Return all files of a folder."""
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }
