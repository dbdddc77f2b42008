"""The report as PDF: the page as a browser prints it."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pypdf
import pytest
from report_studies import run

from archeng import Design, Evaluation, Model, read_journal, solve
from archeng.cli import main
from archeng.errors import MissingPackageError, SettingsError
from archeng.report import pdf, sections
from archeng.report.pdf import printed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("beam") / "run.db"
    run("beam", journal=path)
    assert main(["report", str(path), "--pdf"]) == 0
    return path


def words(path: Path) -> str:
    """The text of a PDF as a search finds it: without ends of lines."""
    pages = pypdf.PdfReader(path).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def test_pages_words_and_bookmarks(journal: Path) -> None:
    path = journal.with_suffix(".pdf")
    reader = pypdf.PdfReader(path)
    for page in reader.pages:  # A4
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx(
            (595, 842), abs=1
        )
    text = words(path)
    titles = [section.title for section in sections(read_journal(journal))]
    outline: Any = reader.outline
    assert outline[0].title.startswith("beam")
    assert [item.title for item in outline[1]] == titles
    for word in (*titles, "slenderness", "0.01118", "tol_objective"):
        assert word in text, word
    assert "FloatingPointError: the mesh is tangled" in text  # messages are open on paper
    assert f"{len(reader.pages)} / {len(reader.pages)}" in text
    assert reader.metadata is not None
    assert str(reader.metadata.title).startswith("beam")
    assert not [p.name for p in journal.parent.iterdir() if "print" in p.name]


def test_long_tables_are_whole(tmp_path: Path) -> None:
    run("many", max_evaluations=12).report(tmp_path / "run.pdf")
    text = words(tmp_path / "run.pdf")
    assert all(text.count(f"x[{k}]") >= 2 for k in range(150))  # found, and asked


def test_strange_names_and_nothing(tmp_path: Path) -> None:
    result = run("strange", max_evaluations=12)
    result.report(tmp_path / "run.pdf")
    text = words(tmp_path / "run.pdf")
    assert "<script>document" in text
    assert "$\\frac{x$" in text
    assert "onerror=" in text
    empty = dataclasses.replace(
        result, evaluations=(), history=(), x=np.full(3, math.nan), fun=math.nan, activity=()
    )
    empty.report(tmp_path / "run.pdf")
    assert "No call has ended yet" in words(tmp_path / "run.pdf")


def has_chinese_font() -> bool:
    listed = subprocess.run(["fc-list", ":lang=zh-cn"], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip())


def test_other_alphabets(tmp_path: Path) -> None:
    model = Model("Δοκός 梁的设计")
    width = model.variable("πλάτος", lower=0, upper=1, unit="м")
    height = model.variable("梁高", lower=0, upper=1)
    model.subject_to(width + height >= 1, name="λυγηρότητα")

    def simulator(design: Design) -> Evaluation:
        return Evaluation(float(design.x @ design.x), outputs={"балка": 1.0})

    result = solve(model, simulator, max_evaluations=8, seed=1)
    result.report(tmp_path / "run.pdf")
    text = words(tmp_path / "run.pdf")
    for word in ("Δοκός", "πλάτος", "λυγηρότητα", "балка"):
        assert word in text, word
    if has_chinese_font():
        assert "梁高" in text
    result.report(tmp_path / "run.html")
    assert "梁的设计" in (tmp_path / "run.html").read_text(encoding="utf-8")


# -- browsers that are missing, or fail --------------------------------------------------------


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for reports; programs beside it come before all others."""
    for name in ("programs", "out"):
        (tmp_path / name).mkdir()
    path = os.pathsep.join((str(tmp_path / "programs"), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    return tmp_path / "out"


def fake_browser(out: Path, script: str) -> None:
    program = out.parent / "programs" / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_without_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("can", max_evaluations=4)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPackageError, match=r"apt install chromium.*print it") as caught:
        result.report(tmp_path / "run.pdf")
    assert "PATH" in str(caught.value)
    assert not list(tmp_path.iterdir())
    result.report(tmp_path / "run.html")


PAGE = b"<!DOCTYPE html><title>page</title><p>hello"


def test_a_browser_that_fails(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_browser(out, "echo no display >&2; exit 1")
    with pytest.raises(SettingsError, match=r"no display.*print it"):
        printed(PAGE, out)
    monkeypatch.setattr(pdf, "_SECONDS", 0.5)
    fake_browser(out, "exec sleep 60")
    with pytest.raises(SettingsError, match=r"within 0\.5 s.*print it"):
        printed(PAGE, out)
    assert not list(out.iterdir())


def test_a_browser_that_hangs_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "_SECONDS", 0.15)  # less than Chromium needs
    with pytest.raises(SettingsError, match="did not print"):
        printed(PAGE, tmp_path)
    assert not list(tmp_path.iterdir())
    running = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    assert not [c for c in running if str(tmp_path) in " ".join(c)]


def test_what_the_browser_is_told(out: Path) -> None:
    """A new profile, no network in the background, and the page from a file."""
    told = out.parent / "told.txt"
    save = 'for a in "$@"; do case $a in --print-to-pdf=*) echo hello > "${a#*=}";; esac; done'
    fake_browser(out, f'printf "%s\\n" "$@" > {told}\n{save}')
    assert printed(PAGE, out) == b"hello\n"
    arguments = told.read_text().splitlines()
    for flag in ("--headless", "--disable-background-networking", "--disable-sync"):
        assert flag in arguments
    assert ("--no-sandbox" in arguments) == (os.geteuid() == 0)
    assert any(a.startswith("--user-data-dir=") for a in arguments)
    assert arguments[-1].startswith("file://")
    assert not list(out.iterdir())
