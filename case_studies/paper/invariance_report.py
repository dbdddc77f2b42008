"""Tables and figure of `invariance`, with what theory says beside what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.paper.quadratics import FUNCTIONS
from case_studies.paper.results import Row
from case_studies.paper.transformations import (
    AFFINE,
    CONDITIONS,
    OF_F,
    OF_G,
    TRANSFORMATIONS,
    UNITS,
)

PAPER_CLASS = {
    "arch": "increasing / affine",
    "arch-paper": "increasing / affine",
    "arch-nearest": "increasing / affine",
    "mcr": "increasing / affine",
    "resampling": "increasing / affine",
    "al": "none / affine",
    "ap-bch": "none / none",
    "active-set-es": "increasing / none",
}
"""[SA22 tab:class]; its text adds that AP-BCH is invariant to transformations of g."""

METHODS = tuple(PAPER_CLASS)
CONVEX = (*FUNCTIONS, "g09")
PROBLEMS = (*CONVEX, "g04", "g06", "g05", "g11")
REPAIRING = ("arch", "arch-paper", "arch-nearest", "active-set-es")
EXACT, ON_CONVEX = "exact", "exact on convex sets"
DISTRIBUTION, NONE = "in distribution", "not claimed"
GROUPS = {"f": OF_F, "g": OF_G, "affine": tuple(CONDITIONS), "units": (UNITS,)}
INFINITE = 1e6
"""Where an infinite difference (other numbers of calls) is drawn."""


def theory(method: str, transformation: str) -> str:
    """Return what theory says of two runs with the same seed, given exact repairs.

    Where the feasible set is not convex, the nearest feasible point depends on where the solver
    of the repair begins. Transformations of f do not touch the repairs.
    """
    increasing, affine = PAPER_CLASS[method].split(" / ")
    exact = ON_CONVEX if method in REPAIRING and transformation not in OF_F else EXACT
    if transformation not in AFFINE:
        return exact if increasing != "none" else NONE
    if affine == "none" or (method == "al" and transformation == UNITS):
        return NONE  # bounds in other units are rows times a factor, which AL does not ignore
    return DISTRIBUTION if method == "arch-paper" else exact


def summary(rows: list[Row]) -> str:
    """Return the classes of the paper, all pairs of method and transformation, and ARCH's own."""
    measured = [r for r in rows if r["largest"] is not None]
    parts = [
        "### Classes [SA22 tab:class]\n\n" + _classes(measured),
        "### Methods and transformations\n\n" + _pairs(rows),
        _legend(),
        *(
            f"### `{method}` by problem\n\n{_by_problem(measured, method)}"
            for method in ("arch", "arch-nearest", "arch-paper")
            if any(r["method"] == method for r in measured)
        ),
        _exceptions(measured),
    ]
    return "\n\n".join(parts)


def _classes(rows: list[Row]) -> str:
    """Count the runs that stay together, by what is transformed; convex sets and others."""
    lines = []
    for method in _present(rows):
        line: list[object] = [f"`{method}`", PAPER_CLASS[method]]
        for kinds in GROUPS.values():
            mine = _pick(rows, method, kinds)
            line += [_share(mine, convex=True), _share(mine, convex=False)]
        lines.append(line)
    header = ["method", "paper: increasing / affine"]
    header += [f"{g}, {s}" for g in GROUPS for s in ("convex sets", "others")]
    return markdown_table(header, lines)


def _pairs(rows: list[Row]) -> str:
    lines = []
    for method in _present(rows):
        for kind in TRANSFORMATIONS:
            every = _pick(rows, method, (kind,))
            mine = [r for r in every if r["largest"] is not None]
            if not mine:
                if every:
                    lines.append(
                        [f"`{method}`", kind, theory(method, kind), "not applicable", "", ""]
                    )
                continue
            lines.append(
                [
                    f"`{method}`",
                    kind,
                    theory(method, kind),
                    _largest(mine, lambda r: r["problem"] in CONVEX),
                    _largest(mine, lambda r: r["problem"] not in CONVEX),
                    _partings(mine),
                ]
            )
    header = ["method", "transformation", "theory", "largest difference, convex sets", "others",
              "parted"]  # fmt: skip
    return markdown_table(header, lines)


def _legend() -> str:
    return (
        "Differences are in standard deviations of the search distribution, the largest of all "
        "calls, generations and runs; infinite if the two runs make different numbers of calls in "
        "a generation. Parted: runs in which a difference exceeds 1e-6, and the earliest "
        f"generation of it. Convex sets: {', '.join(CONVEX)}; there the theorems of the paper "
        "hold for exact repairs, which solvers only approximate: rows that grow like exp, and the "
        "intersection of curved boundaries, are hard for them. With a condition of 1e6 rounding "
        "alone can exceed 1e-6 in a run that converges."
    )


def _by_problem(rows: list[Row], method: str) -> str:
    mine = [r for r in rows if r["method"] == method]
    lines = []
    for name in [p for p in PROBLEMS if any(r["problem"] == p for r in mine)]:
        line: list[object] = [name]
        for kind in TRANSFORMATIONS:
            cell = [r for r in mine if r["problem"] == name and r["transformation"] == kind]
            line.append(f"{_largest(cell)}{_generation(cell)}" if cell else "")
        lines.append(line)
    return markdown_table(["problem", *TRANSFORMATIONS], lines)


def _exceptions(rows: list[Row]) -> str:
    """Return where runs part although theory says that they do not, and the other way round."""
    lines = []
    for method in _present(rows):
        for kind in TRANSFORMATIONS:
            mine, claim = _pick(rows, method, (kind,)), theory(method, kind)
            covered = [r for r in mine if claim == EXACT or r["problem"] in CONVEX]
            parted = [r for r in covered if r["parted"] is not None]
            if claim in (EXACT, ON_CONVEX) and parted:
                where = ", ".join(dict.fromkeys(str(r["problem"]) for r in parted))
                lines.append(
                    f"- `{method}`, {kind}: {claim}, but {_partings(covered)} part: {where}"
                )
            if claim == NONE and covered and not parted:
                lines.append(f"- `{method}`, {kind}: {claim}, but no run on convex sets parts")
    return "\n".join(["Where theory and runs differ:", "", *(lines or ["- nowhere"])])


def _pick(rows: Sequence[Row], method: str, kinds: Sequence[str]) -> list[Row]:
    return [r for r in rows if r["method"] == method and r["transformation"] in kinds]


def _present(rows: Sequence[Row]) -> list[str]:
    return [m for m in METHODS if any(r["method"] == m for r in rows)]


def _share(rows: Sequence[Row], convex: bool) -> str:
    chosen = [r for r in rows if (r["problem"] in CONVEX) == convex]
    together = sum(r["parted"] is None for r in chosen)
    return f"{together} of {len(chosen)} the same" if chosen else "-"


def _largest(rows: Sequence[Row], where: Callable[[Row], bool] = lambda r: True) -> str:
    values = [float(r["largest"]) for r in rows if where(r)]
    return f"{max(values):.1e}" if values else "-"


def _partings(rows: Sequence[Row]) -> str:
    return f"{sum(r['parted'] is not None for r in rows)} of {len(rows)}{_generation(rows)}"


def _generation(rows: Sequence[Row]) -> str:
    found = [r["parted"] for r in rows if r["parted"] is not None]
    return f" (from generation {min(found)})" if found else ""


def figures(rows: list[Row], out: Path) -> list[Path]:
    """Draw the largest difference of every run, by method and by what is transformed."""
    from matplotlib.figure import Figure

    measured = [r for r in rows if r["largest"] is not None]
    labels = [(m, g) for m in _present(measured) for g in GROUPS]
    figure = Figure(figsize=(7.0, 1.0 + 0.25 * len(labels)), layout="constrained")
    axes = figure.subplots()
    colours = {"f": "C0", "g": "C1", "affine": "C2", "units": "C3"}
    for i, (method, group) in enumerate(labels):
        for convex, marker in ((True, "o"), (False, "x")):
            values = [
                float(r["largest"])
                for r in _pick(measured, method, GROUPS[group])
                if (r["problem"] in CONVEX) == convex
            ]
            heights = i + np.linspace(-0.25, 0.25, len(values)) if values else []
            axes.plot(np.clip(values, 1e-16, INFINITE), heights, marker, color=colours[group],
                      ms=3.5, mfc="none")  # fmt: skip
    axes.axvline(1e-6, color="0.5", lw=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(labels)), [f"{m}, {g}" for m, g in labels], fontsize="small")
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel(
        "largest difference in standard deviations (0 drawn at 1e-16, infinite at 1e6)\n"
        "circles: convex feasible sets, crosses: others; line: runs part"
    )
    axes.grid(axis="x", alpha=0.3)
    path = out / "invariance.png"
    figure.savefig(path, dpi=150)
    return [path]
