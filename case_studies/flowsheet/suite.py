"""All problems by name, and their known optima."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from case_studies.flowsheet import chain, hda, power, rankine, rod
from case_studies.flowsheet.definition import Problem

FILE = Path(__file__).with_name("known_optima.json")
PROBLEMS: dict[str, Problem] = {
    p.name: p for module in (power, chain, rankine, hda, rod) for p in module.PROBLEMS
}


def names(held_out: bool | None = None) -> list[str]:
    """Return the names of all problems, or of those held out or not."""
    return [n for n, p in PROBLEMS.items() if held_out is None or p.held_out == held_out]


@cache
def known(name: str) -> float:
    """Return the optimum of the referee."""
    return float(json.loads(FILE.read_text(encoding="utf-8"))["optima"][name])
