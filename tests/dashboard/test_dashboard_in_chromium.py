"""The dashboard in a real browser: figures, clicks, live updates, hostile texts."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_browser import chromium, click, console, figures, open_tab, painted, text, wait_for
from report_studies import HOSTILE, HOSTILE_MESSAGE, run, start

from archeng.dashboard import DashboardServer, Live
from archeng.report.figures import KINDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[DashboardServer, subprocess.Popen[bytes]]]:
    """A dashboard of a run that another process makes at this moment."""
    journal = tmp_path / "run.db"
    process = start("strange", journal, 0.3, "endless")
    wait_for(journal.exists, "a journal")
    live = Live(journal, look=0.3)
    live.start()
    server = DashboardServer(live, 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server, process
    server.shutdown()
    thread.join()
    server.server_close()
    live.close()
    process.kill()
    process.wait()


def calls(browser: Any) -> int:
    script = """
    const fact = [...document.querySelectorAll("#summary dt")].find(
        (t) => t.textContent === "simulator calls");
    return fact ? parseInt(fact.nextElementSibling.textContent) : 0;
    """
    return int(browser.execute_script(script))


def test_dashboard(browser: Any, served: Any) -> None:
    server, process = served
    browser.get(server.url)
    wait_for(lambda: calls(browser) >= 2, "two calls")
    assert text(browser, "#state") == "running"
    # Live: the number of calls grows, and figures change, in the open tab.
    open_tab(browser, "convergence")
    wait_for(lambda: text(browser, "section.open h2") == "Convergence", "the tab")
    open_figures = "section.open img[data-kind]"
    wait_for(lambda: min(figures(browser, open_figures).values(), default=(0,))[0] > 300, "figures")
    assert set(figures(browser, open_figures)) == {"convergence", "time"}
    source = browser.execute_script("return document.querySelector('section.open img').src")
    before = calls(browser)
    wait_for(lambda: calls(browser) >= before + 2, "more calls")
    changed = "return document.querySelector('section.open img').src !== arguments[0]"
    wait_for(lambda: browser.execute_script(changed, source), "another figure")
    assert text(browser, "section.open h2") == "Convergence"  # still the same place
    # What the user opened and where they scrolled to stays through updates.
    open_tab(browser, "failures")
    wait_for(lambda: text(browser, "section.open h2") == "Failures", "the tab")
    wait_for(lambda: len(browser.find_elements("css selector", "#failures summary")) > 0, "failure")
    wait_for(lambda: click(browser, "#failures summary") is None, "a click")
    assert HOSTILE_MESSAGE in text(browser, "#failures pre")
    browser.execute_script("window.scrollTo({top: 150, behavior: 'instant'})")
    before = calls(browser)
    wait_for(lambda: calls(browser) >= before + 3, "more calls")
    assert browser.execute_script("return window.scrollY") == 150
    assert browser.find_elements("css selector", "#failures details[open]")
    # Hostile texts.
    open_tab(browser, "best")
    wait_for(lambda: HOSTILE in text(browser, "section.open"), "the hostile name as text")
    assert browser.title.startswith("study <script>")
    assert browser.execute_script("return document.scripts.length") == 1
    # A process that is killed is noticed.
    process.send_signal(signal.SIGKILL)
    wait_for(lambda: text(browser, "#state") == "cut off", "the end of the process")
    assert "archeng.resume()" in text(browser, "#summary")
    assert console(browser) == []


def test_every_tab_and_every_figure_of_an_ended_run(browser: Any, tmp_path: Path) -> None:
    run("strange", journal=tmp_path / "run.db")
    server = DashboardServer(Live(tmp_path / "run.db"), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        browser.get(server.url)
        wait_for(lambda: text(browser, "#state") == "ended", "the page")
        seen = set()
        tabs = browser.find_elements("css selector", "#tabs a")
        for key in [tab.get_attribute("data-key") for tab in tabs]:
            open_tab(browser, key)
            here = "section.open img[data-kind]"
            wait_for(
                lambda h=here: all(w > 300 for w, _ in figures(browser, h).values()), "figures"
            )
            for kind in figures(browser, here):
                assert painted(browser, kind) > 8, f"{kind} is empty"
                seen.add(kind)
        assert seen == set(KINDS)
        assert console(browser) == []
        # The same server by a foreign name (DNS rebinding) says nothing.
        browser.get(f"http://evil.test:{server.port}/")
        assert text(browser).startswith("Refused")
        browser.get(f"http://evil.test:{server.port}/state")
        assert "study" not in text(browser)
        console(browser)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
