"""Command line: ``python -m case_studies.greybox --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from case_studies.benchmarks.record import markdown_table
from case_studies.greybox import experiment, gradients, sweep
from case_studies.greybox.methods import METHODS
from case_studies.greybox.referee import optimum
from case_studies.greybox.suite import definitions, names, problem
from case_studies.peers.comparison import (
    Chosen,
    add_comparison_options,
    compare,
    name_missing,
    results_of,
)
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

STARTS = 12
"""Of the referee, for ``optima``."""


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
    out = results_of("greybox", options)
    if options.what == "sweep":
        return sweep.main(options.seeds or sweep.SEEDS, out, command)
    if options.what == "gradients":
        return gradients.main(options.seeds or gradients.SEEDS, out, command)
    name_missing(METHODS, methods)
    limits = {"budget": options.budget, "seconds": options.seconds}
    return compare("greybox", Chosen(experiment, problems, methods, **limits), options, argv)


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
    seeds = "seeds 1 to N (10; sweep 3, gradients 5)"
    add_comparison_options(parser, "greybox", seeds=seeds, jobs=2)
    parser.add_argument("--budget", type=positive, metavar="N", help="most calls of a run (500)")
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time of a run (120)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
