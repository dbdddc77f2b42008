"""Command line of the welded beam: ``python -m case_studies.welded_beam --help``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import archeng
from case_studies.welded_beam import KNOWN_COST, FabricationCost, build_model


def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.verbose:
        logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    model, simulator = build_model(), FabricationCost()
    progress = None
    if not options.quiet:
        print(model, end="\n\n", flush=True)
        progress = archeng.ProgressLine()
    try:
        result = archeng.solve(
            model,
            simulator,
            max_evaluations=options.max_evaluations,
            seed=options.seed,
            callback=progress,
        )
    except archeng.errors.SettingsError as error:
        parser.error(str(error))
    print(result)
    excess = 100 * (result.fun / KNOWN_COST - 1)
    print(f"\nbest known cost: {KNOWN_COST:.10g} $; this design costs {excess:.2g} % more")
    print(
        f"the simulator's own check: {simulator.n_calls} calls, "
        f"{simulator.n_illegal} of them at illegal designs"
    )
    if options.figure is not None:
        _save_figure(result, options.figure)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.welded_beam",
        description="Design the cheapest welded beam: explicit constraints, black-box cost.",
    )
    parser.add_argument("--seed", type=int, default=1, help="same seed, same run (default 1)")
    parser.add_argument(
        "--max-evaluations",
        type=int,
        default=1000,
        metavar="N",
        help="most simulator calls; the run ends before if it converges (default 1000)",
    )
    parser.add_argument("--figure", type=Path, metavar="PATH", help="save a convergence figure")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("--verbose", action="store_true", help="also show messages of the run")
    loudness.add_argument("--quiet", action="store_true", help="show the result only")
    return parser


def _save_figure(result: archeng.Result, path: Path) -> None:
    """Save the convergence figure, or say what is missing."""
    try:
        figure = result.plot("convergence")
    except ImportError as error:
        print(f"no figure: {error}", file=sys.stderr)
        return
    axes = figure.axes[0]
    axes.axhline(KNOWN_COST, color="C3", ls="--", lw=1, label="best known cost")
    axes.set_ylabel("fabrication cost ($)")
    axes.legend(loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"figure saved to {path}")


if __name__ == "__main__":
    sys.exit(main())
