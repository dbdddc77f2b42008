r"""ARCH's ranking: pure functions, one per equation of [SA22].

==========  ====================================================  =====================
symbol      meaning                                               name here
==========  ====================================================  =====================
R_f, R_g    mid-ranks of objective and repair distance            ``mid_ranks``
R_T         R_f + alpha R_g                                       ``total_ranks``
R_F         rank of objective and simulated violations            ``combined_ranks``
alpha       ranking coefficient                                   ``alpha``
d_m         normalised repair distance of the mean                ``mean_distance``
sigma^      optimal normalised step size on the sphere            ``sphere_step_size``
c_act       number of active rows at the repaired mean            ``n_active``
lambda_def  default population size for n                         ``default_size``
==========  ====================================================  =====================

With simulated constraints R_F takes the place of R_f: the rank of the sum of ranks of MCR [G17],
so that only the order of objectives and of each violation matters.

[SA22] N. Sakamoto, Y. Akimoto, Adaptive Ranking-based Constraint Handling for Explicitly
Constrained Black-Box Optimization, Evolutionary Computation 30(4), 503-529, 2022,
doi:10.1162/evco_a_00310, arXiv:1811.00764.
[G17] R. de Paula Garcia, B. S. L. P. de Lima, A. C. de Castro Lemonge, B. P. Jacob, A rank-based
constraint handling technique for engineering design optimization problems solved by genetic
algorithms, Computers and Structures 187, 77-87, 2017, doi:10.1016/j.compstruc.2017.03.023.
[B58] G. Blom, Statistical Estimates and Transformed Beta-Variables, Wiley, 1958.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from archeng.distribution import Floats, Integers


def mid_ranks(values: Floats) -> Floats:
    """Mid-ranks (k,): number of better values plus half the number of ties.

    Those of [SA22 eq:rf, (8)] and [SA22 eq:rg, (9)].
    The value itself counts as a tie, so the ranks sum to k^2 / 2. NaN (failed) and +inf tie
    with each other as the worst.
    """
    worst = np.where(np.isnan(values), np.inf, values)
    ordered = np.sort(worst)
    better = np.searchsorted(ordered, worst, side="left")
    not_worse = np.searchsorted(ordered, worst, side="right")
    return better + 0.5 * (not_worse - better)


def combined_ranks(objectives: Floats, violations: Floats) -> Floats:
    """Mid-ranks (k,) of the sum of ranks [G17]; R_f if there are no violations (k, m).

    Ranks of each violation and of the number of violations are added up; that of the objective
    joins once a candidate violates nothing. Failed candidates (NaN) are the worst.
    """
    if violations.shape[1] == 0:
        return mid_ranks(objectives)
    counts = np.sum(violations > 0, axis=1)
    total = mid_ranks(counts.astype(float))
    for column in violations.T:
        total = total + mid_ranks(column)
    if np.any(counts[~np.isnan(objectives)] == 0):
        total = total + mid_ranks(objectives)
    return mid_ranks(np.where(np.isnan(objectives), np.inf, total))


def violation_order(objectives: Floats, violations: Floats) -> Integers:
    """Order of designs (k,) from the least violating one.

    By the number of violated constraints, then by the sum of the ranks of the violations (k, m),
    then by the objective: increasing transforms of any of them change nothing.
    """
    counts = np.sum(violations > 0, axis=1)
    sums = np.zeros(len(objectives))
    for column in violations.T:
        sums += mid_ranks(column)
    return np.lexsort((objectives, sums, counts))


def total_ranks(
    objectives: Floats,
    distances_squared: Floats,
    alpha: float,
    violations: Floats | None = None,
) -> Floats:
    """R_T = R_f + alpha R_g, shape (k,) [SA22 eq:rt, (7)]; R_F for R_f with violations (k, m)."""
    none = np.zeros((len(objectives), 0))
    ranks = combined_ranks(objectives, none if violations is None else violations)
    return ranks + alpha * mid_ranks(distances_squared)


def total_order(
    objectives: Floats,
    distances_squared: Floats,
    alpha: float,
    violations: Floats | None = None,
) -> Integers:
    """Order of the candidates by total rank, best first; ties keep their order of sampling."""
    return np.argsort(total_ranks(objectives, distances_squared, alpha, violations), kind="stable")


def normal_order_statistics(k: int) -> Floats:
    """Return the expected order statistics (k,) of k standard normals, ascending [B58]."""
    normal = NormalDist()
    levels = ((i - 3 / 8) / (k + 1 / 4) for i in range(1, k + 1))
    return np.array([normal.inv_cdf(level) for level in levels])


def sphere_step_size(weights: Floats, population_size: int, n: int) -> float:
    """sigma^ of [SA22 eq:snf, (10)] for recombination weights (mu,)."""
    expected = normal_order_statistics(population_size)[: len(weights)]
    c = -float(weights @ expected)
    mu_eff = 1.0 / float(weights @ weights)
    return c * n * mu_eff / (n - 1 + c**2 * mu_eff)


def mean_distance(
    distance_squared: float,
    *,
    sigma_hat: float,
    n: int,
    n_active: int,
    population_size: int,
    default_size: int,
) -> float:
    """d_m of [SA22 eq:dm, (12)]; 0 for a feasible mean."""
    shrink = math.exp(min(0, default_size - population_size) / population_size)
    return distance_squared * sigma_hat**2 / (n * (n / 2 + n_active)) * shrink


def updated_alpha(
    alpha: float, d_m: float, previous_d_m: float, n: int, population_size: int
) -> float:
    """Ranking coefficient of the next generation [SA22 eq:alpha, (13)], in [1/lambda, lambda].

    DEVIATION: the exponential is missing in the printed equation (see docs, deviations).
    """
    towards = np.sign(d_m - 1)
    if towards == np.sign(d_m - previous_d_m) or d_m == 0:
        alpha *= math.exp(towards / n)
    return min(max(alpha, 1 / population_size), float(population_size))
