"""The side bar: which pages there are, in which order.

The Markdown has no directives of Sphinx in it, so that it reads well elsewhere. Pages that are not
named here come after those that are: a new page needs no change here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SECTIONS = {
    "Tutorials": (
        "docs/tutorials",
        ["first_study", "pyomo_flowsheet", "external_program", "simulated_constraints"],
    ),
    "How to": (
        "docs/how-to",
        [
            "new_study",
            "scale",
            "equalities",
            "simulated",
            "failing_simulators",
            "parallel",
            "resume",
            "budget",
            "report",
            "diagnose",
            "external_programs",
        ],
    ),
    "Reference": ("docs/reference", ["api", "settings", "statuses", "errors", "cli"]),
    "Explanation": (
        "docs/explanation",
        ["algorithm", "surrogate", "architecture", "when_not", "decisions", "deviations"],
    ),
    "Benchmarks": ("docs/benchmarks", ["README", "paper/README", "surrogate/README", "peers"]),
    "Case studies": ("case_studies", ["README", "welded_beam/README"]),
}
ALONE = ["docs/README", "CHANGELOG"]  # linked from other pages, not in the side bar


def setup(app: Any) -> None:
    """Add the tables of contents to the first page, and an index.html that leads to it."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _add_index)


def pages(found: set[str], folder: str, first: list[str]) -> list[str]:
    """Return the pages of a folder that were found: the named ones, then the others."""
    named = [f"{folder}/{name}" for name in first]
    others = sorted(p for p in found if p.startswith(f"{folder}/") and p not in named)
    return [p for p in named if p in found] + others


def _add_contents(app: Any, docname: str, source: list[str]) -> None:
    if docname != app.config.root_doc:
        return
    found = set(app.env.found_docs)
    for caption, (folder, first) in SECTIONS.items():
        source[0] += _toctree(pages(found, folder, first), f":caption: {caption}\n")
    source[0] += _toctree([p for p in ALONE if p in found], ":caption: More\n")


def _toctree(documents: list[str], options: str) -> str:
    listed = "\n".join(documents)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n{options}\n{listed}\n```\n"


def _add_index(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        page = f"{app.config.root_doc}.html"
        Path(app.outdir, "index.html").write_text(
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>archeng</title>\n'
            f'<meta http-equiv="refresh" content="0; url={page}"></head>\n'
            f'<body><a href="{page}">archeng</a></body></html>\n',
            encoding="utf-8",
        )
