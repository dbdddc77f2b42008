"""The report in a real browser: figures, links, messages, hostile texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_browser import chromium, click, console, figures, painted, text, wait_for
from report_studies import HOSTILE, HOSTILE_MESSAGE, run

from archeng.report.figures import KINDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    run("strange").report(path)
    return path


def test_report(browser: Any, page: Path) -> None:
    browser.get(page.as_uri())
    assert set(figures(browser)) == set(KINDS)
    wait_for(lambda: all(w > 300 for w, _ in figures(browser).values()), "every figure")
    for kind in KINDS:
        assert painted(browser, kind) > 8, f"{kind} is empty"
    assert console(browser) == []
    # Hostile names and messages are text, and nothing of them ran.
    assert browser.title.startswith("study <script>")
    assert "owned" not in browser.title.replace(HOSTILE, "")
    assert HOSTILE in text(browser, "#best")
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return document.querySelectorAll('img').length") == len(KINDS)
    # The contents are links.
    for key in ("reproduce", "best", "failures"):
        inside = f"""
        const box = document.getElementById("{key}").getBoundingClientRect();
        return box.top >= -1 && box.top < innerHeight;
        """
        assert not browser.execute_script(inside) or key == "best"
        click(browser, f'nav a[href="#{key}"]')
        wait_for(lambda script=inside: browser.execute_script(script), f"{key} in view")
    # Messages open.
    assert not browser.find_element("css selector", "#failures pre").is_displayed()
    wait_for(lambda: click(browser, "#failures summary") is None, "a click")
    assert HOSTILE_MESSAGE in text(browser, "#failures pre")
    assert console(browser) == []
