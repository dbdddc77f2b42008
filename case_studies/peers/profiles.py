"""Data profiles: the share of runs solved against the calls, in units of n + 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from case_studies.paper.results import Row
from case_studies.peers.adapters import METHODS
from case_studies.peers.recorder import Floats
from case_studies.peers.statistics import compared, latest
from case_studies.peers.tables import groups

STYLES = ("-", "--", ":", "-.")


def profile(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    """Return calls / (n + 1) at which runs are solved, ascending, and the share solved by then."""
    solved = sorted(
        r["calls_to_target"] / (r["n"] + 1) for r in rows if r["calls_to_target"] is not None
    )
    return np.array(solved, dtype=float), np.arange(1, len(solved) + 1) / max(len(rows), 1)


def figures(rows: Sequence[Row], out: Path, name: str) -> list[Path]:
    """Save a figure per suite and variant, one line per method."""
    from matplotlib.figure import Figure

    paths = []
    for suite, variant, group in groups([r for r in latest(rows) if r["stop"] != "skipped"]):
        group = compared(group)
        figure = Figure(figsize=(7.5, 5), layout="constrained")
        axes = figure.subplots()
        end = max(r["budget"] / (r["n"] + 1) for r in group)
        for i, method in enumerate(METHODS):
            own = [r for r in group if r["method"] == method]
            if not own:
                continue
            at, share = profile(own)
            last = share[-1] if len(share) else 0.0
            axes.step(
                np.concatenate(([1e-2], at, [end])),
                np.concatenate(([0.0], share, [last])),
                where="post",
                label=method,
                color=f"C{i % 10}",
                linestyle=STYLES[i % len(STYLES)],
                linewidth=2.5 if method == "archeng" else 1.2,
            )
        axes.set(
            xscale="log",
            xlim=(0.3, end),
            ylim=(0, 1.02),
            xlabel="objective calls / (n + 1)",
            ylabel="share of (problem, run) solved",
            title=f"{suite}, {variant}",
        )
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
        paths.append(out / f"{name}_{suite}_{variant}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths
