"""Equations whose gradients depend on each other, by Gram and Schmidt's method."""

from __future__ import annotations

import numpy as np

from archeng.model.structure.scipy_modules import linalg
from archeng.model.variable import Floats

MOST_RANKED = 1500
"""Equations up to which ranks are computed: the matrices are dense."""
_DEPENDENT = 1e-8  # length of what is left of a unit gradient that depends on others
_PART = 1e-6  # least coefficient, relative to the largest, of an equation that takes part
_EXPLAINED = 20  # dependent equations of which it is said on which others they depend


def dependent_rows(gradients: Floats) -> dict[int, tuple[int, ...]]:
    """Return rows of a matrix (p, n) that depend on rows before them, and on which.

    Entries that are not finite count as zero. Of many dependent rows only the first ones are
    explained, the others have no partners; neither has a row of zeros.
    """
    unit = _unit(gradients)
    if len(unit) == 0 or _full_rank(unit):
        return {}
    p, n = unit.shape
    basis, kept = np.zeros((min(p, n), n)), list[int]()
    found: dict[int, tuple[int, ...]] = {}
    for j in range(p):
        rest, k = unit[j], len(kept)
        for _ in range(2):  # twice, for rounding errors
            rest = rest - (basis[:k] @ rest) @ basis[:k]
        left = float(np.linalg.norm(rest))
        if left > _DEPENDENT and k < len(basis):
            basis[k] = rest / left
            kept.append(j)
        else:
            few = len(found) < _EXPLAINED
            found[j] = _partners(unit[j], unit[kept], kept) if few else ()
    return found


def _unit(gradients: Floats) -> Floats:
    finite = np.where(np.isfinite(gradients), gradients, 0.0)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    return np.asarray(finite / np.where(lengths > 0, lengths, 1.0), dtype=float)


def _full_rank(unit: Floats) -> bool:
    if len(unit) > unit.shape[1]:
        return False
    diagonal = np.abs(np.diag(linalg.qr(unit.T, mode="r", pivoting=True)[0]))
    return bool(diagonal.min() > len(unit) * _DEPENDENT)


def _partners(row: Floats, others: Floats, numbers: list[int]) -> tuple[int, ...]:
    """Return the independent rows of which a row is a combination."""
    if not numbers or not row.any():
        return ()
    weights = np.abs(np.linalg.lstsq(others.T, row, rcond=None)[0])
    return tuple(numbers[k] for k in np.flatnonzero(weights > _PART * weights.max()))
