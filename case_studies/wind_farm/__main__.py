"""Command line of the wind farm: ``python -m case_studies.wind_farm --help``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from case_studies.benchmarks.record import provenance
from case_studies.paper.__main__ import positive
from case_studies.wind_farm import report
from case_studies.wind_farm.figures import convergence_figure, layout_figure
from case_studies.wind_farm.published import TURBINES, scenario
from case_studies.wind_farm.study import CALLS, Record, Setup, run_seed, setup_for

SEEDS = 10
QUICK = 1, 1000
"""Seeds and calls with --quick."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(arguments)
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    setup = setup_for(options.turbines, options.calls or calls)
    out = options.out or Path("out/wind_farm-quick" if options.quick else "out/wind_farm")
    path = out / f"{setup.turbines}_turbines.json"
    command = " ".join(["python -m case_studies.wind_farm", *arguments])
    try:
        records = _records_of(path, setup)
    except ValueError as error:
        parser.error(str(error))
    try:
        for seed in range(1, (options.seeds or seeds) + 1):
            if any(r.seed == seed for r in records):
                continue
            watch = Watch(f"seed {seed}", setup.calls)
            records.append(run_seed(setup, seed, watch))
            watch.show(records[-1].calls, records[-1].aep_mwh, end="\n")
            _save(path, setup, records, command)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    _summarise(setup, sorted(records, key=lambda r: r.seed), path)
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
    layout = path.with_name(f"{setup.turbines}_layout.png")
    convergence = path.with_name(f"{setup.turbines}_convergence.png")
    layout_figure(farm, records, layout)
    convergence_figure(farm, records, convergence)
    print(f"written: {path.name}, {layout.name}, {convergence.name} in {path.parent}")


def _records_of(path: Path, setup: Setup) -> list[Record]:
    """Return the seeds that an earlier start has finished.

    Raises
    ------
    ValueError
        If they were made with another set-up.
    """
    if not path.exists():
        return []
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["setup"] != asdict(setup):
        raise ValueError(f"{path} holds runs of another set-up: choose another --out.")
    return [Record.from_data(r) for r in data["seeds"]]


def _save(path: Path, setup: Setup, records: Sequence[Record], command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {
        "provenance": {**provenance(command), "py_wake": version("py_wake")},
        "setup": asdict(setup),
        "seeds": [asdict(r) for r in sorted(records, key=lambda r: r.seed)],
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data) + "\n", encoding="utf-8")
    new.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.wind_farm",
        description="Wind farm layout: IEA Wind Task 37 case study 1 with py_wake.",
    )
    parser.add_argument("--turbines", type=int, choices=TURBINES, default=16, help="size (16)")
    parser.add_argument("--seeds", type=positive, metavar="N", help=f"seeds 1 to N ({SEEDS})")
    parser.add_argument(
        "--calls", type=positive, metavar="N", help=f"simulator calls of each seed ({CALLS})"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="results (out/wind_farm; with --quick out/wind_farm-quick)",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK[0]} seed, {QUICK[1]} calls, a minute"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
