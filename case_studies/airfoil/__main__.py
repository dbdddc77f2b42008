"""Command line of the airfoil: ``python -m case_studies.airfoil --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import archeng
from case_studies.airfoil import report
from case_studies.airfoil.cases import CASES
from case_studies.airfoil.figure import figure
from case_studies.airfoil.study import Record, Setup, run_seed
from case_studies.shared.arguments import interruptible, study_parser
from case_studies.shared.forms import Form, add_form, forms_of
from case_studies.shared.seeds import SeedFile

SEEDS, CALLS, PLAIN_CALLS = 3, 300, 3000
QUICK = 1, 60
"""Seeds and calls with --quick."""

PACKAGES = ("neuralfoil", "aerosandbox")
"""Whose versions are recorded."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    usual = (SEEDS, PLAIN_CALLS if options.plain else CALLS)
    seeds, calls = QUICK if options.quick else usual
    wanted = range(1, (options.seeds or seeds) + 1)
    groups = {}
    for form in forms_of(options.form):
        setup = Setup(
            options.case, options.calls or calls, options.plain, options.may_stop, form=form
        )
        chosen = [k for k in ("plain", "may_stop") if getattr(setup, k)]
        out = options.out or Path("out/airfoil")
        path = out / ("_".join([setup.case, form, *chosen, str(setup.calls)]) + ".json")
        shared = {"setup": asdict(setup)}
        try:
            file = SeedFile(path, Record, shared, _command(options, form), PACKAGES, indent=1)
        except ValueError as error:
            parser.error(str(error))
        for seed in file.missing(wanted):
            print(f"{setup.case}, {form}, seed {seed}", file=sys.stderr, flush=True)
            record = run_seed(setup, seed, archeng.ProgressLine())
            file.add(record)
            unit = "lift over drag" if CASES[setup.case].best_ratio else "counts"
            print(f"  {record.objective:.2f} {unit}", file=sys.stderr, flush=True)
        groups[form] = [r for r in file.records if r.seed in wanted]
        _summarise(setup, groups[form], path)
    print(report.forms_table(CASES[options.case], groups))
    return 0


def _command(options: argparse.Namespace, form: Form) -> str:
    """Return how a run is repeated; where it was written to is no part of that."""
    words = ["python -m case_studies.airfoil", f"--case {options.case}", f"--form {form}"]
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
    print(f"written: {path.name}, {picture.name} in {path.parent}", end="\n\n")


def _parser() -> argparse.ArgumentParser:
    parser = study_parser(
        "airfoil",
        "Airfoil section: explicit geometry; lift, drag and moment simulated.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"simulator calls of each seed ({CALLS}; with --plain {PLAIN_CALLS})",
        out="(out/airfoil)",
        quick="one seed, 60 calls",
    )
    parser.add_argument(
        "--case", choices=CASES, default="transonic", help="flight conditions (transonic)"
    )
    add_form(parser)
    parser.add_argument(
        "--plain", action="store_true", help="ARCH alone, without models of the simulator"
    )
    parser.add_argument(
        "--may-stop", action="store_true", help="let the search end by itself before its calls"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
