"""Reports as HTML files: what is in them, and the command."""

from __future__ import annotations

import dataclasses
import html.parser
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_studies import HOSTILE, HOSTILE_MESSAGE, run

from archeng import Result, Settings, StopReason, read_journal
from archeng.cli import main
from archeng.errors import SettingsError
from archeng.plain_text import short
from archeng.report import sections, to_html

pytestmark = pytest.mark.slow


class Page(html.parser.HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def words(result: Result) -> Page:
    """The page without its figures."""
    return Page("".join(part.html for part in sections(result)))


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("beam") / "run.db"
    run("beam", journal=path)
    return path


@pytest.fixture(scope="module")
def beam(journal: Path) -> Page:
    assert main(["report", str(journal)]) == 0
    return Page(journal.with_suffix(".html").read_text())


@pytest.fixture(scope="module")
def strange() -> Page:
    return Page(to_html(run("strange")))


def test_the_page_needs_nothing_else(beam: Page) -> None:
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(beam.tags)
    for tag, name, value in beam.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href"):
            assert value is not None
            assert value.startswith(("data:image/svg+xml;base64,", "#")), value[:80]
    policies = [v for t, n, v in beam.attributes if t == "meta" and n == "content"]
    assert any("default-src 'none'" in str(v) for v in policies)


def test_the_page_says_what_was_asked_and_found(beam: Page, journal: Path) -> None:
    result = read_journal(journal)
    text = " ".join(beam.texts)
    assert "Minimise what the simulator returns over 2 variables" in text
    for name in ("width", "depth", "slenderness", "stress", "deflection", "mass", "m"):
        assert name in beam.texts
    for number in ("0.01", "0.2", "0.4", "20000000", f"{result.fun:.10g}", f"{result.x[0]:.8g}"):
        assert number in text
    assert f"{result.nfev} of 60" in text
    assert "FloatingPointError: the mesh is tangled" in text
    assert result.provenance["numpy"] in text
    assert result.provenance["created"] in text
    kinds = {v for t, n, v in beam.attributes if n == "data-kind"}
    assert kinds == {
        "convergence", "time", "variables", "parallel", "activity", "simulated", "repairs",
        "search", "failures",
    }  # fmt: skip
    targets = {v for t, n, v in beam.attributes if t == "section" and n == "id"}
    links = {str(v)[1:] for t, n, v in beam.attributes if t == "a" and n == "href"}
    assert links == targets


def test_only_settings_that_were_changed_are_marked() -> None:
    result = run("can", max_evaluations=6, settings=Settings(tol_x=1e-9))
    html = sections(result)[-1].html
    assert re.findall(r'<tr class="marked"><td>(\w+)</td>', html) == ["tol_x"]
    assert "MISSING" not in html


def test_hostile_names_are_text(strange: Page) -> None:
    assert not {"script", "i", "u", "b"} & set(strange.tags)
    assert strange.tags.count("img") == 9  # the figures
    assert all(n != "onerror" for _, n, _ in strange.attributes)
    assert HOSTILE in strange.texts
    assert any(HOSTILE_MESSAGE in text for text in strange.texts)
    assert "<i>sum</i> $_" in strange.texts
    assert "<b>m</b>" in strange.texts


def test_parameters_outputs_and_formulas_are_shown() -> None:
    result = run("grey")
    page = words(result)
    assert not {"script", "i", "u", "b", "mesh"} & set(page.tags)
    text = " ".join(page.texts)
    assert "best cost & <u>" in page.texts
    assert "Minimise cost & <u> = (price/t<b>)+t<b> over 1 variable" in text
    assert "2 constraints with outputs of the simulator" in text
    for cell in ("load & wind[1]", "16000", "<N>", "σ<i>[0]", "N/mm²", "EUR", "<mesh>", "a.py:1"):
        assert cell in page.texts, cell
    formula = "((1.5*σ<i>[1])*load & wind[0])-((0.003*t<b>)*load & wind[1])"
    assert page.texts.count(formula) == 3  # asked, found, what blocks the design
    assert f"{result.outputs['price']:.8g}" in page.texts
    assert page.texts.count("Outputs of the simulator") == 2
    assert page.texts.count("Other outputs of the simulator") == 1


def test_the_text_shows_parameters_outputs_and_formulas() -> None:
    result = run("grey")
    lines = [" ".join(line.split()) for line in str(result).splitlines()]
    assert "objective: cost & <u> = (price/t<b>)+t<b>" in lines
    assert any(line.startswith("load & wind[0] 9000 <N> ") for line in lines)
    assert f"price {result.outputs['price']:.8g} EUR" in lines
    assert f"<mesh> {HOSTILE}" in lines
    (row,) = [line for line in lines if line.startswith("strength[1]") and " times " not in line]
    assert row.endswith("((1.5*σ<i>[1])*load & wind[0])-((0.003*t<b>)*load & wind[1])")
    (blocking,) = [line for line in lines if line.startswith("strength[1] violated")]
    assert blocking.endswith("load & wind[1])")
    assert {a.name: a.source for a in result.activity}["strength[1]"] == "a.py:1"


def test_a_page_of_a_run_without_any_success() -> None:
    result = run("can", max_evaluations=6)
    failed = tuple(
        dataclasses.replace(e, status="timed_out", objective=math.nan, message="")
        for e in result.evaluations
    )
    none = dataclasses.replace(
        result,
        evaluations=failed,
        x=np.full(2, math.nan),
        fun=math.nan,
        activity=(),
        rows=tuple(dataclasses.replace(r, value=math.nan, active=False) for r in result.rows),
    )
    page = words(none)
    text = " ".join(page.texts)
    assert "6 of 6 calls did not end well" in text
    assert "volume" in page.texts  # what was asked is known
    assert "nan" not in text.replace("nano", "").lower().split()


def test_every_call_fails_with_its_own_message() -> None:
    result = run("can", max_evaluations=6)
    one = result.evaluations[0]
    bad = tuple(
        dataclasses.replace(one, index=k, status="failed", message=f"step {k} too small")
        for k in range(300)
    )
    page = words(dataclasses.replace(result, evaluations=bad))
    assert page.tags.count("details") == 12
    assert page.tags.count("tr") < 150
    assert "There are 300 different messages" in " ".join(page.texts)


@pytest.mark.parametrize("reason", [StopReason.RUNNING, StopReason.CUT_OFF])
def test_runs_that_have_not_ended(reason: StopReason) -> None:
    result = dataclasses.replace(run("can", max_evaluations=6), stop_reason=reason)
    first = " ".join(words(result).texts[:60])
    assert ("The run goes on." in first) == (reason is StopReason.RUNNING)
    assert ("archeng.resume()" in first) == (reason is StopReason.CUT_OFF)


# -- the command -----------------------------------------------------------------------------


def test_command_takes_a_saved_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("can", max_evaluations=8).save(tmp_path / "result.json")
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "result.json"), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert re.search("<h1>can ", out.read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.db"], "cannot be read"),
        (["text.txt"], "is not an archeng journal"),
        (["result.json", "-o", "result.json"], "overwrite"),
        (["result.json", "-o", "no/such/folder.html"], "no such directory"),
        (["result.json", "--pdf", "page.html"], "must end in .pdf"),
    ],
)
def test_command_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("hello")
    run("can", max_evaluations=4).save("result.json")
    before = Path("result.json").read_bytes()
    assert main(["report", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert Path("result.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["result.json", "text.txt"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    result = run("can", max_evaluations=4)
    with pytest.raises(SettingsError, match="no such directory"):
        result.report(tmp_path)
    with pytest.raises(SettingsError, match="cannot be written"):
        result.report(tmp_path / ("x" * 300 + ".html"))
    assert not list(tmp_path.iterdir())


def test_short() -> None:
    assert short("a\n b\t\x00c") == "a b c"
    assert short("abcdefghij", 5) == "ab…ij"
    assert len(short("x" * 1000, 32)) == 32
