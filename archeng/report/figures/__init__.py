"""Figures of a run, by their kinds (needs matplotlib: ``pip install archeng[plot]``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archeng.checks import choice
from archeng.errors import SettingsError
from archeng.plain_text import short
from archeng.report.figures.calls import convergence, failures, search, time
from archeng.report.figures.constraints import activity, repairs, simulated
from archeng.report.figures.designs import parallel, variables
from archeng.report.figures.style import nothing, styled
from archeng.result import Result

_FIGURES: tuple[Callable[[Any, Result, str], None], ...] = (
    convergence, search, time, variables, parallel, activity, simulated, repairs, failures,
)  # fmt: skip
_DRAW = {draw.__name__: draw for draw in _FIGURES}
KINDS = tuple(_DRAW)


def plot(kind: str, result: Result, titled: bool = True) -> Any:
    """Return a figure as :meth:`archeng.Result.plot` does; ``titled``: by the name of the study."""
    choice("kind", kind, KINDS)
    if kind == "simulated" and not result.simulated:
        raise SettingsError("There are no simulated constraints to plot in this result.")
    with styled():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        if result.evaluations:
            _DRAW[kind](figure, result, f"{short(result.name, 24)}: " if titled else "")
        else:
            nothing(figure.subplots(), "no call has ended yet")
    return figure


def sensible(result: Result) -> list[str]:
    """Return the kinds that have something to show of this run."""
    present = {
        "simulated": result.simulated,
        "activity": result.activity,
        "failures": result.failures,
        "search": result.history,
        "parallel": result.best_calls,
    }
    return [kind for kind in KINDS if present.get(kind, result.evaluations)]
