"""The sections about the run: question, convergence, repairs, failures, search, versions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from archeng.model import has_discrete, number
from archeng.plain_text import short
from archeng.records import CallRecord, RowAtBest
from archeng.report.figures.constraints import REPAIR_KINDS
from archeng.report.html import Html, message, paragraph, picture, table
from archeng.report.text import PARAMETER_HEADER, formulas_of, objective_text, parameter_cells
from archeng.result import Result
from archeng.settings import Settings

_VERSIONS = ("archeng", "python", "casadi", "numpy", "scipy")
_ORIGIN = ("created", "machine", "last_noted", "fingerprint")
_LIMITS = {
    "max_evaluations": "simulator calls, at most",
    "max_time": "seconds, at most",
    "target": "target of the objective",
    "restarts": "restarts, at most",
    "population_size": "candidates per generation",
}
_UNKNOWN = "that only the simulator knows"
_ROWS = 40  # different messages in the table
_MESSAGES = 12  # different messages of failed calls that are shown in full
_LONGEST = 4000  # characters of a message
_VALUES = 12  # variables of a design beside a message
_DIGITS = 6  # of real numbers there


def question(result: Result) -> list[Html]:
    """Return variables, parameters, outputs, constraints, limits and budget."""
    sense = "Maximise" if result.maximize else "Minimise"
    explicit = [r for r in result.rows if r.kind != "bound"]
    n, m, k = len(result.x), len(explicit), len(result.simulated)
    goal = objective_text(result) if result.objective_formula else "what the simulator returns"
    text = (
        f"{sense} {goal} over {n} variable{'s' * (n != 1)}, "
        f"{m} explicit constraint{'s' * (m != 1)} besides bounds"
    )
    if k:
        known = "with outputs of the simulator" if formulas_of(result) else _UNKNOWN
        text += f" and {k} constraint{'s' * (k != 1)} {known}"
    elements = [paragraph(text + "."), _variables(result)]
    if result.parameters:
        elements.append(table("Parameters", PARAMETER_HEADER, parameter_cells(result), "lrlr"))
    if result.declared_outputs:
        names = [
            (label, o.unit or "-") for o in result.declared_outputs for label in o.element_names()
        ]
        elements.append(table("Outputs of the simulator", ("output", "unit"), names, "ll"))
    if "incomplete" in result.provenance:
        elements.append(paragraph(f"Note: {result.provenance['incomplete']}."))
    if explicit:
        columns = ("constraint", "kind", "lower", "upper", "declared at")
        elements.append(table("Explicit constraints", columns, [*map(_row, explicit)], "llrrl"))
    if k:
        elements.append(_simulated(result))
    options = result.provenance.get("options") or {}
    budget = [(_LIMITS[o], _value(options[o])) for o in _LIMITS if options.get(o) is not None]
    if all(options.get(o) is None for o in ("max_evaluations", "max_time", "target")):
        budget.insert(0, (_LIMITS["max_evaluations"], "no limit: until the search converges"))
    elements.append(table("Budget", ("limit", "value"), budget, "lr"))
    return elements


def _simulated(result: Result) -> Html:
    """Return the limits of the simulated constraints, with formulas if there are some."""
    limits = [(s.name, number(s.lower), number(s.upper)) for s in result.simulated]
    header = ("simulated constraint", "lower", "upper")
    if not formulas_of(result):
        return table("Limits of what the simulator returns", header, limits, "lrr")
    more = ((s.formula or "-", s.source or "-") for s in result.simulated)
    rows = [(*cells, *about) for cells, about in zip(limits, more, strict=True)]
    title = "Simulated constraints"
    return table(title, (*header, "formula", "declared at"), rows, "lrrll")


def _variables(result: Result) -> Html:
    starts = np.concatenate([v.start for v in result.variables])
    discrete = has_discrete(result.variables)
    rows = [
        (
            v.name,
            *([v.domain.summary] if discrete else []),
            v.unit or "-",
            *map(v.domain.bound_shown, (v.lower, v.upper)),
            v.domain.shown(start),
        )
        for v, start in zip(result.variables_at_best, starts, strict=True)
    ]
    header = ("variable", *(["kind"] if discrete else []), "unit", "lower", "upper", "start")
    return table("Variables", header, rows, "l" * (len(header) - 3) + "rrr")


def _row(r: RowAtBest) -> tuple[str, ...]:
    low, high = number(r.lower), number(r.upper)
    if r.kind == "equality":
        high = number((r.lower + r.upper) / 2)
        low = f"{high} ± {(r.upper - r.lower) / 2:.2g}"
    return r.name, r.kind, low, high, r.source or "-"


def convergence(result: Result) -> list[Html]:
    """Return the objective over calls and over time."""
    if not result.evaluations:
        return []
    return [
        paragraph("Best so far counts only designs that satisfy all constraints."),
        picture("convergence", "Objective over the simulator calls."),
        picture("time", "Objective over time, and how long each call took."),
    ]


def repairs(result: Result) -> list[Html]:
    """Return how designs came to be feasible."""
    calls = result.evaluations
    if not calls:
        return []
    rows = []
    for kind, count in Counter(e.repair_kind for e in calls).most_common():
        squares = [e.repair_distance_squared for e in calls if e.repair_kind == kind]
        distances = np.sqrt(np.maximum(squares, 0.0))
        moved = kind in ("nearest", "intersection") and np.isfinite(distances).any()
        middle = f"{np.nanmedian(distances):.3g}" if moved else "-"
        share = f"{100 * count / len(calls):.0f} %"
        rows.append((REPAIR_KINDS.get(kind, ("", kind))[1], str(count), share, middle))
    outside = result.n_infeasible_calls
    text = "No call was made at a design that violates an explicit constraint."
    if outside:
        text = f"{outside} calls were made at designs that violate an explicit constraint."
    header = ("where the design comes from", "calls", "share", "median distance")
    caption = "Left: calls so far by kind. Right: how far repairs moved the samples."
    return [paragraph(text), table("", header, rows, "lrrr"), picture("repairs", caption)]


def failures(result: Result) -> list[Html]:
    """Return the calls that did not end well, with their messages."""
    if not result.failures:
        return [paragraph("Every call ended well.")] if result.evaluations else []
    groups: dict[tuple[str, str], list[CallRecord]] = defaultdict(list)
    for e in result.failures:
        lines = e.message.strip().splitlines() or [""]
        groups[e.status.replace("_", " "), lines[-1].strip()].append(e)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    rows = [
        (status, short(line, 160) or "-", str(len(calls)), str(calls[-1].index + 1))
        for (status, line), calls in ordered[:_ROWS]
    ]
    count, total = len(result.failures), len(result.evaluations)
    elements = [
        paragraph(f"{count} of {total} calls did not end well. They rank last."),
        picture("failures", "How each call ended."),
        table("Messages", ("state", "message", "calls", "last at call"), rows, "llrr"),
    ]
    for (status, line), calls in ordered[:_MESSAGES]:
        elements.append(_message(result, calls[-1], status, line))
    if len(ordered) > _MESSAGES:
        text = (
            f"There are {len(ordered)} different messages; the {_MESSAGES} most frequent are shown "
            "in full. `archeng export` writes all of them."
        )
        elements.append(paragraph(text))
    return elements


def _message(result: Result, call: CallRecord, status: str, line: str) -> Html:
    """Return the message of a call with its design, cut if it is very long."""
    values = list(zip(result.variables_at_best, call.x, strict=True))[:_VALUES]
    where = ", ".join(
        f"{short(v.name, 24)} = {v.domain.value_shown(value, _DIGITS)}" for v, value in values
    )
    text = call.message.strip() or "no message"
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 4]}\n…\n{text[-3 * _LONGEST // 4 :]}"
    return message(f"call {call.index + 1} ({status}) at {where}", text, f"{status} {line}")


def search(result: Result) -> list[Html]:
    """Return what experts of CMA-ES look at."""
    if not result.history:
        return [paragraph("No generation has ended yet.")]
    rows = [_restart(result, k) for k in sorted({g.restart for g in result.history})]
    header = (
        "restart", "generations", "rounds of proposals", "calls", "population", "sigma", "alpha",
        "d_m", "condition",
    )  # fmt: skip
    seconds = {
        "simulator": sum(g.simulator_seconds for g in result.history),
        "sampling, models and repairs": sum(g.repair_seconds for g in result.history),
        "ranking and update": sum(g.strategy_seconds for g in result.history),
    }
    whole = max(sum(seconds.values()), 1e-12)
    spent = [(name, f"{s:.3g}", f"{100 * s / whole:.0f} %") for name, s in seconds.items()]
    text = (
        "sigma is the step size; alpha weighs the repair distance in the ranking; d_m is the "
        "Mahalanobis distance of the mean from the feasible set; the eigenvalues are those of the "
        "covariance matrix relative to the initial one."
    )
    return [
        paragraph(text),
        table("Restarts (last values)", header, rows, "r" * len(header)),
        picture("search", "The search inside, over the simulator calls."),
        table("Where the time went", ("part", "seconds", "share"), spent, "lrr"),
    ]


def _restart(result: Result, restart: int) -> tuple[str, ...]:
    """Return the last values of a restart, and how many calls it made."""
    generations = [g for g in result.history if g.restart == restart]
    proposed = sum(bool(g.repairs.get("proposed")) for g in generations)
    calls = sum(e.restart == restart for e in result.evaluations)
    last = generations[-1]
    counts = (restart, len(generations) - proposed, proposed, calls, last.population_size)
    alpha = "-" if np.isnan(last.alpha) else f"{last.alpha:.3g}"
    numbers = (f"{last.sigma:.3g}", alpha, f"{last.d_m:.3g}", f"{last.condition:.3g}")
    return (*map(str, counts), *numbers)


def reproduce(result: Result) -> list[Html]:
    """Return versions, seed and settings."""
    origin = result.provenance
    text = (
        "The same model, simulator, seed, options and settings give the same run, bit for "
        "bit, with the same versions on the same kind of machine."
    )
    rows = [("seed", str(origin.get("seed", "-")))]
    rows += [(name, str(origin[name])) for name in _VERSIONS if name in origin]
    rows += [(name.replace("_", " "), str(origin[name])) for name in _ORIGIN if origin.get(name)]
    elements = [paragraph(text), table("Seed and versions", ("what", "value"), rows, "lr")]
    options = [(k, _value(v)) for k, v in (origin.get("options") or {}).items()]
    if options:
        elements.append(table("Options of solve", ("option", "value"), options, "lr"))
    usual = Settings()
    settings = [
        (name, _value(value), _value(getattr(usual, name, None)))
        for name, value in (origin.get("settings") or {}).items()
    ]
    if settings:
        marked = [k for k, (_, value, default) in enumerate(settings) if value != default]
        header = ("setting", "value", "default")
        title = "Settings (marked: not the default)"
        elements.append(table(title, header, settings, "lrr", marked))
    return elements


def _value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.12g}"
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, default=str)
