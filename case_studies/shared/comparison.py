"""Studies that compare methods: their runs, the command, the record and the table made of it.

A record is a dictionary with ``provenance``, ``calls`` (the budget), ``target`` and ``runs``, one
row for each run. The table in a README is that of the record in ``docs/benchmarks``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Generic, TypeVar

from case_studies.benchmarks.record import markdown_table, provenance
from case_studies.shared.arguments import chosen, command_of, study_parser

Row = Mapping[str, Any]
Column = tuple[str, str, str]
"""Header, key of a row, format."""

QUICK = 1, 60
"""Seeds and calls with --quick."""


@dataclass(frozen=True, kw_only=True)
class MethodRun:
    """One run of one method; studies add what else they keep.

    Attributes
    ----------
    method : str
    seed : int
    calls, illegal : int
        Counted by the referee: all calls, those at illegal designs.
    claimed : float
        Objective of the design that the method ends with, as simulated.
    broken : list of str
        The limits that this design exceeds.
    best : list of float
        Best legal objective after each call.
    """

    method: str
    seed: int
    calls: int
    illegal: int
    claimed: float
    broken: list[str]
    best: list[float] = field(repr=False)

    def row(self, target: float) -> dict[str, object]:
        """Return what is saved; None if there is no legal design, or none as good as the target."""
        legal, needed = self.best[-1], calls_to(self.best, target)
        return {k: v for k, v in asdict(self).items() if k != "best"} | {
            "legal": legal if math.isfinite(legal) else None,
            "calls_to_target": needed if math.isfinite(needed) else None,
        }


Run = TypeVar("Run", bound=MethodRun)


@dataclass(frozen=True, kw_only=True)
class Comparison(Generic[Run]):
    """A study that runs methods with several seeds.

    Attributes
    ----------
    study, description : str
        The package below ``case_studies``, and what ``--help`` says.
    methods : mapping
        Functions of a seed and the number of calls.
    seeds, calls : int
        Of each method, and of a run.
    target : float
        Objective to which calls are counted.
    claim : str
        Format of the objective, with its unit.
    columns : sequence
        Of the table: header, key of a row, format.
    introduce : callable
        Prints what comes before the comparison; takes methods, calls, and whether it is quick.
    draw : callable
        Draws on the right half of the figure, beside the convergence; takes both axes and the
        runs of each method.
    """

    study: str
    description: str
    methods: Mapping[str, Callable[[int, int], Run]]
    seeds: int
    calls: int
    target: float
    claim: str
    columns: Sequence[Column]
    introduce: Callable[[list[str], int, bool], None]
    draw: Callable[[Any, Any, dict[str, list[Run]]], None]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command and return the exit code."""
        parser = study_parser(
            self.study,
            self.description,
            seeds=f"runs of each method (default {self.seeds})",
            calls=f"simulator calls of a run (default {self.calls})",
            out="for files (default out)",
            quick="one seed, 60 calls (unless given)",
        )
        parser.add_argument("--methods", metavar="LIST", help=f"some of: {','.join(self.methods)}")
        options = parser.parse_args(argv)
        try:
            methods = chosen(options.methods, self.methods)
        except ValueError as error:
            parser.error(str(error))
        seeds, calls = QUICK if options.quick else (self.seeds, self.calls)
        seeds, calls = options.seeds or seeds, options.calls or calls
        out = options.out or Path("out")
        self.introduce(methods, calls, options.quick)
        runs = self._run_all(methods, seeds, calls)
        rows = [run.row(self.target) for run in runs]
        print(f"\nmedians over {seeds} seeds\n\n{table(rows, self.columns)}")
        path = out / f"{self.study}.json"
        save(make(command_of(self.study, argv), calls, self.target, rows), path)
        print(f"\nruns saved to {path}")
        self._save_figure(runs, path.with_suffix(".png"))
        return 0

    def _run_all(self, methods: Sequence[str], seeds: int, calls: int) -> list[Run]:
        runs = []
        for seed in range(1, seeds + 1):
            for method in methods:
                run = self.methods[method](seed, calls)
                claim = self.claim.format(run.claimed)
                print(f"seed {seed}: {run.method}: {claim}", file=sys.stderr)
                runs.append(run)
        return runs

    def _save_figure(self, runs: Sequence[Run], path: Path) -> None:
        """Save convergence at legal designs and what the study draws, or say what is missing."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            print("no figure: pip install 'archeng[plot]'", file=sys.stderr)
            return
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        groups: dict[str, list[Run]] = {}
        for run in runs:
            groups.setdefault(run.method, []).append(run)
        for k, (method, group) in enumerate(groups.items()):
            for run in group:
                left.plot(range(1, run.calls + 1), run.best, color=f"C{k}", lw=1)
            left.plot([], [], color=f"C{k}", label=method)
        left.set(xlabel="simulator calls", title="best legal design so far")
        left.legend(fontsize="small")
        self.draw(left, right, groups)
        figure.savefig(path, dpi=150)
        print(f"figure saved to {path}")


def make(command: str, calls: int, target: float, runs: Sequence[Row]) -> dict[str, Any]:
    """Return the record of a command."""
    return {
        "provenance": provenance(command),
        "calls": calls,
        "target": target,
        "runs": [dict(run) for run in runs],
    }


def save(record: Mapping[str, Any], path: Path) -> None:
    """Save a record as JSON; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def table(runs: Sequence[Row], columns: Sequence[Column]) -> str:
    """Return medians over the seeds, a line for each method, and which limits its designs break.

    None counts as infinite: a run without a legal design, or one that does not get there.
    """
    lines = []
    for method in dict.fromkeys(run["method"] for run in runs):
        group = [run for run in runs if run["method"] == method]
        broken = [name for run in group for name in run["broken"]]
        counts = {name: broken.count(name) for name in dict.fromkeys(broken)}
        words = ", ".join(f"{name} ({k} of {len(group)})" for name, k in counts.items())
        values = (median(_number(run[key]) for run in group) for _, key, _ in columns)
        cells = [
            f"{value:{form}}" if math.isfinite(value) else "-"
            for value, (_, _, form) in zip(values, columns, strict=True)
        ]
        lines.append([method, *cells, words or "none"])
    header = ["method", *(name for name, _, _ in columns), "limits that it breaks at the end"]
    return markdown_table(header, lines)


def calls_to(best: Sequence[float], target: float) -> float:
    """Return the number of the call after which ``best`` is at most the target, or infinity."""
    return next((k for k, value in enumerate(best, 1) if value <= target), math.inf)


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
