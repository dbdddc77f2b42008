"""Levels of discrete variables while a model is compiled: bounds at them, and the lattice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from archeng.errors import InfeasibleModelError
from archeng.model.declarations import Declarations
from archeng.model.domain import Domain, Kind
from archeng.model.lattice import Lattice
from archeng.model.variable import Floats

_AT_LEVEL = 1e-6  # rounding of the only value that linear rows leave
_SWEEPS = 5  # over the linear rows, to find bounds of integers
_Rows = tuple[Floats, Floats, Floats]


def value_text(model: Declarations, i: int, value: float) -> str:
    """Return a value of a scalar variable for a note, rows of tables by their names."""
    domain = _domains(model)[i]
    return f"{value:g}" if domain.table is None else domain.shown(value)


def _domains(model: Declarations) -> list[Domain]:
    """Return the domain of each scalar variable (n_full)."""
    return [v.domain for v in model.variables for _ in range(v.size)]


def at_levels(
    model: Declarations,
    free: Any,
    low: Floats,
    high: Floats,
    names: list[str],
    linear: Callable[[], _Rows],
) -> tuple[Floats, Floats]:
    """Move the bounds (n,) of discrete variables to their outermost levels.

    Levels at which a linear row of this variable alone does not hold are left out.
    """
    low, high, domains = low.copy(), high.copy(), _domains(model)
    discrete = [k for k, i in enumerate(free) if domains[i].is_discrete]
    alone = _alone(linear()) if discrete else []
    for k in discrete:
        levels = domains[free[k]].levels_between(low[k], high[k])
        assert levels is not None
        for i, slope, a, b in alone:
            room = _AT_LEVEL * max(1.0, abs(slope))
            kept = (slope * levels >= a - room) & (slope * levels <= b + room)
            levels = levels[kept] if i == k else levels
        if not len(levels):
            raise InfeasibleModelError(
                f"Variable {names[k]!r}: none of its values lies between {low[k]:g} and "
                f"{high[k]:g}, which its limits leave.",
                [f"bounds of {names[k]}"],
            )
        low[k], high[k] = levels[0], levels[-1]
    return low, high


def _alone(rows: _Rows) -> list[tuple[int, float, float, float]]:
    """Return variable, coefficient and limits of the linear rows that hold one variable only."""
    found = []
    for gradient, a, b in zip(*rows, strict=True):
        inside = np.flatnonzero(gradient)
        if len(inside) == 1:
            found.append((int(inside[0]), float(gradient[inside[0]]), float(a), float(b)))
    return found


def level_at(model: Declarations, i: int, value: float) -> float:
    """Return the only value that rows leave for a variable: of a discrete one, the level there."""
    variable = _domains(model)[i]
    levels = variable.levels_between(value - _AT_LEVEL, value + _AT_LEVEL)
    if levels is None:
        return value
    if not len(levels):
        name = model.element_names()[i]
        raise InfeasibleModelError(
            f"Variable {name!r}: the constraints leave only {value:g}, which is none of its "
            "values.",
            [f"bounds of {name}"],
        )
    return float(levels[0])


def lattice_of(model: Declarations, free: Any, low: Floats, high: Floats) -> Lattice | None:
    """Return the levels of the discrete ones among the free variables."""
    domains = [_domains(model)[i] for i in free]
    positions = [k for k, domain in enumerate(domains) if domain.is_discrete]
    if not positions:
        return None
    levels = [domains[k].levels_between(low[k], high[k]) for k in positions]
    return Lattice(
        len(free),
        np.array(positions, dtype=np.intp),
        tuple(each for each in levels if each is not None),
        np.array([domains[k].is_ordered for k in positions]),
    )


def bounded_integers(
    model: Declarations, free: Any, low: Floats, high: Floats, linear: Callable[[], _Rows]
) -> None:
    """Give integers without a bound those that linear rows leave, in place.

    ``low`` and ``high`` (n,) are those of the free variables; ``linear`` gives gradients (m, n) and
    limits (m,) of the linear rows.

    Raises
    ------
    ModelError
        For an integer that has no bound even so.
    """
    domains = _domains(model)
    integers = np.array([domains[i].kind is Kind.INTEGER for i in free], dtype=bool)
    if not np.any(integers & ~(np.isfinite(low) & np.isfinite(high))):
        return
    for _ in range(_SWEEPS):
        before = low.copy(), high.copy()
        for row in zip(*linear(), strict=True):
            _tighten(*row, low, high, integers)
        if np.array_equal(before, (low, high)):
            break
    names = model.element_names()
    for k in np.flatnonzero(integers):
        domains[free[k]].check_levels(names[free[k]], float(low[k]), float(high[k]))


def _tighten(
    gradient: Floats, lower: float, upper: float, low: Floats, high: Floats, which: Any
) -> None:
    """Bound each of some variables by one linear row and the bounds of the others, in place."""
    for k in np.flatnonzero((gradient != 0) & which & ~(np.isfinite(low) & np.isfinite(high))):
        others = np.flatnonzero((gradient != 0) & (np.arange(len(low)) != k))
        a, ends = gradient[others], np.stack((low[others], high[others]))
        least, most = (float(np.sum(side(a * ends, axis=0))) for side in (np.min, np.max))
        left = (lower - most) / gradient[k], (upper - least) / gradient[k]
        left = left if gradient[k] > 0 else left[::-1]
        low[k] = max(low[k], np.ceil(left[0] - _AT_LEVEL))
        high[k] = min(high[k], np.floor(left[1] + _AT_LEVEL))
