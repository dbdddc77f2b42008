"""A page printed to PDF by a browser without a window: Chromium, Chrome or Edge."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from archeng.errors import MissingPackageError, SettingsError
from archeng.simulator.watchdog import Tree

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)  # commands, then where they are on macOS and Windows, which do not have them on the PATH
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",  # it would show the address of a temporary file
    "--generate-pdf-document-outline",  # bookmarks
)
_SECONDS = 120.0  # after which a browser that has not printed yet is ended
_INSTEAD = "Or open the HTML report in any browser and print it to a PDF."


def printed(page: bytes, folder: Path) -> bytes:
    """Return a page, HTML that needs nothing else, as PDF.

    The browser works below ``folder``, in a new folder of its own: some browsers (as snaps) are
    kept from the system's folder for temporary files.

    Raises
    ------
    MissingPackageError
        If there is no browser.
    SettingsError
        If the browser does not print the page.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(
        prefix="archeng-print-", dir=folder, ignore_cleanup_errors=True
    ) as name:
        work = Path(name).resolve()
        (work / "page.html").write_bytes(page)
        command = [browser, *_FLAGS, f"--user-data-dir={work / 'profile'}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium's sandbox cannot be used by root
        command += [f"--print-to-pdf={work / 'page.pdf'}", (work / "page.html").as_uri()]
        try:
            with (work / "log.txt").open("wb") as log:
                Tree(command, stdout=log, stderr=log).wait(_SECONDS)
            return (work / "page.pdf").read_bytes()
        except subprocess.TimeoutExpired as error:
            raise SettingsError(
                f"{browser} did not print the report within {_SECONDS:g} s. {_INSTEAD}"
            ) from error
        except OSError as error:  # it cannot be started, or there is no PDF
            reason = (work / "log.txt").read_text("utf-8", "replace").strip().splitlines()[-1:]
            raise SettingsError(
                f"{browser} did not print the report ({' '.join(reason) or error}). {_INSTEAD}"
            ) from error


def find_browser() -> str:
    """Return the path of a browser that can print, or raise a `MissingPackageError`."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        raise MissingPackageError(
            "A PDF report is printed by Chromium, Chrome or Edge, and none of them was found on "
            f"the PATH. Install one (Debian, Ubuntu: apt install chromium). {_INSTEAD}"
        )
    return path
