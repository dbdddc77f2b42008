r"""CatCMA's categorical distribution: how likely each row of a category is. Pure functions.

The rows of different categories are drawn independently. Each generation the probabilities move
along the natural gradient of the weighted best candidates, with a step length that adapts to how
clear the direction is [A19], and no probability falls below a margin [H24].

=============  ======================================================  =====================
symbol         meaning                                                 name here
=============  ======================================================  =====================
q_n            probabilities of the rows of category n, shape (K_n,)   ``probabilities``
q_min          least probability of a row                              ``least_probability``
w_i            weights of the mu best candidates                       ``weights``
G              natural gradient, sum_i w_i (c_i - q)                   ``natural_gradient``
F^{1/2} G      the same in units of its Fisher metric                  ``in_fisher_metric``
epsilon        step length, delta / ||F^{1/2} G||                      ``step_length``
s, gamma       path of directions and its normalisation                ``path``, ``gamma``
Delta          what step lengths are divided by                        ``divisor``
beta           learning rate of the path                               ``beta``
=============  ======================================================  =====================

[H24] R. Hamano, S. Saito, M. Nomura, K. Uchida, S. Shirakawa, CatCMA: Stochastic Optimization for
Mixed-Category Problems, GECCO 2024, arXiv:2405.09962.
[A19] Y. Akimoto, S. Shirakawa, N. Yoshinari, K. Uchida, S. Saito, K. Nishida, Adaptive Stochastic
Natural Gradient Method for One-Shot Neural Architecture Search, ICML 2019, PMLR 97.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.strategy.margin import two_sided_margin

_SIGNAL = 1.5  # squared length of the path, relative to a random one, at which steps do not change
_FIRST_STEP = 1.0  # delta of the first generation [A19]


@dataclass(frozen=True, eq=False)
class Categories:
    """The distribution of all categories of a model, and what adapts its step length.

    ``modes`` (d,) are the numbers of the most probable rows; of equals the one that was it before.
    """

    probabilities: tuple[Floats, ...]
    modes: Integers
    path: Floats
    gamma: float
    divisor: float
    step: float


def uniform(modes: Integers, sizes: tuple[int, ...]) -> Categories:
    """Return the initial distribution of categories with so many rows: all as likely."""
    equal = tuple(np.full(size, 1 / size) for size in sizes)
    return Categories(equal, modes, np.zeros(_parameters(sizes)), 0.0, 1.0, _FIRST_STEP)


def draw(categories: Categories, k: int, rng: np.random.Generator) -> Integers:
    """Return k rows of each of the d categories, as numbers (k, d)."""
    u = rng.random((k, len(categories.probabilities)))
    columns = [
        np.searchsorted(np.cumsum(q)[:-1], u[:, i], side="right")
        for i, q in enumerate(categories.probabilities)
    ]
    return np.stack(columns, axis=1)


def learned(categories: Categories, best: Integers, weights: Floats, n_discrete: int) -> Categories:
    """Return the distribution after a generation.

    ``best`` (mu, d) are the rows of the best candidates, best first; ``n_discrete`` is the number
    of all discrete variables, ordered ones too, on which the margin depends.
    """
    old = categories
    gradients = tuple(
        natural_gradient(q, best[:, i], weights) for i, q in enumerate(old.probabilities)
    )
    metric = [in_fisher_metric(q, g) for q, g in zip(old.probabilities, gradients, strict=True)]
    direction = np.concatenate(metric)
    length = float(np.linalg.norm(direction))
    epsilon = step_length(old.step, length)
    q_new = tuple(
        with_margin(q + epsilon * g, least_probability(n_discrete, len(q)))
        for q, g in zip(old.probabilities, gradients, strict=True)
    )
    step, rate = _FIRST_STEP / old.divisor, beta(old.divisor, len(direction))
    path = longer_path(old.path, direction / length if length else direction, rate)
    gamma = (1 - rate) ** 2 * old.gamma + rate * (2 - rate)
    divisor = old.divisor * math.exp(rate * (gamma - float(path @ path) / _SIGNAL))
    return Categories(q_new, likeliest(q_new, old.modes), path, gamma, divisor, step)


def natural_gradient(q: Floats, best: Integers, weights: Floats) -> Floats:
    """Return G = sum_i w_i (c_i - q), shape (K,), of rows ``best`` (mu,) with weights (mu,)."""
    return np.bincount(best, weights, minlength=len(q)) - float(np.sum(weights)) * q


def in_fisher_metric(q: Floats, gradient: Floats) -> Floats:
    """Return F^{1/2} G, shape (K - 1,): the last row follows from the others [A19 appendix B]."""
    root, last = np.sqrt(q[:-1]), float(q[-1])
    others = gradient[:-1]
    return others / root + root * float(np.sum(others)) / (last + math.sqrt(last))


def step_length(step: float, length: float) -> float:
    """Return epsilon: with it the distribution moves by ``step`` in its Fisher metric."""
    return step / length if length else 0.0


def beta(divisor: float, parameters: int) -> float:
    """Return the learning rate of the path, at most 1, for so many free probabilities."""
    return min(_FIRST_STEP / divisor / math.sqrt(max(parameters, 1)), 1.0)


def longer_path(path: Floats, direction: Floats, rate: float) -> Floats:
    """Return the path (p,) after one more unit direction (p,)."""
    return (1 - rate) * path + math.sqrt(rate * (2 - rate)) * direction


def least_probability(n_discrete: int, rows: int) -> float:
    """Return q_min: with it, 27 % of all samples differ from the most probable rows [H24]."""
    return two_sided_margin(n_discrete) / max(rows - 1, 1)


def with_margin(q: Floats, least: float) -> Floats:
    """Return probabilities (K,), none below ``least``; the others make room in proportion."""
    if len(q) == 1:
        return np.ones(1)
    raised = np.maximum(q, least)
    total = float(np.sum(raised))
    room = total - len(q) * least
    result = raised - (total - 1) * (raised - least) / room
    return np.asarray(result / np.sum(result), dtype=float)


def likeliest(probabilities: tuple[Floats, ...], before: Integers) -> Integers:
    """Return the most probable rows (d,); those ``before`` stay if no other is more probable."""
    rows = zip(probabilities, before.tolist(), strict=True)
    return np.array([b if q[b] >= q.max() else int(np.argmax(q)) for q, b in rows], dtype=np.intp)


def change_cost(q: Floats) -> Floats:
    """Return the squared distance (K,) of changing a sampled row to each of the rows.

    It is -2 log q: minus twice the log-likelihood, as the squared Mahalanobis distance is that of
    the normal part but for a constant. Rows that are likely are cheap to end at. The row that
    was sampled costs nothing, which is for the repair to know.
    """
    return np.asarray(-2 * np.log(q), dtype=float)


def _parameters(sizes: tuple[int, ...]) -> int:
    """Return the number of free probabilities."""
    return sum(size - 1 for size in sizes)
