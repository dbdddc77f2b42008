r"""Evidence that a design is a local optimum: what could still be gained around it, to first order.

With slopes g of the objective and A of the rows at the design, the linear program

.. math:: \min_u \; g^T u \quad\text{s.t.}\quad l \le c + A u \le h, \; |u_i| \le \rho

says what a step of size :math:`\rho` gains to first order; zero is the condition of Karush, Kuhn and Tucker.
Slopes of the explicit rows are exact. Those of the objective and of the simulated constraints come from
models, so the program is solved for the models and for random ones that fit the designs as well
(posterior samples): the largest gain among these is what the designs do not exclude. Directions in
which no design lies have random slopes in them.

The design is taken for an optimum if neither gain exceeds a small part of the objective per initial
standard deviation.

==========  ==========================================================  ===============
symbol      meaning                                                     name here
==========  ==========================================================  ===============
u           step in the frame, in initial deviations, shape (n,)        ``step``
rho         size of the region                                          ``radius``
g           slope of the objective, shape (n,)                          ``slope``
c, A        rows at the design, (m,), and their slopes, (m, n)          ``values, slopes``
l, h        their limits, shape (m,)                                    ``lower, upper``
==========  ==========================================================  ===============
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from archeng.distribution import Floats
from archeng.known import Known, Limits
from archeng.model import FeasibleSet
from archeng.surrogate.choice import choose
from archeng.surrogate.data import Data, Frame, select
from archeng.surrogate.fit import Fit, fit
from archeng.surrogate.guards import constraint_models, sizes
from archeng.surrogate.poise import designs_near, free_directions, missing_directions
from archeng.surrogate.priors import QUADRATIC
from archeng.surrogate.sensitivity import unknown_directions
from archeng.surrogate.transforms import IDENTITY

RADII = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Sizes of regions in which designs are looked for, in initial standard deviations."""
_DRAWS = 8  # random models
_SEED = 0  # of these: the same evidence for the same designs
_WIDER = 30.0  # designs within this many radii are used, if they are enough
_CLAIM = 1e-4  # gain per deviation that is left to an optimum, relative to the objective ...
_CLAIM_OF_SPREAD = 1e-7  # ... or to the differences between the designs, if that is more
_FIRST = 10  # the first 2 n and this many designs say how much objectives differ
_DOUBT = 3.0  # how many times more random models may gain


@dataclass(frozen=True)
class Evidence:
    """What speaks for a design being a local optimum.

    Attributes
    ----------
    radius : float
        Size of the region around it, in initial standard deviations.
    gain : float
        What the models expect to gain there, to first order, in units of the objective.
    gain_not_excluded : float
        The largest gain by random models that fit the designs as well.
    residual : float
        Gain per initial standard deviation, relative to the objective.
    fresh_designs : int
        Simulated designs in that region.
    unknown_directions : int
        Directions in which there is none.
    claim : bool
        Whether that is enough to say that the search has converged.
    """

    radius: float
    gain: float
    gain_not_excluded: float
    residual: float
    fresh_designs: int
    unknown_directions: int
    claim: bool


def evidence(
    frame: Frame, known: Known, limits: Limits, feasible_set: FeasibleSet, radius: float
) -> Evidence | None:
    """Return the evidence for the centre of the frame, a known design; None without models."""
    data = _around(frame, known, radius)
    if data is None:
        return None
    free = free_directions(feasible_set, frame)
    near = designs_near(frame.coordinates(known.points[np.isfinite(known.objectives)]), radius)
    here = _rows_at(frame, known, limits, feasible_set)
    gains = [linear_gain(slope, slopes, here, radius) for slope, slopes in _slopes(data, limits)]
    if not gains or not np.all(np.isfinite(gains)):
        return None
    scale = objective_scale(known, limits)
    unknown = missing_directions(near, free, radius, partial(_reach, here, radius))
    gain, most = gains[0], max(gains)
    allowed = scale * radius
    return Evidence(
        radius=radius,
        gain=gain,
        gain_not_excluded=most,
        residual=gain / radius / max(scale / _CLAIM, np.finfo(float).tiny),
        fresh_designs=len(near),
        unknown_directions=unknown,
        claim=unknown == 0 and gain <= allowed and most <= _DOUBT * allowed,
    )


def best_evidence(
    frame: Frame, known: Known, limits: Limits, feasible_set: FeasibleSet
) -> Evidence | None:
    """Return the evidence on the largest scale on which it is enough, else the strongest."""
    found = []
    for radius in RADII:
        one = evidence(frame, known, limits, feasible_set, radius)
        if one is not None and one.claim:
            return one
        if one is not None:
            found.append(one)
    return min(found, key=lambda e: e.gain_not_excluded / e.radius, default=None)


def objective_scale(known: Known, limits: Limits) -> float:
    """Return the gain per deviation that is left to an optimum, in units of the objective."""
    there = np.isfinite(known.objectives)
    good = known.objectives[limits.hold(known.simulated) & there]
    if len(good) == 0:
        return 0.0
    best = float(good.min())
    first = known.objectives[there][: 2 * known.points.shape[1] + _FIRST]
    spread = float(np.median(np.abs(first - best)))
    size = min(abs(best), spread) if spread > 0 else abs(best)
    return _CLAIM * size + _CLAIM_OF_SPREAD * spread


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows at the centre: explicit ones with their slopes, and simulated ones.

    Limits are relative to the values there.
    """

    slopes: Floats
    lower: Floats
    upper: Floats


def _rows_at(frame: Frame, known: Known, limits: Limits, fs: FeasibleSet) -> _Rows:
    values, jacobian = fs.values_and_jacobian(frame.centre)
    gaps = np.sum((known.points - frame.centre) ** 2, axis=1)
    simulated = known.simulated[int(np.argmin(gaps))]
    with np.errstate(invalid="ignore", over="ignore"):
        slopes = jacobian @ frame.factor
    lower = np.concatenate((fs.lower - values, limits.lower - simulated))
    upper = np.concatenate((fs.upper - values, limits.upper - simulated))
    # A design satisfies its rows but for rounding: standing still is always allowed.
    return _Rows(slopes, np.minimum(lower, 0.0), np.maximum(upper, 0.0))


def linear_gain(slope: Floats, slopes: Floats, rows: _Rows, radius: float) -> float:
    """Return what the linear program above gains; infinite if it cannot be solved.

    ``slopes`` (m, n) are those of the simulated constraints.
    """
    from scipy.optimize import linprog  # takes longer to import than most runs need

    A = np.concatenate((rows.slopes, slopes))
    size = np.linalg.norm(A, axis=1)
    used = np.isfinite(size) & (size > 0)
    A, size = A[used] / size[used, None], size[used]
    lower, upper = rows.lower[used] / size / radius, rows.upper[used] / size / radius
    steepness = float(np.linalg.norm(slope))
    if not np.isfinite(steepness):
        return float("inf")
    if steepness == 0:
        return 0.0
    reach = np.sum(np.abs(A), axis=1)
    above, below = upper < reach, lower > -reach  # other limits are out of reach
    solved = linprog(
        slope / steepness,
        A_ub=np.concatenate((A[above], -A[below])),
        b_ub=np.concatenate((upper[above], -lower[below])),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    if solved.status != 0:
        return float("inf")
    return max(float(-solved.fun), 0.0) * steepness * radius


def _reach(rows: _Rows, radius: float, direction: Floats) -> float:
    """Return how far explicit rows let one go along a direction (n,), to first order."""
    explicit = len(rows.slopes)
    only = _Rows(rows.slopes, rows.lower[:explicit], rows.upper[:explicit])
    none = np.zeros((0, len(direction)))
    return max(linear_gain(sign * direction, none, only, radius) for sign in (1.0, -1.0))


def _around(frame: Frame, known: Known, radius: float) -> Data | None:
    """Take designs around the centre: near ones if these are enough for a model."""
    n = len(frame.centre)
    lengths = np.linalg.norm(frame.coordinates(known.points), axis=1)
    reach = _WIDER * radius
    while np.isfinite(reach):
        near = (lengths <= reach) & np.isfinite(known.objectives)
        if near.sum() >= n + 3 or near.sum() == np.isfinite(known.objectives).sum():
            break
        reach *= 10
    some = Known(known.points[near], known.objectives[near], known.simulated[near])
    data = select(frame, some)
    return data if data is not None and len(data.y) >= n + 2 else None


def _slopes(data: Data, limits: Limits) -> Iterator[tuple[Floats, Floats]]:
    """Slopes of objective (n,) and simulated constraints (m, n): by the models, by random ones.

    In units of the quantities per unit of the frame.
    """
    n = data.A.shape[1]
    here, rng = np.zeros(n), np.random.default_rng(_SEED)
    choice = choose(data.kernels, data.y, (IDENTITY,))
    if choice is None:
        return
    unit = data.spread / data.scale
    units = sizes(data) / data.scale
    models = constraint_models(data, limits) if len(limits) else ()
    slope = unit * choice.fit.model.derivatives(here)[0]
    rows = [u * model.derivatives(here)[0] for u, model in zip(units, models, strict=True)]
    yield slope, np.array(rows).reshape(len(models), n)
    unknown = unknown_directions(data.A)
    plain = fit(data.kernels, data.y, QUADRATIC)
    fits = [fit(data.kernels, column, QUADRATIC) for column in (data.simulated / sizes(data)).T]
    for _ in range(_DRAWS):
        drawn = [
            size * _random_slope(one, unknown, rng)
            for one, size in zip((plain, *fits), (unit, *units), strict=True)
        ]
        yield drawn[0], np.array(drawn[1:]).reshape(len(fits), n)


def _random_slope(fitted: Fit | None, unknown: Floats, rng: np.random.Generator) -> Floats:
    """Slope (n,) at the centre of a random model that fits as well.

    In ``unknown`` directions (k, n) it is as large as in the others.
    """
    n = unknown.shape[1]
    if fitted is None:
        return np.full(n, np.nan)
    slope = fitted.random(rng).derivatives(np.zeros(n))[0]
    size = float(np.linalg.norm(slope))
    return np.asarray(slope + size * rng.standard_normal(len(unknown)) @ unknown)
