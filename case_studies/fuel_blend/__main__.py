"""Command line of the fuel blend: ``python -m case_studies.fuel_blend --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import archeng
from case_studies import comparison_record
from case_studies.fuel_blend.comparison import METHODS, Run, solved, without_the_sum
from case_studies.fuel_blend.model import TOLERANCE, build_model
from case_studies.fuel_blend.others import chosen, positive

KNOWN = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
SEEDS, CALLS = 3, 300
TARGET = 1.01 * KNOWN["optimum"]["cost"]
COLUMNS = (
    ("calls", "calls", ".0f"),
    ("at illegal designs", "illegal", ".0f"),
    ("cost it ends with, EUR/GJ", "claimed", ".3f"),
    ("sum of fractions", "total", ".4f"),
    ("cost of the real blend", "blended", ".3f"),
    ("its heating value, MJ/m3", "heating_value", ".2f"),
    ("best legal cost", "legal", ".3f"),
    ("calls to 1 %", "calls_to_target", ".0f"),
)
"""Of the table: header, key of a row, format."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the case study and return the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        methods = chosen(options.methods, METHODS)
    except ValueError as error:
        parser.error(str(error))
    seeds = options.seeds or (1 if options.quick else SEEDS)
    calls = options.calls or (60 if options.quick else CALLS)
    print(build_model(), end="\n\n", flush=True)
    if "archeng" in methods:
        _show_one_run(calls)
    found = []
    for seed in range(1, seeds + 1):
        for method in methods:
            run = METHODS[method](seed, calls)
            print(f"seed {seed}: {run.method}: {run.claimed:.3f} EUR/GJ", file=sys.stderr)
            found.append(run)
    rows = [run.row(TARGET) for run in found]
    print(f"\nmedians over {seeds} seeds\n\n{comparison_record.table(rows, COLUMNS)}")
    words = sys.argv[1:] if argv is None else argv
    command = " ".join(["python -m case_studies.fuel_blend", *words])
    path = options.out / "fuel_blend.json"
    comparison_record.save(comparison_record.make(command, calls, TARGET, rows), path)
    print(f"\nruns saved to {path}")
    _save_figure(found, options.out / "fuel_blend.png")
    return 0


def _show_one_run(calls: int) -> None:
    """Show a run of archeng, and one without the row that holds the sum."""
    first, result = solved(1, calls, archeng.ProgressLine())
    print(result)
    print(f"\nbest known cost: {KNOWN['optimum']['cost']:.6f} EUR/GJ")
    farthest = max(abs(sum(e.x[:-2]) - 1) for e in result.evaluations)
    print(
        f"the referee: {first.calls} calls, {first.illegal} at illegal designs; the fractions are "
        f"never farther from 1 than {farthest:.2g} (tolerance {TOLERANCE:g})\n"
    )
    off = without_the_sum(1, calls)
    print(
        f"without the row 'fractions add up' the simulator claims {off.claimed:.3f} EUR/GJ with "
        f"fractions that add up to {off.total:.3f};\nit raised {off.failures} times in {off.calls} "
        f"calls. The real blend has {off.heating_value:.2f} MJ/m3 and breaks: "
        f"{', '.join(off.broken) or 'nothing'}\n"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.fuel_blend",
        description="Blend gases for a furnace: fractions that add up, black-box kinetics.",
    )
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help=f"runs of each method (default {SEEDS})"
    )
    parser.add_argument(
        "--calls", type=positive, metavar="N", help=f"simulator calls of a run (default {CALLS})"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="for files (default out)"
    )
    parser.add_argument("--methods", metavar="LIST", help=f"some of: {','.join(METHODS)}")
    parser.add_argument("--quick", action="store_true", help="one seed, 60 calls (unless given)")
    return parser


def _save_figure(found: list[Run], path: Path) -> None:
    """Save convergence at legal designs, and what the methods claim, or say what is missing."""
    try:
        import matplotlib
    except ImportError:
        print("no figure: pip install 'archeng[plot]'", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for k, method in enumerate(dict.fromkeys(run.method for run in found)):
        group = [run for run in found if run.method == method]
        for run in group:
            left.plot(range(1, run.calls + 1), run.best, color=f"C{k}", lw=1)
        left.plot([], [], color=f"C{k}", label=method)
        right.plot([r.total for r in group], [r.claimed for r in group], "o", color=f"C{k}")
    for axes in (left, right):
        axes.axhline(KNOWN["optimum"]["cost"], color="0.5", ls="--", lw=1)
        axes.set_ylabel("EUR per GJ of heat")
    left.set_xlabel("simulator calls")
    left.set_title("best legal design so far")
    left.legend(fontsize="small")
    right.axvline(1.0, color="0.5", lw=1)
    right.set_xlabel("sum of the fractions")
    right.set_title("what each method ends with")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"figure saved to {path}")


if __name__ == "__main__":
    sys.exit(main())
