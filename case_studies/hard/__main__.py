"""Command line: ``python -m case_studies.hard --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from case_studies.hard import experiment
from case_studies.paper.__main__ import add_task_option
from case_studies.peers.comparison import Narrowed, add_comparison_options, compare
from case_studies.shared.arguments import chosen, interruptible, positive


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.hard",
        description="Problems on which archeng was beaten, missed the optimum or was slow, beside "
        "other packages. Goes on where it stopped.",
    )
    add_comparison_options(parser, "hard", seeds="runs of each cell (3)", jobs=1)
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time of a run (120)"
    )
    add_task_option(parser, "--match")
    options = parser.parse_args(argv)
    try:
        methods = chosen(options.methods, experiment.METHOD_NAMES)
    except ValueError as error:
        parser.error(str(error))
    narrowed = Narrowed(experiment, methods, seconds=options.seconds)
    return compare("hard", narrowed, options, argv, options.match)


if __name__ == "__main__":
    sys.exit(main())
