"""ARCH assisted by models over mixed designs, as a handler.

The first generation is ARCH's. Then, one design after the other:

1. the best one by the models over the exact mixed set, not too far from the best one so far, if
   it promises a gain: a trust region, which promises that are kept or broken widen or narrow;
2. else the best one by a random model that fits as well, anywhere, a few times;
3. else, with the levels of the best design held, the local search of continuous problems
   (:mod:`archeng.surrogate.local`), until it shows a local optimum in the real variables;
4. else a neighbour on the lattice that may be better;
5. else the search has converged: all neighbours are simulated, infeasible, or predicted worse.

Without models, or with nothing to propose where simulated constraints are violated, a generation of
ARCH follows. No design is simulated twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers import Arch, ArchSearch, Handler, HandlerParts, Population, as_it_is
from archeng.outcomes import Outcomes, PastCalls
from archeng.strategy import StopReason
from archeng.surrogate import constants as general
from archeng.surrogate.assisted import clipped, with_candidate
from archeng.surrogate.data import best_position
from archeng.surrogate.doubts import proposed
from archeng.surrogate.evidence import objective_size
from archeng.surrogate.local import LocalEnd, LocalState
from archeng.surrogate.mixed import constants as c
from archeng.surrogate.mixed.closing import Closing, descents_of
from archeng.surrogate.mixed.descent import Descent
from archeng.surrogate.mixed.features import Features, gaps
from archeng.surrogate.mixed.fitted import MixedModels, fit_mixed
from archeng.surrogate.mixed.neighbourhood import Examination, is_new


class TrialKind(StrEnum):
    """Why designs are simulated."""

    PROMISED = "promised"  # the models promise a gain
    RANDOM = "random"  # random models do
    NEAR = "near"  # models of the real variables need it
    LOCAL = "local"  # by the local search at the levels of the best design
    NEIGHBOUR = "neighbour"  # a neighbour that may be better


@dataclass(frozen=True, eq=False)
class MixedSearch(ArchSearch):
    """The search of ARCH, and what is remembered about models and proposals."""

    calls_before: int | None = None  # calls before this restart; None until its first one
    kind: TrialKind | None = None  # of the designs that are simulated next; None: ARCH's
    designs: Floats | None = None  # these designs (k, n)
    radius: float = c.RADIUS_FIRST  # how far models are believed, in initial deviations
    explored: int = 0  # random models without success since the last better design
    careful: float = 0.0  # errors of the models that are kept from simulated limits
    levels: tuple[int, ...] = ()  # at which the local search is
    local: LocalState | None = None
    inject: bool = False  # whether the best design is a proposal that CMA-ES does not know
    ended: StopReason | None = None  # why nothing more is expected of this restart


class MixedAssisted(Handler[MixedSearch]):
    """ARCH with proposals by models over mixed designs, as a handler."""

    handles_simulated = True
    handles_discrete = True
    asynchronous = True
    multistart = True
    state_type = MixedSearch

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        lattice = self._set.lattice
        assert lattice is not None
        self._lattice, self._wide, self._count = lattice, parts.wide, parts.proposals
        self._arch, self._features = Arch(parts), Features(self._set, parts.wide)
        self._most_explored = c.EXPLORED + int(c.EXPLORED_EACH * len(lattice.positions))
        self._closing = Closing(self._set, parts.settings, parts.limits, parts.wide)

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> MixedSearch:
        """Start a restart of ARCH, nothing known yet."""
        return MixedSearch(**vars(self._arch.init(distribution, anchor, size)))

    def ask(
        self, search: MixedSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[MixedSearch, Population]:
        """Return the designs that are due, or the candidates of ARCH."""
        if search.designs is not None:
            return search, proposed([as_it_is(x) for x in search.designs])
        first = search.calls_before is None
        if first:
            search = replace(search, calls_before=len(past))
        search, population = self._arch.ask(search, rng, past)
        if first:
            return search, with_candidate(population, 0, as_it_is(search.anchor))
        best = best_position(past, self._limits, search.calls_before or 0)
        if best is not None and search.inject:
            x, last = past.points[best], len(population.repairs) - 1
            population = with_candidate(population, last, as_it_is(x), clipped(search, x))
        return search, population

    def tell(
        self,
        search: MixedSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> MixedSearch:
        """Judge the proposals, or let CMA-ES learn; then say what is next."""
        if population.proposed:
            search = self._judged(search, population, outcomes, past)
        else:
            search = self._arch.tell(search, population, outcomes, past, rng)
            search = replace(search, inject=False)
        return self._planned(search, past, rng)

    def stop(self, search: MixedSearch) -> StopReason | None:
        """Return why nothing more is expected of this restart, if that is so."""
        return search.ended

    def more(
        self, search: MixedSearch, rng: np.random.Generator, past: PastCalls, count: int
    ) -> Population:
        """Make candidates for idle workers: what would be next if designs away told nothing."""
        if search.designs is not None:
            planned = self._planned(search, past, rng)
            if planned.designs is not None:
                return proposed([as_it_is(x) for x in planned.designs])
        return self._arch.more(search, rng, past, count)

    def found(self, search: MixedSearch) -> MixedSearch:
        """Note that the best design is a proposal that CMA-ES does not know."""
        return replace(search, inject=True)

    def waits(self, search: MixedSearch) -> bool:
        """Whether the design of the local search has to be back."""
        return search.kind is TrialKind.LOCAL

    def _judged(
        self, search: MixedSearch, population: Population, outcomes: Outcomes, past: PastCalls
    ) -> MixedSearch:
        """Return the state after designs were simulated."""
        best = best_position(past, self._limits, search.calls_before or 0)
        improved = best is not None and any(
            np.array_equal(past.points[best], repair.x) for repair in population.repairs
        )
        held = self._limits.hold(outcomes.simulated[:1]).all()
        careful = search.careful / 2 if held else c.MARGIN
        local = search.local
        first = search.designs is not None and np.array_equal(
            population.repairs[0].x, search.designs[0]
        )
        if search.kind is TrialKind.LOCAL and local is not None and first:
            local = self._closing.judged(local, population.repairs[0].x, outcomes)
        better = improved and search.kind not in (TrialKind.LOCAL, TrialKind.NEAR)
        radius = search.radius
        if search.kind is TrialKind.PROMISED:
            radius = radius * c.RADIUS_WIDER if improved else radius * c.RADIUS_NARROWER
        elif better:
            radius = max(radius, c.RADIUS_FIRST)
        return replace(
            search,
            designs=None,
            kind=None,
            radius=float(np.clip(radius, c.RADIUS_LEAST / 2, c.RADIUS_MOST)),
            explored=0 if better else search.explored + (search.kind is TrialKind.RANDOM),
            careful=careful if careful > c.LEAST_MARGIN else 0.0,
            inject=search.inject or improved,
            local=local,
        )

    # -- what is next ---------------------------------------------------------------------------

    def _planned(
        self, search: MixedSearch, past: PastCalls, rng: np.random.Generator
    ) -> MixedSearch:
        """Return the state with what is simulated next: designs, or a generation of ARCH."""
        search = replace(search, designs=None, kind=None)
        best = best_position(past, self._limits, search.calls_before or 0)
        if best is None:
            return search
        x, holds = past.points[best], self._limits.hold(past.simulated[best : best + 1]).all()
        models = fit_mixed(self._set, self._features, past, self._limits, x, search.careful)
        if models is None:
            return search
        least = models.gain_of(c.GAIN * objective_size(past, self._limits)) if holds else 0.0
        if search.radius >= c.RADIUS_LEAST:
            near = Descent(self._set, self._wide, models, search.radius)
            designs = self._better(near, past, x, least, rng, times=0)
            if len(designs):
                return replace(search, designs=designs, kind=TrialKind.PROMISED)
        search, designs = self._random(search, models, past, x, rng)
        if len(designs):
            return replace(search, designs=designs, kind=TrialKind.RANDOM)
        if not holds:
            return replace(search, radius=c.RADIUS_FIRST, explored=0)
        if self._beaten(search, past, best):  # nothing has to be shown of this one
            return replace(search, ended=StopReason.MODEL_EXHAUSTED)
        descent = Descent(self._set, self._wide, models)
        search = self._closed(search, descent, past, best, least)
        if search.ended is None:
            return search
        if search.explored >= self._most_explored + c.LAST_LOOKS:
            return search
        designs = self._better(descent, past, x, least, rng, c.LAST_LOOK)
        if not len(designs):
            return search
        return replace(search, designs=designs, kind=TrialKind.RANDOM, ended=None)

    def _beaten(self, search: MixedSearch, past: PastCalls, best: int) -> bool:
        """Whether an earlier restart has a better design, or this very one."""
        before = past.taken(slice(0, search.calls_before))
        earlier = best_position(before, self._limits)
        if earlier is None or not self._limits.hold(before.simulated[earlier : earlier + 1]).all():
            return False
        size = c.GAIN * objective_size(past, self._limits)
        return bool(before.objectives[earlier] < past.objectives[best] + size)

    def _closed(
        self, search: MixedSearch, descent: Descent, past: PastCalls, best: int, least: float
    ) -> MixedSearch:
        """Return the state with a design of the local search, a neighbour, or the end."""
        x = past.points[best]
        levels = self._lattice.key(x)
        local = search.local if search.levels == levels else None
        shown = True
        if len(self._lattice.continuous):
            near = self._closing.spread(past, x)
            if near is not None:
                return replace(search, designs=near[None], kind=TrialKind.NEAR)
            local = self._closing.advanced(local, past, best)
            search = replace(search, local=local, levels=levels)
            if local.trial is not None:
                y = self._closing.design(x, local.trial.design)
                return replace(search, designs=y[None], kind=TrialKind.LOCAL)
            shown = local.ended is LocalEnd.SHOWN
        descents = descents_of(self._set, self._wide, descent.fibres.models.careful(0.0))
        repaired = self._closing.repaired
        _, design = Examination(self._lattice, descents, past, x, least, repaired).made()
        if design is not None:
            return replace(search, designs=design[None], kind=TrialKind.NEIGHBOUR)
        ended = StopReason.CONVERGED if shown else StopReason.MODEL_EXHAUSTED
        return replace(search, ended=ended)

    def _better(
        self,
        descent: Descent,
        past: PastCalls,
        x: Floats,
        least: float,
        rng: np.random.Generator,
        times: int = 1,
    ) -> Floats:
        """Return designs (k, n) that promise a gain, the best one first; not more than wanted.

        ``times`` says how much longer than usual is looked for them; 0 is a quick look.
        """
        here = descent.fibres.at(x)
        chosen: list[Floats] = []
        for found in descent.search(self._starts(past, x, rng), rng, times):
            if not found.better_than(here, least) or len(chosen) >= self._count:
                break
            sure = found.explicit <= c.SATISFIED
            design = self._feasible(descent.polished(found).x) if sure else None
            if design is not None and self._is_new(descent, design, past):
                chosen.append(design)
        return np.array(chosen).reshape(len(chosen), len(x))

    def _random(
        self,
        search: MixedSearch,
        models: MixedModels,
        past: PastCalls,
        x: Floats,
        rng: np.random.Generator,
    ) -> tuple[MixedSearch, Floats]:
        """Return designs far from known ones that may be better, and how many times it was tried.

        By the models anywhere, by random models, and by what the models may err far away, in turn.
        """
        least = models.gain_of(general.CLAIM_RESIDUAL * objective_size(past, self._limits))
        while search.explored < self._most_explored:
            drawn = models.random(rng) if search.explored % 3 == 1 else models
            if drawn is None:
                break
            descent = Descent(self._set, self._wide, drawn)
            if search.explored % 3 == 2:
                designs = self._far(descent, past, x, least, rng)
            else:
                designs = self._better(descent, past, x, least, rng)
            if len(designs):
                return search, designs
            search = replace(search, explored=search.explored + 1)
        return search, np.zeros((0, len(x)))

    def _far(
        self, descent: Descent, past: PastCalls, x: Floats, least: float, rng: np.random.Generator
    ) -> Floats:
        """Return the design (1, n) that is best if models err by their largest known error.

        Per distance between known designs, that is, up to a few of them; (0, n) if there is none.
        """
        found = descent.search(self._starts(past, x, rng), rng, c.FAR_LOOK)
        found = [f for f in found if f.feasible]
        if not found:
            return np.zeros((0, len(x)))
        apart, typical = gaps(self._features, past, np.array([f.x for f in found]))
        doubt = descent.fibres.models.error * np.minimum(apart / typical, c.FAR_MOST)
        lowest = np.array([f.objective for f in found]) - doubt
        here = descent.fibres.at(x).objective
        for k in np.argsort(lowest, kind="stable")[: c.FAR_TRIES]:
            if not lowest[k] < here - least:
                break
            design = self._feasible(descent.polished(found[k]).x)
            if design is not None and self._is_new(descent, design, past):
                return design[None]
        return np.zeros((0, len(x)))

    def _starts(self, past: PastCalls, x: Floats, rng: np.random.Generator) -> Floats:
        """Return designs (k, n) from which searches begin: the best one, and others at random."""
        usable = np.flatnonzero(np.isfinite(past.objectives))
        count = min(c.SEEDS - 1, len(usable))
        return np.concatenate((x[None], past.points[rng.choice(usable, count, replace=False)]))

    def _feasible(self, x: Floats) -> Floats | None:
        """Return the feasible design next to one that is feasible but for rounding."""
        repair = self._repairer.repair(x, replace(self._wide, mean=x))
        return repair.x if repair.feasible else None

    def _is_new(self, descent: Descent, x: Floats, past: PastCalls) -> bool:
        same = (self._lattice.indices(past.points) == self._lattice.indices(x)).all(axis=1)
        return is_new(descent, x, past.points[same])
