"""Everything there is to see in a single run, for `single` and `nearest`.

A row is an iteration. Vectors are kept as one text of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import archeng
from case_studies.paper.follow import TARGET, follow
from case_studies.paper.quadratics import Quadratic
from case_studies.paper.results import Row, Task

Floats = NDArray[np.float64]


def trace(
    problem: Quadratic, handler: str, seed: int, max_iterations: int, every: int, task: Task
) -> list[Row]:
    """Run as `follow` does and return a row for every so many iterations, and for the last one.

    Each row has the key columns of the task; ``reached`` is the first iteration with a criterion
    below 1e-8 (None: never), the same in all rows.
    """
    rows: list[Row] = []

    def watch(iteration: int, criterion: float, run: archeng.Run) -> None:
        if rows and rows[-1]["iteration"] % every:
            rows.pop()  # it was only the last one so far
        rows.append({"iteration": iteration, "criterion": criterion, **_look(problem, run)})

    reached = follow(problem, handler, seed, max_iterations, watch)
    return [{**task, "reached": reached, **row} for row in rows]


def _look(problem: Quadratic, run: archeng.Run) -> Row:
    d = run.distribution
    alpha = run.history[-1].alpha if run.history else np.nan
    d_m = run.history[-1].d_m if run.history else np.nan
    return {
        "sigma": d.sigma,
        "alpha": None if np.isnan(alpha) else alpha,
        "d_m": None if np.isnan(d_m) else d_m,
        "r_feas": problem.satisfied_share(d.mean),
        "roots": _packed(np.sqrt(np.linalg.eigvalsh(d.covariance))),
        "mean": _packed(d.mean),
    }


def spread(row: Row) -> float:
    """Return the largest over the smallest eigenvalue of the square root of C."""
    roots = unpacked([row], "roots")[0]
    return float(roots[-1] / roots[0])


def unpacked(rows: list[Row], column: str) -> Floats:
    """Return the vectors of a column as a matrix (rows, n)."""
    return np.array([[float(v) for v in str(r[column]).split()] for r in rows])


def _packed(vector: Floats) -> str:
    return " ".join(f"{v:.4g}" for v in vector)


def draw(cell: Any, title: str, rows: list[Row]) -> None:
    """Draw a run into a cell of a grid: the search on top, the coordinates of the mean below."""
    top, bottom = cell.subgridspec(2, 1, height_ratios=(2, 1)).subplots(sharex=True)
    t = [r["iteration"] for r in rows]
    top.semilogy(t, unpacked(rows, "roots"), color="0.7", lw=0.6)
    top.plot([], [], color="0.7", label="eig(√C)")
    top.semilogy(t, _series(rows, "criterion"), color="k", lw=1.5, label="criterion")
    top.semilogy(t, _series(rows, "sigma"), color="C0", label="σ")
    for column, colour, text in (("alpha", "C1", "α"), ("d_m", "C2", "d_m")):
        if any(r[column] is not None for r in rows):
            top.semilogy(t, _series(rows, column), color=colour, lw=0.8, label=text)
    top.axhline(TARGET, color="k", lw=0.5, ls=":")
    top.set_title(title, fontsize="medium")
    top.legend(fontsize="x-small", ncol=5, loc="lower left")
    bottom.plot(t, unpacked(rows, "mean"), lw=0.6)
    bottom.set(ylabel="mean", xlabel="iterations")
    share = bottom.twinx()
    share.plot(t, [r["r_feas"] for r in rows], color="k", lw=0.8)
    share.set(ylabel="r_feas", ylim=(-0.05, 1.05))
    for axes in (top, bottom):
        axes.grid(alpha=0.3)


def _series(rows: list[Row], column: str) -> Floats:
    """Return the values of a column for a logarithmic axis, NaN where there is none."""
    values = np.array([np.nan if r[column] is None else r[column] for r in rows], dtype=float)
    return np.where(values == 0, np.nan, values)
