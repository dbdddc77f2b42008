"""Command line of the experiments: ``python -m case_studies.paper --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from case_studies.paper import harness
from case_studies.paper.experiments import EXPERIMENTS
from case_studies.paper.harness import Experiment
from case_studies.paper.results import ResultsError
from case_studies.shared.arguments import positive


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment or all of them; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    return run(argv, EXPERIMENTS, "paper", "Repeat an experiment of Sakamoto and Akimoto (2022).")


def run(
    argv: Sequence[str] | None,
    experiments: Mapping[str, Experiment],
    package: str,
    description: str,
) -> int:
    """Run experiments of a package of case studies; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    program = f"python -m case_studies.{package}"
    parser = _parser(experiments, program, package, description)
    options = parser.parse_args(arguments)
    if options.name != "all" and options.name not in experiments:
        known = ", ".join([*experiments, "all"])
        parser.error(f"there is no experiment {options.name!r}; there are {known}.")
    out = options.out or Path(f"out/{package}-quick" if options.quick else f"out/{package}")
    request = harness.Request(
        out=out,
        runs=options.runs,
        jobs=options.jobs,
        quick=options.quick,
        only=options.only,
        command=" ".join([program, *arguments]),
    )
    names = list(experiments) if options.name == "all" else [options.name]
    return carry_out({name: experiments[name] for name in names}, request, options.summary_only)


def carry_out(
    experiments: Mapping[str, Experiment], request: harness.Request, summary_only: bool
) -> int:
    """Run experiments one after the other, or only summarise them; return the exit code."""
    failures = 0
    for name, experiment in experiments.items():
        try:
            if summary_only:
                harness.report(experiment, request.out)
            else:
                failures += harness.run(experiment, request)
        except ResultsError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
        except KeyboardInterrupt:
            print(f"{name}: stopped; the same command goes on from here.", file=sys.stderr)
            return 130
    if failures:
        print(f"{failures} failures; the same command tries them again.", file=sys.stderr)
    return 1 if failures else 0


def _parser(
    experiments: Mapping[str, Experiment], program: str, package: str, description: str
) -> argparse.ArgumentParser:
    width = max(len(name) for name in experiments)
    lines = "\n".join(f"  {name:<{width}}  {e.HELP}" for name, e in experiments.items())
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=f"experiments:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="an experiment from the list below, or all")
    add_run_options(parser, package, "default: as published")
    add_task_option(parser, "--only")
    return parser


def add_run_options(parser: argparse.ArgumentParser, package: str, runs: str) -> None:
    """Add the options that all experiments have; ``runs`` says how many are usual."""
    parser.add_argument("--runs", type=positive, metavar="N", help=f"seeds ({runs})")
    parser.add_argument("--jobs", type=positive, default=2, metavar="J", help="processes (2)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"results (out/{package}; with --quick out/{package}-quick)",
    )
    parser.add_argument("--quick", action="store_true", help="a small slice, in minutes")
    parser.add_argument(
        "--summary-only", action="store_true", help="summary and figures from the CSV, no runs"
    )


def add_task_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the option that chooses tasks by their parameters."""
    parser.add_argument(
        name,
        action="append",
        default=[],
        metavar="TEXT",
        help="only tasks whose 'name=value name=value ...' contains TEXT; may be repeated",
    )


if __name__ == "__main__":
    sys.exit(main())
