"""Command line of the trusses: ``python -m case_studies.truss --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import archeng
from case_studies.shared.arguments import command_of, interruptible, positive, study_parser
from case_studies.shared.forms import add_form, forms_of
from case_studies.shared.seeds import SeedFile
from case_studies.truss import report
from case_studies.truss.cases import CASES
from case_studies.truss.figures import convergence_figure, truss_figure
from case_studies.truss.model import build_model
from case_studies.truss.study import Record, run_seed

SEEDS, CALLS = 5, 300
QUICK = 1, 60
"""Seeds and calls with --quick."""


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code (2: bad arguments, 130: Ctrl-C)."""
    parser = _parser()
    options = parser.parse_args(argv)
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    seeds, calls = options.seeds or seeds, options.calls or calls
    out = options.out or Path("out/truss-quick" if options.quick else "out/truss")
    command = command_of("truss", argv)
    for name in [options.case] if options.case else CASES:
        groups = {}
        for form in forms_of(options.form):
            shared = {"calls": calls, "form": form}
            try:
                file = SeedFile(out / f"{name}_{form}.json", Record, shared, command)
            except ValueError as error:
                parser.error(str(error))
            print(build_model(name, form), end="\n\n", flush=True)
            for seed in file.missing(range(1, seeds + 1)):
                print(f"{CASES[name].title}, {form}, seed {seed}", file=sys.stderr, flush=True)
                progress = archeng.ProgressLine()
                record = run_seed(
                    name, seed, calls, form=form, workers=options.workers, callback=progress
                )
                file.add(record)
                print(f"  {record.mass:.2f} lb", file=sys.stderr, flush=True)
            groups[form] = file.records
            _summarise(name, file.records, file.path)
        print(report.forms_table(name, groups), end="\n\n")
    return 0


def _summarise(name: str, records: Sequence[Record], path: Path) -> None:
    """Print the tables and draw the figures."""
    print(report.seeds_table(name, records), end="\n\n")
    print(report.reference_table(name, records), end="\n\n")
    print(report.verdict(name, records), end="\n\n")
    written = [path.name]
    try:
        for suffix, draw in (("truss", truss_figure), ("convergence", convergence_figure)):
            picture = path.with_name(f"{path.stem}_{suffix}.png")
            draw(name, records, picture)
            written.append(picture.name)
    except ImportError:
        print("no figures: pip install 'archeng[plot]'", file=sys.stderr)
    print(f"written: {', '.join(written)} in {path.parent}", end="\n\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = study_parser(
        "truss",
        "Trusses with an external finite-element program: sizing and layout.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"calls of the program a seed ({CALLS})",
        out="results (out/truss; with --quick out/truss-quick)",
        quick=f"{QUICK[0]} seed, {QUICK[1]} calls",
    )
    add_form(parser)
    parser.add_argument("--case", choices=list(CASES), help="only this one (all)")
    parser.add_argument(
        "--workers", type=positive, default=1, metavar="W", help="calls at the same time (1)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
