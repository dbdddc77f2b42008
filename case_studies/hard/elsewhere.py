"""What else was slow or beaten and has a study of its own: read from its record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

from case_studies.benchmarks.record import FOLDER, markdown_table
from case_studies.paper.results import read_rows

Now = Callable[[Path], str]
"""Return what a record says; raises OSError or ValueError where it says nothing."""


def summary(folder: Path = FOLDER) -> str:
    """Return the table; a dash where a record is missing."""
    lines = []
    for what, before, rival, now, page in LINES:
        try:
            text = now(folder)
        except (OSError, ValueError):
            text = "-"
        lines.append([what, before, rival, text, f"[record]({page})"])
    head = ["what", "archeng before", "best rival before", "archeng in its record", "page"]
    return markdown_table(head, lines)


def _wind(folder: Path) -> str:
    seeds = json.loads((folder / "wind_farm_16.json").read_text(encoding="utf-8"))["seeds"]
    ends = [float(seed["curve"][-1][1]) for seed in seeds]
    return f"best {max(ends):,.0f}, median {median(ends):,.0f} MWh ({len(ends)} seeds)"


def _time(n: int) -> Now:
    """Time per call with models, n sparse rows."""

    def now(folder: Path) -> str:
        rows = read_rows(folder / "dimension" / "dimension.csv")
        own = [r for r in rows if (r["method"], r["n"]) == ("archeng", n)]
        times = [f"{r['overhead_ms']:.3g} ms (rows {r['rows']})" for r in own]
        if not times:
            raise ValueError(n)
        return ", ".join(dict.fromkeys(times))

    return now


def _repair(folder: Path) -> str:
    rows = read_rows(folder / "dimension" / "repair.csv")
    [time] = [
        r["ms"]
        for r in rows
        if (r["n"], r["rows"], r["metric"], r["way"]) == (400, "linear", "dense", "now")
    ]
    return f"{time:.3g} ms with 400 rows"


LINES: tuple[tuple[str, str, str, Now, str], ...] = (
    (
        "wind farm, 16 turbines, 20,000 calls",
        "best 412,946, median 410,834 MWh",
        "418,924 with gradients",
        _wind,
        "../../../case_studies/wind_farm/README.md",
    ),
    ("time per call, n = 50", "35 ms", "COBYQA 0.17 s", _time(50), "../dimension/dimension.md"),
    ("time per call, n = 100", "0.66 s", "-", _time(100), "../dimension/dimension.md"),
    (
        "time per call, n = 400 before, 500 now",
        "2.2 s",
        "-",
        _time(500),
        "../dimension/dimension.md",
    ),
    (
        "repair, dense metric, n = 400",
        "0.43 s with 200 linear rows",
        "-",
        _repair,
        "../dimension/repair.md",
    ),
)
"""What, archeng then, its best rival, where to read what it is now, and the page."""
