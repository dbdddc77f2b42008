"""Figures of the case study: the truss before and after, and the convergence of all seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng import Design
from case_studies.truss.cases import CASES, LAYOUT_STRESS, SIZING_STRESS, Case
from case_studies.truss.model import build_model
from case_studies.truss.reference import reference
from case_studies.truss.simulator import build_simulator
from case_studies.truss.study import Record


def truss_figure(name: str, records: Sequence[Record], path: Path) -> None:
    """Draw the truss before and the best one found; bars as wide as they are thick."""
    from matplotlib.figure import Figure

    case = CASES[name]
    best = min(records, key=lambda r: (not r.holds, r.mass))
    model = build_model(name, "black")
    design = Design(model.variables, case.start, model.parameters)
    before = build_simulator(name, "black")(design)
    stresses = [v for k, v in before.constraints.items() if k.startswith("stress")]
    drawn = [
        (f"before: {before.objective:.0f} lb", case.start, stresses),
        (f"after {best.calls} calls, seed {best.seed}: {best.mass:.1f} lb", best.x, best.stresses),
    ]
    wide = bool(case.moved)  # the cantilever of 18 bars
    figure = Figure(figsize=(9, 6.5) if wide else (12, 4.5), layout="constrained")
    panels = figure.subplots(2, 1) if wide else figure.subplots(1, 2)
    lines = [_draw(axes, case, x, s) for axes, (_, x, s) in zip(panels, drawn, strict=True)]
    for axes, (title, _, _) in zip(panels, drawn, strict=True):
        axes.set_title(title)
    figure.colorbar(lines[-1], ax=panels, label="stress (ksi), tension positive")
    figure.savefig(path, dpi=150)


def _draw(axes: Any, case: Case, x: ArrayLike, stresses: Sequence[float]) -> Any:
    """Draw one truss with its loads and supports; return the bars."""
    from matplotlib.collections import LineCollection

    nodes, areas = case.geometry(x)
    limit = LAYOUT_STRESS if case.moved else SIZING_STRESS
    bars = LineCollection(
        [nodes[pair] for pair in case.bars],
        linewidths=1.8 * np.sqrt(areas),
        array=np.asarray(stresses),
        cmap="coolwarm",
        clim=(-limit, limit),
        capstyle="round",
    )
    axes.add_collection(bars)
    size, middle = np.ptp(case.nodes[:, 0]), case.nodes[:, 1].mean()
    for node, load in zip(nodes, case.loads, strict=True):
        if load.any():
            arrow = 0.1 * size * load / np.hypot(*load)
            tail = node - arrow if node[1] > middle else node  # outside of the truss
            axes.annotate("", tail + arrow, tail, arrowprops={"arrowstyle": "-|>", "lw": 1.5})
    axes.plot(*nodes.T, "o", color="white", mec="black", ms=5, zorder=3)
    axes.plot(*nodes[list(case.supports)].T, "s", color="black", ms=9, zorder=3)
    for k, (px, py) in enumerate(nodes, start=1):
        axes.annotate(str(k), (px, py), xytext=(5, 6), textcoords="offset points", fontsize=8)
    axes.set_aspect("equal")
    axes.margins(0.05)
    low, high = case.nodes[:, 1].min(), case.nodes[:, 1].max()
    axes.set(xlabel="in", ylabel="in", ylim=(low - 0.15 * size, high + 0.15 * size))
    return bars


def convergence_figure(name: str, records: Sequence[Record], path: Path) -> None:
    """Draw the least mass within all limits over the calls."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for r in records:
        if r.curve:
            calls = [c for c, _ in r.curve] + [r.calls]
            masses = [m for _, m in r.curve] + [r.curve[-1][1]]
            axes.step(calls, masses, where="post", color="C0", lw=1)
    known = reference(name)
    axes.axhline(known.mass, color="black", ls="--", lw=1, label=f"reference {known.mass:.2f} lb")
    axes.set(xlabel="calls of the program", ylabel="least mass within all limits (lb)")
    axes.set_title(f"{CASES[name].title}, {len(records)} seeds")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
