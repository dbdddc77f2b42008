"""What gradients of the outputs save: the same problems with and without them.

The simulator returns exact derivatives of its outputs beside them, as an adjoint solver does. A
call is a call, whether it brings gradients or not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.greybox.suite import definition, problem
from case_studies.greybox.trial import feasible
from case_studies.shared.comparison import make, save

PROBLEMS = (
    *("g07", "g09", "g19", "welded_beam", "spring", "brown_dennis", "two_peaks", "meyer"),
    *("chebyshev_exp", "truss_stress", "wing", "exchanger"),
)
"""At least two of each family; none of those that are kept aside."""

BUDGET = 500
"""Most calls of a run."""

SEEDS = 5
"""Without ``--seeds``."""


def with_gradients(name: str) -> Callable[[archeng.Design], archeng.Evaluation]:
    """Return a simulator of a problem whose answers hold gradients of all outputs."""
    p = problem(name)
    x = ca.SX.sym("x", p.n)
    outputs = definition(name).outputs(ca.vertsplit(x), ca)
    columns = {
        key: ca.vertcat(*ca.SX(ca.vertcat(*_listed(z))).nonzeros()) for key, z in outputs.items()
    }
    slopes = {key: ca.Function("slopes", [x], [ca.jacobian(z, x)]) for key, z in columns.items()}

    def simulate(design: archeng.Design) -> archeng.Evaluation:
        gradients = {key: np.asarray(slope(design.x)) for key, slope in slopes.items()}
        return archeng.Evaluation(outputs=p.simulate(design), gradients=gradients)

    return simulate


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def main(seeds: int, out: Path, command: str) -> int:
    """Run all problems both ways, print the table and save the record."""
    rows: list[dict[str, Any]] = []
    for name in PROBLEMS:
        p = problem(name)
        for kind, simulator in (("without", p.simulate), ("with", with_gradients(name))):
            for seed in range(1, seeds + 1):
                result = archeng.solve(
                    p.model,
                    simulator,
                    start=feasible(p, seed),
                    seed=seed,
                    target=p.target,
                    max_evaluations=BUDGET,
                    restarts=BUDGET,
                )
                reached = result.status is archeng.Status.TARGET
                calls = result.nfev if reached else None
                rows.append({"problem": name, "gradients": kind, "seed": seed, "calls": calls})
        print(f"{name} done", file=sys.stderr)
    print(table(rows))
    path = out / "gradients.json"
    save(make(command, BUDGET, 1e-4, rows), path)
    print(f"\nruns saved to {path}")
    return 0


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return median calls to the target with and without gradients, and their ratio."""
    lines, ratios = [], []
    for name in dict.fromkeys(row["problem"] for row in rows):
        medians = [
            float(np.median([row["calls"] or np.inf for row in rows if _is(row, name, kind)]))
            for kind in ("without", "with")
        ]
        if np.all(np.isfinite(medians)):
            ratios.append(medians[1] / medians[0])
        lines.append([name, *(f"{m:g}" for m in medians), f"{medians[1] / medians[0]:.2f}"])
    mean = float(np.exp(np.mean(np.log(ratios))))
    lines.append(["geometric mean", "", "", f"{mean:.2f}"])
    return markdown_table(["problem", "without gradients", "with", "ratio"], lines)


def _is(row: dict[str, Any], name: str, kind: str) -> bool:
    return bool(row["problem"] == name and row["gradients"] == kind)
