"""``archeng compare``: runs side by side."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from archeng.cli.plain import write_json
from archeng.cli.side import Side, changes, read_side
from archeng.cli.target import journal_of
from archeng.errors import SettingsError
from archeng.journal import readable
from archeng.model import text_table
from archeng.plain_text import visible
from archeng.report.figures.calls import Curve, plot_comparison
from archeng.result import best_so_far


def compare(options: argparse.Namespace) -> int:
    """Print what differs between runs, and what came of them."""
    if len(options.journals) < 2:
        raise SettingsError("compare needs at least two journals or studies.")
    paths = [journal_of(argument, "compare") for argument in options.journals]
    sides = [read_side(p, text) for p, text in zip(paths, _labels(paths), strict=True)]
    with readable(" or ".join(map(str, paths))):
        if options.plot is not None:
            _save_figure(sides, options.plot)
        if options.json:
            write_json(_data(sides))
        else:
            sys.stdout.write(visible(_text(sides)))
    return 0


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return the shortest names that tell the journals apart."""
    absolute = [os.path.abspath(p) for p in paths]
    names = [Path(p).name for p in absolute]
    if len(set(names)) < len(names):
        common = os.path.commonpath([os.path.dirname(p) for p in absolute])
        names = [os.path.relpath(p, common) for p in absolute]
    return [f"{n} ({k + 1})" if names.count(n) > 1 else n for k, n in enumerate(names)]


def calls_to_reach(side: Side, objective: float | None) -> int | None:
    """Return how many calls a run needed for an objective at least as good; None if never."""
    if objective is None:
        return None
    best = best_so_far(side.calls, side.maximize)
    good = best >= objective if side.maximize else best <= objective
    return int(good.argmax()) + 1 if good.any() else None


def _comparable(sides: Sequence[Side]) -> bool:
    """Whether objectives can be compared: the same sense."""
    return len({s.maximize for s in sides}) == 1


def _data(sides: Sequence[Side]) -> dict[str, Any]:
    reached = None
    if _comparable(sides):
        reached = {s.label: {o.label: calls_to_reach(s, o.best) for o in sides} for s in sides}
    return {
        "runs": [s.data() for s in sides],
        "differences": {s.label: changes(sides[0], s) for s in sides[1:]},
        "calls_to_reach_best_of": reached,
    }


def _text(sides: Sequence[Side]) -> str:
    parts = [_setup(sides), _outcome(sides), _designs(sides)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _setup(sides: Sequence[Side]) -> str:
    lines = ["what differs in the set-up"]
    for other in sides[1:]:
        found = changes(sides[0], other)
        lines.append(f"{sides[0].label} -> {other.label}:" + ("" if found else " nothing"))
        lines += [f"  {text}" for text in found]
    return "\n".join(lines)


def _outcome(sides: Sequence[Side]) -> str:
    rows: list[tuple[str, ...]] = []

    def row(title: str, cell: Callable[[Side], Any]) -> None:
        rows.append((title, *(_cell(cell(s)) for s in sides)))

    row("study", lambda s: s.header["name"])
    row("state", lambda s: s.state)
    row("seed", lambda s: s.header["seed"])
    row("calls", lambda s: s.n_calls)
    row("  failed", lambda s: s.n_failed)
    row("  at infeasible designs", lambda s: s.n_infeasible)
    row("best objective", lambda s: s.best)
    row("  found at call", lambda s: s.found_at)
    if _comparable(sides):
        for other in sides:
            row(
                f"calls to reach the best of {other.label}",
                lambda s, o=other: calls_to_reach(s, o.best),  # type: ignore[misc]
            )
    for name in dict.fromkeys(name for s in sides for name in s.limits):
        row(f"simulated: {name} {_limit(sides, name)}", lambda s, n=name: s.constraint(n))  # type: ignore[misc]
        row("  violated by calls", lambda s, n=name: s.violated(n))  # type: ignore[misc]
    row("seconds in the simulator", lambda s: round(s.simulator_seconds, 3))
    row("  a call", lambda s: round(s.simulator_seconds / max(s.n_calls, 1), 6))
    row("seconds of archeng", lambda s: round(s.own_seconds, 3))
    row("seconds from begin to end", lambda s: round(s.elapsed, 3))
    text = text_table(("", *(s.label for s in sides)), rows)
    return text if _comparable(sides) else text + "\none minimises, another maximises"


def _limit(sides: Sequence[Side], name: str) -> str:
    """Return the limits of a simulated constraint if they are the same everywhere."""
    found = {s.limits[name] for s in sides if name in s.limits}
    if len(found) > 1:
        return ""
    low, high = found.pop()
    parts = [f">= {low:g}" if low is not None else "", f"<= {high:g}" if high is not None else ""]
    return " and ".join(p for p in parts if p)


def _designs(sides: Sequence[Side]) -> str:
    names = dict.fromkeys(name for s in sides for name in s.design)
    if not names:
        return ""
    rows = [(name, *(_cell(s.design.get(name)) for s in sides)) for name in names]
    return text_table(("best design", *(s.label for s in sides)), rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _save_figure(sides: Sequence[Side], path: str) -> None:
    target = Path(path)
    if target.is_dir() or not target.resolve().parent.is_dir():
        raise SettingsError(f"--plot {path}: there is no such directory, or it is one.")
    try:
        figure = plot_comparison([Curve(s.label, s.calls, s.maximize) for s in sides])
        figure.savefig(target, dpi=150)
    except ImportError as error:
        raise SettingsError(f"--plot: {error}") from error
    except (OSError, ValueError) as error:  # matplotlib: an ending that it does not know
        raise SettingsError(f"--plot {path}: cannot be written ({error}).") from error
