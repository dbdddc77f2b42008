"""`plot`: a figure by the name of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archeng.checks import choice
from archeng.errors import MissingPackageError, SettingsError
from archeng.report.figures.convergence import convergence, time
from archeng.report.figures.designs import parallel, variables
from archeng.report.figures.insides import failures, repairs, search
from archeng.report.figures.limits import activity, simulated
from archeng.report.figures.style import STYLE
from archeng.report.shown import Shown, short

_KINDS: dict[str, Callable[[Any, Shown, str], None]] = {
    "convergence": convergence,
    "search": search,
    "time": time,
    "variables": variables,
    "parallel": parallel,
    "activity": activity,
    "simulated": simulated,
    "repairs": repairs,
    "failures": failures,
}
KINDS = tuple(_KINDS)


def plot(kind: str, shown: Shown, titled: bool = True) -> Any:
    """Return a matplotlib figure.

    Parameters
    ----------
    kind : str
        One of `KINDS`. ``convergence``: objective of every call and the best so far. ``time``:
        the same over time, and how long the calls took. ``variables``: every variable over the
        calls. ``parallel``: the best designs in parallel coordinates. ``activity``: which
        constraints designs were repaired onto, and what relaxing them would gain. ``simulated``:
        simulated constraints over the calls, with their limits. ``repairs``: how designs came to
        be feasible. ``search``: step size, ranking coefficient, distance of the mean and
        eigenvalues. ``failures``: which calls did not end well.
    shown : Shown
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
    if kind == "simulated" and not shown.simulated:
        raise SettingsError("There are no simulated constraints to plot in this result.")
    check_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4), layout="constrained")
        _KINDS[kind](figure, shown, f"{short(shown.name, 24)}: " if titled else "")
    return figure


def check_matplotlib() -> None:
    """Raise a `MissingPackageError` if matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            "Plots need matplotlib. Install it with: pip install 'archeng[plot]'"
        ) from error


def sensible(shown: Shown) -> list[str]:
    """Return the kinds that have something to show of this run."""
    absent = set()
    if not shown.simulated:
        absent.add("simulated")
    if not shown.activity:
        absent.add("activity")
    if not shown.failures:
        absent.add("failures")
    if not shown.history:
        absent.add("search")
    if not shown.best_calls:
        absent.add("parallel")
    if not shown.evaluations:
        absent.update(("convergence", "time", "variables", "repairs"))
    return [kind for kind in KINDS if kind not in absent]
