"""The page of common mistakes shows what archeng really says.

Blocks in ``py`` are wrong: each is checked as a file of its own that begins with the page's first
block, and the ``text`` block after it is the message.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import ROOT, blocks

from archeng.cli import main

PAGE = ROOT / "docs" / "how-to" / "mistakes.md"
ALL = blocks(PAGE)
WRONG = [k for k, block in enumerate(ALL) if block.language == "py"]


def said_of(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the command line says of a file."""
    file = folder / "beam.py"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file)]) == 2
    return capsys.readouterr().err.split("archeng: `archeng explain")[0]


def test_the_page_has_every_mistake() -> None:
    assert len(WRONG) >= 12
    assert ALL[0].language == "python"


@pytest.mark.parametrize("k", WRONG, ids=lambda k: ALL[k].text.splitlines()[-1][:40])
def test_a_message_is_the_one_of_the_page(
    k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = said_of(ALL[0].text + ALL[k].text, tmp_path, capsys)
    expected = ALL[k + 1]
    assert expected.language == "text"
    assert expected.text.split() == shown.split(), shown
