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
        [
            "first_study",
            "pyomo_flowsheet",
            "external_program",
            "simulated_constraints",
            "grey_box",
            "discrete",
        ],
    ),
    "How to": (
        "docs/how-to",
        [
            "new_study",
            "scale",
            "equalities",
            "flowsheets",
            "simulated",
            "outputs",
            "discrete",
            "casadi_black_boxes",
            "pyomo_black_boxes",
            "discrete_imports",
            "failing_simulators",
            "noise",
            "parallel",
            "clusters",
            "resume",
            "budget",
            "report",
            "diagnose",
            "watch",
            "external_programs",
            "sample",
            "runtime",
            "everyday",
            "mistakes",
            "adapters",
            "handlers",
        ],
    ),
    "Reference": ("docs/reference", ["api", "settings", "statuses", "errors", "cli"]),
    "Explanation": (
        "docs/explanation",
        [
            "algorithm",
            "surrogate",
            "equations",
            "discrete",
            "architecture",
            "extending",
            "when_not",
            "decisions",
            "deviations",
        ],
    ),
    "Benchmarks": ("docs/benchmarks", ["README", "paper/README", "surrogate/README", "peers"]),
    "Case studies": ("case_studies", ["README", "welded_beam/README"]),
}
ALONE = ["docs/README", "CHANGELOG"]  # at the end of the side bar


def setup(app: Any) -> None:
    """Add the tables of contents to the first page, and an index.html that leads to it."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _add_index)


def pages(found: set[str], folder: str, first: list[str]) -> list[str]:
    """Return the pages of a folder for the side bar: the named ones, then the others.

    Folders below it are there by their README, which has their other pages (`_below`).
    """
    named = [f"{folder}/{name}" for name in first]
    others = [p for p in found if p.startswith(f"{folder}/") and p not in named]
    others = sorted(p for p in others if not any(p in _below(found, r) for r in found))
    return [p for p in named if p in found] + others


def _below(found: set[str], readme: str) -> list[str]:
    """Pages beside the README of a folder within a section, such as docs/benchmarks/paper."""
    folder, _, name = readme.rpartition("/")
    tops = [top for top, _ in SECTIONS.values()]
    if name != "README" or not any(folder.startswith(f"{top}/") for top in tops):
        return []
    return sorted(p for p in found if p.startswith(f"{folder}/") and p != readme)


def _add_contents(app: Any, docname: str, source: list[str]) -> None:
    found = set(app.env.found_docs)
    below = _below(found, docname)
    if below:
        source[0] += _toctree(below)
    if docname != app.config.root_doc:
        return
    for caption, (folder, first) in SECTIONS.items():
        source[0] += _toctree(pages(found, folder, first), caption)
    source[0] += _toctree([p for p in ALONE if p in found], "More")


def _toctree(documents: list[str], caption: str = "") -> str:
    options = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(f"/{document}" for document in documents)
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
