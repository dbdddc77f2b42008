"""Command line of the wind farm: ``python -m case_studies.wind_farm --help``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import archeng
from case_studies.shared.arguments import command_of, interruptible, study_parser
from case_studies.shared.seeds import SeedFile
from case_studies.wind_farm import report
from case_studies.wind_farm.figures import convergence_figure, layout_figure
from case_studies.wind_farm.number_study import (
    NumberRecord,
    number_reference_table,
    number_seeds_table,
    number_verdict,
    run_number_seed,
)
from case_studies.wind_farm.published import TURBINES, scenario
from case_studies.wind_farm.study import CALLS, METHODS, Record, Setup, run_seed, setup_for

SEEDS = 10
NUMBER_SEEDS, NUMBER_CALLS = 5, 1000
NUMBER_QUICK = 1, 60
"""Seeds and calls with --aim cost, and with --quick as well."""
QUICK = 1, 1000
"""Seeds and calls with --quick."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.aim == "cost":
        return _number(parser, options, command_of("wind_farm", argv))
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    setup = setup_for(options.turbines, options.calls or calls, options.method)
    out = options.out or Path("out/wind_farm-quick" if options.quick else "out/wind_farm")
    path = out / f"{setup.turbines}_turbines{_suffix(setup)}.json"
    command = command_of("wind_farm", argv)
    try:
        file = SeedFile(path, Record, {"setup": asdict(setup)}, command, ["py_wake"])
    except ValueError as error:
        parser.error(str(error))
    for seed in file.missing(range(1, (options.seeds or seeds) + 1)):
        watch = Watch(f"seed {seed}", setup.calls)
        record = run_seed(setup, seed, watch)
        watch.show(record.calls, record.aep_mwh, end="\n")
        file.add(record)
    _summarise(setup, file.records, path)
    return 0


def _number(parser: argparse.ArgumentParser, options: argparse.Namespace, command: str) -> int:
    """Run the study of number and places."""
    seeds, calls = NUMBER_QUICK if options.quick else (NUMBER_SEEDS, NUMBER_CALLS)
    seeds, calls = options.seeds or seeds, options.calls or calls
    out = options.out or Path("out/wind_farm-quick" if options.quick else "out/wind_farm")
    kind = "number_plain" if options.plain else "number_grey"
    shared = {"calls": calls, "plain": options.plain}
    try:
        file = SeedFile(out / f"{kind}.json", NumberRecord, shared, command, ["py_wake"])
    except ValueError as error:
        parser.error(str(error))
    for seed in file.missing(range(1, seeds + 1)):
        print(f"number and places, seed {seed}", file=sys.stderr, flush=True)
        progress = archeng.ProgressLine()
        record = run_number_seed(seed, calls, plain=options.plain, callback=progress)
        file.add(record)
        print(f"  {record.cost:.4f} $/MWh, {record.turbines} turbines", file=sys.stderr, flush=True)
    print(number_seeds_table(file.records), end="\n\n")
    print(number_reference_table(), end="\n\n")
    print(number_verdict(file.records), end="\n\n")
    print(f"written: {file.path.name} in {file.path.parent}")
    return 0


class Watch:
    """Shows on standard error how a seed gets on: in one line on a terminal, else now and then.

    Parameters
    ----------
    name : str
    calls : int
        The budget.
    """

    def __init__(self, name: str, calls: int) -> None:
        self._name, self._calls = name, calls
        self._begin = time.monotonic()
        self._next = 0.0

    def __call__(self, calls: int, best: float) -> None:
        """Show calls, best annual energy and time if it is time to."""
        seconds = time.monotonic() - self._begin
        if seconds >= self._next:
            self._next = seconds + (0.5 if sys.stderr.isatty() else 20.0)
            self.show(calls, best)

    def show(self, calls: int, best: float, end: str = "") -> None:
        """Show them now."""
        seconds = time.monotonic() - self._begin
        left = seconds / calls * (self._calls - calls)
        times = f"{seconds:.0f} s, {left:.0f} s left"
        text = f"{self._name}: {calls}/{self._calls} calls, best {best:,.1f} MWh, {times}"
        sys.stderr.write(f"\r{text:<90}{end}" if sys.stderr.isatty() else f"{text}\n")
        sys.stderr.flush()


def _summarise(setup: Setup, records: Sequence[Record], path: Path) -> None:
    """Print the tables and draw the figures."""
    farm = scenario(setup.turbines)
    print(report.seeds_table(farm, records), end="\n\n")
    print(report.published_table(farm, records), end="\n\n")
    print(report.verdict(farm, records), end="\n\n")
    layout = path.with_name(f"{setup.turbines}_layout{_suffix(setup)}.png")
    convergence = path.with_name(f"{setup.turbines}_convergence{_suffix(setup)}.png")
    layout_figure(farm, records, layout)
    convergence_figure(farm, records, convergence)
    print(f"written: {path.name}, {layout.name}, {convergence.name} in {path.parent}")


def _suffix(setup: Setup) -> str:
    return "" if setup.method == METHODS[0] else f"_{setup.method}"


def _parser() -> argparse.ArgumentParser:
    parser = study_parser(
        "wind_farm",
        "Wind farm layout: IEA Wind Task 37 case study 1 with py_wake.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"simulator calls of each seed ({CALLS})",
        out="results (out/wind_farm; with --quick out/wind_farm-quick)",
        quick=f"{QUICK[0]} seed, {QUICK[1]} calls, a minute",
    )
    parser.add_argument(
        "--aim",
        choices=("energy", "cost"),
        default="energy",
        help="most energy of so many turbines, or number and places for the least cost of energy "
        f"({NUMBER_SEEDS} seeds, {NUMBER_CALLS} calls) (energy)",
    )
    parser.add_argument(
        "--plain", action="store_true", help="with --aim cost: ARCH alone, without models"
    )
    parser.add_argument("--turbines", type=int, choices=TURBINES, default=16, help="size (16)")
    parser.add_argument(
        "--method",
        choices=METHODS,
        default=METHODS[0],
        help="with --aim energy: turbines as items that are alike, or ARCH alone (relocation)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
