"""Assembling the problems: a fresh Pyomo model and the published answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyomo.environ as pyo

from case_studies.hock_schittkowski import (
    bounds,
    engineering,
    equalities,
    inequalities,
    larger,
    linear,
    process,
)
from case_studies.shared.suites import known_optima, look_up

_OPTIMA = Path(__file__).with_name("published_optima.json")
_MODULES = (bounds, linear, inequalities, equalities, engineering, process, larger)
_BUILDERS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    name: builder for module in _MODULES for name, builder in module.BUILDERS.items()
}


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem of the collection.

    Attributes
    ----------
    name : str
        ``"hs001"`` to ``"hs114"``, with the number in the collection.
    model : pyomo.environ.ConcreteModel
        Bounds, constraints, the published start as values, and the objective ``obj``. A new
        one at every call of :func:`problem`.
    objective : float
        Published optimum, to be understood as a minimum even if ``obj`` is maximised.
    x : tuple of float
        Published solution, in the order of the collection.
    variables : tuple of str
        Pyomo names of x1, x2, ... of the collection.
    inequalities, equalities : int
        Number of constraints in the collection, bounds not counted. A Pyomo row with two
        different limits stands for two inequalities.
    options : dict
        What archeng.solve needs besides: restarts where there are worse local optima, a
        deviation where the box is absurdly large.
    not_run : str
        Why the tests do not solve this problem; usually empty.
    median_calls, most_calls : int or None
        Simulator calls until `slack` is reached: measured median, and the ceiling of the
        tests; None if not run.
    source : str
        Where the problem comes from.
    note : str
        Known misprints and the like; usually empty.
    """

    name: str
    model: pyo.ConcreteModel
    objective: float
    x: tuple[float, ...]
    variables: tuple[str, ...]
    inequalities: int
    equalities: int
    options: dict[str, float]
    not_run: str
    median_calls: int | None
    most_calls: int | None
    source: str
    note: str

    @property
    def slack(self) -> float:
        """Distance to the optimum that counts as reached: 1e-4 relative, absolute at zero."""
        return 1e-4 * abs(self.objective) if self.objective else 1e-4


def names() -> list[str]:
    """Names of the problems in the order of the collection."""
    return sorted(_BUILDERS)


def problem(name: str) -> Problem:
    """Build a problem with a fresh Pyomo model.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Raises
    ------
    KeyError
        There is no problem of that name here.

    Examples
    --------
    >>> problem("hs071").objective
    17.0140173
    """
    build = look_up(_BUILDERS, name, "Hock-Schittkowski")
    known = known_optima(_OPTIMA)[name]
    return Problem(
        name=name,
        model=build(),
        objective=float(known["objective"]),
        x=tuple(known["x"]),
        variables=tuple(known["variables"]),
        inequalities=known["inequalities"],
        equalities=known["equalities"],
        options=dict(known.get("options", {})),
        not_run=known.get("not_run", ""),
        median_calls=known.get("calls", {}).get("median"),
        most_calls=known.get("calls", {}).get("ceiling"),
        source=known["source"],
        note=known.get("note", ""),
    )
