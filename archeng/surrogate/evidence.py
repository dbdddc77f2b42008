r"""Evidence that a design is a local optimum: what could still be gained around it, to first order.

A linear program over slopes of the objective and of the rows
(:mod:`archeng.surrogate.geometry`) says what a step of size :math:`\rho` gains to first order;
zero is the condition of Karush, Kuhn and Tucker. Slopes of the explicit rows are exact. Those of
the objective and of the simulated constraints come from models, so the program is solved for the
models and for random ones that fit the designs as well (posterior samples): the largest gain
among these is what the designs do not exclude. Directions in which no design lies have random
slopes in them.

The design is taken for an optimum if neither gain exceeds a small part of the objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet, Formulas
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.data import Data, Frame, select, slopes_known
from archeng.surrogate.geometry import (
    Rows,
    designs_near,
    explicit_rows,
    free_directions,
    gain,
    missing_directions,
    right_vectors,
    room_at,
)
from archeng.surrogate.slopes import Centre, Slopes, centre_of


@dataclass(frozen=True)
class Neighbourhood:
    """How many neighbours of the best design are what.

    Neighbours have one discrete variable, or two unless there are many, at the next value of its
    list, or another category, and the best real variables for it.
    """

    simulated: int
    infeasible: int
    predicted: int
    open: int


@dataclass(frozen=True)
class Optimality:
    """What speaks for a design being a local optimum.

    Attributes
    ----------
    radius : float
        Size of the region around it, in initial standard deviations.
    gain : float
        What the models expect to gain there, to first order, in units of the objective.
    residual : float
        What they expect to gain within one initial standard deviation, to first order, relative to
        the objective: zero at an optimum.
    residual_not_excluded : float
        The largest one by random models that fit the designs as well.
    fresh_designs : int
        Simulated designs in that region.
    unknown_directions : int
        Directions in which there is none.
    claim : bool
        Whether that is enough to say that the search has converged.
    neighbours : Neighbourhood or None
        With discrete variables: what is known of the designs with one of them changed; all else is
        said of the real variables, with the discrete ones held.
    """

    radius: float
    gain: float
    residual: float
    residual_not_excluded: float
    fresh_designs: int
    unknown_directions: int
    claim: bool
    neighbours: Neighbourhood | None = None


def evidence(
    frame: Frame, past: PastCalls, limits: Limits, feasible_set: FeasibleSet, radius: float
) -> Optimality | None:
    """Return the evidence for the centre of the frame, a known design; None without models.

    With equalities, designs that all lie on their surface may tell little about slopes off it, and
    designs at different places between their tolerances disturb those along it. So there are
    two tries: models of all coordinates, and of those along the surface. Where equalities leave
    nothing free, or the objective is the same everywhere, there is nothing to gain.
    """
    rows = explicit_rows(feasible_set, frame)
    free = free_directions(feasible_set, rows)
    if not len(free) or _flat(past):
        return Optimality(radius, 0.0, 0.0, 0.0, len(past), 0, claim=True)
    near = designs_near(frame.coordinates(past.points[np.isfinite(past.objectives)]), radius)
    known = slopes_known(frame.centre, past, feasible_set.formulas)
    unknown = 0 if known else missing_directions(near, free, rows, radius)
    every = np.eye(len(frame.centre))
    optimality: Optimality | None = None
    for axes in (every, free) if len(free) < len(every) else (every,):
        residuals = _residuals(frame, past, limits, feasible_set.formulas, rows, radius, axes)
        if residuals is None:
            continue
        expected, gained, most = residuals
        optimality = Optimality(
            radius=radius,
            gain=gained,
            residual=expected,
            residual_not_excluded=most,
            fresh_designs=len(near),
            unknown_directions=unknown,
            claim=unknown == 0
            and expected <= c.CLAIM_RESIDUAL
            and most <= c.CLAIM_DOUBT * c.CLAIM_RESIDUAL,
        )
        if optimality.claim:
            break
    return optimality


def _flat(past: PastCalls) -> bool:
    """Whether all of many designs have the same objective."""
    values = past.objectives[np.isfinite(past.objectives)]
    return len(values) > 2 * past.points.shape[1] + c.CLAIM_FIRST and float(np.ptp(values)) == 0


def _residuals(
    frame: Frame,
    past: PastCalls,
    limits: Limits,
    formulas: Formulas | None,
    rows: Rows,
    radius: float,
    axes: Floats,
) -> tuple[float, float, float] | None:
    """Return residual and gain by the models, and the largest residual by random ones.

    The models are functions of coordinates along some orthonormal axes (k, n).
    """
    data = _around(frame, past, formulas, radius, axes)
    centre = None if data is None else centre_of(data, limits)
    if data is None or centre is None:
        return None
    slopes = [
        (
            objective @ axes,
            rows.and_others(simulated @ axes, centre.values, centre.lower, centre.upper),
        )
        for objective, simulated in _slopes(centre, data.A)
    ]
    size = max(objective_size(past, limits), float(np.finfo(float).tiny))
    room, offsets = room_at(radius), centre.offsets
    residuals = [gain(slope, offsets, every, 1.0, room) / size for slope, every in slopes]
    slope, every = slopes[0]
    return residuals[0], gain(slope, offsets, every, radius, room), max(residuals)


def best_evidence(
    frame: Frame, past: PastCalls, limits: Limits, feasible_set: FeasibleSet
) -> Optimality | None:
    """Return the evidence on the largest scale on which it is enough, else the strongest."""
    weak = []
    for radius in c.CLAIM_RADII:
        with np.errstate(all="ignore"):  # bounds may be as far away as floats allow
            one = evidence(frame, past, limits, feasible_set, radius)
        if one is not None and one.claim:
            return one
        if one is not None:
            weak.append(one)
    return min(weak, key=lambda e: e.residual_not_excluded, default=None)


def objective_size(past: PastCalls, limits: Limits) -> float:
    """Return what gains are compared with: the best objective, or how much objectives differ."""
    there = np.isfinite(past.objectives)
    good = past.objectives[limits.hold(past.simulated) & there]
    if len(good) == 0:
        return 0.0
    best = float(good.min())
    apart = np.abs(past.objectives[there] - best)
    size = min(abs(best), float(apart.max())) or abs(best)
    first = apart[: 2 * past.points.shape[1] + c.CLAIM_FIRST]
    return size + c.CLAIM_OF_SPREAD * float(np.median(first))


def _around(
    frame: Frame, past: PastCalls, formulas: Formulas | None, radius: float, axes: Floats
) -> Data | None:
    """Take designs around the centre, in coordinates along axes (k, n).

    Near ones if these are enough for a model.
    """
    lengths = np.linalg.norm(frame.coordinates(past.points), axis=1)
    there = np.isfinite(past.objectives)
    reach = c.CLAIM_WIDER * radius
    while True:
        near = (lengths <= reach) & there
        data = select(frame, past.taken(near), formulas)
        everything = near.sum() == there.sum()
        enough = len(axes) + 3 if everything else 2 * len(axes) + 4
        if data is not None and len(data.y) >= enough:
            return data.along(axes)
        if everything:
            return None
        reach *= c.CLAIM_WIDEN


def _slopes(centre: Centre, A: Floats) -> Iterator[Slopes]:
    """Slopes by the models, and by random ones; of designs A (p, n)."""
    yield centre.by_models()
    rng = np.random.default_rng(c.CLAIM_SEED)
    yield from centre.by_random(c.CLAIM_DRAWS, _unknown(A), rng)


def _unknown(A: Floats) -> Floats:
    """Return orthonormal directions (k, n) in which no design (p, n) lies, seen from the first."""
    gaps = A[1:] - A[0]
    s, V = right_vectors(gaps / np.linalg.norm(gaps, axis=1)[:, None])
    seen = np.zeros(A.shape[1])
    seen[: len(s)] = s
    return np.asarray(V[seen <= c.CLAIM_SEEN], dtype=float)
