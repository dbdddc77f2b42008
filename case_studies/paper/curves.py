"""Convergence curves on the quadratics, for `median` and `general`.

A run is one row: the criterion (m - x*)^T H (m - x*) at every ``every``-th iteration from 0 on,
as one text of numbers, and the first iterations at which it is below 1e-6 and 1e-8. After its
end a run counts with its last criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.paper.follow import TARGET, follow
from case_studies.paper.quadratics import FUNCTIONS, SYSTEMS, quadratic
from case_studies.paper.results import Row, Task

Floats = NDArray[np.float64]

DIMENSIONS = (20, 50)
HANDLERS = {"arch": "ARCH", "resampling": "resampling", "ap-bch": "AP-BCH"}
EVERY = {20: 5, 50: 20}
ALSO = 1e-6
"""A second, easier target."""
SHUFFLES = 200
"""Times that the runs change their coordinate systems, to see what chance does."""

QUICK_FUNCTIONS = ("sphere", "rotated ellipsoid")
QUICK_CAP = 2500


def tasks(runs: int, quick: bool) -> list[Task]:
    """Return all combinations; AP-BCH handles BOX only. ``cap`` is the most iterations."""
    functions, dimensions = (QUICK_FUNCTIONS, (20,)) if quick else (FUNCTIONS, DIMENSIONS)
    return [
        {
            "function": function,
            "system": system,
            "handler": handler,
            "n": n,
            "cap": QUICK_CAP if quick else cap(function, handler, n),
            "seed": seed,
        }
        for n, seed, function in product(dimensions, range(runs), functions)
        for handler, system in product(HANDLERS, SYSTEMS)
        if system == "BOX" or handler == "arch" or (handler == "resampling" and not quick)
    ]


def cap(function: str, handler: str, n: int) -> int:
    """Return the most iterations: enough for ARCH everywhere, for the others up to n = 20."""
    if handler == "arch" or n > 20:
        return 3000 if n <= 20 else 10_000
    return 5000 if function == "sphere" else 12_000


def run_task(task: Task, matched: bool) -> list[Row]:
    """One run; ``matched`` says which initial covariance matrix, see `quadratic`."""
    n, every = int(task["n"]), EVERY[int(task["n"])]
    problem = quadratic(str(task["function"]), str(task["system"]), n, matched=matched)
    criteria: list[float] = []

    def watch(iteration: int, criterion: float, run: archeng.Run) -> None:
        criteria.append(criterion)

    follow(problem, str(task["handler"]), int(task["seed"]), int(task["cap"]), watch)
    row: Row = {**task}
    for target in (ALSO, TARGET):
        row[f"reached_{target:.0e}"] = next((i for i, c in enumerate(criteria) if c < target), None)
    kept = [*criteria[::every], *criteria[-1:]]  # the last one, wherever it is, goes on for ever
    row.update(iterations=len(criteria) - 1, last=criteria[-1], every=every)
    row["curve"] = " ".join(f"{c:.3g}" for c in kept)
    return [row]


def summary(rows: list[Row]) -> str:
    """Return iterations to 1e-8, how far ARCH's curves are apart, AP-BCH against ARCH."""
    header = ["n", "function", "handler", "system", "runs", "iterations to 1e-6", "reached",
              "iterations to 1e-8", "reached", "median last criterion"]  # fmt: skip
    lines = []
    for (n, function, handler, system), group in _groups(rows):
        last = float(np.median([r["last"] for r in group]))
        cells: list[object] = []
        for target in (ALSO, TARGET):
            iterations, share = reached(group, target)
            cells += ["-" if iterations is None else f"{iterations:g}", f"{100 * share:.0f} %"]
        lines.append([n, function, HANDLERS[handler], system, len(group), *cells, f"{last:.1e}"])
    parts = ["Median over the runs that reach it.", markdown_table(header, lines)]
    overlap, penalty = _overlap_lines(rows), _penalty_lines(rows)
    if overlap:
        parts.append(
            "ARCH's median curves in the three coordinate systems: the largest ratio of two of "
            "them at equal iterations, while all are above 1e-8, and the ratio of the largest to "
            "the smallest median number of iterations to 1e-6 and to 1e-8. By chance: the same "
            f"ratio if the runs are dealt to the three systems at random, {SHUFFLES} times."
        )
        header = ["n", "function", "largest ratio", "at iteration", "by chance: median", "95 %",
                  "to 1e-6", "to 1e-8"]  # fmt: skip
        parts.append(markdown_table(header, overlap))
    if penalty:
        parts.append("AP-BCH against ARCH on BOX, median iterations to 1e-8.")
        parts.append(markdown_table(["n", "function", "AP-BCH", "ARCH", "ratio"], penalty))
    return "\n\n".join(parts)


def reached(group: list[Row], target: float) -> tuple[float | None, float]:
    """Median iterations to a target of the runs that reach it (None: none does); their share."""
    found: list[Any] = [r[f"reached_{target:.0e}"] for r in group]
    found = [i for i in found if i is not None]
    return (float(np.median(found)) if found else None), len(found) / len(group)


def quartiles(group: list[Row], length: int | None = None) -> Floats:
    """Quartiles (3, k) over the runs at iterations 0, every, 2 every, ...

    Runs are continued with their last value up to ``length`` values, or to the longest of them.
    """
    curves = [np.array([float(v) for v in str(r["curve"]).split()]) for r in group]
    k = max(length or 0, *(len(c) - 1 for c in curves))
    padded = [np.append(c[:-1], np.full(k - len(c) + 1, c[-1])) for c in curves]
    return np.percentile(padded, (25, 50, 75), axis=0)


def largest_ratio(groups: list[list[Row]], floor: float = TARGET) -> tuple[float, int]:
    """Largest ratio of two median curves at equal iterations while all are above the floor."""
    length = max(quartiles(g).shape[1] for g in groups)
    medians = np.array([quartiles(g, length)[1] for g in groups])
    below = np.flatnonzero(medians.min(axis=0) < floor)
    medians = medians[:, : below[0] if len(below) else None]
    ratios = medians.max(axis=0) / medians.min(axis=0)
    worst = int(np.argmax(ratios))
    return float(ratios[worst]), worst * int(groups[0][0]["every"])


def _overlap_lines(rows: list[Row]) -> list[list[object]]:
    groups = dict(_groups(rows))
    lines: list[list[object]] = []
    for n, function in dict.fromkeys((key[0], key[1]) for key in groups):
        three = [groups.get((n, function, "arch", system)) for system in SYSTEMS]
        if not all(three):
            continue
        ratio, iteration = largest_ratio(three)
        spread = []
        for target in (ALSO, TARGET):
            counts = [reached(group, target)[0] for group in three]
            spread.append("-" if None in counts else f"{max(counts) / min(counts):.3f}")
        lines.append([n, function, f"{ratio:.2f}", iteration, *by_chance(three), *spread])
    return lines


def by_chance(groups: list[list[Row]], draws: int = SHUFFLES) -> list[str]:
    """Return median and 95 % quantile of the largest ratio if the runs change their groups.

    If all groups have the same law, the ratio that is seen is one of these.
    """
    rng, runs = np.random.default_rng(0), [row for group in groups for row in group]
    ends = np.cumsum([len(group) for group in groups])[:-1]
    found = []
    for _ in range(draws):
        dealt = np.split(rng.permutation(len(runs)), ends)
        found.append(largest_ratio([[runs[i] for i in part] for part in dealt])[0])
    return [f"{value:.1f}" for value in np.percentile(found, (50, 95))]


def _penalty_lines(rows: list[Row]) -> list[list[object]]:
    groups = dict(_groups(rows))
    lines: list[list[object]] = []
    for n, function in dict.fromkeys((key[0], key[1]) for key in groups):
        arch, penalty = (groups.get((n, function, h, "BOX")) for h in ("arch", "ap-bch"))
        if not arch or not penalty:
            continue
        ours, _ = reached(arch, TARGET)
        theirs, _ = reached(penalty, TARGET)
        more = ""
        if theirs is None:  # then it needs more than its cap
            more, theirs = "> ", float(max(r["cap"] for r in penalty))
        count, ratio = "-", "-"
        if ours is not None:
            count, ratio = f"{ours:g}", f"{more}{theirs / ours:.2f}"
        lines.append([n, function, f"{more}{theirs:g}", count, ratio])
    return lines


def _groups(rows: list[Row]) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Yield the runs that differ in the seed only, in the order of the tables."""
    dimensions = sorted({r["n"] for r in rows})
    for key in product(dimensions, FUNCTIONS, HANDLERS, SYSTEMS):
        group = [r for r in rows if (r["n"], r["function"], r["handler"], r["system"]) == key]
        if group:
            yield key, group


def figures(rows: list[Row], out: Path, name: str) -> list[Path]:
    """One figure per dimension: a panel per function, median and quartiles over iterations."""
    from matplotlib.figure import Figure

    styles = dict(zip(SYSTEMS, ("-", "--", ":"), strict=True))
    colours = dict(zip(HANDLERS, ("C0", "C1", "C2"), strict=True))
    paths = []
    for n in sorted({r["n"] for r in rows}):
        groups = {key[1:]: group for key, group in _groups(rows) if key[0] == n}
        functions = [f for f in FUNCTIONS if any(key[0] == f for key in groups)]
        figure = Figure(figsize=(5 * len(functions), 4), layout="constrained")
        panels = figure.subplots(1, len(functions), sharey=True, squeeze=False)[0]
        for axes, function in zip(panels, functions, strict=True):
            for (f, handler, system), group in groups.items():
                if f != function:
                    continue
                low, middle, high = quartiles(group)
                t = np.arange(len(middle)) * int(group[0]["every"])
                label = f"{HANDLERS[handler]}, {system}"
                axes.semilogy(t, middle, styles[system], color=colours[handler], label=label)
                axes.fill_between(t, low, high, color=colours[handler], alpha=0.15, lw=0)
            axes.set(title=f"{function}, n = {n}", xlabel="iterations")
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("(m - x*)ᵀ H (m - x*)")
        begin = max(quartiles(group)[1][0] for group in groups.values())
        panels[0].set_ylim(0.1 * TARGET, 100 * begin)  # runs that diverge leave the picture
        panels[0].legend(fontsize="x-small")
        paths.append(out / f"{name}_n{n}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths
