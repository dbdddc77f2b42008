"""Command line: ``python -m case_studies.hard --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.hard import experiment
from case_studies.paper.__main__ import add_task_option, carry_out
from case_studies.paper.harness import Request
from case_studies.peers.__main__ import Narrowed
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

OUT = Path("docs/benchmarks/hard")


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.hard",
        description="Problems on which archeng was beaten, missed the optimum or was slow, beside "
        "other packages. Goes on where it stopped.",
    )
    parser.add_argument("--methods", metavar="NAMES", help="methods, separated by commas")
    parser.add_argument("--seeds", type=positive, metavar="N", help="runs of each cell (3)")
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time of a run (120)"
    )
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder ({OUT})")
    parser.add_argument("--quick", action="store_true", help="a small slice, into out/hard-quick")
    parser.add_argument("--summary-only", action="store_true", help="write the page again")
    add_task_option(parser, "--match")
    options = parser.parse_args(argv)
    try:
        methods = chosen(options.methods, experiment.METHOD_NAMES)
    except ValueError as error:
        parser.error(str(error))
    request = Request(
        out=options.out or (Path("out/hard-quick") if options.quick else OUT),
        runs=options.seeds,
        jobs=options.jobs,
        quick=options.quick,
        only=options.match,
        command=command_of("hard", argv),
    )
    narrowed = Narrowed(experiment, methods, seconds=options.seconds)
    return carry_out({experiment.NAME: narrowed}, request, options.summary_only)


if __name__ == "__main__":
    sys.exit(main())
