"""Every block of code in README and docs runs; what pages show is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import PAGES, ROOT, Block, blocks, relative, run_page, shows

pytestmark = pytest.mark.slow

TUTORIALS = [p for p in PAGES if p.parent.name == "tutorials"]
MUST_RUN_ALL = [ROOT / "README.md", *TUTORIALS]
RUN = ("python", "sh")
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")


def languages(page: Path) -> tuple[str, ...]:
    """Shell blocks of other pages may be for another machine, or take hours."""
    return RUN if page in MUST_RUN_ALL else ("python",)


def runs(page: Path) -> bool:
    return any(b.language in languages(page) or b.what == "run" for b in blocks(page))


@pytest.mark.parametrize("page", [p for p in PAGES if runs(p)], ids=relative)
def test_blocks_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace = run_page(page, tmp_path, languages(page))
    if "result" in namespace:
        assert namespace["result"].n_infeasible_calls == 0


@pytest.mark.parametrize("page", MUST_RUN_ALL, ids=relative)
def test_no_block_of_readme_and_tutorials_is_left_out(page: Path) -> None:
    """Whatever is there is run, written to a file that is used, or compared with an output."""
    assert blocks(page)
    for block in blocks(page):
        known = block.language in RUN or block.what in ("file", "output")
        assert known, f"line {block.line}: ```{block.language} is neither run nor compared"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert not missing


def test_the_five_tutorials_are_there() -> None:
    names = {p.stem for p in TUTORIALS}
    wanted = {"first_study", "pyomo_flowsheet", "external_program", "simulated_constraints"}
    assert wanted | {"grey_box"} <= names


def test_every_page_can_be_found_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / t).resolve() for t in LINK.findall(index.read_text("utf-8"))}
    sections = ("tutorials", "how-to", "reference", "explanation")
    missing = [relative(p) for p in PAGES if p.parent.name in sections and p not in linked]
    assert not missing, "add a line to docs/README.md"


def test_outputs_are_compared_up_to_dots() -> None:
    assert shows("a\nb...\n", "a\nb 12\nc")
    assert shows("a ... c", "a  \nc") is False
    assert not shows("a\nb", "a\nb\nc")
    assert not shows("x = 1", "x = 2")


def test_blocks_are_read_with_their_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- file: a.py -->\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n", "utf-8")
    assert blocks(page) == [
        Block("python", "x = 1\n", "file", "a.py", 4),
        Block("sh", "ls\n", line=8),
    ]


def test_a_wrong_output_and_a_failing_command_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 1\n```\n\n<!-- output -->\n\n```text\n2\n```\n", "utf-8")
    with pytest.raises(AssertionError, match="prints"):
        run_page(page, tmp_path, RUN)
    page.write_text("```sh\nfalse\ntrue\n```\n", "utf-8")
    with pytest.raises(AssertionError, match="exit code 1"):
        run_page(page, tmp_path, RUN)
