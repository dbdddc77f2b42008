r"""What a constraint costs at the best design: multipliers by a model of the objective.

With the gradient g of the model and the gradients :math:`a_j` of the active limits, pointing
outwards, the multipliers solve

.. math:: \min_{\mu} \Big\| g + \sum_j \mu_j a_j \Big\|, \quad \mu_j \ge 0 \text{ unless } j
          \text{ is an equality.}

To first order, moving limit j outwards by one unit lowers the objective by :math:`\mu_j`. The
uncertainty is how far :math:`\mu_j` is from that of other models that fit the simulated designs as
well: other priors, and random quadratics (posterior samples).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats
from archeng.model import Formulas
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.data import Data, Frame, select
from archeng.surrogate.fit import fit
from archeng.surrogate.priors import PRIORS, QUADRATIC
from archeng.surrogate.slopes import centre_of

Bools = NDArray[np.bool_]


class Gradients(NamedTuple):
    """Gradients at the best design, in coordinates of the frame and units of the quantities."""

    objective: Floats  # (n,)
    others: Floats  # (k, n): the same by other models that fit as well
    simulated: Floats  # (m, n) of the simulated constraints
    other_simulated: Floats  # (k, m, n): the same by the other models
    ties: Floats  # (t, n) of other pieces that are as large, seen from that of the objective


def gradients(
    frame: Frame, past: PastCalls, limits: Limits, formulas: Formulas | None
) -> Gradients | None:
    """Return gradients at the centre of the frame; None if there are too few designs."""
    data = select(frame, past, formulas, c.SENSITIVITY_DESIGNS)
    if data is None or len(data.y) < data.A.shape[1] + 2:
        return None
    centre = centre_of(data, limits)
    if centre is None:
        return None
    slopes, unknown = centre.by_models(), unknown_directions(data.A)
    rng = np.random.default_rng(c.SENSITIVITY_SEED)
    first = int(np.argmax(centre.offsets))
    objective = slopes.objective[first]
    rows = centre.row_slopes(slopes)
    if formulas is None:
        others = _by_other_models(data, unknown, float(np.linalg.norm(objective)), rng)
        other_rows = np.broadcast_to(rows, (len(others), *rows.shape))
    else:
        drawn = list(centre.by_random(c.SENSITIVITY_DRAWS, unknown, rng))
        others = np.array([one.objective[first] for one in drawn])
        other_rows = np.array([centre.row_slopes(one) for one in drawn])
    tied = centre.offsets > -c.SENSITIVITY_TIE * data.spread
    tied[first] = False
    ties = slopes.objective[tied] - objective
    return Gradients(objective, others, rows, other_rows, ties)


def _by_other_models(
    data: Data, unknown: Floats, steepness: float, rng: np.random.Generator
) -> Floats:
    """Slopes (k, n) of the objective by all priors, and by random quadratics.

    In ``unknown`` directions they are as large as the ``steepness`` of the chosen model.
    """
    here, unit = np.zeros(data.A.shape[1]), data.scale / data.spread
    fits = [fit(data.kernels, data.y, prior) for prior in PRIORS]
    models = [fitted.model for fitted in fits if fitted is not None]
    plain = fits[PRIORS.index(QUADRATIC)]
    if plain is not None:
        models += [plain.random(rng) for _ in range(c.SENSITIVITY_DRAWS)]
    others = np.array([model.slope(here) for model in models]).reshape(len(models), len(here))
    away = rng.standard_normal((len(models), len(unknown))) @ unknown
    return np.asarray(others / unit + steepness * away)


def unknown_directions(A: Floats) -> Floats:
    """Return orthonormal directions (k, n) in which designs A (p, n) hardly vary."""
    _, s, V = np.linalg.svd(A - A[0], full_matrices=True)
    spread = np.zeros(A.shape[1])
    spread[: len(s)] = s
    return np.asarray(V[spread <= c.SENSITIVITY_WEAK * s[0]], dtype=float)


def multipliers(gradient: Floats, outward: Floats, equality: Bools) -> Floats:
    """Return mu (k,) for a gradient (n,) and outward gradients (k, n) of the active limits.

    The equalities, whose multipliers have any sign, are projected out; the others are a
    non-negative least squares. Where limits say the same, the minimum is not unique, and the
    first of them gets the multiplier.
    """
    from scipy.optimize import nnls  # here, because it takes longer to import than archeng

    size = np.linalg.norm(outward, axis=1)
    size = np.where(size > 0, size, 1.0)
    unit = (outward / size[:, None]).T
    fixed = unit[:, equality]
    span, _, _ = _truncated(fixed)
    across = unit - span @ (span.T @ unit)
    signed = ~equality & (np.linalg.norm(across, axis=0) > c.GRADIENT_DEPENDENT)
    left, values, right = _truncated(across[:, signed])
    mu = np.zeros(len(outward))
    if len(values):  # SciPy's routine does not survive an empty matrix
        mu[signed], _ = nnls(values[:, None] * right, -left.T @ gradient)
    mu[equality], *_ = np.linalg.lstsq(fixed, -gradient - unit @ mu, rcond=c.GRADIENT_DEPENDENT)
    return mu / size


def _truncated(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return U (n, r), s (r,), V' (r, k) of unit columns (n, k) without what is rounding noise."""
    U, s, V = np.linalg.svd(columns, full_matrices=False)
    kept = s > c.GRADIENT_DEPENDENT
    return U[:, kept], s[kept], V[kept]
