"""Pages about the code name files that are there."""

from __future__ import annotations

import re

import pytest
from docs_pages import ROOT

PAGES = ["docs/explanation/architecture.md", "docs/explanation/extending.md", "CONTRIBUTING.md"]
FILES = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
OURS = {name for name in FILES if name.startswith("archeng/")}


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_are_there(page: str) -> None:
    """From the root, from the package, or inside the part that a paragraph is about."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = sorted(set(re.findall(r"`([\w./]+\.py)`", text)))
    assert named
    missing = [
        name
        for name in named
        if name not in FILES and not any(ours.endswith(f"/{name}") for ours in OURS)
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_folders_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = sorted(set(re.findall(r"`([\w./-]+)/`", text)))
    missing = [
        name
        for name in named
        if not any((root / name).is_dir() for root in (ROOT, ROOT / "archeng"))
    ]
    missing = [name for name in missing if not list((ROOT / "archeng").rglob(name))]
    assert not missing
