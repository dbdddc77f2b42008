"""Which constraints blocked the design: rows at the best design, repairs, estimated gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats
from archeng.ledger import Ledger
from archeng.model import FeasibleSet
from archeng.records import Activity, CallRecord, RowAtBest
from archeng.runner.prices import Prices

_REPAIRED = ("nearest", "intersection")


def rows_at(feasible_set: FeasibleSet, x: Floats) -> tuple[RowAtBest, ...]:
    """Every row at a full vector; active if within 1e-6 of the scale of its variables' steps.

    Where there is no design (NaN), the rows have no values and none is active.
    """
    fs = feasible_set
    free = fs.reduce(x)
    values, (_, jacobian) = fs.shown_values(free), fs.values_and_jacobian(free)
    scale = np.where(np.isnan(fs.scale), np.maximum(np.abs(free), 1.0), fs.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.linalg.norm(jacobian * scale, axis=1)
    near = 1e-6 * np.where(np.isfinite(size), size, 0.0)
    active = (
        (fs.equality & np.isfinite(values))
        | (values <= fs.lower + near)
        | (values >= fs.upper - near)
    )
    if fs.lattice is not None:  # the first and the last of things without an order are no limits
        active[: len(fs.bounded)] &= ~np.isin(fs.bounded, fs.lattice.categories)
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
    feasible_set: FeasibleSet, ledger: Ledger, prices: Prices, rows: Sequence[RowAtBest]
) -> tuple[Activity, ...]:
    """Return the activity of every explicit and simulated constraint."""
    evaluations, limits = ledger.calls, ledger.limits
    gains = np.abs(prices.values)
    errors = np.where(prices.active, np.nan, 0.0)
    if len(prices.others):
        errors = np.sqrt(np.mean((np.abs(prices.others) - gains) ** 2, axis=0))
    errors[: len(rows)] = np.where(_of_levels(feasible_set), 0.0, errors[: len(rows)])
    blocked = prices.active[len(rows) :]
    calls = max(len(evaluations), 1)
    about: list[tuple[str, str, bool, str, Floats]] = [
        (row.name, row.kind, row.active, row.source, _repairs(evaluations, number))
        for number, row in zip(feasible_set.row_numbers.tolist(), rows, strict=True)
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


def _of_levels(fs: FeasibleSet) -> NDArray[np.bool_]:
    """Which rows (m,) have discrete variables only."""
    if fs.lattice is None:
        return np.zeros(fs.m, dtype=bool)
    flat = fs.m - fs.n_nonlinear
    depends = np.zeros((fs.m, fs.n), dtype=bool)
    depends[:flat] = fs.constant_jacobian != 0
    curved, variables = fs.jacobian_sparsity.get_triplet()
    depends[flat + np.array(curved, dtype=int), np.array(variables, dtype=int)] = True
    return np.asarray(~depends[:, fs.lattice.continuous].any(axis=1))


def _repairs(evaluations: Sequence[CallRecord], row: int) -> Floats:
    """Distance and multiplier (k, 2) of the repairs that ended at a row."""
    repairs = []
    for e in evaluations:
        if e.repair_kind in _REPAIRED and row in e.repair_rows:
            multiplier = dict(zip(e.repair_rows, e.repair_multipliers, strict=False)).get(row, 0.0)
            repairs.append((np.sqrt(max(e.repair_distance_squared, 0.0)), multiplier))
    return np.array(repairs, dtype=float).reshape(-1, 2)
