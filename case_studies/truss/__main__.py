"""Command line of the trusses: ``python -m case_studies.truss --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import archeng
from case_studies.benchmarks.record import provenance
from case_studies.paper.__main__ import positive
from case_studies.truss import report
from case_studies.truss.cases import CASES
from case_studies.truss.figures import convergence_figure, truss_figure
from case_studies.truss.model import build_model
from case_studies.truss.study import Record, run_seed

SEEDS, CALLS = 5, 300
QUICK = 1, 60
"""Seeds and calls with --quick."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(arguments)
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    seeds, calls = options.seeds or seeds, options.calls or calls
    out = options.out or Path("out/truss-quick" if options.quick else "out/truss")
    command = " ".join(["python -m case_studies.truss", *arguments])
    try:
        for name in [options.case] if options.case else CASES:
            path = out / f"{name}.json"
            try:
                records = _records_of(path, calls)
            except ValueError as error:
                parser.error(str(error))
            _run(name, seeds, calls, options.workers, path, records, command)
            _summarise(name, records, path)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    return 0


def _run(
    name: str, seeds: int, calls: int, workers: int, path: Path, records: list[Record], command: str
) -> None:
    """Run the seeds that are not recorded yet; every one is saved as soon as it is done."""
    print(build_model(name), end="\n\n", flush=True)
    for seed in range(1, seeds + 1):
        if any(r.seed == seed for r in records):
            continue
        print(f"{CASES[name].title}, seed {seed}", file=sys.stderr, flush=True)
        progress = archeng.ProgressLine()
        record = run_seed(name, seed, calls, workers=workers, callback=progress)
        records.append(record)
        _save(path, calls, records, command)
        print(f"  {record.mass:.2f} lb", file=sys.stderr, flush=True)


def _summarise(name: str, records: Sequence[Record], path: Path) -> None:
    """Print the tables and draw the figures."""
    print(report.seeds_table(name, records), end="\n\n")
    print(report.reference_table(name, records), end="\n\n")
    print(report.verdict(name, records), end="\n\n")
    written = [path.name]
    try:
        for suffix, draw in (("truss", truss_figure), ("convergence", convergence_figure)):
            draw(name, records, path.with_name(f"{name}_{suffix}.png"))
            written.append(f"{name}_{suffix}.png")
    except ImportError:
        print("no figures: pip install 'archeng[plot]'", file=sys.stderr)
    print(f"written: {', '.join(written)} in {path.parent}", end="\n\n", flush=True)


def _records_of(path: Path, calls: int) -> list[Record]:
    """Return the seeds that an earlier start has finished.

    Raises
    ------
    ValueError
        If they had another number of calls.
    """
    if not path.exists():
        return []
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["calls"] != calls:
        raise ValueError(f"{path} holds runs of {data['calls']} calls: choose another --out.")
    return [Record.from_data(r) for r in data["seeds"]]


def _save(path: Path, calls: int, records: Sequence[Record], command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "provenance": provenance(command),
        "calls": calls,
        "seeds": [asdict(r) for r in records],
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data) + "\n", encoding="utf-8")
    new.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.truss",
        description="Trusses with an external finite-element program: sizing and layout.",
    )
    parser.add_argument("--case", choices=list(CASES), help="only this one (all)")
    parser.add_argument("--seeds", type=positive, metavar="N", help=f"seeds 1 to N ({SEEDS})")
    parser.add_argument(
        "--calls", type=positive, metavar="N", help=f"calls of the program a seed ({CALLS})"
    )
    parser.add_argument(
        "--workers", type=positive, default=1, metavar="W", help="calls at the same time (1)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="results (out/truss; with --quick out/truss-quick)",
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK[0]} seed, {QUICK[1]} calls")
    return parser


if __name__ == "__main__":
    sys.exit(main())
