"""Command line: ``python -m case_studies.noise --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.greybox.__main__ import Chosen
from case_studies.noise import experiment
from case_studies.noise.methods import METHODS
from case_studies.noise.problems import NAMES
from case_studies.paper.__main__ import carry_out
from case_studies.paper.harness import Request
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

OUT = Path("docs/benchmarks/noise")


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.noise",
        description="True value of the returned design under noise, beside other packages. Goes on "
        "where it stopped.",
    )
    parser.add_argument("--only", metavar="NAMES", help="problems, separated by commas")
    parser.add_argument("--methods", metavar="NAMES", help="methods, separated by commas")
    parser.add_argument("--seeds", type=positive, metavar="N", help="runs of each cell (10)")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder ({OUT})")
    parser.add_argument("--quick", action="store_true", help="a small slice, into out/noise-quick")
    parser.add_argument("--summary-only", action="store_true", help="write the page again")
    options = parser.parse_args(argv)
    try:
        problems = chosen(options.only, NAMES, "problem")
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    request = Request(
        out=options.out or (Path("out/noise-quick") if options.quick else OUT),
        runs=options.seeds,
        jobs=options.jobs,
        quick=options.quick,
        command=command_of("noise", argv),
    )
    narrowed = Chosen(problems, methods, experiment)
    return carry_out({experiment.NAME: narrowed}, request, options.summary_only)


if __name__ == "__main__":
    sys.exit(main())
