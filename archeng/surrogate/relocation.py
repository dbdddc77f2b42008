"""Layouts of things of one kind: one is moved at a time, to where a model expects most.

Random relocations of one item, accepted if the layout is better, are a strong search for wind
farms (Feng and Shen 2015, doi:10.1016/j.renene.2015.01.005). Here the places are drawn in the
exact feasible set that the other items leave, or moved back to its boundary, and the model of
:mod:`archeng.surrogate.alike` chooses those that are simulated. Moves of one generation that were
each a gain are then made together. Where nothing is gained any more, the search soon *hops*: an
item, or some, go elsewhere, and it goes on from there; a layout a little worse than the one before
may be the next from which it hops (iterated local search with random acceptance).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from archeng.codec import OMITTED
from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.handlers import Handler, HandlerParts, Population, Search, as_it_is
from archeng.handlers.base import plain_search
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import StopReason
from archeng.surrogate import constants as c
from archeng.surrogate.alike import AlikeModel, Learner, items_of


@dataclass(frozen=True, kw_only=True)
class AlikeOptions:
    """``alike``: names of vectors, with commas; the components with one index are an item."""

    alike: str

    def __post_init__(self) -> None:
        names = self.names
        if not all(names) or len(set(names)) < len(names):
            raise SettingsError(
                f"alike must be different names of vectors with commas between them, such as "
                f'"x, y"; got {self.alike!r}.'
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""
        return tuple(name.strip() for name in str(self.alike).split(","))


@dataclass(frozen=True, eq=False)
class RelocationSearch(Search):
    """A layout from which items are moved, where it hopped from, and the best of the restart."""

    place: Floats  # (n,)
    value: float | None = None  # its objective; None: not simulated yet
    base: Floats | None = None  # (n,), from which it hopped
    base_value: float | None = None
    best: float | None = None
    stalled: int = 0  # calls without a gain that counts
    hops: int = 0  # since the best design
    together: Floats | None = field(default=None, metadata=OMITTED)  # (n,), several gains in one


class Relocation(Handler[RelocationSearch]):
    """Moves items of one kind."""

    state_type = RelocationSearch
    multistart = True

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        _refuse(parts)
        self._items = items_of(self._set, self._names)
        self._learner = Learner(self._items)

    def _options(self, parts: HandlerParts) -> None:
        self._names = parts.options(AlikeOptions).names

    def init(
        self, distribution: Distribution, anchor: Floats, size: int | None
    ) -> RelocationSearch:
        """Start at a feasible layout."""
        return RelocationSearch(**vars(plain_search(distribution, anchor, size)), place=anchor)

    def ask(
        self, search: RelocationSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[RelocationSearch, Population]:
        """Return the layout itself if it is new, gains of before together, and single moves."""
        x, size = search.place, search.population_size
        designs = [x] if search.value is None else []
        designs += [] if search.together is None else [search.together]
        if len(designs) < size:
            designs += self._moves(x, self._model(past), size, rng)
        designs = designs[:size] or [x]
        return search, Population(np.array(designs), tuple(map(as_it_is, designs)), proposed=True)

    def tell(
        self,
        search: RelocationSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> RelocationSearch:
        """Go on from the best layout of the generation if it is better; hop if nothing is."""
        values = np.where(np.isnan(outcomes.objectives), np.inf, outcomes.objectives)
        designs = np.array([repair.x for repair in population.repairs])
        spread, model = self._spread(past), self._model(past)
        search = self._gone_on(search, designs, values, spread)
        at_best = search.value == search.best
        patience = c.RELOCATION_PATIENCE_BEST if at_best else c.RELOCATION_PATIENCE
        if model is None or search.stalled < patience * len(self._items):
            return search
        return self._hopped(search, model, spread, rng)

    def stop(self, search: RelocationSearch) -> StopReason | None:
        """End a restart after many hops in vain."""
        return StopReason.MODEL_EXHAUSTED if search.hops >= c.RELOCATION_HOPS else None

    def _model(self, past: PastCalls) -> AlikeModel | None:
        return self._learner.model(past, c.RELOCATION_FIRST * len(self._items))

    def _spread(self, past: PastCalls) -> float:
        """Deviation of the first objectives, the unit of gains."""
        first = past.objectives[: c.RELOCATION_FIRST * len(self._items)]
        first = first[np.isfinite(first)]
        return float(np.std(first)) if len(first) else 0.0

    def _gone_on(
        self, search: RelocationSearch, designs: Floats, values: Floats, spread: float
    ) -> RelocationSearch:
        """Return the search at the best of these designs (k, n), if it is better."""
        known = float(values[0]) if search.value is None else search.value
        best = np.inf if search.best is None else search.best
        k, better = int(np.argmin(values)), values < known
        value = min(known, float(values[k]))
        least = spread * (c.RELOCATION_GAIN_BEST if value <= best else c.RELOCATION_GAIN)
        return replace(
            search,
            place=designs[k] if better[k] else search.place,
            value=value if np.isfinite(value) else None,
            together=self._together(search.place, designs[better], values[better]),
            best=min(best, value) if np.isfinite(min(best, value)) else None,
            stalled=0 if value < known - least else search.stalled + len(values),
            hops=0 if value < best - spread * c.RELOCATION_GAIN else search.hops,
        )

    def _hopped(
        self, search: RelocationSearch, model: AlikeModel, spread: float, rng: np.random.Generator
    ) -> RelocationSearch:
        """Move items to places that the model likes, from here or from where it was before."""
        worse = c.RELOCATION_WORSE * spread * rng.exponential()
        value, before = search.value, search.base_value
        if value is not None and (before is None or value < before + worse):
            search = replace(search, base=search.place, base_value=value)
        x = search.place if search.base is None else search.base
        x = self._elsewhere(x, model, rng)
        while rng.random() < c.RELOCATION_AGAIN:
            x = self._elsewhere(x, model, rng)
        hops = search.hops + 1
        return replace(search, place=x, value=None, together=None, stalled=0, hops=hops)

    def _elsewhere(self, x: Floats, model: AlikeModel, rng: np.random.Generator) -> Floats:
        """Return the design with an item at one of the places that the model likes best."""
        item = int(rng.integers(len(self._items)))
        designs = np.concatenate(self._drawn(x, [item] * c.RELOCATION_POOL, 0.0, rng))
        if len(designs) == 0:
            return x
        gains = model.gains(self._items.places(x), self._at(designs, item))[item]
        liked = designs[np.argsort(-gains, kind="stable")[: c.RELOCATION_HOP_AMONG]]
        return np.asarray(liked[rng.integers(len(liked))])

    def _moves(
        self, x: Floats, model: AlikeModel | None, count: int, rng: np.random.Generator
    ) -> list[Floats]:
        """Return designs in which one item moves, the best by the model first."""
        items = rng.permutation(len(self._items))[: c.RELOCATION_POOL].tolist()
        drawn = self._drawn(x, items, c.RELOCATION_LOCAL, rng)
        if model is None:
            return [designs[0] for designs in drawn if len(designs)][:count]
        each = [self._at(designs, item) for item, designs in zip(items, drawn, strict=True)]
        places = np.concatenate(each)
        return self._liked(x, places, model.gains(self._items.places(x), places), count)

    def _liked(self, x: Floats, places: Floats, gains: Floats, count: int) -> list[Floats]:
        """Return feasible moves with the largest gains (g, k), of any item to any place (k, q)."""
        moves: list[Floats] = []
        taken = np.zeros(len(self._items), dtype=int)
        order = np.argsort(-gains, axis=None, kind="stable")[: c.RELOCATION_LOOKED_AT]
        for item, k in zip(*np.unravel_index(order, gains.shape), strict=True):
            if len(moves) == count:
                break
            if taken[item] == c.RELOCATION_EACH:
                continue
            design = self._items.moved(x, item, places[k : k + 1])
            if np.any(design[0] != x) and self._set.is_feasible(design[0]):
                moves.append(design[0])
                taken[item] += 1
        return moves

    def _together(self, x: Floats, designs: Floats, values: Floats) -> Floats | None:
        """Return x with all that these better designs (k, n) change, if it is feasible."""
        y, made = x, 0
        for k in np.argsort(values, kind="stable"):
            changed = designs[k] != x
            z = np.where(changed, designs[k], y)
            if not np.any(changed & (y != x)) and self._set.is_feasible(z):
                y, made = z, made + 1
        return y if made > 1 else None

    def _drawn(
        self, x: Floats, items: list[int], local: float, rng: np.random.Generator
    ) -> list[Floats]:
        """Return for each of the items feasible designs (k, n) that differ from x in it."""
        count, q = c.RELOCATION_POOL, self._items.index.shape[1]
        shape = len(items), count, 1
        near = 10 ** rng.uniform(*c.RELOCATION_NEAR, shape) * rng.standard_normal((*shape[:2], q))
        here = self._items.places(x)[items][:, None]
        anywhere = rng.random((*shape[:2], q))
        places = np.clip(np.where(rng.random(shape) < local, here + near, anywhere), 0.0, 1.0)
        ends = np.concatenate(
            [self._items.moved(x, i, own) for i, own in zip(items, places, strict=True)]
        )
        good = self._set.holds_at(ends)
        starts = self._nearest(x, ends, good, places)
        ends[~good] = self._moved_back(starts[~good], ends[~good])
        new = np.any(ends != x, axis=1) & [self._set.is_feasible(y) for y in ends]
        parts = (slice(k * count, (k + 1) * count) for k in range(len(items)))
        return [ends[part][new[part]] for part in parts]

    def _nearest(
        self, x: Floats, ends: Floats, good: np.ndarray[Any, np.dtype[np.bool_]], places: Floats
    ) -> Floats:
        """Return the nearest feasible one (k, n) of the same item, or x if there is none."""
        starts = np.repeat(x[None], len(ends), axis=0)
        for k, own in enumerate(places):
            feasible = k * len(own) + np.flatnonzero(good[k * len(own) : (k + 1) * len(own)])
            if len(feasible):
                apart = ((own[:, None] - own[None, feasible - k * len(own)]) ** 2).sum(axis=2)
                starts[k * len(own) : (k + 1) * len(own)] = ends[feasible[apart.argmin(axis=1)]]
        return starts

    def _moved_back(self, starts: Floats, ends: Floats) -> Floats:
        """Return designs (k, n) on the way from feasible to infeasible ones, near the boundary."""
        low, high = np.zeros((len(ends), 1)), np.ones((len(ends), 1))
        for _ in range(c.RELOCATION_HALVINGS):
            middle = (low + high) / 2
            good = self._set.holds_at(starts + middle * (ends - starts))[:, None]
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return np.asarray(starts + (1 - c.RELOCATION_INSIDE) * low * (ends - starts))

    def _at(self, designs: Floats, item: int) -> Floats:
        """Places (k, q) of an item in designs (k, n)."""
        return np.asarray(self._items.places(designs)[:, item])


def _refuse(parts: HandlerParts) -> None:
    """Raise if single items cannot be moved, or if the model of pairs does not know enough."""
    fs = parts.repairer.feasible_set
    for row in fs.rows:
        if row.equality:
            raise SettingsError(f"alike= moves one item alone, which breaks equality {row}.")
    for is_so, what in (
        (fs.lattice is not None, "discrete variables"),
        (len(parts.limits) > 0, f"simulated constraints ({', '.join(parts.limits.names)})"),
        (parts.asynchronous, "asynchronous runs"),
    ):
        if is_so:
            raise SettingsError(f"alike= knows nothing of {what}; leave one of the two out.")
