r"""The discrete part of the search distribution: margins of ordered coordinates, and categories.

CMA-ES itself works on the *numeric* coordinates, real ones and those with ordered levels, and knows
nothing of this module but its four functions: `joined` makes whole candidates out of normal ones,
`split` takes them apart for the update, `learned` corrects the distribution after it, and `metric`
is the distribution that is sampled, over all coordinates, in which repairs are measured.

===========  =====================================================  =====================
symbol       meaning                                                name here
===========  =====================================================  =====================
n            coordinates of a candidate                             ``space.n``
n_num        numeric ones: those that are no category               ``lattice.numeric``
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
from archeng.model.lattice import Lattice
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

_FIRST_MARGIN = 0.1  # mutation rate of ordered coordinates in the first generation, at least


@dataclass(frozen=True, eq=False)
class Discrete:
    """What the search knows of its discrete coordinates; only ``lattice`` never changes."""

    lattice: Lattice
    spread: Floats
    rates: Floats
    categories: Categories

    @cached_property
    def stepped(self) -> list[tuple[int, Floats]]:
        """Position among the numeric coordinates, and levels, of each ordered discrete one."""
        lattice = self.lattice
        places = np.searchsorted(lattice.numeric, lattice.positions[lattice.ordered])
        return list(zip(places.tolist(), _levels(lattice, ordered=True), strict=True))

    @cached_property
    def unordered(self) -> list[tuple[int, Floats]]:
        """Position among all coordinates, and levels, of each category."""
        levels = _levels(self.lattice, ordered=False)
        return list(zip(self.lattice.categories.tolist(), levels, strict=True))

    @cached_property
    def real(self) -> Integers:
        """Positions of the real coordinates among the numeric ones."""
        return np.searchsorted(self.lattice.numeric, self.lattice.continuous)


def _levels(lattice: Lattice, ordered: bool) -> list[Floats]:
    return [
        levels for levels, o in zip(lattice.levels, lattice.ordered, strict=True) if o == ordered
    ]


def initial(distribution: Distribution, lattice: Lattice) -> tuple[Distribution, Discrete]:
    """Split a distribution over all n coordinates, whose mean is at levels.

    A deviation may be far less than a cell: all ordered coordinates get a mutation rate of at least
    a tenth to begin with. The rows of categories are all as likely.
    """
    levels = _levels(lattice, ordered=False)
    start = distribution.mean[lattice.categories]
    modes = [int(cells(known, at)) for known, at in zip(levels, start, strict=True)]
    n_ordered = int(np.sum(lattice.ordered))
    discrete = Discrete(
        lattice,
        spread=np.ones(len(lattice.numeric)),
        rates=np.full(n_ordered, LARGEST_RATE),
        categories=uniform(np.array(modes, dtype=np.intp), tuple(map(len, levels))),
    )
    margin = max(_FIRST_MARGIN, two_sided_margin(len(lattice.positions)))
    free = np.full(n_ordered, np.inf)
    return _with_margin(_numeric_part(distribution, lattice), discrete, margin, free)


def joined(
    distribution: Distribution, discrete: Discrete, steps: Floats, rng: np.random.Generator
) -> Floats:
    """Return candidates (k, n) from the steps y (k, n_num) of the normal distribution.

    Never by way of m + sigma y: late in a run sigma is below the rounding of m, and A as large.
    """
    d, lattice = distribution, discrete.lattice
    x = np.empty((len(steps), lattice.n))
    x[:, lattice.numeric] = d.mean + d.sigma * discrete.spread * steps
    if discrete.unordered:
        rows = draw(discrete.categories, len(steps), rng)
        for i, (at, levels) in enumerate(discrete.unordered):
            x[:, at] = levels[rows[:, i]]
    return x


def split(distribution: Distribution, discrete: Discrete, best: Floats) -> Floats:
    """Return the steps y (k, n_num) of candidates (k, n), A undone.

    Those that have left the cell of the mean are put at their levels before; see `centred`.
    """
    d, x = distribution, best[:, discrete.lattice.numeric]
    for at, levels in discrete.stepped:
        x[:, at] = centred(levels, x[:, at], float(d.mean[at]))
    return np.asarray((x - d.mean) / (d.sigma * discrete.spread), dtype=float)


def learned(
    distribution: Distribution, discrete: Discrete, best: Floats, weights: Floats, mean: Floats
) -> tuple[Distribution, Discrete]:
    """Return both parts after CMA-ES's update: margins, mutation rates, categories.

    ``best`` (mu, n) are the best candidates as sampled, ``weights`` (mu,) theirs; ``mean``
    (n_num,) is the one from which they were sampled. A mutation rate may grow only if one of the
    best candidates has mutated.
    """
    lattice, numeric = discrete.lattice, best[:, discrete.lattice.numeric]
    success = [mutated(levels, numeric[:, at], mean[at]).any() for at, levels in discrete.stepped]
    most = np.where(np.array(success, dtype=bool), np.inf, discrete.rates)
    n_discrete = len(lattice.positions)
    distribution, discrete = _folded(
        *_with_margin(distribution, discrete, two_sided_margin(n_discrete), most)
    )
    if not discrete.unordered:
        return distribution, discrete
    rows = [cells(levels, best[:, at]) for at, levels in discrete.unordered]
    categories = learned_categories(
        discrete.categories, np.stack(rows, axis=1), weights, n_discrete
    )
    return distribution, replace(discrete, categories=categories)


def metric(distribution: Distribution, discrete: Discrete) -> Distribution:
    """Return the distribution that is sampled, over all n coordinates.

    Its factor is A F. Categories are at their most probable rows, uncorrelated with the
    rest and with deviation 1; what changing them costs is said by ``change_costs``.
    """
    d, n, numeric = distribution, discrete.lattice.n, discrete.lattice.numeric
    mean = np.empty(n)
    factor = np.diag(np.full(n, 1 / d.sigma))
    inverse = np.diag(np.full(n, d.sigma))
    block = np.ix_(numeric, numeric)
    mean[numeric] = d.mean
    factor[block] = discrete.spread[:, None] * d.factor
    inverse[block] = d.inverse_factor / discrete.spread
    costs = {}
    categories = discrete.categories
    for i, (at, levels) in enumerate(discrete.unordered):
        mean[at] = levels[categories.modes[i]]
        costs[at] = change_cost(categories.probabilities[i])
    return Distribution(mean, d.sigma, factor, inverse, costs or None)


def _numeric_part(distribution: Distribution, lattice: Lattice) -> Distribution:
    """Return the marginal distribution of the numeric coordinates, with the same sigma."""
    d, numeric = distribution, lattice.numeric
    if len(numeric) == d.n:
        return d
    inside = np.ix_(numeric, numeric)
    factor, inverse = d.factor[inside], d.inverse_factor[inside]
    if np.any(d.factor[np.ix_(numeric, lattice.categories)]):
        factor, inverse, _ = symmetric_root(d.covariance[inside])
    return Distribution(d.mean[numeric], d.sigma, factor, inverse)


def _folded(distribution: Distribution, discrete: Discrete) -> tuple[Distribution, Discrete]:
    """Return the same with A of geometric mean one, if no coordinate is real.

    Only sigma A matters then. Without this sigma would go to zero and A to infinity for ever.
    """
    if len(discrete.real) or not distribution.n:
        return distribution, discrete
    factor = float(np.exp(np.mean(np.log(discrete.spread))))
    spread = discrete.spread / factor
    return replace(distribution, sigma=distribution.sigma * factor), replace(
        discrete, spread=spread
    )


def _with_margin(
    distribution: Distribution, discrete: Discrete, margin: float, most: Floats
) -> tuple[Distribution, Discrete]:
    """Return both with the margin of all ordered coordinates; ``most`` (d,) bounds their rates."""
    d = distribution
    mean, spread, rates = d.mean.copy(), discrete.spread.copy(), discrete.rates.copy()
    for i, (at, levels) in enumerate(discrete.stepped):
        deviation = d.sigma * float(np.linalg.norm(d.factor[at]))
        marginal = Marginal(float(mean[at]), float(spread[at]), float(rates[i]))
        marginal = corrected(marginal, deviation, levels, margin, float(most[i]))
        mean[at], spread[at], rates[i] = marginal
    return replace(d, mean=mean), replace(discrete, spread=spread, rates=rates)
