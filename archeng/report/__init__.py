"""The report of a run: one HTML page that needs no network, no script and no other file.

A PDF is the same page, printed by a browser (`pdf`). The page is a list of sections
(`design_sections`, `run_sections`) made of escaped elements (`html`), with the figures in it
(`figures`); a content security policy forbids scripts besides.
"""

from __future__ import annotations

import base64
import contextlib
import re
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from archeng._version import __version__
from archeng.checks import file_path
from archeng.errors import SettingsError
from archeng.plain_text import short
from archeng.report.design_sections import best_design, constraints, designs, summary
from archeng.report.figures import plot
from archeng.report.figures.style import to_svg
from archeng.report.html import Section, paragraph, section
from archeng.report.pdf import printed
from archeng.report.run_sections import convergence, failures, question, repairs, reproduce, search
from archeng.result import Result

__all__ = ["sections", "style_sheet", "subtitle", "to_html", "write_report"]

_SECTIONS = (
    ("summary", "Summary", summary),
    ("best", "Best design", best_design),
    ("asked", "What was asked", question),
    ("convergence", "Convergence", convergence),
    ("designs", "Designs", designs),
    ("constraints", "What blocks the design", constraints),
    ("repairs", "Repairs", repairs),
    ("failures", "Failures", failures),
    ("search", "Search (for experts)", search),
    ("reproduce", "Reproduce", reproduce),
)
"""Key, title and elements of each section."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_report(result: Result, path: str | Path) -> None:
    """Write a report: what :meth:`archeng.Result.report` does."""
    file = file_path("path", path)
    new = file.parent / f".{file.name}.new"  # a half-written report never has the name
    try:
        if file.is_dir() or not file.resolve().parent.is_dir():
            raise SettingsError(f"{file}: there is no such directory, or it is one.")
        page = to_html(result).encode("utf-8", "replace")
        new.write_bytes(printed(page, file.parent) if file.suffix.lower() == ".pdf" else page)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise SettingsError(f"{file}: cannot be written ({error.strerror}).") from error


def sections(result: Result) -> list[Section]:
    """Return everything that there is to say about a run, the most important first."""
    empty = [paragraph("No call has ended yet.")]
    return [section(key, title, *elements(result) or empty) for key, title, elements in _SECTIONS]


def to_html(result: Result) -> str:
    """Return the whole report as one page."""

    def with_figure(match: re.Match[str]) -> str:
        data = base64.b64encode(to_svg(plot(match[1], result, titled=False))).decode("ascii")
        return f'{match[0]} src="data:image/svg+xml;base64,{data}"'

    parts = sections(result)
    links = "".join(f'<a href="#{p.key}">{escape(p.title)}</a>' for p in parts)
    # texts of users are escaped: no tag is theirs
    body = re.sub(r'<img data-kind="(\w+)"', with_figure, "\n".join(p.html for p in parts))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    state = f'<span class="state {result.state.replace(" ", "-")}">{result.state}</span>'
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(short(result.name, 80))} · archeng report</title>
<style>
{style_sheet()}</style>
</head>
<body>
<header class="top"><div class="inside">
<h1>{escape(result.name)} {state}</h1>
<p class="sub">{escape(subtitle(result))}</p>
</div></header>
<div class="body">
<nav class="toc" aria-label="contents">{links}</nav>
<main>
{body}
</main>
</div>
<footer>archeng {escape(__version__)} · report made {made}</footer>
</body>
</html>
"""


def style_sheet() -> str:
    """Return the CSS of reports."""
    return files(__name__).joinpath("assets", "report.css").read_text(encoding="utf-8")


def subtitle(result: Result) -> str:
    """Return where a run comes from, in one line."""
    origin = result.provenance
    parts = [f"seed {origin.get('seed', '-')}", f"archeng {origin.get('archeng', '-')}"]
    if origin.get("created"):
        where = f" on {origin['machine']}" if origin.get("machine") else ""
        parts.insert(0, f"begun {origin['created']}{where}")
    return " · ".join(parts)
