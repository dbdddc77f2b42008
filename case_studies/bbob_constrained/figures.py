"""Share of (function, instance, target) hit over the calls, one picture for each n."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from case_studies.bbob_constrained.methods import SOLVERS
from case_studies.bbob_constrained.tables import common, hits
from case_studies.bbob_constrained.trial import TARGETS
from case_studies.paper.results import Row
from case_studies.peers.recorder import Floats

STYLES = {"archeng": (2.5, "-"), "random": (1.2, ":")}


def profile(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    """Return calls / n at which targets are hit, ascending, and the share hit by then."""
    at = np.sort([call / int(r["n"]) for r in rows for call in hits(r)])
    return at, np.arange(1, len(at) + 1) / (len(TARGETS) * max(len(rows), 1))


def figures(rows: Sequence[Row], out: Path, name: str) -> list[Path]:
    """Save the picture, of the runs that all methods shown for an n have in common."""
    from matplotlib.figure import Figure

    sizes = sorted({int(r["n"]) for r in rows})
    figure = Figure(figsize=(3.6 * len(sizes) + 1.6, 3.8), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for axes, n in zip(panels, sizes, strict=True):
        shown = common(rows, n)
        for i, method in enumerate(SOLVERS):
            own = [r for r in shown if r["method"] == method]
            if not own:
                continue
            at, share = profile(own)
            end = int(own[0]["budget"])
            width, style = STYLES.get(method, (1.4, "-"))
            axes.step(
                np.concatenate(([1e-2], at, [end])),
                np.concatenate(([0.0], share, [share[-1] if len(share) else 0.0])),
                where="post",
                label=method,
                color=f"C{i}",
                linewidth=width,
                linestyle=style,
            )
        runs = len({(r["function"], r["instance"]) for r in shown})
        axes.set(xscale="log", xlim=(0.05, None), ylim=(0, 1), xlabel="calls / n")
        axes.set_title(f"n = {n}, {runs} instances", fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="upper left")
    panels[0].set_ylabel("share of targets 1e2 ... 1e-8 hit")
    path = out / f"{name}.png"
    figure.savefig(path, dpi=130)
    return [path]
