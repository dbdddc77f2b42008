"""The merit by which proposals are judged if there are simulated constraints.

Objective plus weighted violations (an exact penalty): with weights above the multipliers its
minimum is that of the constrained problem. The ranking of ARCH does not use it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats
from archeng.handlers.notes import Notes
from archeng.known import Found, Known, Limits

_HEAVY = 10.0  # first weight of violations, in spreads of the objective
_ABOVE = 2.0  # weight over price
_SAFE = 1.5  # margin over the last error of the prediction


def with_violations(found: Found | Known, limits: Limits, weights: Floats) -> Floats:
    """Merits (k,): objectives plus weights (m,) times violations; NaN where there is none."""
    if not limits:
        return found.objectives
    with np.errstate(invalid="ignore"):
        penalties = limits.violations(found.simulated) @ weights
    return np.where(np.isnan(found.objectives), np.nan, found.objectives + penalties)


def first_weights(known: Known, begin: int) -> Floats:
    """Weights (m,) before anything is known about prices."""
    good = np.isfinite(known.objectives)
    good[:begin] = False
    if not good.any():
        return np.ones(known.simulated.shape[1])
    f, c = known.objectives[good], known.simulated[good]
    size = np.median(np.abs(c - np.median(c, axis=0)), axis=0)
    spread = float(np.median(np.abs(f - np.median(f))))
    return _HEAVY * (spread or 1.0) / np.where(size > 0, size, 1.0)


def repriced(notes: Notes, limits: Limits, values: Floats) -> Notes:
    """Return the notes with weights and margins that follow from a proposal and its values (m,).

    A constraint that was violated is approached with a margin of the error of its model; one
    that held, with half of that.
    """
    if not np.all(np.isfinite(values)) or not np.all(np.isfinite(notes.expected)):
        return notes
    errors = np.abs(values - notes.expected)
    violated = limits.violations(values) > 0
    margins = np.where(violated, _SAFE * errors, np.minimum(notes.margins, errors) / 2)
    lowered = np.where(violated, notes.weights, notes.weights / 2)
    weights = np.maximum(_ABOVE * notes.prices, lowered)
    return replace(notes, margins=margins, weights=weights)
