"""The sections about constraints, repairs, failures, and the search inside."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from archeng.model.tables import number
from archeng.records import CallRecord, RowAtBest, SimulatedAtBest
from archeng.report.blocks import Block, Message, Paragraph, Picture, Section, Table
from archeng.report.figures import KIND_NAMES, sensible
from archeng.report.shown import Shown, short
from archeng.report.tables import gain_text

_ROWS = 40  # different messages in the table
_MESSAGES = 12  # different messages of failed calls that are shown in full
_LONGEST = 4000  # characters of a message


def constraints(shown: Shown) -> Section:
    """Return what blocks the design, and the simulated constraints."""
    blocks: list[Block] = []
    kinds = sensible(shown)
    if "activity" in kinds:
        active = [a.name for a in shown.activity if a.active]
        text = "No constraint is active at the best design."
        if active:
            names = ", ".join(short(name, 60) for name in active[:10])
            more = f" and {len(active) - 10} more" if len(active) > 10 else ""
            text = f"Active at the best design: {names}{more}."
        blocks += [Paragraph(text), _activity(shown)]
        caption = (
            "How often designs were repaired onto a constraint (simulated: violated it). The gain "
            "is what the objective would improve per unit of relaxation, to first order, by a "
            "model of the objective."
        )
        blocks.append(Picture("activity", caption))
    elif "incomplete" in shown.provenance:
        blocks.append(Paragraph(f"Note: {shown.provenance['incomplete']}."))
    if "simulated" in kinds:
        count = sum(bool(e.violated) for e in shown.evaluations)
        total = len(shown.evaluations)
        blocks.append(
            Paragraph(
                f"{count} of {total} calls violated a constraint that only the simulator knows."
            )
        )
        blocks.append(Picture("simulated", "Simulated constraints over the calls. Red: violated."))
    if not blocks:
        blocks.append(Paragraph("There is no design yet at which constraints could be active."))
    return Section("constraints", "What blocks the design", tuple(blocks))


def _activity(shown: Shown) -> Table:
    values: dict[str, RowAtBest | SimulatedAtBest] = {r.name: r for r in shown.rows}
    values |= {s.name: s for s in shown.simulated}
    found = [a for a in shown.activity if a.active or a.repaired]
    found.sort(key=lambda a: (not a.active, -np.nan_to_num(a.gain, nan=-1.0), -a.repaired))
    rows, marked = [], []
    for k, a in enumerate(found):
        row = values.get(a.name)
        if a.active:
            marked.append(k)
        rows.append(
            (
                a.name,
                a.kind,
                "yes" if a.active else "no",
                "-" if row is None else _shown_value(row.value, row.lower, row.upper),
                "-" if row is None else _limits(row.lower, row.upper),
                f"{a.repaired} ({100 * a.share:.0f} %)",
                gain_text(a) if a.active else "-",
            )
        )
    header = ("constraint", "kind", "active", "value", "limits", "blocked calls", "gain per unit")
    return Table("Constraints that blocked designs", header, rows, "lllrrrr", frozenset(marked))


def _shown_value(value: float, lower: float, upper: float) -> str:
    """Return a value; what differs from a limit of 0 by rounding is 0."""
    near = 0.0 in (lower, upper) and abs(value) < 1e-9
    return "0" if near else number(value)


def _limits(lower: float, upper: float) -> str:
    if np.isfinite(lower) and np.isfinite(upper):
        return f"{number(lower)} … {number(upper)}"
    return f"≤ {number(upper)}" if np.isfinite(upper) else f"≥ {number(lower)}"


def repairs(shown: Shown) -> Section:
    """Return how designs came to be feasible."""
    if not shown.evaluations:
        return Section("repairs", "Repairs", (Paragraph("No call has ended yet."),))
    calls = shown.evaluations
    kinds = Counter(e.repair_kind for e in calls)
    rows = []
    for kind, count in sorted(kinds.items(), key=lambda item: -item[1]):
        mine = [e for e in calls if e.repair_kind == kind]
        far = np.sqrt(np.maximum([e.repair_distance_squared for e in mine], 0.0))
        middle = float(np.nanmedian(far)) if np.isfinite(far).any() else float("nan")
        moved = kind in ("nearest", "intersection") and np.isfinite(middle)
        rows.append(
            (
                KIND_NAMES.get(kind, kind),
                str(count),
                f"{100 * count / len(calls):.0f} %",
                f"{middle:.3g}" if moved else "-",
            )
        )
    outside = sum(not e.feasible and e.status != "reused" for e in calls)
    text = f"{outside} calls were made at designs that violate an explicit constraint."
    if not outside:
        text = "No call was made at a design that violates an explicit constraint."
    header = ("where the design comes from", "calls", "share", "median distance")
    caption = "Left: calls so far by kind. Right: how far repairs moved the samples."
    blocks = (Paragraph(text), Table("", header, rows, "lrrr"), Picture("repairs", caption))
    return Section("repairs", "Repairs", blocks)


def failures(shown: Shown) -> Section:
    """Return the calls that did not end well, with their messages."""
    bad = shown.failures
    if not bad:
        text = "Every call ended well." if shown.evaluations else "No call has ended yet."
        return Section("failures", "Failures", (Paragraph(text),))
    groups: dict[tuple[str, str], list[CallRecord]] = defaultdict(list)
    for e in bad:
        groups[e.status, _last_line(e.message)].append(e)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    rows = [
        (
            status.replace("_", " "),
            short(line, 160) or "-",
            str(len(calls)),
            str(calls[-1].index + 1),
        )
        for (status, line), calls in ordered[:_ROWS]
    ]
    total = len(shown.evaluations)
    blocks: list[Block] = [
        Paragraph(f"{len(bad)} of {total} calls did not end well. They rank last."),
        Picture("failures", "How each call ended."),
        Table("Messages", ("state", "message", "calls", "last at call"), rows, "llrr"),
    ]
    for (status, line), calls in ordered[:_MESSAGES]:
        last = calls[-1]
        where = ", ".join(
            f"{short(v.name, 24)} = {value:.6g}"
            for v, value in list(zip(shown.at_best, last.x, strict=True))[:12]
        )
        head = f"call {last.index + 1} ({status.replace('_', ' ')}) at {where}"
        text = last.message.strip() or "no message"
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 4]}\n…\n{text[-3 * _LONGEST // 4 :]}"
        blocks.append(Message(head, text, f"{status} {line}"))
    if len(ordered) > _MESSAGES:
        text = (
            f"There are {len(ordered)} different messages; the {_MESSAGES} most frequent are shown "
            "in full. `archeng export` writes all of them."
        )
        blocks.append(Paragraph(text))
    return Section("failures", "Failures", tuple(blocks))


def _last_line(message: str) -> str:
    lines = message.strip().splitlines()
    return lines[-1].strip() if lines else ""


def search(shown: Shown) -> Section:
    """Return what experts of CMA-ES look at."""
    if not shown.history:
        text = "No generation has ended yet."
        return Section("search", "Search (for experts)", (Paragraph(text),))
    rows = []
    for restart in sorted({g.restart for g in shown.history}):
        mine = [g for g in shown.history if g.restart == restart]
        last = mine[-1]
        sampled = [g for g in mine if not g.repairs.get("proposed")]
        calls = sum(e.restart == restart for e in shown.evaluations)
        rows.append(
            (
                str(restart),
                str(len(sampled)),
                str(len(mine) - len(sampled)),
                str(calls),
                str(last.population_size),
                f"{last.sigma:.3g}",
                "-" if np.isnan(last.alpha) else f"{last.alpha:.3g}",
                f"{last.d_m:.3g}",
                f"{last.condition:.3g}",
            )
        )
    header = (
        "restart", "generations", "rounds of proposals", "calls", "population", "sigma", "alpha",
        "d_m", "condition",
    )  # fmt: skip
    inside = [("simulator", sum(g.simulator_seconds for g in shown.history))]
    inside.append(("sampling, models and repairs", sum(g.repair_seconds for g in shown.history)))
    inside.append(("ranking and update", sum(g.strategy_seconds for g in shown.history)))
    whole = max(sum(seconds for _, seconds in inside), 1e-12)
    spent = [(name, f"{s:.3g}", f"{100 * s / whole:.0f} %") for name, s in inside]
    text = (
        "sigma is the step size; alpha weighs the repair distance in the ranking; d_m is the "
        "Mahalanobis distance of the mean from the feasible set; the eigenvalues are those of the "
        "covariance matrix relative to the initial one."
    )
    blocks = (
        Paragraph(text),
        Table("Restarts (last values)", header, rows, "r" * len(header)),
        Picture("search", "The search inside, over the simulator calls."),
        Table("Where the time went", ("part", "seconds", "share"), spent, "lrr"),
    )
    return Section("search", "Search (for experts)", blocks)
