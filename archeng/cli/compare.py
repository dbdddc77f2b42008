"""``archeng compare``: runs side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from archeng.cli import flags
from archeng.cli.output import check_place, limits_text, write, write_json
from archeng.cli.targets import JournalRun, journal_of
from archeng.errors import SettingsError
from archeng.journal import readable
from archeng.model import differences, text_table
from archeng.options import OPTIONS
from archeng.report.figures.calls import plot_comparison

Runs = Mapping[str, JournalRun]
"""Runs by how they are called in tables."""


@flags.command(
    "compare",
    """\
  archeng compare first/run.db second/run.db
  archeng compare first second third         folders of studies
  archeng compare first second --plot convergence.png
""",
)
@flags.target("journals", metavar="JOURNAL...", nargs=-1, required=True)
@flags.file("--plot", help="Save a figure of the convergences.")
@flags.as_json()
def compare(journals: Sequence[str], plot: str | None, as_json: bool) -> int:
    """Put runs side by side.

    What differs in the set-up, and what came of it: calls, best objective, calls to reach the best
    of the others, simulated constraints, failures, time, designs. A JOURNAL may also be a study.
    """
    if len(journals) < 2:
        raise SettingsError("compare needs at least two journals or studies.")
    paths = [journal_of(argument, "compare") for argument in journals]
    with readable(" or ".join(map(str, paths))):
        runs = {n: JournalRun.read(p) for n, p in zip(_labels(paths), paths, strict=True)}
        if plot is not None:
            _save_figure(runs, plot)
        if as_json:
            write_json(_data(runs))
        else:
            parts = (_setup(runs), _outcome(runs), _designs(runs))
            write("\n\n".join(part for part in parts if part))
    return 0


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return the shortest names that tell the journals apart."""
    absolute = [os.path.abspath(p) for p in paths]
    names = [Path(p).name for p in absolute]
    if len(set(names)) < len(names):
        common = os.path.commonpath([os.path.dirname(p) for p in absolute])
        names = [os.path.relpath(p, common) for p in absolute]
    return [f"{n} ({k + 1})" if names.count(n) > 1 else n for k, n in enumerate(names)]


def _comparable(runs: Runs) -> bool:
    """Whether objectives can be compared: the same sense."""
    return len({run.result.maximize for run in runs.values()}) == 1


def _calls_to_reach(run: JournalRun, other: JournalRun) -> int | None:
    """Return how many calls it took to be as good as the best of another; None if it never was."""
    if other.best is None:
        return None
    best, goal = run.result.best_so_far, other.best.objective
    good = best >= goal if run.result.maximize else best <= goal
    return int(good.argmax()) + 1 if good.any() else None


def _data(runs: Runs) -> dict[str, Any]:
    reached = None
    if _comparable(runs):
        reached = {
            label: {name: _calls_to_reach(run, other) for name, other in runs.items()}
            for label, run in runs.items()
        }
    first, *others = runs.items()
    return {
        "runs": [{**run.data(), "label": label} for label, run in runs.items()],
        "differences": {label: changes(first[1], run) for label, run in others},
        "calls_to_reach_best_of": reached,
    }


def _setup(runs: Runs) -> str:
    lines = ["what differs in the set-up"]
    (first, one), *others = runs.items()
    for label, other in others:
        texts = changes(one, other)
        lines.append(f"{first} -> {label}:" + ("" if texts else " nothing"))
        lines += [f"  {text}" for text in texts]
    return "\n".join(lines)


def changes(one: JournalRun, other: JournalRun) -> list[str]:
    """Say how the set-up of a run differs from that of another."""
    a, b = one.result.provenance, other.result.provenance
    texts = _model_changes(one.header, other.header)
    texts += _unequal("", _plain_options(one), _plain_options(other))
    texts += _unequal("simulated ", one.options["simulated"], other.options["simulated"])
    texts += _unequal("setting ", a["settings"], b["settings"])
    return texts + _unequal("version of ", one.header["versions"], other.header["versions"])


def _plain_options(run: JournalRun) -> dict[str, Any]:
    """Return the options of the table that are numbers or words."""
    stored = {**run.options, "seed": run.result.provenance["seed"]}
    return {name: stored[name] for name in OPTIONS if name in stored and name != "simulated"}


def _model_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    if a["fingerprint"] == b["fingerprint"]:
        return []
    if a["model"] is None or b["model"] is None:
        return ["the model"]
    return [f"model: {text}" for text in differences(a["model"], b["model"])] or ["the model"]


def _unequal(prefix: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [
        f"{prefix}{k}: {_short(a.get(k))} became {_short(b.get(k))}"
        for k in dict.fromkeys([*a, *b])
        if a.get(k) != b.get(k)
    ]


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join('-' if v is None else f'{v:g}' for v in value)})"
    return "none" if value is None else f"{value}"


def _outcome(runs: Runs) -> str:
    limits: dict[str, set[tuple[float | None, float | None]]] = {}
    for run in runs.values():
        for s in run.result.simulated:
            low, high = (v if math.isfinite(v) else None for v in (s.lower, s.upper))
            limits.setdefault(s.name, set()).add((low, high))
    columns = [list(_column(run, runs, limits)) for run in runs.values()]
    rows = [
        (titles[0], *map(_cell, values))
        for titles, values in (zip(*pairs, strict=True) for pairs in zip(*columns, strict=True))
    ]
    text = text_table(("", *runs), rows)
    return text if _comparable(runs) else text + "\none minimises, another maximises"


def _column(
    run: JournalRun, runs: Runs, limits: Mapping[str, set[tuple[float | None, float | None]]]
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a run: their titles, and what stands in them."""
    data = run.data()
    best = data["best"] or {"objective": None, "call": None, "constraints": {}}
    reason = data["stop_reason"]
    yield "study", data["name"]
    yield "state", data["state"] + (f": {reason.lower()}" if reason else "")
    yield "seed", data["seed"]
    yield "calls", data["calls"]
    yield "  failed", data["failed_calls"]
    yield "  at infeasible designs", data["infeasible_calls"]
    yield "best objective", best["objective"]
    yield "  found at call", best["call"]
    for label, other in runs.items() if _comparable(runs) else ():
        yield f"calls to reach the best of {label}", _calls_to_reach(run, other)
    for name, pairs in limits.items():
        same = limits_text(next(iter(pairs))) if len(pairs) == 1 else ""
        yield f"simulated: {name} {same}", best["constraints"].get(name)
        yield "  violated by calls", data["violated_calls"].get(name)
    yield "seconds in the simulator", round(data["simulator_seconds"], 3)
    yield "  a call", round(data["simulator_seconds"] / max(data["calls"], 1), 6)
    yield "seconds of archeng", round(data["archeng_seconds"], 3)
    yield "seconds from begin to end", round(data["elapsed_seconds"], 3)


def _designs(runs: Runs) -> str:
    """Return the best designs, and the outputs there."""
    designs = {label: run.design for label, run in runs.items()}
    outputs = {
        label: {o.name: o.value for o in run.result.outputs_at_best} if run.best else {}
        for label, run in runs.items()
    }
    tables = (_side_by_side("best design", designs), _side_by_side("output", outputs))
    return "\n\n".join(table for table in tables if table)


def _side_by_side(title: str, columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a row for each name that a column has; empty without any."""
    names = dict.fromkeys(name for column in columns.values() for name in column)
    if not names:
        return ""
    rows = [(n, *(_cell(column.get(n)) for column in columns.values())) for n in names]
    return text_table((title, *columns), rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _save_figure(runs: Runs, path: str) -> None:
    check_place("--plot", path)
    try:
        figure = plot_comparison({label: run.result for label, run in runs.items()})
        figure.savefig(path, dpi=150)
    except ImportError as error:
        raise SettingsError(f"--plot: {error}") from error
    except (OSError, ValueError) as error:  # matplotlib: an ending that it does not know
        raise SettingsError(f"--plot {path}: cannot be written ({error}).") from error
