"""Recording a benchmark: the figures with the command, commit, machine and versions."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path("docs/benchmarks")


def provenance(command: str) -> dict[str, Any]:
    """Return what a reader needs to repeat the benchmark."""
    return {
        "command": " ".join(map(_portable, command.split(" "))),
        "commit": _git("rev-parse", "--short", "HEAD") + _dirty(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{p: version(p) for p in ("casadi", "numpy", "scipy")},
    }


def command_line(module: str) -> str:
    """Return the command as a user would type it."""
    return " ".join(["python -m", module, *sys.argv[1:]])


def _portable(word: str) -> str:
    """Return a word of a command without the folders of this machine."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def write(name: str, title: str, text: str, data: Any, command: str) -> None:
    """Write ``docs/benchmarks/NAME.md`` for people and ``NAME.json`` for programs."""
    info = provenance(command)
    FOLDER.mkdir(parents=True, exist_ok=True)
    facts = "\n".join(f"- {key}: `{value}`" for key, value in info.items())
    page = f"# {title}\n\n{text}\n\n## How it was made\n\n{facts}\n"
    (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
    record = {"provenance": info, "data": data}
    (FOLDER / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _dirty() -> str:
    return "+changes" if _git("status", "--porcelain", "archeng", "case_studies") else ""
