"""Figures of a run, by their kinds (needs matplotlib: ``pip install archeng[plot]``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archeng.checks import choice
from archeng.errors import SettingsError
from archeng.plain_text import short
from archeng.report.figures.calls import convergence, failures, search, time, times
from archeng.report.figures.constraints import REPAIR_KINDS, activity, repairs, simulated
from archeng.report.figures.designs import free_variables, parallel, variables
from archeng.report.figures.style import check_matplotlib, styled, to_svg
from archeng.result import Result

__all__ = [
    "KINDS",
    "REPAIR_KINDS",
    "check_matplotlib",
    "free_variables",
    "plot",
    "sensible",
    "times",
    "to_svg",
]

_FIGURES: tuple[Callable[[Any, Result, str], None], ...] = (
    convergence, search, time, variables, parallel, activity, simulated, repairs, failures,
)  # fmt: skip
_DRAW = {draw.__name__: draw for draw in _FIGURES}
KINDS = tuple(_DRAW)


def plot(kind: str, result: Result, titled: bool = True) -> Any:
    """Return a matplotlib figure.

    Parameters
    ----------
    kind : str
        One of `KINDS`; :meth:`archeng.Result.plot` says what they show.
    result : Result
    titled : bool
        Whether the name of the study is in the title.

    Raises
    ------
    SettingsError
        For an unknown kind, and for ``simulated`` without simulated constraints.
    MissingPackageError
        Without matplotlib.
    """
    choice("kind", kind, KINDS)
    if kind == "simulated" and not result.simulated:
        raise SettingsError("There are no simulated constraints to plot in this result.")
    check_matplotlib()
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(10, 4), layout="constrained")
        _DRAW[kind](figure, result, f"{short(result.name, 24)}: " if titled else "")
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
