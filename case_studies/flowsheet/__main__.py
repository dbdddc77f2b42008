"""Command line: ``python -m case_studies.flowsheet --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from case_studies.benchmarks.record import markdown_table
from case_studies.flowsheet import experiment
from case_studies.flowsheet.methods import METHODS, USUAL
from case_studies.flowsheet.power import PUBLISHED
from case_studies.flowsheet.suite import PROBLEMS, known, names
from case_studies.peers.comparison import Chosen, add_comparison_options, compare
from case_studies.shared.arguments import chosen, interruptible, positive

STARTS = 12
"""Of the referee."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        problems = chosen(options.only or options.problem, names(), "problem")
        methods = chosen(options.methods, METHODS) if options.methods else list(USUAL)
    except ValueError as error:
        parser.error(str(error))
    if options.what == "optima":
        return _optima(problems)
    if options.what == "solve":
        if len(problems) != 1:
            parser.error("solve needs the name of one problem.")
        return _solve(problems[0], methods[0], options)
    if options.only is None:
        problems = names(held_out=options.held_out)
    limits = {"budget": options.evaluations, "seconds": options.seconds}
    return compare("flowsheet", Chosen(experiment, problems, methods, **limits), options, argv)


def _solve(name: str, method: str, options: argparse.Namespace) -> int:
    if options.json:
        experiment.limit_memory()
    row = experiment.measured(
        name,
        method,
        options.seed,
        options.evaluations or experiment.BUDGET,
        options.seconds or experiment.SECONDS,
    )
    if options.json:
        print(json.dumps(row))
    else:
        print(f"{name} by {method}, seed {options.seed}; optimum of the referee {known(name):.10g}")
        for key, value in row.items():
            print(f"  {key:18s}{value}")
    return 0


def _optima(problems: Sequence[str]) -> int:
    from case_studies.flowsheet.referee import optimum

    lines = []
    for name in problems:
        found = optimum(PROBLEMS[name], starts=STARTS, seed=1)
        agree = f"{found.agreeing} of {found.ended}"
        published = f"{PUBLISHED[name]}" if name in PUBLISHED else "-"
        lines.append([name, f"{known(name):.12g}", f"{found.f:.12g}", agree, published])
    header = ["problem", "known", "referee", f"starts that agree (of {STARTS})", "MATPOWER"]
    print(markdown_table(header, lines))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.flowsheet",
        description="Models with many equalities: calls, set-up time and overhead of archeng, "
        "in the degrees of freedom and in all variables, and of IPOPT with finite differences.",
        epilog=f"problems: {', '.join(names())}\n\nmethods: {', '.join(METHODS)} "
        f"(by default {', '.join(USUAL)})",
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("run", "solve", "optima"),
        default="run",
        help="the comparison (default), one run of one problem, or the optima of the referee",
    )
    parser.add_argument("problem", nargs="?", help="of solve and optima")
    parser.add_argument("--only", metavar="A,B", help="some problems, kept aside or not")
    parser.add_argument(
        "--held-out", action="store_true", help="the problems kept aside instead of the others"
    )
    add_comparison_options(parser, "flowsheet", seeds="seeds 1 to N (5)", jobs=2)
    parser.add_argument("--seed", type=positive, default=1, metavar="S", help="of solve (1)")
    parser.add_argument(
        "--evaluations", type=positive, metavar="N", help="most calls of a run of archeng (300)"
    )
    parser.add_argument("--seconds", type=positive, metavar="S", help="most seconds of a run (60)")
    parser.add_argument("--json", action="store_true", help="solve: print one line of JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
