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
from case_studies.paper.__main__ import carry_out
from case_studies.paper.harness import Request
from case_studies.paper.results import Task
from case_studies.peers.__main__ import Narrowed
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

OUT = Path("docs/benchmarks/bbob_constrained")


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
    out = options.out or (Path("out/bbob_constrained-quick") if options.quick else OUT)
    if options.coco:
        return coco.main(options, Path(options.out or "out/bbob_constrained-coco"))
    request = Request(
        out=out,
        runs=options.instances,
        jobs=options.jobs,
        quick=options.quick,
        command=command_of("bbob_constrained", argv),
    )
    return carry_out({experiment.NAME: Chosen(options)}, request, options.summary_only)


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
    add("--instances", type=positive, metavar="N", help="instances 1 to N (15)")
    add("--methods", metavar="A,B", help="methods, separated by commas")
    add("--seconds", type=positive, default=SECONDS, metavar="S",
        help=f"most processor time of a run ({SECONDS})")  # fmt: skip
    add("--jobs", type=positive, default=1, metavar="N", help="processes (1)")
    add("--out", type=Path, metavar="DIR", help=f"folder ({OUT})")
    add("--quick", action="store_true", help="a small slice, into out/bbob_constrained-quick")
    add("--summary-only", action="store_true", help="write the page again")
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
