"""Command line of the water network: ``python -m case_studies.water_network --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import archeng
from case_studies.shared.arguments import command_of, interruptible, study_parser
from case_studies.shared.forms import add_form, forms_of
from case_studies.shared.seeds import SeedFile
from case_studies.water_network import report
from case_studies.water_network.networks import NAMES
from case_studies.water_network.study import Record, Setup, run_seed

SEEDS, CALLS, PLAIN_CALLS = 3, 200, 3000
QUICK = 1, 60
"""Seeds and calls with --quick."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    aim = options.aim or ("cost" if options.sizes == "catalogue" else "resilience")
    if (options.sizes, aim) == ("catalogue", "resilience"):
        parser.error("--sizes catalogue is for --aim cost: one design of the list is in the budget")
    usual = (SEEDS, PLAIN_CALLS if options.plain else CALLS)
    seeds, calls = QUICK if options.quick else usual
    wanted = range(1, (options.seeds or seeds) + 1)
    groups = {}
    for form in forms_of(options.form):
        setup = Setup(
            options.network, aim, options.calls or calls, options.plain, form, options.sizes
        )
        kind = ("catalogue_" if setup.sizes == "catalogue" else "") + "plain_" * setup.plain
        out = options.out or Path("out/water_network")
        path = out / f"{setup.network}_{setup.aim}_{form}_{kind}{setup.calls}.json"
        command = command_of("water_network", argv)
        try:
            file = SeedFile(path, Record, {"setup": asdict(setup)}, command, ["wntr"], indent=1)
        except ValueError as error:
            parser.error(str(error))
        for seed in file.missing(wanted):
            where = f"{setup.network}, {setup.aim}, {form}, seed {seed}"
            print(where, file=sys.stderr, flush=True)
            record = run_seed(setup, seed, archeng.ProgressLine())
            file.add(record)
            print(f"  {record.objective:,.7g}", file=sys.stderr, flush=True)
        groups[form] = [r for r in file.records if r.seed in wanted]
        _summarise(setup, groups[form], path)
    print(report.forms_table(setup, groups))
    return 0


def _summarise(setup: Setup, records: Sequence[Record], path: Path) -> None:
    """Print the tables and draw the figure."""
    print(report.seeds_table(setup, records), end="\n\n")
    print(report.designs_table(setup, records), end="\n\n")
    print(report.verdict(setup, records), end="\n\n")
    picture = path.with_suffix(".png")
    report.figure(setup, records, picture)
    print(f"written: {path.name}, {picture.name} in {path.parent}", end="\n\n")


def _parser() -> argparse.ArgumentParser:
    parser = study_parser(
        "water_network",
        "Pipe diameters of a water network: cost explicit, pressures by EPANET.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"simulator calls of each seed ({CALLS}; with --plain {PLAIN_CALLS})",
        out="(out/water_network)",
        quick="one seed, 60 calls",
    )
    parser.add_argument("--network", choices=NAMES, default="two_loop", help="(two_loop)")
    parser.add_argument(
        "--aim",
        choices=("resilience", "cost"),
        help="most resilience for the budget, or least cost (resilience; of the catalogue cost)",
    )
    parser.add_argument(
        "--sizes",
        choices=("any", "catalogue"),
        default="any",
        help="any diameters, or those of the price list (any)",
    )
    add_form(parser)
    parser.add_argument(
        "--plain", action="store_true", help="ARCH alone, without models of the simulator"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
