"""Command line of the flange: ``python -m case_studies.flange --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import archeng
from case_studies.flange import report
from case_studies.flange.model import build_model
from case_studies.flange.study import Record, run_seed
from case_studies.shared.arguments import command_of, interruptible, study_parser
from case_studies.shared.seeds import SeedFile

SEEDS, CALLS = 5, 200
QUICK = 1, 60
"""Seeds and calls with --quick."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = study_parser(
        "flange",
        "A bolted flange with parts from catalogues and a ring model as the simulator.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"simulator calls of each seed ({CALLS})",
        out="results (out/flange; with --quick out/flange-quick)",
        quick=f"{QUICK[0]} seed, {QUICK[1]} calls",
    )
    options = parser.parse_args(argv)
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    seeds, calls = options.seeds or seeds, options.calls or calls
    out = options.out or Path("out/flange-quick" if options.quick else "out/flange")
    shared = {"calls": calls, "form": "grey"}
    command = command_of("flange", argv)
    try:
        file = SeedFile(out / "flange_grey.json", Record, shared, command, indent=1)
    except ValueError as error:
        parser.error(str(error))
    print(build_model(), end="\n\n", flush=True)
    for seed in file.missing(range(1, seeds + 1)):
        print(f"flange, seed {seed}", file=sys.stderr, flush=True)
        record = run_seed(seed, calls, archeng.ProgressLine())
        file.add(record)
        print(f"  {record.cost:.3f} EUR", file=sys.stderr, flush=True)
    print(report.seeds_table(file.records), end="\n\n")
    print(report.designs_table(file.records), end="\n\n")
    print(report.verdict(file.records), end="\n\n")
    print(f"written: {file.path.name} in {file.path.parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
