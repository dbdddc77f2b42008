"""A real Chromium without a screen, for the tests of report and dashboard."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

_MOVING = (StaleElementReferenceException, ElementClickInterceptedException)  # not now
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1280,1000",
    "--host-resolver-rules=MAP evil.test 127.0.0.1",
)  # fmt: skip


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium with a new empty profile."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert None not in (program, driver), (
        "the tests need chromium and chromium-driver: `make browser`"
    )
    options = webdriver.ChromeOptions()
    options.binary_location = str(program)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(driver))
        try:
            browser.set_page_load_timeout(60)
            yield browser
        finally:
            browser.quit()


def console(browser: Any) -> list[str]:
    """What the page complained about."""
    return [entry["message"] for entry in browser.get_log("browser")]


def figures(browser: Any, where: str = "img[data-kind]") -> dict[str, tuple[int, int]]:
    """Kinds of the figures on the page, with their natural sizes."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map("
        "i => [i.dataset.kind, i.complete ? i.naturalWidth : 0, i.naturalHeight])"
    )
    return {kind: (width, height) for kind, width, height in browser.execute_script(script, where)}


def painted(browser: Any, kind: str) -> int:
    """How many different colours a figure has when it is drawn: 1 for an empty one."""
    script = """
    const image = document.querySelector(`img[data-kind="${arguments[0]}"]`);
    const canvas = document.createElement("canvas");
    canvas.width = 300; canvas.height = 150;
    const pen = canvas.getContext("2d");
    pen.drawImage(image, 0, 0, 300, 150);
    const data = new Uint32Array(pen.getImageData(0, 0, 300, 150).data.buffer);
    return new Set(data).size;
    """
    return int(browser.execute_script(script, kind))


def text(browser: Any, selector: str = "body") -> str:
    return str(browser.find_element(By.CSS_SELECTOR, selector).text)


def click(browser: Any, selector: str) -> None:
    browser.find_element(By.CSS_SELECTOR, selector).click()


def open_tab(browser: Any, key: str) -> None:
    """Click on a tab until it is open: a click misses if the page moves just then."""

    def clicked() -> bool:
        click(browser, f'#tabs a[data-key="{key}"]')
        return bool(browser.find_elements("css selector", f'#tabs a.open[data-key="{key}"]'))

    wait_for(clicked, f"the tab {key}")


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> Any:
    """Poll until a condition holds, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(*_MOVING):
            value = condition()
            if value:
                return value
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {seconds:g} s")
