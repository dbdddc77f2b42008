r"""Tolerances of equalities: defaults relative to what each row can change, and too wide ones.

The default half-width of an equality :math:`r(x) = c` is a share of how much r changes where it
holds, near the start: a design within it lies about that share of a deviation away from the
surface. So it means the same in any units: a row multiplied by a constant has a default multiplied
by it.

.. math:: t = \max(10^{-7} \lVert \nabla r(x)^T S \rVert, \;
          10^3 \varepsilon (|\nabla r(x)|^T |x| + |r(x)|))

Notation: x on the surface (a median over a few points), S the diagonal matrix of the deviations,
:math:`\varepsilon` the machine precision. The second term keeps t above the rounding errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.feasible_set import FeasibleSet
from archeng.model.variable import Floats, Variable, stacked

DEFAULT_SHARE = 1e-7
"""Default half-width of an equality, as a share of the change of its row over one deviation."""

_NOISE = 1e3 * float(np.finfo(float).eps)  # least half-width, as a share of the row's terms
_POINTS = 4  # around the start, from which the surface is looked for
_REACH = 2.0  # deviations that the points are away from the start at most
_STEPS = 8  # of Newton's method to the surface
_MANY = 30  # equalities from which on the surface is not looked for
_REACHED = 1e-3  # distance to the surface, in deviations, that is near enough
_BITS = 256.0  # half-widths are rounded to this many steps: last bits differ between machines
_FAR = 1e15  # bounds beyond this mean that there is none
_RANGE_POINTS = 64  # at which rows are evaluated, to tell how much they can change
_RANGE_POINTS_OF_FUNCTIONS = 8  # the same if rows are Python functions, which may take their time
_PROBES = np.array([0.0, 1.0, -2.5, 1000.0])  # where a row is told to be a variable itself


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Where a run begins: bounds, centre and deviations (n,) of the variables; 0 if fixed."""

    low: Floats
    high: Floats
    center: Floats
    scale: Floats

    def points(self) -> Floats:
        """Return the centre and fixed points around it (k, n), within the bounds."""
        shares = np.random.default_rng(0).random((_POINTS, len(self.low)))
        low = np.maximum(self.low, self.center - _REACH * self.scale)
        high = np.minimum(self.high, self.center + _REACH * self.scale)
        return np.vstack((self.center, low + shares * (high - low)))


def typical(low: Floats, high: Floats, start: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return a typical value and a typical change of each variable."""
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, np.nan)
        width = np.where(np.isfinite(high - low), (high - low) / 5, np.nan)
    one_sided = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    center = np.where(np.isfinite(start), start, np.where(np.isnan(middle), one_sided, middle))
    rough = np.maximum(1.0, np.abs(center))
    return center, np.where(np.isnan(scale), np.where(np.isnan(width), rough, width), scale)


def neighbourhood(
    low: Floats, high: Floats, start: Floats, scale: Floats, *, far: float = _FAR
) -> Neighbourhood:
    """Return where a run begins, given bounds, declared starts and deviations (n,).

    Bounds that mean "none", such as 1e20, say nothing about the size of a variable.
    """
    near_low, near_high = np.where(low > -far, low, -np.inf), np.where(high < far, high, np.inf)
    center, deviations = typical(near_low, near_high, start, scale)
    center = np.clip(center, low, high)
    return Neighbourhood(low, high, center, np.where(low == high, 0.0, deviations))


def declared_box(
    variables: Sequence[Variable], rows: Sequence[Any], symbols: Any
) -> tuple[Floats, Floats]:
    """Bounds (n,) of the variables, with those that rows (expression, lower, upper) state.

    Rows that are one variable, or its negative, are found by their values at a few numbers.
    """
    low, high = stacked(variables, "lower", "upper")
    if not rows:
        return low, high
    column = ca.vertcat(*(row.expression for row in rows))
    variables_of: list[list[int]] = [[] for _ in rows]
    for j, i in zip(*ca.jacobian_sparsity(column, symbols).get_triplet(), strict=True):
        variables_of[j].append(i)
    lonely = [j for j, positions in enumerate(variables_of) if len(positions) == 1]
    if not lonely:
        return low, high
    function = ca.Function("lonely", [symbols], [ca.vertcat(*(rows[j].expression for j in lonely))])
    values = np.array([called(function, np.full(len(low), p))[0] for p in _PROBES])
    new_low, new_high = low.copy(), high.copy()
    for j, at in zip(lonely, values.T, strict=True):
        (i,), a, b = variables_of[j], rows[j].lower, rows[j].upper
        if np.array_equal(at, -_PROBES):
            a, b = -b, -a
        elif not np.array_equal(at, _PROBES):
            continue
        if a < b:  # equalities are rows
            new_low[i], new_high[i] = max(new_low[i], a), min(new_high[i], b)
    good = new_low <= new_high  # a contradiction is reported elsewhere
    return np.where(good, new_low, low), np.where(good, new_high, high)


@np.errstate(over="ignore", invalid="ignore")
def default_half_widths(
    expressions: Sequence[Any], values: Sequence[float], symbols: Any, near: Neighbourhood
) -> Floats:
    """Return the default half-width (m,) of each equality ``expression == value``."""
    symbols, expressions = scalars(expressions, symbols)
    function = _with_gradients(ca.vertcat(*expressions), symbols)
    if len(expressions) >= _MANY:
        return _widths_of_many(function, np.array(values, dtype=float), near)
    at = [_measured(function, p, near.scale) for p in near.points()]
    lengths, terms = (np.array([point[k] for point in at]) for k in range(2))
    widths = []
    for j, (expression, value) in enumerate(zip(expressions, values, strict=True)):
        if np.ptp(lengths[:, j]) == 0.0:  # linear: the same everywhere
            length, term = lengths[0, j], terms[0, j]
        else:
            length, term = _on_surface(_with_gradients(expression, symbols), value, near)
        if not length > 0:
            length = _median(lengths[:, j])
        term = max(term if np.isfinite(term) else 0.0, abs(value))
        if not length > 0:  # flat, or nowhere defined
            length = _median(terms[:, j]) or abs(value) or 1.0
        widths.append(_rounded(max(DEFAULT_SHARE * length, _NOISE * term)))
    return np.array(widths)


def _widths_of_many(function: Any, values: Floats, near: Neighbourhood) -> Floats:
    """Return the same for many equalities, by the points around the start themselves.

    To look for the surface of each would take a time that grows with the square of their number.
    """
    pattern = function.sparsity_out(1)
    rows, columns = (np.array(part, dtype=np.intp) for part in pattern.get_triplet())
    lengths, terms = [], []
    for x in near.points():
        value, jacobian = function.call([x])
        value, gradient = (np.array(part.nonzeros()) for part in (ca.densify(value), jacobian))
        squares = np.bincount(rows, (gradient * near.scale[columns]) ** 2, len(values))
        sizes = np.bincount(rows, np.abs(gradient * x[columns]), len(values))
        lengths.append(np.sqrt(squares))
        terms.append(sizes + np.abs(value))
    widths = []
    for value, length, term in zip(values, np.array(lengths).T, np.array(terms).T, strict=True):
        change = _median(length) or _median(term) or abs(value) or 1.0
        noise = max(_median(term), abs(value))
        widths.append(_rounded(max(DEFAULT_SHARE * change, _NOISE * noise)))
    return np.array(widths)


def scalars(expressions: Sequence[Any], symbols: Any) -> tuple[Any, list[Any]]:
    """Return symbols and rows as SX, which is faster, where CasADi can turn them into it."""
    if isinstance(symbols, ca.MX):
        with contextlib.suppress(RuntimeError):
            function = ca.Function("all", [symbols], list(expressions)).expand()
            symbols = ca.SX.sym("x", symbols.numel())
            return symbols, list(function.call([symbols], True, False))
    return symbols, list(expressions)


def _on_surface(function: Any, value: float, near: Neighbourhood) -> tuple[float, float]:
    """Medians of a row's change and of its terms, over points of its surface; 0 without any."""
    lengths, terms = [], []
    for x in near.points():
        for _ in range(_STEPS):
            (row,), (gradient,) = called(function, x)
            slope = gradient * near.scale
            length = float(np.linalg.norm(slope))
            gap = float(row) - value
            if not (np.isfinite(gap) and np.isfinite(length) and length > 0):
                break
            if abs(gap) <= _REACHED * length:
                lengths.append(length)
                terms.append(float(np.abs(gradient) @ np.abs(x) + abs(row)))
                break
            x = np.clip(x - gap / length * (slope / length) * near.scale, near.low, near.high)
    return _median(np.array(lengths)), _median(np.array(terms))


def _with_gradients(expression: Any, symbols: Any) -> Any:
    return ca.Function("row", [symbols], [expression, ca.jacobian(expression, symbols)])


def called(function: Any, x: Floats) -> list[Floats]:
    """Return the outputs as arrays, the first one flat; NaN where the function fails."""
    try:
        outputs = function.call([x])
    except RuntimeError:
        outputs = [np.nan * ca.DM.ones(*function.size_out(i)) for i in range(function.n_out())]
    first, *others = (np.asarray(o.full(), dtype=float) for o in outputs)
    return [first.reshape(-1), *others]


def _measured(function: Any, x: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Change (m,) of the rows over one deviation at a point, and the size of their terms."""
    values, jacobian = called(function, x)
    lengths = np.linalg.norm(jacobian * scale, axis=1)
    return lengths, np.abs(jacobian) @ np.abs(x) + np.abs(values)


def _median(values: Floats) -> float:
    """Median of the positive finite values; 0 if there are none."""
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.median(good)) if len(good) else 0.0


def _rounded(value: float) -> float:
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.ceil(mantissa * _BITS) / _BITS, exponent))


@np.errstate(over="ignore", invalid="ignore")
def refuse_wide(fs: FeasibleSet) -> None:
    """Raise if a given tolerance leaves nothing of its equality.

    A row is looked at between the bounds of its variables: at random points, and at the two corners
    to which its gradient points, which for a linear row are its extremes. Rows with an unbounded
    variable can change without limit.

    Raises
    ------
    ModelError
        It names the tolerance, and what the row can change.
    """
    if not any(row.chosen for row in fs.rows):
        return
    low, high = fs.bounds
    finite = np.isfinite(high / 2 - low / 2) & (high / 2 - low / 2 < np.finfo(float).max / 2)
    curved = ca.DM.ones(fs.jacobian_sparsity).full() != 0
    depends = np.vstack((fs.constant_jacobian != 0, curved))
    wanted = [j for j, row in enumerate(fs.rows) if row.chosen and np.all(finite[depends[j]])]
    if not wanted:
        return
    at, to = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    count = _RANGE_POINTS_OF_FUNCTIONS if fs.functions else _RANGE_POINTS
    shares = np.random.default_rng(0).random((count, fs.n))
    values = np.array([fs.values(at + s * (to - at)) for s in shares])
    _, jacobian = fs.values_and_jacobian((at + to) / 2)
    for j in wanted:
        corners = (np.where(sign * jacobian[j] > 0, to, at) for sign in (1.0, -1.0))
        seen = np.append(values[:, j], [fs.values(corner)[j] for corner in corners])
        seen = seen[np.isfinite(seen)]
        if len(np.unique(seen)) < 2:  # undefined, or flat where it was looked at
            continue
        tolerance = (fs.upper[j] - fs.lower[j]) / 2
        least, most = float(seen.min()), float(seen.max())
        always = fs.lower[j] <= least and most <= fs.upper[j]
        if always or tolerance >= most - least:
            raise ModelError(
                f"Constraint {fs.rows[j]}: its tolerance {tolerance:.3g} is wider than what the "
                f"row can change: between the bounds of its variables it was found from "
                f"{least:.6g} to {most:.6g}. Leave the tolerance out, use one far below "
                f"{most - least:.1g}, or, if a wide band is meant, write it with lower= and upper=."
            )
