"""`Prices`: what active constraints and parameters cost at the best design, to first order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Distribution, Floats, distribution_from_covariance
from archeng.ledger import Ledger
from archeng.model import FeasibleSet, ParameterSlopes, fibre
from archeng.outcomes import Limits, PastCalls
from archeng.records import CallRecord, ParameterSensitivity, RowAtBest
from archeng.simulator import output_vector
from archeng.surrogate import Estimates, Gradients, frame_at, gradients, multipliers

_AT_LIMIT = 1e-3  # distance of an active simulated constraint, in standard deviations of its values
_BOUND = "bounds of "  # in the names of rows that are bounds


@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers of explicit rows and then of simulated constraints.

    Attributes
    ----------
    sides : ndarray, shape (m,)
        1 where the upper limit counts, -1 for the lower one.
    active : ndarray of bool, shape (m,)
    values : ndarray, shape (m,)
        Multipliers; 0 where not active, NaN if they cannot be told. Moving a limit outwards by a
        unit lowers the objective, to be minimised, by this.
    others : ndarray, shape (k, m)
        The same by other models that fit as well.
    tied : bool
        Whether the objective is the largest of several pieces that are equal there.
    """

    sides: Floats
    active: NDArray[np.bool_]
    values: Floats
    others: Floats
    tied: bool = False


def prices_at(
    fs: FeasibleSet,
    ledger: Ledger,
    best: CallRecord,
    wide: Distribution,
    rows: Sequence[RowAtBest],
    estimates: Estimates | None = None,
) -> Prices:
    """Return the prices at the best design, whose explicit rows are known.

    Discrete variables are held: the prices are those of the real ones. Under noise, slopes are
    those of the ``estimates``.
    """
    data, limits = ledger.arrays(), ledger.limits
    blocked = _blocked(best, data, limits)
    active = np.array([row.active for row in rows])
    x = fs.reduce(best.x)
    if fs.lattice is None:
        found = None if estimates is None else estimates.gradients()
        return _prices(fs, x, data, limits, wide, blocked, active, found)
    if not len(fs.lattice.continuous):
        return _unknown(fs, x, blocked, active)
    return _held(fs, x, data, limits, wide, blocked, active)


def _held(
    fs: FeasibleSet,
    x: Floats,
    data: PastCalls,
    limits: Limits,
    wide: Distribution,
    blocked: Floats,
    active: NDArray[np.bool_],
) -> Prices:
    """Return the prices with the discrete variables held, from calls with the same levels."""
    lattice = fs.lattice
    assert lattice is not None
    own, inner = lattice.continuous, fibre(fs, x)
    same = data.taken((lattice.indices(data.points) == lattice.indices(x)).all(axis=1))
    slopes = None if same.slopes is None else same.slopes[:, :, own]
    same = replace(same, points=same.points[:, own], slopes=slopes, lessons=None, teachers=())
    root = wide.scaled_factor[own]
    narrow = distribution_from_covariance(x[own], root @ root.T)
    names = {row.name for row in inner.rows}
    kept = np.array([row.name in names for row in fs.rows], dtype=bool)
    found = _prices(inner, x[own], same, limits, narrow, blocked, active[kept])
    every = np.append(kept, np.ones(len(blocked), dtype=bool))
    unknown = _unknown(fs, x, blocked, active)
    values, others = unknown.values.copy(), np.zeros((len(found.others), len(every)))
    values[every], others[:, every] = found.values, found.others
    others[:, ~every] = values[~every]
    return replace(unknown, values=values, others=others, tied=found.tied)


def _unknown(fs: FeasibleSet, x: Floats, blocked: Floats, active: NDArray[np.bool_]) -> Prices:
    """Return prices that cannot be told, of those that are not zero."""
    values = fs.values(x)
    upper = np.abs(fs.upper - values) <= np.abs(values - fs.lower)
    sides = np.concatenate((np.where(upper, 1.0, -1.0), blocked))
    active = np.append(active, blocked != 0).astype(bool)
    return Prices(sides, active, np.where(active, np.nan, 0.0), np.zeros((0, len(active))))


def _prices(
    fs: FeasibleSet,
    x: Floats,
    data: PastCalls,
    limits: Limits,
    wide: Distribution,
    blocked: Floats,
    active_rows: NDArray[np.bool_],
    found: Gradients | None = None,
) -> Prices:
    """Return the prices at a design (n,) of real variables, by slopes that are known or found."""
    unknown = _unknown(fs, x, blocked, active_rows)
    sides, active = unknown.sides, unknown.active
    _, jacobian = fs.values_and_jacobian(x)
    if found is None and active.any():
        found = gradients(frame_at(wide, x), data, limits, fs.formulas)
    if found is None:
        return unknown
    with np.errstate(invalid="ignore", over="ignore"):  # a slope may be infinite: sqrt at 0
        explicit = jacobian @ wide.scaled_factor
    equality = np.append(fs.equality, np.zeros(len(blocked), dtype=bool))[active]
    equality = np.append(equality, np.zeros(len(found.ties), dtype=bool))

    def priced(objective: Floats, simulated: Floats) -> Floats:
        outward = (sides[:, None] * np.concatenate((explicit, simulated)))[active]
        prices = np.where(active, np.nan, 0.0)
        if np.all(np.isfinite(outward)) and np.all(np.isfinite(objective)):
            pushing = np.concatenate((outward, found.ties))  # pieces of a largest one: like limits
            prices[active] = multipliers(objective, pushing, equality)[: len(outward)]
        return prices

    pairs = zip(found.others, found.other_simulated, strict=True)
    others = np.array([priced(*pair) for pair in pairs]).reshape(-1, len(active))
    prices = priced(found.objective, found.simulated)
    return Prices(sides, active, prices, others, tied=len(found.ties) > 0)


def _blocked(best: CallRecord, data: PastCalls, limits: Limits) -> Floats:
    """Side (m,) at which each simulated constraint is at its limit: 1, -1, or 0 for none."""
    values = np.array([best.constraints[name] for name in limits.names])
    seen = data.simulated
    with np.errstate(invalid="ignore", over="ignore"):
        near = _AT_LIMIT * np.nanstd(seen, axis=0) if len(seen) else np.zeros(len(limits))
    above, below = values >= limits.upper - near, values <= limits.lower + near
    return np.where(above, 1.0, np.where(below, -1.0, 0.0))


def parameter_sensitivities(
    fs: FeasibleSet,
    ledger: Ledger,
    best: CallRecord,
    prices: Prices,
    rows: Sequence[RowAtBest],
    sign: float,
) -> tuple[ParameterSensitivity, ...]:
    """Return how the best objective changes with each parameter; empty without parameters.

    The derivative of the Lagrange function: that of the objective, and of the active rows times
    their multipliers; discrete variables are held. ``sign`` is -1 if the objective is maximised.
    """
    slopes = fs.parameter_slopes
    if slopes is None:
        return ()
    z = np.zeros(0) if fs.formulas is None else output_vector(fs.formulas, best.outputs)
    values, jacobian = slopes.at(best.x, z)
    names = [row.name for row in rows] + list(ledger.limits.names)
    owner, sides = _declared(slopes, values[1:], names, prices)
    used = owner >= 0

    def total(multiplier: Floats) -> Floats:
        weights = sign * multiplier[owner[used]] * sides[used]
        return np.asarray(jacobian[0] + weights @ jacobian[1:][used])

    found = total(prices.values)
    if prices.tied:
        found = np.where(np.any(jacobian != 0, axis=0), np.nan, found)
    if fs.dependents is not None and fs.whole is not None:
        # How the simulator's answer changes with dependents alone is not known.
        solved = {fs.whole.rows[j].name for j in fs.dependents.rows.tolist()}
        moved = jacobian[1:][[name in solved for name in slopes.rows]]
        found = np.where(np.any(moved != 0, axis=0), np.nan, found)
    others = np.array([total(row) for row in prices.others]).reshape(-1, len(found))
    errors = np.full(len(found), np.nan)
    if len(others):
        errors = np.sqrt(np.mean((others - found) ** 2, axis=0))
    read = {name for call in ledger.calls for name in call.parameters_read}
    entries = [(p, i) for p in fs.parameters for i in range(p.size)]
    return tuple(
        ParameterSensitivity(
            name=name,
            value=float(p.values[i]),
            unit=p.unit,
            slope=float(found[k]),
            error=math.nan if p.name in read else float(errors[k]),
            complete=p.name not in read,
        )
        for k, (name, (p, i)) in enumerate(zip(slopes.names, entries, strict=True))
    )


def _declared(
    slopes: ParameterSlopes, values: Floats, names: Sequence[str], prices: Prices
) -> tuple[NDArray[np.intp], Floats]:
    """Position among the prices (m,) of each declared row, -1 if it has none; and its side.

    A row of one variable may have become its bound: that is so if the row is at its limit.
    """
    position = {name: k for k, name in enumerate(names)}
    owner, sides = np.full(len(values), -1, dtype=np.intp), np.zeros(len(values))
    for k, (name, variable) in enumerate(zip(slopes.rows, slopes.variables, strict=True)):
        above, below = values[k] - slopes.upper[k], slopes.lower[k] - values[k]
        if name in position:
            owner[k] = position[name]
            sides[k] = prices.sides[owner[k]]
        elif variable and _BOUND + variable in position:
            j = position[_BOUND + variable]
            size = max(abs(values[k]), 1.0)
            if prices.active[j] and max(above, below) >= -1e-6 * size:
                owner[k], sides[k] = j, 1.0 if above >= below else -1.0
    return owner, sides
