r"""CMA-ES with margin: no level of an integer or a choice dies out. One function per equation.

The normal distribution N(m, sigma^2 A C A) is sampled, and each sample stands for the level whose
*cell* holds it; cells end half-way between neighbouring levels. A is a diagonal matrix that only
sampling knows: CMA-ES learns as if it were the identity. After each update m and A are corrected so
that a coordinate leaves the cell of its mean with a probability of at least alpha.

[H22] bounds that probability from below. [H25] also bounds it from above, by its value one
generation before, unless one of the best candidates had left the cell: otherwise rare mutations
make the rate grow again and again, and the real coordinates converge slowly or not at all [H26].

=================  ================================================  =====================
symbol             meaning                                           name here
=================  ================================================  =====================
m_j                coordinate of the mean                            ``mean``
sigma sqrt(C_jj)   its deviation without A                           ``deviation``
A_jj               factor on it when sampling                        ``spread``
l_low, l_up        ends of the cell of the mean                      ``low``, ``up``
p_low, p_up        probability below and above the cell              same
p_mid              probability of the cell                           same
p_mut              mutation rate, p_low + p_up                       ``rate``
alpha              least mutation rate                               ``margin``
Q(p)               distance whose upper tail is p, sqrt(chi2(1-2p))  ``quantile``
=================  ================================================  =====================

Two levels (a binary), and the first and the last of more, have one end of the cell only: there the
mean moves, not A ("margin for binary variables" in [H22]). A cell with two ends has both moved
("margin for integer variables other than binary variables").

[H22] R. Hamano, S. Saito, M. Nomura, S. Shirakawa, CMA-ES with Margin: Lower-Bounding Marginal
Probability for Mixed-Integer Black-Box Optimization, GECCO 2022, doi:10.1145/3512290.3528827,
arXiv:2205.13482.
[H25] R. Hamano, M. Nomura, S. Saito, K. Uchida, S. Shirakawa, CatCMA with Margin: Stochastic
Optimization for Continuous, Integer, and Categorical Variables, GECCO 2025, arXiv:2504.07884.
[H26] R. Hamano, K. Uchida, S. Shirakawa, Convergence Analysis of Evolution Strategies for
Mixed-Integer Optimization, GECCO 2026, arXiv:2605.21000.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats, Integers

LARGEST_RATE = 0.5 - 1e-8  # of one end of a cell: at one half the mean would sit on it
_LEAST_RATE = 1e-10  # of one end of a cell, for its quantile to be finite
_UNMUTATED = 0.73  # least probability of a sample in which no discrete coordinate mutates [H25]
_normal = NormalDist()


class Marginal(NamedTuple):
    """One discrete coordinate of the search distribution: m_j, A_jj and its mutation rate."""

    mean: float
    spread: float
    rate: float


def one_sided_margin(n: int, population_size: int) -> float:
    """Return alpha = 1 / (n lambda) of [H22]."""
    return 1 / (n * population_size)


def two_sided_margin(n_discrete: int) -> float:
    """Return alpha of [H25]: 27 % of all samples have a mutation if every rate is at its least."""
    return 1 - math.exp(math.log(_UNMUTATED) / n_discrete)


def tail(distance: float) -> float:
    """Return the probability of a standard normal to be above ``distance``."""
    return math.erfc(distance / math.sqrt(2)) / 2


def quantile(probability: float) -> float:
    """Return Q(p), the inverse of :func:`tail`, for probabilities up to one half."""
    return -_normal.inv_cdf(min(max(probability, _LEAST_RATE), LARGEST_RATE))


def ends(levels: Floats) -> Floats:
    """Return where cells end, (k - 1,) for ascending levels (k,): half-way between neighbours."""
    return (levels[:-1] + levels[1:]) / 2


def cells(levels: Floats, values: Floats) -> Integers:
    """Return the numbers of the levels whose cells hold values, of the same shape."""
    return np.searchsorted(ends(levels), values, side="right")


def corrected(
    marginal: Marginal, deviation: float, levels: Floats, margin: float, most: float | None
) -> Marginal:
    """Return one coordinate after the correction; levels (k,) ascending.

    ``most`` is the upper bound of the rate, infinite if it may grow; None for the form of [H22],
    in which it always may and cells with one end keep their A.
    """
    if len(levels) == 1:
        return marginal
    limits = ends(levels)
    cell = int(cells(levels, np.array(marginal.mean)))
    if cell in (0, len(limits)):
        limit, side = float(limits[min(cell, len(limits) - 1)]), -1.0 if cell == 0 else 1.0
        if most is None:
            return one_end_lower(marginal, deviation, limit, side, margin)
        reach = abs(float(levels[cell]) - limit)
        return one_end(marginal, deviation, (limit, side, reach), margin, most)
    return two_ends(
        marginal, deviation, (float(limits[cell - 1]), float(limits[cell])), margin, most
    )


def one_end_lower(
    marginal: Marginal, deviation: float, limit: float, side: float, margin: float
) -> Marginal:
    """Move the mean towards the only end of its cell if the rate is below the margin [H22].

    ``side`` is -1 if the cell is below its end, 1 if it is above.
    """
    scale = deviation * marginal.spread
    rate = tail(side * (marginal.mean - limit) / scale)
    if rate >= margin:
        return marginal._replace(rate=rate)
    return Marginal(limit + side * scale * quantile(margin), marginal.spread, margin)


def one_end(
    marginal: Marginal,
    deviation: float,
    end: tuple[float, float, float],
    margin: float,
    most: float,
) -> Marginal:
    """Bring the rate across the only end of a cell between its bounds [H25].

    ``end`` is the limit, the side of it on which the cell is, and its distance from the level. A
    grows until a mean on the level itself would have the margin as its rate, so that the mean
    never has to move towards the end for that.

    DEVIATION: A shrinks so far that the mean is not beyond the outermost level (see docs,
    deviations).
    """
    limit, side, reach = end
    rate = tail(side * (marginal.mean - limit) / (deviation * marginal.spread))
    rate = min(max(rate, margin), most, LARGEST_RATE)
    spread = max(marginal.spread, reach / (deviation * quantile(margin)))
    spread = min(spread, reach / (deviation * quantile(rate)))
    return Marginal(limit + side * deviation * spread * quantile(rate), spread, rate)


def two_ends(
    marginal: Marginal,
    deviation: float,
    limits: tuple[float, float],
    margin: float,
    most: float | None,
) -> Marginal:
    """Bring the rates across both ends of a cell between their bounds [H22], [H25]."""
    low, up = limits
    scale = deviation * marginal.spread
    p_low, p_up = tail((marginal.mean - low) / scale), tail((up - marginal.mean) / scale)
    p_low, p_up = bounded_tails(p_low, p_up, margin, most)
    q_low, q_up = quantile(p_low), quantile(p_up)
    return Marginal(
        mean=(low * q_up + up * q_low) / (q_low + q_up),
        spread=(up - low) / ((q_low + q_up) * deviation),
        rate=p_low + p_up,
    )


def bounded_tails(
    p_low: float, p_up: float, margin: float, most: float | None
) -> tuple[float, float]:
    """Return p_low and p_up, each at least half the margin, together at most ``most``.

    What the bounds add to one of the three probabilities is taken from the others, in proportion
    to what they have above their own bounds, so that the sum stays one.
    """
    p_mid, least = 1 - p_low - p_up, margin / 2
    p_low, p_up, least_mid = max(p_low, least), max(p_up, least), least
    if most is not None and math.isfinite(most):
        least_mid = 1 - most
        p_mid = max(p_mid, least_mid)
    room = p_low + p_up + p_mid - margin - least_mid
    share = (1 - p_low - p_up - p_mid) / room if room > 0 else 0.0
    return p_low + share * (p_low - least), p_up + share * (p_up - least)


def mutated(levels: Floats, values: Floats, mean: float) -> NDArray[np.bool_]:
    """Return which of the values (k,) are in another cell than the mean."""
    return np.asarray(cells(levels, values) != cells(levels, np.array(mean)))


def centred(levels: Floats, values: Floats, mean: float) -> Floats:
    """Return values (mu,) of the best candidates with mutated ones at their levels [H25].

    A sample that has only just entered another cell counts as if it were in its middle, so that
    the mean moves there. The others move towards the level of the mean if that
    makes up for the shift of the sum, as far as it does.
    """
    at_level = levels[cells(levels, values)]
    away = mutated(levels, values, mean)
    shift = float(np.sum((at_level - values)[away]))
    moves = np.where(away, 0.0, at_level - values)
    against = np.where(moves * shift < 0, moves, 0.0)
    total = float(np.sum(against))
    share = min(1.0, -shift / total) if total else 0.0
    return np.where(away, at_level, values + share * against)
