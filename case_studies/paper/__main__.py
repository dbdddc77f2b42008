"""Command line of the experiments: ``python -m case_studies.paper --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from case_studies.paper import harness
from case_studies.paper.experiments import EXPERIMENTS
from case_studies.paper.results import ResultsError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment or all of them; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.name != "all" and options.name not in EXPERIMENTS:
        known = ", ".join([*EXPERIMENTS, "all"])
        parser.error(f"there is no experiment {options.name!r}; there are {known}.")
    out = options.out or Path("out/paper-quick" if options.quick else "out/paper")
    request = harness.Request(
        out=out,
        runs=options.runs,
        jobs=options.jobs,
        quick=options.quick,
        only=options.only,
        command=" ".join(["python -m case_studies.paper", *arguments]),
    )
    failures = 0
    for name in EXPERIMENTS if options.name == "all" else [options.name]:
        try:
            if options.summary_only:
                harness.report(EXPERIMENTS[name], out)
            else:
                failures += harness.run(EXPERIMENTS[name], request)
        except ResultsError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
        except KeyboardInterrupt:
            print(f"{name}: stopped; the same command goes on from here.", file=sys.stderr)
            return 130
    if failures:
        print(f"{failures} failures; the same command tries them again.", file=sys.stderr)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    width = max(len(name) for name in EXPERIMENTS)
    lines = "\n".join(f"  {name:<{width}}  {e.HELP}" for name, e in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.paper",
        description="Repeat an experiment of Sakamoto and Akimoto (2022).",
        epilog=f"experiments:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="an experiment from the list below, or all")
    parser.add_argument("--runs", type=_positive, metavar="N", help="seeds (default: the paper's)")
    parser.add_argument("--jobs", type=_positive, default=2, metavar="J", help="processes (2)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="results (out/paper; with --quick out/paper-quick)"
    )
    parser.add_argument("--quick", action="store_true", help="a small slice, in minutes")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="only tasks whose 'name=value name=value ...' contains TEXT; may be repeated",
    )
    parser.add_argument(
        "--summary-only", action="store_true", help="summary and figures from the CSV, no runs"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
