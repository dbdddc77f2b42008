"""``archeng status`` and ``archeng export``: looking at a journal, also while its run goes on."""

from __future__ import annotations

import argparse
import contextlib
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archeng.errors import SettingsError
from archeng.journal import Journal, readable
from archeng.records import column_names, extra_columns, extras_of
from archeng.runner import read_journal
from archeng.strategy import StopReason

_COLUMNS = (
    "index", "generation", "restart", "objective", "status", "seconds", "attempts",
    "max_violation", "repair_kind", "repair_solver", "repair_distance_squared", "message",
)  # fmt: skip


def status(options: argparse.Namespace) -> int:
    """Print where a run stands."""
    journal = Journal.read(options.journal)
    try:
        with readable(options.journal):
            sys.stdout.write("\n".join(_lines(journal)) + "\n")
    finally:
        journal.close()
    return 0


def export(options: argparse.Namespace) -> int:
    """Write every finished call as CSV, or into an Optuna study."""
    if options.optuna is not None:
        return _to_optuna(options)
    journal = Journal.read(options.journal)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(readable(options.journal))
            stream: Any = sys.stdout
            if options.csv not in (None, "-"):
                stream = stack.enter_context(_created(options.csv))
            _write(journal, stream)
    finally:
        journal.close()
    return 0


def _to_optuna(options: argparse.Namespace) -> int:
    from archeng.adapters.optuna import to_study

    study = to_study(
        read_journal(options.journal), options.optuna, options.study, update=options.update
    )
    sys.stdout.write(f"study {study.study_name!r}: {len(study.trials)} trials\n")
    return 0


def _lines(journal: Journal) -> Iterator[str]:
    header, state, generations = journal.header(), journal.state(), journal.generations()
    counts = journal.count()
    maximize = header["options"]["sense"] == "maximize"
    yield f"{header['name']}: {_situation(journal, state)}"
    yield f"begun {header['created']} on {header['machine']}, seed {header['seed']}"
    budget = header["options"]["max_evaluations"]
    calls = sum(n for kind, n in counts.items() if kind != "reused")
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "none yet"
    yield f"calls: {calls}{f' of {budget}' if budget else ''} ({kinds})"
    best = None
    seconds = 0.0
    for stored in journal.calls():
        e = stored.evaluation
        seconds += e.seconds
        better = best is None or (e.objective > best.objective) == maximize
        if e.acceptable and better:
            best = e
    if calls:
        yield f"time in the simulator: {seconds:.1f} s, {seconds / calls:.2g} s a call"
    if generations:
        last = generations[-1]
        yield (
            f"generations: {len(generations)}, restarts: {state['n_restarts']}, "
            f"step {last['sigma']:.2e}, active constraints {last['n_active']}"
        )
    if best is not None:
        yield f"best objective: {best.objective:.10g}"
        for name, value in zip(header["element_names"], best.x, strict=True):
            yield f"  {name} = {value:.10g}"
        for name, value in best.constraints.items():
            yield f"  {name} = {value:.10g} (simulated constraint)"
    elif header["options"].get("simulated"):
        yield "no design satisfies all simulated constraints yet"


def _situation(journal: Journal, state: dict[str, Any]) -> str:
    if journal.running:
        return "running"
    if state["stop_reason"] is not None:
        return f"ended because {StopReason[state['stop_reason']].value}"
    return "not running; `archeng resume` goes on, or ends it if its budget is used up"


def _created(path: str) -> Any:
    try:
        return Path(path).open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror}).") from error


def _write(journal: Journal, stream: Any) -> None:
    calls = [stored.evaluation for stored in journal.calls()]
    extra = extra_columns(calls)
    names = column_names([*_COLUMNS, *extra], journal.header()["element_names"])
    writer = csv.writer(stream)
    writer.writerow([*_COLUMNS, *extra, *names])
    for e in calls:
        plain, more = (getattr(e, c) for c in _COLUMNS), extras_of(e)
        found = (more.get(c, "") for c in extra)
        writer.writerow([*plain, *found, *(repr(float(v)) for v in e.x)])
