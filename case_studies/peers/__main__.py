"""Command line of the comparison: ``python -m case_studies.peers --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.paper import harness
from case_studies.paper.__main__ import add_run_options, add_task_option, carry_out
from case_studies.paper.harness import Experiment
from case_studies.peers import noise, plain, simulators
from case_studies.peers.adapters import METHODS
from case_studies.peers.comparison import Narrowed
from case_studies.shared.arguments import chosen, positive

EXPERIMENTS: dict[str, Experiment] = {"peers": plain, "noise": noise, "real": simulators}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    out = options.out or Path("out/peers-quick" if options.quick else "out/peers")
    missing = [name for name in methods if not METHODS[name].installed]
    if missing and not options.summary_only:
        packages = " ".join(dict.fromkeys(METHODS[name].package for name in missing))
        print(
            f"not installed, skipped: {', '.join(missing)} (pip install {packages})",
            file=sys.stderr,
        )
    request = harness.Request(
        out=out,
        runs=options.runs,
        jobs=options.jobs,
        quick=options.quick,
        only=options.match,
        command=" ".join(["python -m case_studies.peers", *arguments]),
    )
    wanted = [options.only] if options.only else [n for n in EXPERIMENTS if n != "real"]
    experiments = {
        name: Narrowed(EXPERIMENTS[name], methods, options.budget, options.seconds)
        for name in wanted
    }
    return carry_out(experiments, request, options.summary_only)


def _parser() -> argparse.ArgumentParser:
    experiments = "\n".join(f"  {name:<20}{e.HELP}" for name, e in EXPERIMENTS.items())
    methods = "\n".join(f"  {name:<20}{m.package} {m.version}" for name, m in METHODS.items())
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.peers",
        description="Compare archeng with what users would pick instead.",
        epilog=f"experiments:\n{experiments}\n\nmethods:\n{methods}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(parser, "peers", "10")
    add_task_option(parser, "--match")
    parser.add_argument(
        "--only", choices=list(EXPERIMENTS), help="one of the experiments below (all but real)"
    )
    parser.add_argument("--methods", metavar="A,B", help="some of the methods below")
    parser.add_argument("--budget", type=positive, metavar="N", help="most calls of a run (5000)")
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="most processor time of a run (600)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
