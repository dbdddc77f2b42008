"""``archeng status`` and ``archeng export``: looking at a journal, also while its run goes on."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from archeng.cli.plain import plain, write_json
from archeng.cli.target import how_to_resume, journal_of
from archeng.errors import SettingsError
from archeng.journal import Journal, readable
from archeng.plain_text import cell, visible
from archeng.records import CallRecord, column_names, extra_columns, extras_of
from archeng.runner import read_journal
from archeng.runner.reading import options_of
from archeng.strategy import StopReason

_COLUMNS = (
    "index", "generation", "restart", "objective", "status", "seconds", "attempts",
    "max_violation", "repair_kind", "repair_solver", "repair_distance_squared", "message",
)  # fmt: skip
_MOVE = ("at", "machine", "calls", "changes")


def status(options: argparse.Namespace) -> int:
    """Print where a run stands."""
    with reading(journal_of(options.journal, "status")) as journal:
        data = status_data(journal)
    if options.json:
        write_json(data)
    else:
        sys.stdout.write(visible("\n".join(_lines(data)) + "\n"))
    return 0


def export(options: argparse.Namespace) -> int:
    """Write every finished call as CSV or JSON, or into an Optuna study."""
    if options.optuna is not None:
        return _to_optuna(options)
    target = options.output or options.csv
    if options.json and options.csv:
        raise SettingsError("--csv and --json exclude each other; use --json --output FILE.")
    path = journal_of(options.journal, "export")
    with reading(path) as journal, contextlib.ExitStack() as stack:
        stream: Any = sys.stdout
        if target not in (None, "-"):
            stream = stack.enter_context(_created(target))
        (_write_json if options.json else _write_csv)(journal, stream)
    return 0


def _to_optuna(options: argparse.Namespace) -> int:
    from archeng.adapters.optuna import to_study

    result = read_journal(journal_of(options.journal, "export"))
    study = to_study(result, options.optuna, options.study, update=options.update)
    sys.stdout.write(f"study {study.study_name!r}: {len(study.trials)} trials\n")
    return 0


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Journal]:
    """Open a journal to look at it; strange contents are errors about that journal."""
    journal = Journal.read(path)
    try:
        with readable(path):
            yield journal
    finally:
        journal.close()


def best_call(calls: Iterable[CallRecord], maximize: bool) -> CallRecord | None:
    """Return the best call that satisfies all constraints."""
    best = None
    for e in calls:
        sign = -1.0 if maximize else 1.0
        better = best is None or sign * e.objective < sign * best.objective
        if e.acceptable and better:
            best = e
    return best


def status_data(journal: Journal) -> dict[str, Any]:
    """Return where a run stands, as plain data."""
    header, state, latest = journal.header(), journal.state(), journal.latest()
    generations, counts, running = journal.generations(), journal.count(), journal.running
    evaluations = [stored.call for stored in journal.calls()]
    options = options_of(header, latest)
    best = best_call(evaluations, options.sense == "maximize")
    reason = read_journal(journal.path).stop_reason
    ended = reason not in (StopReason.RUNNING, StopReason.CUT_OFF)
    calls = sum(n for kind, n in counts.items() if kind != "reused")
    return {
        "journal": str(journal.path),
        "name": header["name"],
        "state": "running" if running else "ended" if ended else "stopped",
        "stop_reason": reason.name if ended and not running else None,
        "begun": header["created"],
        "machine": header["machine"],
        "moves": [{k: move[k] for k in _MOVE} for move in journal.moves()],
        "seed": header["seed"],
        "calls": calls,
        "max_evaluations": options.max_evaluations,
        "calls_by_status": dict(sorted(counts.items())),
        "infeasible_calls": sum(not e.feasible and e.status != "reused" for e in evaluations),
        "simulator_seconds": sum(e.seconds for e in evaluations),
        "generations": len(generations),
        "restarts": state.get("restarts", {}).get("number", state.get("n_restarts")),
        "sigma": generations[-1]["sigma"] if generations else None,
        "active_constraints": generations[-1]["n_active"] if generations else None,
        "simulated": sorted(options.limits.names),
        "best": None if best is None else _best_data(best, header),
        "resume": how_to_resume(journal.path, header["own_objective"]),
    }


def _best_data(best: CallRecord, header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "call": best.index + 1,
        "objective": best.objective,
        "design": dict(zip(header["element_names"], map(float, best.x), strict=True)),
        "constraints": dict(best.constraints),
        "outputs": dict(best.outputs),
    }


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{data['name']}: {situation(data)}"
    yield f"begun {data['begun']} on {data['machine']}, seed {data['seed']}"
    for move in data["moves"]:
        changes = "; ".join(move["changes"])
        yield f"rounding may differ after call {move['calls']}, on {move['machine']}: {changes}"
    calls, budget, counts = data["calls"], data["max_evaluations"], data["calls_by_status"]
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none yet"
    yield f"calls: {calls}{f' of {budget}' if budget else ''} ({kinds})"
    if calls:
        seconds = data["simulator_seconds"]
        yield f"time in the simulator: {seconds:.1f} s, {seconds / calls:.2g} s a call"
    if data["generations"]:
        yield (
            f"generations: {data['generations']}, restarts: {data['restarts']}, "
            f"step {data['sigma']:.2e}, active constraints {data['active_constraints']}"
        )
    best = data["best"]
    if best is not None:
        yield f"best objective: {best['objective']:.10g}"
        for name, value in best["design"].items():
            yield f"  {name} = {value:.10g}"
        for name, value in best["constraints"].items():
            yield f"  {name} = {value:.10g} (simulated constraint)"
    elif data["simulated"]:
        yield "no design satisfies all simulated constraints yet"


def situation(data: Mapping[str, Any]) -> str:
    """Say in words whether a run goes on, has ended, or was stopped."""
    if data["state"] == "running":
        return "running"
    if data["state"] == "ended":
        return f"ended because {StopReason[data['stop_reason']].value}"
    return f"not running, it was cut off or ended with an error; {data['resume']} goes on with it"


def _created(path: str) -> Any:
    """Open a file to write to; a journal is never overwritten."""
    try:
        if Path(path).is_file():
            with Path(path).open("rb") as old:
                if old.read(16) == b"SQLite format 3\0":
                    raise SettingsError(f"{path}: is a journal, which is not overwritten.")
        return Path(path).open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror}).") from error


def _write_csv(journal: Journal, stream: Any) -> None:
    calls = [stored.call for stored in journal.calls()]
    extra = extra_columns(calls)
    names = column_names([*_COLUMNS, *extra], journal.header()["element_names"])
    writer = csv.writer(stream)
    writer.writerow([cell(name) for name in [*_COLUMNS, *extra, *names]])
    for e in calls:
        plain_values, more = (getattr(e, c) for c in _COLUMNS), extras_of(e)
        found = (more.get(c, "") for c in extra)
        texts = [cell(value) for value in [*plain_values, *found]]
        writer.writerow([*texts, *(repr(float(v)) for v in e.x)])


def _write_json(journal: Journal, stream: Any) -> None:
    """Write a list with one object per call."""
    names = journal.header()["element_names"]
    calls = [
        {
            **{c: getattr(e, c) for c in _COLUMNS},
            "design": dict(zip(names, map(float, e.x), strict=True)),
            "constraints": e.constraints,
            "violated": e.violated,
            "outputs": e.outputs,
        }
        for e in (stored.call for stored in journal.calls())
    ]
    json.dump(plain(calls), stream, indent=1, allow_nan=False)
    stream.write("\n")
