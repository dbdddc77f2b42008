"""The sections about the question: what was asked, and what it takes to ask it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from archeng.model.tables import number
from archeng.records import RowAtBest
from archeng.report.blocks import Block, Paragraph, Section, Table
from archeng.report.shown import Shown
from archeng.settings import Settings

_VERSIONS = ("archeng", "python", "casadi", "numpy", "scipy")
_RUN = ("created", "machine", "last_noted", "fingerprint")
_OPTIONS = {
    "max_evaluations": "simulator calls, at most",
    "max_time": "seconds, at most",
    "target": "target of the objective",
    "restarts": "restarts, at most",
    "population_size": "candidates per generation",
}


def asked(shown: Shown) -> Section:
    """Return variables, constraints, limits and budget."""
    sense = "Maximise" if shown.maximize else "Minimise"
    n, m = len(shown.at_best), len(explicit_rows(shown))
    text = (
        f"{sense} what the simulator returns over {n} variable{'s' * (n != 1)}, "
        f"{m} explicit constraint{'s' * (m != 1)} besides bounds"
    )
    if shown.simulated:
        k = len(shown.simulated)
        text += f" and {k} constraint{'s' * (k != 1)} that only the simulator knows"
    blocks: list[Block] = [Paragraph(text + "."), _variables(shown)]
    if "incomplete" in shown.provenance:
        blocks.append(Paragraph(f"Note: {shown.provenance['incomplete']}."))
    if m:
        blocks.append(_constraints(explicit_rows(shown)))
    if shown.simulated:
        limits = [(s.name, number(s.lower), number(s.upper)) for s in shown.simulated]
        header = ("simulated constraint", "lower", "upper")
        blocks.append(Table("Limits of what the simulator returns", header, limits, "lrr"))
    blocks.append(_budget(shown))
    return Section("asked", "What was asked", tuple(blocks))


def explicit_rows(shown: Shown) -> list[RowAtBest]:
    """Rows that are not bounds of variables."""
    return [r for r in shown.rows if r.kind != "bound"]


def _variables(shown: Shown) -> Table:
    starts = np.concatenate([v.start for v in shown.variables])
    rows = [
        (v.name, v.unit or "-", number(v.lower), number(v.upper), number(start))
        for v, start in zip(shown.at_best, starts, strict=True)
    ]
    return Table("Variables", ("variable", "unit", "lower", "upper", "start"), rows, "llrrr")


def _constraints(found: list[RowAtBest]) -> Table:
    rows = []
    for r in found:
        low, high = number(r.lower), number(r.upper)
        if r.kind == "equality":
            low = f"{number((r.lower + r.upper) / 2)} ± {(r.upper - r.lower) / 2:.2g}"
            high = number((r.lower + r.upper) / 2)
        rows.append((r.name, r.kind, low, high, r.source or "-"))
    header = ("constraint", "kind", "lower", "upper", "declared at")
    return Table("Explicit constraints", header, rows, "llrrl")


def _budget(shown: Shown) -> Table:
    options = _mapping(shown.provenance.get("options"))
    given = {key: options[key] for key in _OPTIONS if options.get(key) is not None}
    rows = [(_OPTIONS[key], _value(value)) for key, value in given.items()]
    if not {"max_evaluations", "max_time", "target"} & set(given):
        rows.insert(0, ("simulator calls, at most", "no limit: until the search converges"))
    return Table("Budget", ("limit", "value"), rows, "lr")


def reproduce(shown: Shown) -> Section:
    """Return versions, seed and settings."""
    known = shown.provenance
    blocks: list[Block] = [
        Paragraph(
            "The same model, simulator, seed, options and settings give the same run, bit for "
            "bit, with the same versions on the same kind of machine."
        )
    ]
    what = [("seed", str(known.get("seed", "-")))]
    what += [(name, str(known[name])) for name in _VERSIONS if name in known]
    what += [(name.replace("_", " "), str(known[name])) for name in _RUN if known.get(name)]
    blocks.append(Table("Seed and versions", ("what", "value"), what, "lr"))
    options = _mapping(known.get("options"))
    chosen = [(name, _value(value)) for name, value in options.items()]
    if chosen:
        blocks.append(Table("Options of solve", ("option", "value"), chosen, "lr"))
    settings = _mapping(known.get("settings"))
    if settings:
        usual = {f.name: f.default for f in fields(Settings)}
        rows = [(name, _value(value), _value(usual.get(name))) for name, value in settings.items()]
        marked = frozenset(k for k, row in enumerate(rows) if row[1] != row[2])
        header = ("setting", "value", "default")
        blocks.append(Table("Settings (marked: not the default)", header, rows, "lrr", marked))
    return Section("reproduce", "Reproduce", tuple(blocks))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.12g}"
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
