"""The generation that has begun, as plain data: its candidates, and the search that made them.

Sampled again on another processor they could differ by rounding, and then calls that had finished
would belong to no candidate. So they are stored before their first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from archeng.handlers import Population, Search
from archeng.runner import typed

_KEPT = ("parameters", "state")  # of a search: making candidates does not change them


def opened(search: Search, population: Population, rng: np.random.Generator) -> dict[str, Any]:
    """Return what :func:`reopened` needs; ``search`` and ``rng`` after the candidates were made."""
    made = {f.name: getattr(population, f.name) for f in fields(Population)}
    return {
        "rng": rng.bit_generator.state,
        "search": {f.name: getattr(search, f.name) for f in fields(Search) if f.name not in _KEPT},
        "population": {**made, "repairs": [asdict(r) for r in population.repairs]},
    }


def reopened(
    data: Mapping[str, Any], search: Search, rng: np.random.Generator
) -> tuple[Search, Population]:
    """Return the candidates, and the search after it made them; set the generator likewise."""
    made, n = dict(data["population"]), search.distribution.n
    repairs = tuple(typed.repair(r, n) for r in made.pop("repairs"))
    made["sampled"] = typed.array(made["sampled"], len(repairs), n)
    population = Population(repairs=repairs, **made)
    changed = dict(data["search"])
    changed |= {name: float(changed[name]) for name in ("alpha", "d_m")}
    changed |= {"anchor": typed.array(changed["anchor"], n), "memory": dict(changed["memory"])}
    search = replace(search, **changed)
    rng.bit_generator.state = data["rng"]
    return search, population
