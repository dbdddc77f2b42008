"""Reports as files."""

from __future__ import annotations

import contextlib
from pathlib import Path

from archeng.checks import file_path
from archeng.errors import SettingsError
from archeng.report.html import to_html
from archeng.report.pdf import to_pdf_report
from archeng.report.shown import Shown


def write_report(shown: Shown, path: str | Path) -> None:
    """Write a report as PDF if the name ends in ``.pdf``, else as HTML.

    Raises
    ------
    SettingsError
        If the file cannot be written.
    """
    file = file_path("path", path)
    new = file.parent / f".{file.name}.new"  # a half-written report never has the name
    try:
        if file.is_dir() or not file.resolve().parent.is_dir():
            raise SettingsError(f"{file}: there is no such directory, or it is one.")
        pdf = file.suffix.lower() == ".pdf"
        data = to_pdf_report(shown) if pdf else to_html(shown).encode("utf-8", "replace")
        new.write_bytes(data)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise SettingsError(f"{file}: cannot be written ({error.strerror}).") from error
