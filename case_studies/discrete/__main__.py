"""Command line: ``python -m case_studies.discrete --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from case_studies.benchmarks.record import markdown_table
from case_studies.discrete import experiment
from case_studies.discrete.methods import METHODS
from case_studies.discrete.suite import names, problem
from case_studies.peers.comparison import (
    Chosen,
    add_comparison_options,
    compare,
    name_missing,
    results_of,
)
from case_studies.shared.arguments import chosen, command_of, interruptible, positive


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    command = command_of("discrete", argv)
    try:
        problems = chosen(options.only, names(), "problem")
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    if options.only is None and options.what in ("run", "claims"):
        problems = names(held_out=options.held_out)
    if options.what == "optima":
        return _optima(problems)
    out = results_of("discrete", options)
    if options.what == "repair":
        from case_studies.discrete import repairs

        return repairs.main(options.seeds, out, command, quick=options.quick)
    if options.what == "claims":
        from case_studies.discrete import claims

        return claims.main(problems, options.seeds, out, command)
    name_missing(METHODS, methods)
    limits = {"budget": options.budget, "seconds": options.seconds}
    return compare("discrete", Chosen(experiment, problems, methods, **limits), options, argv)


def _optima(problems: Sequence[str]) -> int:
    from case_studies.discrete.referee import found

    lines = []
    for name in problems:
        p = problem(name)
        ours = found(p)
        lines.append([name, f"{p.optimum:.9g}", f"{ours.f:.9g}", ours.how, p.published])
    print(markdown_table(["problem", "known", "referee", "how", "source"], lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.discrete",
        description="Discrete design: calls of archeng and of other methods.",
        epilog=f"problems: {', '.join(names())}\n\nmethods: {', '.join(METHODS)}",
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("run", "repair", "claims", "optima"),
        default="run",
        help="the comparison (default), repairs by branch and bound beside Bonmin and SCIP, claims "
        "of convergence judged by IPOPT, or the optima of the referees",
    )
    parser.add_argument("--only", metavar="A,B", help="some problems, held out or not")
    parser.add_argument(
        "--held-out", action="store_true", help="the problems kept aside instead of the others"
    )
    seeds = "seeds 1 to N (10), of repair samples (20)"
    add_comparison_options(parser, "discrete", seeds=seeds, jobs=2)
    parser.add_argument(
        "--budget", type=positive, metavar="N", help="most calls of a run (12000, archeng 1000)"
    )
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time (10, archeng 300)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
