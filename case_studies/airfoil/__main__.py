"""Command line of the airfoil: ``python -m case_studies.airfoil --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import archeng
from case_studies.airfoil import report
from case_studies.airfoil.cases import CASES
from case_studies.airfoil.figure import figure
from case_studies.airfoil.study import Record, Setup, run_seed
from case_studies.benchmarks.record import provenance
from case_studies.paper.__main__ import positive

SEEDS, CALLS, PLAIN_CALLS = 3, 300, 3000
QUICK = 1, 60
"""Seeds and calls with --quick."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    usual = (SEEDS, PLAIN_CALLS if options.plain else CALLS)
    seeds, calls = QUICK if options.quick else usual
    setup = Setup(options.case, options.calls or calls, options.plain, options.may_stop)
    chosen = [k for k in ("plain", "may_stop") if getattr(setup, k)]
    path = options.out / ("_".join([setup.case, *chosen, str(setup.calls)]) + ".json")
    try:
        records = _records_of(path)
    except (ValueError, KeyError, TypeError) as error:
        parser.error(f"{path} cannot be read ({error!r}): delete it or choose another --out.")
    command = _command(options)
    wanted = range(1, (options.seeds or seeds) + 1)
    try:
        for seed in wanted:
            if any(r.seed == seed for r in records):
                continue
            print(f"{setup.case}, seed {seed}", file=sys.stderr, flush=True)
            records.append(run_seed(setup, seed, archeng.ProgressLine()))
            _save(path, setup, records, command)
            unit = "lift over drag" if CASES[setup.case].best_ratio else "counts"
            print(f"  {records[-1].objective:.2f} {unit}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    _summarise(setup, [r for r in records if r.seed in wanted], path)
    return 0


def _command(options: argparse.Namespace) -> str:
    """Return how a run is repeated; where it was written to is no part of that."""
    words = ["python -m case_studies.airfoil", f"--case {options.case}"]
    words += [
        f"--{k}" for k in ("plain", "may-stop", "quick") if vars(options)[k.replace("-", "_")]
    ]
    words += [f"--{k} {vars(options)[k]}" for k in ("seeds", "calls") if vars(options)[k]]
    return " ".join(words)


def _summarise(setup: Setup, records: Sequence[Record], path: Path) -> None:
    """Print the tables and draw the figure."""
    case = CASES[setup.case]
    print(report.seeds_table(case, records), end="\n\n")
    print(report.sections_table(case, records), end="\n\n")
    if case.mach:
        print(report.off_design_table(case, records), end="\n\n")
    print(report.verdict(case, records), end="\n\n")
    picture = path.with_suffix(".png")
    figure(case, records, picture)
    print(f"written: {path.name}, {picture.name} in {path.parent}")


def _records_of(path: Path) -> list[Record]:
    """Return the seeds that an earlier start has finished."""
    if not path.exists():
        return []
    data = json.loads(path.read_text(encoding="utf-8"))
    return [
        Record(**{**r, "curve": [(int(c), float(d)) for c, d in r["curve"]]}) for r in data["seeds"]
    ]


def _save(path: Path, setup: Setup, records: Sequence[Record], command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    versions = {name: version(name) for name in ("neuralfoil", "aerosandbox")}
    data = {
        "provenance": {**provenance(command), **versions},
        "setup": asdict(setup),
        "seeds": [asdict(r) for r in records],
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.airfoil",
        description="Airfoil section: explicit geometry; lift, drag and moment simulated.",
    )
    parser.add_argument(
        "--case", choices=CASES, default="transonic", help="flight conditions (transonic)"
    )
    parser.add_argument(
        "--plain", action="store_true", help="ARCH alone, without models of the simulator"
    )
    parser.add_argument(
        "--may-stop", action="store_true", help="let the search end by itself before its calls"
    )
    parser.add_argument("--seeds", type=positive, metavar="N", help=f"seeds 1 to N ({SEEDS})")
    parser.add_argument(
        "--calls",
        type=positive,
        metavar="N",
        help=f"simulator calls of each seed ({CALLS}; with --plain {PLAIN_CALLS})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/airfoil"), metavar="DIR", help="(out/airfoil)"
    )
    parser.add_argument("--quick", action="store_true", help="one seed, 60 calls")
    return parser


if __name__ == "__main__":
    sys.exit(main())
