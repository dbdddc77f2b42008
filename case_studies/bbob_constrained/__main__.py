"""Command line: ``python -m case_studies.bbob_constrained --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.bbob_constrained import coco, experiment
from case_studies.bbob_constrained.definitions import FUNCTIONS
from case_studies.bbob_constrained.experiment import SECONDS, SIZES
from case_studies.bbob_constrained.methods import SOLVERS
from case_studies.paper.results import Task
from case_studies.peers.comparison import Narrowed, add_comparison_options, compare
from case_studies.shared.arguments import chosen, interruptible, positive


class Chosen(Narrowed):
    """The experiment with some of its functions, sizes and methods only."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(experiment, options.methods)
        self._options = options

    def tasks(self, runs: int, quick: bool) -> list[Task]:
        """Return the tasks that are left."""
        wanted, o = [], self._options
        for task in experiment.tasks(runs, quick, o.sizes or SIZES, o.seconds):
            if task["function"] in (o.functions or FUNCTIONS) and task["method"] in self._methods:
                wanted.append(task)
        return wanted


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        options.methods = chosen(options.methods, SOLVERS)
    except ValueError as error:
        parser.error(str(error))
    if options.coco:
        return coco.main(options, Path(options.out or "out/bbob_constrained-coco"))
    return compare("bbob_constrained", Chosen(options), options, argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.bbob_constrained",
        description="COCO's suite bbob-constrained with 30 n calls, constraints exact and free. "
        "Goes on where it stopped.",
        epilog=f"methods: {', '.join(SOLVERS)}",
    )
    add = parser.add_argument
    add("--functions", type=_numbers, metavar="A-B,C", help="functions (1-54)")
    add("--sizes", type=_numbers, metavar="N,N", help=f"numbers of variables {SIZES}")
    add_comparison_options(
        parser, "bbob_constrained", seeds="instances 1 to N (15)", jobs=1, runs="--instances"
    )
    add("--seconds", type=positive, default=SECONDS, metavar="S",
        help=f"most processor time of a run ({SECONDS})")  # fmt: skip
    add("--coco", action="store_true", help="run archeng on COCO's own problems under its "
        "observer, and post-process by cocopp, into out/bbob_constrained-coco")  # fmt: skip
    return parser


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


if __name__ == "__main__":
    sys.exit(main())
