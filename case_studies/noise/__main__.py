"""Command line: ``python -m case_studies.noise --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from case_studies.noise import experiment
from case_studies.noise.methods import METHODS
from case_studies.noise.problems import NAMES
from case_studies.peers.comparison import Chosen, add_comparison_options, compare
from case_studies.shared.arguments import chosen, interruptible


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.noise",
        description="True value of the returned design under noise, beside other packages. Goes on "
        "where it stopped.",
    )
    parser.add_argument("--only", metavar="NAMES", help="problems, separated by commas")
    add_comparison_options(parser, "noise", seeds="runs of each cell (10)", jobs=1)
    options = parser.parse_args(argv)
    try:
        problems = chosen(options.only, NAMES, "problem")
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    return compare("noise", Chosen(experiment, problems, methods), options, argv)


if __name__ == "__main__":
    sys.exit(main())
