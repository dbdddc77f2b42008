"""Command line: ``python -m case_studies.greybox --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.benchmarks.record import markdown_table
from case_studies.greybox import experiment, gradients, sweep
from case_studies.greybox.methods import METHODS
from case_studies.greybox.referee import optimum
from case_studies.greybox.suite import definitions, names, problem
from case_studies.paper.__main__ import carry_out
from case_studies.paper.harness import Experiment, Request
from case_studies.paper.results import Task
from case_studies.peers.__main__ import Narrowed
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

OUT = Path("docs/benchmarks/greybox")
STARTS = 12
"""Of the referee, for ``optima``."""


class Chosen(Narrowed):
    """An experiment with some of its problems and methods only, or with other limits."""

    def __init__(
        self,
        problems: Sequence[str],
        methods: Sequence[str],
        whole: Experiment = experiment,
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


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    command = command_of("greybox", argv)
    try:
        problems = chosen(options.only, names(), "problem")
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    if options.only is None:
        problems = names(held_out=options.held_out)
    if options.what == "optima":
        return _optima([name for name in problems if name in definitions()])
    out = options.out or (Path("out/greybox-quick") if options.quick else OUT)
    if options.what == "sweep":
        return sweep.main(options.seeds or sweep.SEEDS, out, command)
    if options.what == "gradients":
        return gradients.main(options.seeds or gradients.SEEDS, out, command)
    missing = [name for name in methods if not METHODS[name].installed]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}", file=sys.stderr)
    request = Request(
        out=out, runs=options.seeds, jobs=options.jobs, quick=options.quick, command=command
    )
    narrowed = Chosen(problems, methods, budget=options.budget, seconds=options.seconds)
    return carry_out({experiment.NAME: narrowed}, request, options.summary_only)


def _optima(problems: Sequence[str]) -> int:
    lines = []
    for name in problems:
        p, found = problem(name), optimum(name, starts=STARTS, seed=1)
        agree = f"{found.agreeing}/{found.starts}"
        lines.append([name, f"{p.optimum:.9g}", f"{found.f:.9g}", agree, p.source])
    print(markdown_table(["problem", "known", "referee", "starts that agree", "source"], lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.greybox",
        description="Composite problems: calls of archeng with formulas, without, and of others.",
        epilog=f"problems: {', '.join(names())}\n\nmethods: {', '.join(METHODS)}",
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("run", "sweep", "gradients", "optima"),
        default="run",
        help="the comparison (default), ten loads of one model, what gradients of outputs save, or "
        "the optima of the referee",
    )
    parser.add_argument("--only", metavar="A,B", help="some problems, held out or not")
    parser.add_argument(
        "--held-out", action="store_true", help="the problems kept aside instead of the others"
    )
    parser.add_argument("--methods", metavar="A,B", help="some methods")
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="seeds 1 to N (10; sweep 3, gradients 5)"
    )
    parser.add_argument("--jobs", type=positive, default=2, metavar="J", help="processes (2)")
    parser.add_argument("--budget", type=positive, metavar="N", help="most calls of a run (500)")
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time of a run (120)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"results ({OUT})")
    parser.add_argument("--quick", action="store_true", help="three problems, one seed")
    parser.add_argument("--summary-only", action="store_true", help="summary of the CSV, no runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
