"""Reading documentation pages: which blocks they have, running them, comparing what they print.

Conventions, invisible where Markdown is shown:

- Python blocks of a page run in order, in one namespace and one empty directory.
- Shell blocks (``sh``) of README and tutorials run in the same directory, in one shell that stops
  at the first failure; those of other pages only with ``<!-- run -->`` above. ``make`` lines are
  not for that directory: see ``run_make``.
- ``<!-- file: NAME -->`` above a block of any language: it is written to that file, not run.
- ``<!-- output -->`` above a ``text`` block: it is what the block before it printed, and ``...``
  stands for anything.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "case_studies").rglob("*.md")),
]
_BLOCK = re.compile(
    r"^(?:<!-- (?P<what>file|output|run)(?:: (?P<name>.*?))? -->\n\n?)?"
    r"```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and what the comment above it says."""

    language: str
    text: str
    what: str = ""
    name: str = ""
    line: int = 0


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            m["language"],
            m["text"],
            m["what"] or "",
            m["name"] or "",
            text.count("\n", 0, m.start("text")) + 1,
        )
        for m in _BLOCK.finditer(text)
    ]


def relative(page: Path) -> str:
    """Return a page as it is spoken of."""
    return str(page.relative_to(ROOT))


def environment() -> dict[str, str]:
    """Return the environment of shell blocks: this Python, and this checkout of archeng."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def run_page(page: Path, folder: Path, languages: tuple[str, ...]) -> dict[str, Any]:
    """Run the blocks of a page in a folder (the present directory); return the namespace."""
    namespace: dict[str, Any] = {"__name__": "docs"}
    printed = ""
    for k, block in enumerate(blocks(page)):
        where = f"{page.name}[{k}]"
        if block.what == "file":
            (folder / block.name).write_text(block.text, encoding="utf-8")
        elif block.what == "output":
            assert shows(block.text, printed), f"{where}, line {block.line}, prints:\n{printed}"
        elif block.language not in languages and block.what != "run":
            continue
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block.text, where, "exec", dont_inherit=True), namespace)
            printed = stream.getvalue()
        else:
            printed = run_shell(block.text, folder)
    return namespace


def run_shell(text: str, folder: Path) -> str:
    """Run shell lines in a folder and return their standard output; a failure raises."""
    if re.match(r"\s*make ", text):
        return run_make(text, folder)
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", text],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{text}\nexit code {done.returncode}\n{done.stderr}"
    return done.stdout


def run_make(text: str, folder: Path) -> str:
    """Run ``make`` lines as far as that makes sense within a test.

    Every target must exist (``make --dry-run``). Of ``make demo`` the last command is run, with
    this Python; setting up an environment, and the test suite within itself, are not.
    """
    printed = ""
    for line in filter(str.strip, text.splitlines()):
        target = line.split("#")[0].split()[1]
        plan = subprocess.run(
            ["make", "--dry-run", "--no-print-directory", target],
            cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
        ).stdout  # fmt: skip
        if target == "demo":
            last = plan.strip().splitlines()[-1].replace(".venv/bin/python", sys.executable)
            printed += run_shell(last, folder)
    return printed


def shows(expected: str, printed: str) -> bool:
    """Whether the output is the expected one; ``...`` stands for anything."""
    parts = [re.escape(part) for part in _tidy(expected).split("...")]
    return re.fullmatch(".*?".join(parts), _tidy(printed), re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
