"""Figures of the case study: the best layout, and the convergence of all seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from case_studies.wind_farm.published import Scenario
from case_studies.wind_farm.study import Record


def layout_figure(farm: Scenario, records: Sequence[Record], path: Path) -> None:
    """Draw the best layout; beside it the best one with gradients, where that is at hand."""
    from matplotlib.figure import Figure

    best = max(records, key=lambda r: r.aep_mwh)
    drawn = [(f"archeng, seed {best.seed}", best.aep_mwh, best.x_m, best.y_m)]
    other = farm.best(gradient=True)
    if other.x_m:
        drawn.append((f"participant {other.name}", other.aep_mwh, other.x_m, other.y_m))
    figure = Figure(figsize=(5.2 * len(drawn), 5.6), layout="constrained")
    panels = figure.subplots(1, len(drawn), squeeze=False)[0]
    for axes, (name, aep, x, y) in zip(panels, drawn, strict=True):
        _draw(axes, farm, x, y)
        axes.set_title(f"{name}\n{aep:,.1f} MWh a year")
    figure.savefig(path, dpi=150)


def _draw(axes: Any, farm: Scenario, x: Sequence[float], y: Sequence[float]) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), farm.radius_m, fill=False, color="black"))
    for centre in zip(x, y, strict=True):  # circles of half the spacing may touch, not overlap
        axes.add_patch(Circle(centre, farm.spacing_m / 2, color="C0", alpha=0.2, lw=0))
    axes.plot(x, y, ".", color="C0")
    reach = 1.05 * farm.radius_m
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set(xlabel="east (m)", ylabel="north (m)")


def convergence_figure(farm: Scenario, records: Sequence[Record], path: Path) -> None:
    """Draw the best annual energy over the calls, and what the participants reached."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    axes = figure.subplots()
    for r in records:
        calls = [c for c, _ in r.curve] + [r.calls]
        energy = [e / 1e3 for _, e in r.curve] + [r.aep_mwh / 1e3]
        axes.step(calls, energy, where="post", color="C0", lw=1, alpha=0.7)
    for gradient, style in ((True, "--"), (False, ":")):
        s = farm.best(gradient=gradient)
        label = f"best participant, {s.kind}: {s.method}"
        axes.axhline(s.aep_mwh / 1e3, color="black", ls=style, lw=1, label=label)
    axes.axhline(farm.baseline_aep_mwh / 1e3, color="grey", lw=1, label="baseline layout")
    axes.set(xlabel="simulator calls", ylabel="best annual energy (GWh)", xlim=(0, None))
    axes.set_title(f"{farm.turbines} turbines, {len(records)} seeds")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=150)
