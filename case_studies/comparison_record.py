"""Runs of several methods on one study: what is saved, and the table made of it.

A record is a dictionary with ``provenance``, ``calls`` (the budget), ``target`` and ``runs``, one
row for each run. The table in a README is that of the record in ``docs/benchmarks``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from case_studies.benchmarks.record import markdown_table, provenance

Row = Mapping[str, Any]
Column = tuple[str, str, str]
"""Header, key of a row, format."""


def make(command: str, calls: int, target: float, runs: Sequence[Row]) -> dict[str, Any]:
    """Return the record of a command."""
    return {
        "provenance": provenance(command),
        "calls": calls,
        "target": target,
        "runs": [dict(run) for run in runs],
    }


def save(record: Mapping[str, Any], path: Path) -> None:
    """Save a record as JSON; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def table(runs: Sequence[Row], columns: Sequence[Column]) -> str:
    """Return medians over the seeds, a line for each method, and which limits its designs break.

    None counts as infinite: a run without a legal design, or one that does not get there.
    """
    lines = []
    for method in dict.fromkeys(run["method"] for run in runs):
        group = [run for run in runs if run["method"] == method]
        broken = [name for run in group for name in run["broken"]]
        counts = {name: broken.count(name) for name in dict.fromkeys(broken)}
        words = ", ".join(f"{name} ({k} of {len(group)})" for name, k in counts.items())
        values = (median(_number(run[key]) for run in group) for _, key, _ in columns)
        cells = [
            f"{value:{form}}" if math.isfinite(value) else "-"
            for value, (_, _, form) in zip(values, columns, strict=True)
        ]
        lines.append([method, *cells, words or "none"])
    header = ["method", *(name for name, _, _ in columns), "limits that it breaks at the end"]
    return markdown_table(header, lines)


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
