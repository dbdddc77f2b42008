"""Where the limits of a repair problem lie, for a model with many variables.

The same numbers as the compiled function of :mod:`archeng.repair.problem` makes out of matrices,
from the lengths of the gradients only: what there is to know is a vector per row.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats
from archeng.model import FeasibleSet

EPSILON = float(np.finfo(float).eps)
NOISE = 8.0  # rounding errors of a row, in units of EPSILON times the size of its terms
SLAB = 1e-9  # least thickness of a pinned boundary, in deviations across it
FAR = 100.0  # a row is never scaled as if its boundary were farther than this many deviations
LARGE_SLOPE = 1e150  # slopes beyond this have no usable length: its square overflows
LEAST_SLACK = 1e-13  # scaled tolerance of a row: rounding


def placed(
    fs: FeasibleSet, margin: float, at_point: tuple[Floats, Floats, Floats], same: bool
) -> tuple[Floats, Floats]:
    """Return norms, margins, slack and four limits as columns (m, 7), and two flags.

    ``at_point`` has the values of the rows at the point, and, where they are scaled, the lengths of
    their whitened gradients and the sizes of their terms (m,); ``same``: that is the same point.
    The flags say whether there are more pinned rows than variables, and whether one cannot be
    pinned.
    """
    values, length, terms = at_point
    lower, upper = fs.lower, fs.upper
    excess = np.maximum(lower - values, values - upper)
    undefined = ~(np.abs(values) < np.inf)
    violation = np.where(undefined, 0.0, np.maximum(excess, 0.0))
    defined = ~undefined & (length < LARGE_SLOPE)
    norms = np.where(defined, np.maximum(length, same * violation / FAR), 1.0)
    norms = np.where(norms > 0, norms, 1.0)

    limits = [np.where(np.isfinite(limit), np.abs(limit), 0.0) for limit in (lower, upper)]
    noise = NOISE * EPSILON * (np.maximum(*limits) + np.where(defined, terms, 0.0))
    margins = np.minimum(np.maximum(margin * norms, noise), (upper - lower) / 4)
    margins[: len(fs.bounded)] = 0.0
    slack = np.maximum(0.5 * margins / norms, LEAST_SLACK)
    inside_lower, inside_upper = lower + margins, upper - margins

    pinned = undefined | (excess > 0)
    largest = float(np.where(pinned, margins / norms, 0.0).max(initial=0.0))
    thickness = max(2 * largest, SLAB) * norms
    above = pinned & np.where(undefined, np.isfinite(upper), values > upper)
    below = pinned & ~above
    pinned_lower = np.where(above, np.maximum(inside_upper - thickness, inside_lower), inside_lower)
    pinned_upper = np.where(below, np.minimum(inside_lower + thickness, inside_upper), inside_upper)
    two_sided = np.isfinite(lower) & np.isfinite(upper)
    block = np.column_stack(
        (norms, margins, slack, inside_lower, inside_upper, pinned_lower, pinned_upper)
    )
    crowded, ambiguous = np.count_nonzero(pinned) > fs.n, bool(np.any(undefined & two_sided))
    return block, np.array([crowded, ambiguous])
