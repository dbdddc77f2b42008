"""Which constraints blocked the design: rows at the best design, repairs, estimated gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.ledger import Ledger
from archeng.model import FeasibleSet
from archeng.outcomes import Limits, PastCalls
from archeng.records import Activity, CallRecord, RowAtBest
from archeng.surrogate import frame_at, gradients, multipliers

_REPAIRED = ("nearest", "intersection")
_AT_LIMIT = 1e-3  # distance of an active simulated constraint, in standard deviations of its values


def rows_at(feasible_set: FeasibleSet, x: Floats) -> tuple[RowAtBest, ...]:
    """Every row at a full vector; active if within 1e-6 of the scale of its variables' steps.

    Where there is no design (NaN), the rows have no values and none is active.
    """
    fs = feasible_set
    free = fs.reduce(x)
    values, jacobian = fs.values_and_jacobian(free)
    scale = np.where(np.isnan(fs.scale), np.maximum(np.abs(free), 1.0), fs.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.linalg.norm(jacobian * scale, axis=1)
    near = 1e-6 * np.where(np.isfinite(size), size, 0.0)
    active = (
        (fs.equality & np.isfinite(values))
        | (values <= fs.lower + near)
        | (values >= fs.upper - near)
    )
    return tuple(
        RowAtBest(
            name=info.name,
            kind="equality" if info.equality else info.kind.value,
            value=float(values[j]),
            lower=float(fs.lower[j]),
            upper=float(fs.upper[j]),
            active=bool(active[j]),
            source=info.source,
        )
        for j, info in enumerate(fs.rows)
    )


def activity_of(
    feasible_set: FeasibleSet, ledger: Ledger, wide: Distribution
) -> tuple[Activity, ...]:
    """Return the activity of every explicit and simulated constraint; empty without a design.

    ``wide`` is the initial search distribution.
    """
    best, evaluations, limits = ledger.best, ledger.calls, ledger.limits
    if best is None:
        return ()
    rows = rows_at(feasible_set, best.x)
    data = ledger.arrays()
    blocked = _blocked(best, data, limits)
    gains, errors = _gains(feasible_set, best, data, limits, wide, rows, blocked)
    calls = max(len(evaluations), 1)
    about: list[tuple[str, str, bool, str, Floats]] = [
        (row.name, row.kind, row.active, row.source, _repairs(evaluations, j))
        for j, row in enumerate(rows)
    ]
    formulas = feasible_set.formulas
    sources = {} if formulas is None else {row.name: row.source for row in formulas.rows}
    for i, name in enumerate(limits.names):
        violating = sum(name in e.violated for e in evaluations)
        unrepaired = np.full((violating, 2), np.nan)
        about.append((name, "simulated", bool(blocked[i]), sources.get(name, ""), unrepaired))
    return tuple(
        Activity(
            name=name,
            kind=kind,
            repaired=len(repairs),
            share=len(repairs) / calls,
            distance=float(np.median(repairs[:, 0])) if len(repairs) else math.nan,
            multiplier=float(np.median(repairs[:, 1])) if len(repairs) else math.nan,
            active=active,
            gain=float(gain),
            gain_error=float(error),
            source=source,
        )
        for (name, kind, active, source, repairs), gain, error in zip(
            about, gains, errors, strict=True
        )
    )


def _repairs(evaluations: Sequence[CallRecord], row: int) -> Floats:
    """Distance and multiplier (k, 2) of the repairs that ended at a row."""
    repairs = []
    for e in evaluations:
        if e.repair_kind in _REPAIRED and row in e.repair_rows:
            multiplier = dict(zip(e.repair_rows, e.repair_multipliers, strict=False)).get(row, 0.0)
            repairs.append((np.sqrt(max(e.repair_distance_squared, 0.0)), multiplier))
    return np.array(repairs, dtype=float).reshape(-1, 2)


def _blocked(best: CallRecord, data: PastCalls, limits: Limits) -> Floats:
    """Side (m,) at which each simulated constraint is at its limit: 1, -1, or 0 for none."""
    values = np.array([best.constraints[name] for name in limits.names])
    seen = data.simulated
    with np.errstate(invalid="ignore", over="ignore"):
        near = _AT_LIMIT * np.nanstd(seen, axis=0) if len(seen) else np.zeros(len(limits))
    above, below = values >= limits.upper - near, values <= limits.lower + near
    return np.where(above, 1.0, np.where(below, -1.0, 0.0))


def _gains(
    fs: FeasibleSet,
    best: CallRecord,
    data: PastCalls,
    limits: Limits,
    wide: Distribution,
    rows: Sequence[RowAtBest],
    blocked: Floats,
) -> tuple[Floats, Floats]:
    """Estimated gains per unit of relaxation, and their errors, of rows and simulated ones."""
    active = np.array([row.active for row in rows] + [side != 0 for side in blocked], dtype=bool)
    gains = np.where(active, np.nan, 0.0)
    errors = gains.copy()
    if not active.any():
        return gains, errors
    x = fs.reduce(best.x)
    frame = frame_at(wide, x)
    slopes_at_best = gradients(frame, data, limits, fs.formulas)
    if slopes_at_best is None:
        return gains, errors
    values, jacobian = fs.values_and_jacobian(x)
    upper = np.abs(fs.upper - values) <= np.abs(values - fs.lower)
    signs = np.concatenate((np.where(upper, 1.0, -1.0), blocked))
    with np.errstate(invalid="ignore", over="ignore"):  # a slope may be infinite: sqrt at 0
        slopes = np.concatenate((jacobian @ wide.scaled_factor, slopes_at_best.simulated))
    outward = (signs[:, None] * slopes)[active]
    equality = np.concatenate((fs.equality, np.zeros(len(blocked), dtype=bool)))[active]
    if not (np.all(np.isfinite(outward)) and np.all(np.isfinite(slopes_at_best.objective))):
        return gains, errors
    k, ties = len(outward), slopes_at_best.ties
    outward = np.concatenate((outward, ties))  # pieces of a largest one push like limits
    equality = np.append(equality, np.zeros(len(ties), dtype=bool))
    gains[active] = np.abs(multipliers(slopes_at_best.objective, outward, equality))[:k]
    others = [np.abs(multipliers(g, outward, equality))[:k] for g in slopes_at_best.others]
    off = np.array(others).reshape(-1, k) - gains[active]
    errors[active] = np.sqrt(np.mean(off**2, axis=0)) if len(off) else np.nan
    return gains, errors
