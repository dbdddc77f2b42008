r"""The discrete part of the search distribution: which coordinates, their margins, their categories.

CMA-ES itself works on the *numeric* coordinates, real ones and those with ordered levels, and knows
nothing of this module but its four functions: `joined` makes whole candidates out of normal ones,
`split` takes them apart for the update, `learned` corrects the distribution after it, and `metric`
is the distribution that is sampled, over all coordinates, in which repairs are measured.

===========  =====================================================  =====================
symbol       meaning                                                name here
===========  =====================================================  =====================
n            coordinates of a candidate                             ``space.n``
n_num        numeric ones: those that are no category               ``len(space.numeric)``
m, sigma, F  normal distribution over the numeric ones, C = F F^T   ``distribution``
A            diagonal factor on its samples, shape (n_num,)         ``spread``
p_mut        mutation rates of the ordered ones, shape (d,)         ``rates``
===========  =====================================================  =====================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from archeng.distribution import Distribution, Floats, Integers, symmetric_root
from archeng.strategy.categories import Categories, change_cost, draw, uniform
from archeng.strategy.categories import learned as learned_categories
from archeng.strategy.margin import (
    LARGEST_RATE,
    Marginal,
    cells,
    centred,
    corrected,
    mutated,
    two_sided_margin,
)

_FIRST_MARGIN = 0.25  # mutation rate of ordered coordinates in the first generation, at least


@dataclass(frozen=True, eq=False)
class Space:
    """Which of n coordinates are discrete.

    ``positions`` (d,) of the discrete ones, ascending; ``levels``, the numbers that each may take,
    ascending; ``ordered`` (d,), False for categories, whose levels are the numbers of their rows.
    """

    n: int
    positions: Integers
    levels: tuple[Floats, ...]
    ordered: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @cached_property
    def categories(self) -> list[tuple[int, Floats]]:
        """Position and levels of each category."""
        return [(int(self.positions[i]), self.levels[i]) for i in np.flatnonzero(~self.ordered)]

    @cached_property
    def numeric(self) -> Integers:
        """Positions (n_num,) of coordinates that are no categories."""
        return np.setdiff1d(np.arange(self.n), self.positions[~self.ordered])

    @cached_property
    def stepped(self) -> list[tuple[int, Floats]]:
        """Position among the numeric coordinates, and levels, of each ordered discrete one."""
        places = np.searchsorted(self.numeric, self.positions[self.ordered])
        levels = [self.levels[i] for i in np.flatnonzero(self.ordered)]
        return list(zip(places.tolist(), levels, strict=True))

    @cached_property
    def real(self) -> Integers:
        """Positions of the real coordinates among the numeric ones."""
        places = np.arange(len(self.numeric))
        return np.setdiff1d(places, [place for place, _ in self.stepped])


@dataclass(frozen=True, eq=False)
class Discrete:
    """What the search remembers of its discrete coordinates from generation to generation."""

    space: Space
    spread: Floats
    rates: Floats
    categories: Categories


def initial(distribution: Distribution, space: Space) -> tuple[Distribution, Discrete]:
    """Split a distribution over all n coordinates; its mean has categories at their rows.

    The mean of an ordered coordinate is at a level, and its deviation may be far less than a cell: all
    get a mutation rate of at least a quarter to begin with. Rows of categories are all as likely.
    """
    rows = [int(np.searchsorted(levels, distribution.mean[at])) for at, levels in space.categories]
    sizes = tuple(len(levels) for _, levels in space.categories)
    modes = np.clip(np.array(rows, dtype=np.intp), 0, np.array(sizes, dtype=np.intp) - 1)
    discrete = Discrete(
        space,
        spread=np.ones(len(space.numeric)),
        rates=np.full(len(space.stepped), LARGEST_RATE),
        categories=uniform(modes, sizes),
    )
    normal = _numeric_part(distribution, space)
    return _with_margin(normal, discrete, _FIRST_MARGIN, np.full(len(space.stepped), np.inf))


def joined(discrete: Discrete, numeric: Floats, mean: Floats, rng: np.random.Generator) -> Floats:
    """Return candidates (k, n) from samples (k, n_num) of the normal distribution."""
    space = discrete.space
    x = np.empty((len(numeric), space.n))
    x[:, space.numeric] = mean + discrete.spread * (numeric - mean)
    if space.categories:
        rows = draw(discrete.categories, len(numeric), rng)
        for i, (at, levels) in enumerate(space.categories):
            x[:, at] = levels[rows[:, i]]
    return x


def split(discrete: Discrete, best: Floats, mean: Floats) -> Floats:
    """Return candidates (k, n) as samples (k, n_num) of the normal distribution, A undone.

    Those that have left the cell of the mean are put at their levels before; see `centred`.
    """
    x = best[:, discrete.space.numeric]
    for at, levels in discrete.space.stepped:
        x[:, at] = centred(levels, x[:, at], float(mean[at]))
    return mean + (x - mean) / discrete.spread


def learned(
    distribution: Distribution, discrete: Discrete, best: Floats, weights: Floats, mean: Floats
) -> tuple[Distribution, Discrete]:
    """Return both parts after CMA-ES's update: margins, mutation rates, categories.

    ``best`` (mu, n) are the best candidates as sampled, ``weights`` (mu,) theirs; ``mean``
    (n_num,) is the one from which they were sampled. A mutation rate may grow only if one of the
    best candidates has mutated.
    """
    space = discrete.space
    best_numeric = best[:, space.numeric]
    success = [np.any(mutated(levels, best_numeric[:, at], mean[at])) for at, levels in space.stepped]
    most = np.where(np.array(success, dtype=bool), np.inf, discrete.rates)
    n_discrete = len(space.positions)
    distribution, discrete = _with_margin(
        distribution, discrete, two_sided_margin(n_discrete), most
    )
    if not space.categories:
        return distribution, discrete
    rows = [cells(levels, best[:, at]) for at, levels in space.categories]
    categories = learned_categories(
        discrete.categories, np.stack(rows, axis=1), weights, n_discrete
    )
    return distribution, replace(discrete, categories=categories)


def metric(distribution: Distribution, discrete: Discrete) -> Distribution:
    """Return the distribution that is sampled, over all n coordinates.

    Its factor is A F. Categories are at their most probable rows, uncorrelated with the
    rest and with deviation 1; what changing them costs is said by ``change_costs``.
    """
    space, d = discrete.space, distribution
    mean = np.empty(space.n)
    factor = np.diag(np.full(space.n, 1 / d.sigma))
    inverse = np.diag(np.full(space.n, d.sigma))
    block = np.ix_(space.numeric, space.numeric)
    mean[space.numeric] = d.mean
    factor[block] = discrete.spread[:, None] * d.factor
    inverse[block] = d.inverse_factor / discrete.spread
    costs = {}
    categories = discrete.categories
    for i, (at, levels) in enumerate(space.categories):
        mean[at] = levels[categories.modes[i]]
        costs[at] = change_cost(categories.probabilities[i])
    return Distribution(mean, d.sigma, factor, inverse, costs or None)


def _numeric_part(distribution: Distribution, space: Space) -> Distribution:
    """Return the marginal distribution of the numeric coordinates, with the same sigma."""
    d, numeric = distribution, space.numeric
    if len(numeric) == d.n:
        return d
    inside = np.ix_(numeric, numeric)
    factor, inverse = d.factor[inside], d.inverse_factor[inside]
    outside = np.setdiff1d(np.arange(d.n), numeric)
    if np.any(d.factor[np.ix_(numeric, outside)]):
        factor, inverse, _ = symmetric_root(d.covariance[inside])
    return Distribution(d.mean[numeric], d.sigma, factor, inverse)


def _with_margin(
    distribution: Distribution, discrete: Discrete, margin: float, most: Floats
) -> tuple[Distribution, Discrete]:
    """Return both with the margin of all ordered coordinates; ``most`` (d,) bounds their rates."""
    d = distribution
    mean, spread, rates = d.mean.copy(), discrete.spread.copy(), discrete.rates.copy()
    for i, (at, levels) in enumerate(discrete.space.stepped):
        deviation = d.sigma * float(np.linalg.norm(d.factor[at]))
        marginal = Marginal(float(mean[at]), float(spread[at]), float(rates[i]))
        marginal = corrected(marginal, deviation, levels, margin, float(most[i]))
        mean[at], spread[at], rates[i] = marginal
    return replace(d, mean=mean), replace(discrete, spread=spread, rates=rates)
