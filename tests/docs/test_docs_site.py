"""The site is built without a warning, its links lead somewhere, and it needs no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT

pytestmark = pytest.mark.slow

SITE = ROOT / "docs" / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q",
         "-d", str(folder / "doctrees"), "-c", str(SITE), str(ROOT), str(folder / "html")],
        capture_output=True, text=True, timeout=280, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


def check_links(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SITE / "check_links.py"), str(folder)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_every_link_inside_leads_to_a_page_and_heading_and_nothing_is_loaded(site: Path) -> None:
    done = check_links(site)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("0 broken links\n")


def test_all_pages_are_there(site: Path) -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("case_studies/*/README.md"), ROOT / "README.md"]
    for page in pages:
        assert (site / page.relative_to(ROOT)).with_suffix(".html").is_file(), page
    first = (site / "README.html").read_text("utf-8")
    sections = ["Tutorials", "How to", "Reference", "Explanation", "Benchmarks", "Case studies"]
    for caption in sections:
        assert f'<span class="caption-text">{caption}</span>' in first
    assert 'url=README.html"' in (site / "index.html").read_text("utf-8")


def test_equations_are_mathml(site: Path) -> None:
    page = (site / "docs/explanation/algorithm.html").read_text("utf-8")
    assert page.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">') >= 10
    assert "mathjax.js" not in page.lower()
    assert "$" not in page.split("<article")[1].split("</article>")[0]


def test_docstrings_and_messages_are_on_the_pages(site: Path) -> None:
    api = (site / "docs/reference/api.html").read_text("utf-8")
    assert 'id="archeng.solve"' in api
    assert "Hard limit on simulator calls" in api
    errors = (site / "docs/reference/errors.html").read_text("utf-8")
    assert "another process is running with this journal" in errors


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="missing.html">x</a>', "missing.html leads nowhere"),
        ('<a href="#nothing">x</a>', "#nothing leads to a page without that heading"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<img src="gone.png">', "gone.png leads nowhere"),
    ],
)
def test_the_check_notices_broken_pages(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "index.html").write_text(f'<p id="here"></p><a href="#here">y</a>{text}', "utf-8")
    done = check_links(tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"index.html: {problem}\n"


def test_the_check_refuses_a_folder_without_a_site(tmp_path: Path) -> None:
    assert check_links(tmp_path).returncode == 2


def test_a_broken_page_fails_the_build(tmp_path: Path) -> None:
    """The options of ``make docs`` do turn warnings into a failure: a broken link and formula."""
    (tmp_path / "README.md").write_text("# Title\n\n[x](gone.md) and $\\nosuchmacro{1}$\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q",
         "-c", str(SITE), str(tmp_path), str(tmp_path / "html")],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode != 0
    assert "gone.md" in done.stderr
    assert "this equation cannot be converted" in done.stderr
