"""What commands that compare methods on problems share: options, and a part of an experiment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from case_studies.paper.__main__ import carry_out
from case_studies.paper.harness import Experiment, Request
from case_studies.paper.results import Row, Task
from case_studies.peers import suites
from case_studies.peers.adapters import Method
from case_studies.shared.arguments import command_of, positive


class Narrowed:
    """An experiment with some of its methods only, or with other limits.

    Parameters
    ----------
    experiment : Experiment
    methods : sequence of str
        The methods that run.
    budget, seconds : int, optional
        Most calls, most processor time of a run.
    """

    def __init__(
        self,
        experiment: Experiment,
        methods: Sequence[str],
        budget: int | None = None,
        seconds: int | None = None,
    ) -> None:
        self._experiment, self._methods = experiment, methods
        self._budget, self._seconds = budget, seconds
        self.__name__, self.__doc__ = experiment.__name__, experiment.__doc__
        self.NAME, self.HELP = experiment.NAME, experiment.HELP
        self.RUNS, self.QUICK_RUNS = experiment.RUNS, experiment.QUICK_RUNS

    def tasks(self, runs: int, quick: bool) -> list[Task]:
        """Return the tasks that are left."""
        return [
            self._limited(task)
            for task in self._experiment.tasks(runs, quick)
            if task["method"] in self._methods
        ]

    def run_task(self, task: Task) -> list[Row]:
        """Run a task."""
        return self._experiment.run_task(task)

    def summary(self, rows: list[Row]) -> str:
        """Return the summary."""
        return self._experiment.summary(rows)

    def figures(self, rows: list[Row], out: Path) -> list[Path]:
        """Save the figures."""
        return self._experiment.figures(rows, out)

    def _limited(self, task: Task) -> Task:
        changed = dict(task)
        if self._budget is not None:
            suite, problem = str(task["suite"]), str(task["problem"])
            changed["budget"] = suites.budget(suite, problem, self._budget)
        if self._seconds is not None:
            changed["seconds"] = self._seconds
        return changed


class Chosen(Narrowed):
    """An experiment with some of its problems and methods only, or with other limits."""

    def __init__(
        self,
        whole: Experiment,
        problems: Sequence[str],
        methods: Sequence[str],
        **limits: int | None,
    ) -> None:
        super().__init__(whole, methods, **limits)
        self._problems = problems

    def tasks(self, runs: int, quick: bool) -> list[Task]:
        """Return the tasks that are left."""
        return [t for t in super().tasks(runs, quick) if t["problem"] in self._problems]

    def _limited(self, task: Task) -> Task:
        limits = {"budget": self._budget, "seconds": self._seconds}
        return {**task, **{k: v for k, v in limits.items() if v is not None}}


def add_comparison_options(
    parser: argparse.ArgumentParser,
    study: str,
    *,
    seeds: str,
    jobs: int,
    runs: str = "--seeds",
) -> None:
    """Add what all comparisons have; ``seeds`` says how many are usual, ``runs`` how to ask."""
    add = parser.add_argument
    add("--methods", "--method", metavar="A,B", help="some methods")
    add(runs, dest="seeds", type=positive, metavar="N", help=seeds)
    add("--jobs", type=positive, default=jobs, metavar="J", help=f"processes ({jobs})")
    add("--out", type=Path, metavar="DIR", help=f"results ({_folder(study, quick=False)})")
    add("--quick", action="store_true", help=f"a small slice, into {_folder(study, quick=True)}")
    add("--summary-only", action="store_true", help="summary of the CSV, no runs")


def results_of(study: str, options: argparse.Namespace) -> Path:
    """Return the folder of the results."""
    return options.out or _folder(study, options.quick)


def _folder(study: str, quick: bool) -> Path:
    return Path(f"out/{study}-quick" if quick else f"docs/benchmarks/{study}")


def compare(
    study: str,
    experiment: Experiment,
    options: argparse.Namespace,
    argv: Sequence[str] | None,
    only: Sequence[str] = (),
) -> int:
    """Carry out an experiment as the command line says; return the exit code."""
    request = Request(
        out=results_of(study, options),
        runs=options.seeds,
        jobs=options.jobs,
        quick=options.quick,
        only=only,
        command=command_of(study, argv),
    )
    return carry_out({experiment.NAME: experiment}, request, options.summary_only)


def name_missing(methods: Mapping[str, Method], chosen: Sequence[str]) -> None:
    """Say which methods are not installed."""
    missing = [name for name in chosen if not methods[name].installed]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}", file=sys.stderr)
