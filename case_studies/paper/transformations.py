r"""Problems, and the same problems after an affine map or an increasing transformation.

====================  ================================================================
transformation        what changes
====================  ================================================================
affine, condition k   x = A y + b with random A; the box becomes linear rows
units                 x_i = u_i y_i with u_i between 1e-3 and 1e3; the box stays a box
f cube, f exp         h(f) for t^3 and sinh(t) at t = (f - f(x0)) / s
g cube, g exp         h(g) for t^3 + t and exp(t) - 1 at t = g / s, in every row g <= 0
g scaled              every second row times 1e6, the others times 1e-3
g plain               nothing: the rows g <= 0 as the others have them
g sign                t (2 + sin 8 t) at t = g / s: the sign of g, but not its order
====================  ================================================================

s is a typical size at samples of the initial distribution. sinh grows like exp on both sides;
beyond \|t\| = 50 it goes on as a line, so that nothing overflows. With g, bounds of variables and
rows with two limits become rows g <= 0 first, as in the paper. Equalities stay equalities, which
have the same distance to both limits: g exp leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import archeng
from archeng.distribution import Distribution, distribution_from_covariance, initial_distribution
from case_studies.cec2006 import problem as cec_problem
from case_studies.paper.quadratics import FUNCTIONS, quadratic

Floats = NDArray[np.float64]
Objective = Callable[[Floats], float]

DIMENSION = 10
"""Of the quadratics."""

CONDITIONS = {f"affine, condition {k}": float(k) for k in ("10", "1e4", "1e6")}
UNITS = "units"
AFFINE = (*CONDITIONS, UNITS)
OF_F = ("f cube", "f exp")
OF_G = ("g cube", "g exp", "g scaled")
PLAIN, SIGN = "g plain", "g sign"
TRANSFORMATIONS = (*AFFINE, *OF_F, *OF_G)
_TYPICAL_SAMPLES = 101
_LAST = 50.0


@dataclass(frozen=True, eq=False)
class Play:
    """A problem and where the search begins.

    Attributes
    ----------
    model : archeng.Model
        One vector variable ``x``.
    objective : callable
        Of a flat vector (n,).
    start : Distribution
        The initial search distribution; its mean is feasible.
    back : callable
        From designs (k, n) of this problem to those of the original one.
    """

    model: archeng.Model
    objective: Objective
    start: Distribution
    back: Callable[[Floats], Floats]


def original(name: str, seed: int) -> Play:
    """Return a quadratic in its box, or a problem of CEC 2006 with its default start."""
    rng = np.random.default_rng([seed, 1])
    if name in FUNCTIONS:
        q = quadratic(name, "BOX", DIMENSION)
        start = distribution_from_covariance(q.start(rng), q.covariance)
        return Play(q.model, q.objective, start, np.asarray)
    p = cec_problem(name)
    mean = archeng.sample_feasible(p.model, 1, seed=seed)[0].x
    return Play(
        p.model, p.objective, initial_distribution(mean, (p.upper - p.lower) / 5), np.asarray
    )


def transformed(play: Play, kind: str, seed: int) -> Play:
    """Return the problem after a transformation, see the table above."""
    if kind in AFFINE:
        return _mapped(play, *affine_map(play, kind, np.random.default_rng([seed, 2])))
    points = _typical_points(play)
    if kind in OF_F:
        return replace(play, objective=_increasing_objective(play, kind, points))
    return replace(play, model=_increasing_rows(play.model, kind, points))


def affine_map(play: Play, kind: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return A and b of x = A y + b; b is of the size of the initial steps.

    The condition of A is that in standard deviations of the initial distribution.
    """
    n, L = play.start.n, play.start.scaled_factor
    if kind == UNITS:
        return np.diag(10.0 ** rng.permutation(np.linspace(-3, 3, n))), np.zeros(n)
    u, _ = np.linalg.qr(rng.standard_normal((n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    A = L @ (u * CONDITIONS[kind] ** np.linspace(0, 1, n)) @ v * 10 ** rng.uniform(-2, 2)
    return A, 5 * L @ rng.standard_normal(n)


def _mapped(play: Play, A: Floats, b: Floats) -> Play:
    """Return the problem in the coordinates y of x = A y + b."""
    inverse = np.linalg.inv(A)
    d = play.start
    mean = inverse @ (d.mean - b)
    start = Distribution(mean, d.sigma, inverse @ d.factor, d.inverse_factor @ A)
    deviations = d.sigma * np.sqrt(np.sum(start.factor**2, axis=1))
    (box,) = play.model.variables
    model = archeng.Model(play.model.name)
    if np.array_equal(A, np.diag(np.diag(A))) and not np.any(b):
        units = np.diag(A)
        y = model.variable("x", shape=len(A), lower=box.lower / units, upper=box.upper / units)
        x = ca.DM(units) * y
    else:
        y = model.variable("x", shape=len(A), start=mean, scale=deviations)
        x = ca.DM(A) @ y + ca.DM(b)
        model.subject_to(x, lower=box.lower, upper=box.upper, name="box")
    for row in rows_of(play.model):
        _add(model, replace(row, expression=_at(play.model, row.expression, x)))
    return Play(
        model,
        lambda y: play.objective(A @ np.asarray(y, dtype=float) + b),
        start,
        lambda designs: designs @ A.T + b,
    )


@dataclass(frozen=True)
class NamedRow:
    """``lower <= expression <= upper``; for an equality the limits are its value -+ tolerance."""

    name: str
    expression: Any
    lower: float
    upper: float
    equality: bool = False


def rows_of(model: archeng.Model) -> Iterator[NamedRow]:
    """Yield the constraints row by row, without the bounds of variables."""
    for c in model.constraints:
        limits = zip(*c.limits(), strict=True)
        for name, row, (low, high) in zip(c.row_names(), c.rows, limits, strict=True):
            yield NamedRow(name, row.expression, low, high, row.lower == row.upper)


def _add(model: archeng.Model, row: NamedRow) -> None:
    if row.equality:
        middle, half = (row.lower + row.upper) / 2, (row.upper - row.lower) / 2
        model.subject_to(row.expression, lower=middle, upper=middle, tolerance=half, name=row.name)
    else:
        model.subject_to(row.expression, lower=row.lower, upper=row.upper, name=row.name)


def _at(model: archeng.Model, expression: Any, x: Any) -> Any:
    """Return the expression with x in the place of the model's variables."""
    return ca.substitute(expression, model.symbols, x)


# ----- increasing transformations ------------------------------------------------------------


def _typical_points(play: Play) -> Floats:
    """Return samples of the initial distribution, clipped to the box."""
    (box,) = play.model.variables
    z = np.random.default_rng(0).standard_normal((_TYPICAL_SAMPLES, play.start.n))
    return np.clip(play.start.mean + play.start.sigma * play.start.steps(z), box.lower, box.upper)


def _increasing_objective(play: Play, kind: str, points: Floats) -> Objective:
    """Return h(f)."""
    f, centre = play.objective, float(play.objective(play.start.mean))
    scale = _typical_size(np.array([f(x) for x in points]) - centre)
    h = cube if kind == "f cube" else partial(long_sinh, last=_LAST)
    return lambda x: h((f(x) - centre) / scale)


def cube(t: float) -> float:
    """Return t^3."""
    return t**3


def long_sinh(t: float, last: float) -> float:
    """Return sinh(t), beyond +-last its tangent."""
    inner = min(max(t, -last), last)
    return float(np.sinh(inner) + (t - inner) * np.cosh(inner))


def _increasing_rows(model: archeng.Model, kind: str, points: Floats) -> archeng.Model:
    """Return the model with h_j(g_j) in the place of each row, bounds included."""
    (box,) = model.variables
    result = archeng.Model(model.name)
    middle, width = (box.lower + box.upper) / 2, box.upper - box.lower
    x = result.variable("x", shape=len(middle), start=middle, scale=width / 5)
    bounds = [
        NamedRow(f"bound{i}", x[i], low, high)
        for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True))
    ]
    others = [replace(r, expression=_at(model, r.expression, x)) for r in rows_of(model)]
    sides = [side for row in (*bounds, *others) for side in _one_sided(row)]
    for j, row in enumerate(sides):
        _add(result, _increasing_row(row, kind, j, x, points))
    return result


def _one_sided(row: NamedRow) -> Iterator[NamedRow]:
    """Yield g <= 0 for each limit; an equality is kept as it is."""
    if row.equality:
        yield row
        return
    if np.isfinite(row.lower):
        yield NamedRow(f"{row.name} low", row.lower - row.expression, -np.inf, 0.0)
    if np.isfinite(row.upper):
        yield NamedRow(f"{row.name} high", row.expression - row.upper, -np.inf, 0.0)


def _increasing_row(row: NamedRow, kind: str, j: int, x: Any, points: Floats) -> NamedRow:
    """Return h(g) <= 0, or the equality with h odd about its value."""
    if kind == PLAIN:
        return row
    if kind == "g scaled":
        k = 1e6 if j % 2 else 1e-3
        return replace(row, expression=k * row.expression, lower=k * row.lower, upper=k * row.upper)
    if kind in ("g exp", SIGN) and row.equality:
        return row
    centre = (row.lower + row.upper) / 2 if row.equality else 0.0
    values = np.asarray(ca.Function("g", [x], [row.expression]).map(len(points))(points.T)).ravel()
    scale = _typical_size(values - centre)
    t = (row.expression - centre) / scale
    if kind == "g exp":
        return replace(row, expression=ca.expm1(t))
    if kind == SIGN:
        return replace(row, expression=t * (2 + ca.sin(8 * t)))
    half = (row.upper - centre) / scale
    limit = half**3 + half
    return replace(row, expression=t**3 + t, lower=-limit if row.equality else -np.inf, upper=limit)


def _typical_size(values: Floats) -> float:
    size = float(np.median(np.abs(values)))
    return size if np.isfinite(size) and size > 0 else 1.0
