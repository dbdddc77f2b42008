"""Command line: ``python -m case_studies.discrete --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.benchmarks.record import markdown_table
from case_studies.discrete import experiment
from case_studies.discrete.methods import METHODS
from case_studies.discrete.suite import names, problem
from case_studies.greybox.__main__ import Chosen
from case_studies.paper.__main__ import carry_out
from case_studies.paper.harness import Request
from case_studies.shared.arguments import chosen, command_of, interruptible, positive

OUT = Path("docs/benchmarks/discrete")


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
    out = options.out or (Path("out/discrete-quick") if options.quick else OUT)
    if options.what == "repair":
        from case_studies.discrete import repairs

        return repairs.main(options.seeds, out, command, quick=options.quick)
    if options.what == "claims":
        from case_studies.discrete import claims

        return claims.main(problems, options.seeds, out, command)
    missing = [name for name in methods if not METHODS[name].installed]
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}", file=sys.stderr)
    request = Request(
        out=out, runs=options.seeds, jobs=options.jobs, quick=options.quick, command=command
    )
    narrowed = Chosen(problems, methods, experiment, budget=options.budget, seconds=options.seconds)
    return carry_out({experiment.NAME: narrowed}, request, options.summary_only)


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
    parser.add_argument("--methods", metavar="A,B", help="some methods")
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="seeds 1 to N (10), of repair samples (20)"
    )
    parser.add_argument("--jobs", type=positive, default=2, metavar="J", help="processes (2)")
    parser.add_argument(
        "--budget", type=positive, metavar="N", help="most calls of a run (12000, archeng 1000)"
    )
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time (10, archeng 300)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"results ({OUT})")
    parser.add_argument("--quick", action="store_true", help="three problems, one seed")
    parser.add_argument("--summary-only", action="store_true", help="summary of the CSV, no runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
