"""Layouts of things of one kind: one is moved at a time, to where a model expects most.

Random relocations of one item, accepted if the layout is better, are a strong search for wind
farms (Feng and Shen 2015, doi:10.1016/j.renene.2015.01.005). Here the places are drawn in the
exact feasible set that the other items leave, or moved back to its boundary, and the model of
:mod:`archeng.surrogate.alike` chooses those that are simulated. Where nothing is gained any more,
the search *hops*: two items go elsewhere, and it goes on from there; a layout a little worse than
the one before may be the next from which it hops (iterated local search with random acceptance).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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


@dataclass(frozen=True, eq=False)
class Move:
    """An item goes to another place."""

    gain: float  # by the model
    item: int
    design: Floats  # (n,), of all items


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
        """Return the moves that the model likes best, and several of them together."""
        x, size = search.place, search.population_size
        designs = [] if search.value is not None else [x]
        model = self._model(past)
        moves = self._moves(x, model, rng)
        if model is not None and len(designs) < size:
            designs += self._together(x, moves, model)
        designs += [move.design for move in moves]
        designs = [y for y in designs if self._set.is_feasible(y)][:size] or [x]
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
        k = int(np.argmin(values))
        lowest, spread = float(values[k]), self._spread(past)
        known = np.inf if search.value is None else search.value
        at_best = search.best is not None and min(known, lowest) <= search.best
        least = spread * (c.RELOCATION_GAIN_BEST if at_best else c.RELOCATION_GAIN)
        gained = lowest < known - least
        stalled = 0 if gained else search.stalled + len(values)
        search = replace(search, stalled=stalled)
        if lowest < known:
            search = replace(search, place=population.repairs[k].x, value=lowest)
        if search.value is not None and (search.best is None or search.value < search.best):
            better = search.best is None or search.value < search.best - spread * c.RELOCATION_GAIN
            search = replace(search, best=search.value, hops=0 if better else search.hops)
        patience = c.RELOCATION_PATIENCE_BEST if at_best else c.RELOCATION_PATIENCE
        model = self._model(past)
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

    def _hopped(
        self, search: RelocationSearch, model: AlikeModel, spread: float, rng: np.random.Generator
    ) -> RelocationSearch:
        """Move some items to places that the model likes, from here or from where it was before."""
        worse = c.RELOCATION_WORSE * spread * rng.exponential()
        value, before = search.value, search.base_value
        if value is not None and (before is None or value < before + worse):
            search = replace(search, base=search.place, base_value=value)
        x = search.place if search.base is None else search.base
        for item in rng.choice(len(self._items), min(c.RELOCATION_HOP, len(self._items)), False):
            (designs,) = self._drawn(x, [int(item)], 0.0, rng)
            places = self._at(designs, int(item))
            (gains,) = model.gains(self._items.places(x), [int(item)], [places])
            liked = np.argsort(-gains, kind="stable")[: c.RELOCATION_HOP_AMONG]
            if len(liked):
                x = designs[rng.choice(liked)]
        return replace(search, place=x, value=None, stalled=0, hops=search.hops + 1)

    def _moves(self, x: Floats, model: AlikeModel | None, rng: np.random.Generator) -> list[Move]:
        """Return moves of single items, the best by the model first."""
        items = rng.permutation(len(self._items))[: c.RELOCATION_POOL].tolist()
        drawn = self._drawn(x, items, c.RELOCATION_LOCAL, rng)
        if model is None:
            return [
                Move(0.0, item, design)
                for item, designs in zip(items, drawn, strict=True)
                for design in designs[:1]
            ]
        moves = []
        places = [self._at(designs, item) for item, designs in zip(items, drawn, strict=True)]
        gains = model.gains(self._items.places(x), items, places)
        for item, designs, own in zip(items, drawn, gains, strict=True):
            best = np.argsort(-own, kind="stable")[: c.RELOCATION_EACH]
            moves += [Move(float(own[k]), item, designs[k]) for k in best]
        return sorted(moves, key=lambda move: -move.gain)

    def _together(self, x: Floats, moves: list[Move], model: AlikeModel) -> list[Floats]:
        """Return the layout with all moves that the model likes one after the other, if several."""
        made = 0
        for move in moves:
            if move.gain <= 0:
                break
            y = x.copy()
            y[self._items.index[move.item]] = move.design[self._items.index[move.item]]
            places = self._at(y[None], move.item)
            (gain,) = model.gains(self._items.places(x), [move.item], [places])[0]
            if gain > 0 and self._set.is_feasible(y):
                x, made = y, made + 1
        return [x] if made > 1 else []

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
        new = np.any(ends != x, axis=1)
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
