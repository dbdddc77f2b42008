"""Command line of the Rankine cycle: ``python -m case_studies.rankine_cycle --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import archeng
from case_studies import comparison_record
from case_studies.fuel_blend.others import chosen, positive
from case_studies.rankine_cycle.comparison import METHODS, Run, census, solved
from case_studies.rankine_cycle.model import build_model
from case_studies.rankine_cycle.simulator import Cycle, SpecificCost

KNOWN = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
SEEDS, CALLS = 5, 300
TARGET = 1.01 * KNOWN["optimum"]["cost"]
COLUMNS = (
    ("calls", "calls", ".0f"),
    ("at illegal designs", "illegal", ".0f"),
    ("raised", "failed", ".0f"),
    ("cost it ends with, $/kW", "claimed", ".2f"),
    ("best legal one", "legal", ".2f"),
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
    n = 100 if options.quick else 2000
    print(f"what the simulator says at {n} random designs of the box:")
    for what, count in census(n).most_common():
        print(f"{count:6d}  {what}")
    found = []
    for seed in range(1, seeds + 1):
        for method in methods:
            run = METHODS[method](seed, calls)
            print(f"seed {seed}: {run.method}: {run.claimed:.2f} $/kW", file=sys.stderr)
            found.append(run)
    rows = [run.row(TARGET) for run in found]
    print(f"\nmedians over {seeds} seeds\n\n{comparison_record.table(rows, COLUMNS)}")
    words = sys.argv[1:] if argv is None else argv
    command = " ".join(["python -m case_studies.rankine_cycle", *words])
    path = options.out / "rankine_cycle.json"
    comparison_record.save(comparison_record.make(command, calls, TARGET, rows), path)
    print(f"\nruns saved to {path}")
    _save_figure(found, options.out / "rankine_cycle.png")
    return 0


def _show_one_run(calls: int) -> None:
    """Show a run of archeng."""
    first, result = solved(1, calls, archeng.ProgressLine())
    print(result)
    print(f"\nbest known cost: {KNOWN['optimum']['cost']:.4f} $/kW")
    print(f"the referee: {first.calls} calls, {first.illegal} at illegal designs")
    print(_words(SpecificCost().simulate(result.design)), end="\n\n")


def _words(cycle: Cycle) -> str:
    """Say what the cycle is like, as simulated."""
    areas = ", ".join(f"{name} {area:.0f} m2" for name, area in cycle.areas.items())
    return (
        f"CoolProp: net {cycle.net_power / 1e3:.1f} kW of {cycle.heat_in / 1e3:.0f} kW heat "
        f"({100 * cycle.efficiency:.2f} %), evaporating at "
        f"{cycle.temperatures['dry'] - 273.15:.1f} C, condensing at "
        f"{cycle.temperatures['dew'] - 273.15:.1f} C\npinch {cycle.evaporator_pinch:.3f} K "
        f"(evaporator) and {cycle.condenser_pinch:.3f} K (condenser), brine returns at "
        f"{cycle.brine_outlet - 273.15:.2f} C; {areas}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m case_studies.rankine_cycle",
        description="Design an organic Rankine cycle: explicit pinch rows, black-box properties.",
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
    """Save convergence at legal designs and the share of useless calls, or say what is missing."""
    try:
        import matplotlib
    except ImportError:
        print("no figure: pip install 'archeng[plot]'", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    methods = list(dict.fromkeys(run.method for run in found))
    for k, method in enumerate(methods):
        group = [run for run in found if run.method == method]
        for run in group:
            left.plot(range(1, run.calls + 1), run.best, color=f"C{k}", lw=1)
        left.plot([], [], color=f"C{k}", label=method)
        calls = sum(run.calls for run in group)
        illegal, failed = sum(r.illegal for r in group), sum(r.failed for r in group)
        right.barh(k, 100 * illegal / calls, color="C1")
        right.barh(k, 100 * failed / calls, color="C3")
    left.axhline(KNOWN["optimum"]["cost"], color="0.5", ls="--", lw=1)
    left.set(xlabel="simulator calls", ylabel="$ per kW", title="best legal design so far")
    left.legend(fontsize="small")
    right.set_yticks(range(len(methods)), methods)
    right.invert_yaxis()
    right.set(xlim=(0, 100), xlabel="% of the calls", title="illegal designs (red: it raised)")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"figure saved to {path}")


if __name__ == "__main__":
    sys.exit(main())
