"""``python -m case_studies.fidelity``: cost to a target with both simulators, and with one.

Resumable: finished runs are read from the JSON file. The page is written by the command.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import archeng
from case_studies.fidelity.cases import PAIRS, Pair

_MOST = 1500  # calls of the dear simulator
_METHODS = ("models", "ARCH alone")


def run(pair: Pair, method: str, both: bool, seed: int) -> dict[str, Any]:
    """Make one run to the target."""
    settings = archeng.Settings() if method == "models" else archeng.Settings(surrogate="none")
    result = archeng.solve(
        pair.model(),
        [pair.coarse, pair.fine] if both else pair.fine,
        cost=[pair.ratio, 1.0] if both else None,
        seed=seed,
        target=pair.target,
        max_evaluations=_MOST,
        settings=settings,
    )
    return {
        "cost": result.cost,
        "calls": list(result.calls_by_level),
        "reached": result.success,
        "infeasible": result.n_infeasible_calls,
    }


def page(records: dict[str, Any], seeds: int) -> str:
    """Return the page."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    lines = [
        "# Cheap and dear simulators",
        "",
        f"Written by `make bench-fidelity` (commit {commit}, archeng {archeng.__version__}, Python "
        f"{platform.python_version()}), seeds 0 to {seeds - 1}. Median cost to the target (best "
        "known objective + 0.01 %) in calls of the dear simulator, and runs that reached it. The "
        "cheap one costs 0.05. Numbers of the method were tuned on valleys like the shifted one; "
        "the pair with two step sizes was kept aside.",
        "",
        "| pair | method | dear alone | reached | both | reached | ratio | calls (median) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for pair in PAIRS:
        for method in _METHODS:
            one, two = (
                [records[f"{pair.name}|{method}|{both}|{s}"] for s in range(seeds)]
                for both in (False, True)
            )
            a, b = (statistics.median(r["cost"] for r in rs) for rs in (one, two))
            calls = [statistics.median(r["calls"][k] for r in two) for k in range(2)]
            lines.append(
                f"| {pair.name} | {method} | {a:.1f} | {sum(r['reached'] for r in one)}/{seeds} | "
                f"{b:.1f} | {sum(r['reached'] for r in two)}/{seeds} | {b / a:.2f} | "
                f"{calls[0]:g} + {calls[1]:g} |"
            )
    outside = sum(r["infeasible"] for r in records.values())
    lines += ["", f"Calls at infeasible designs, of any simulator: {outside}."]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Make what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="case_studies.fidelity")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks/fidelity"))
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "fidelity.json"
    records = json.loads(file.read_text()) if file.exists() else {}
    for seed in range(options.seeds):
        for pair in PAIRS:
            for method in _METHODS:
                for both in (False, True):
                    key = f"{pair.name}|{method}|{both}|{seed}"
                    if key not in records:
                        records[key] = run(pair, method, both, seed)
                        file.write_text(json.dumps(records, indent=1) + "\n")
                        sys.stderr.write(f"{key}: {records[key]}\n")
    (options.out / "fidelity.md").write_text(page(records, options.seeds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
