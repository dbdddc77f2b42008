"""ARCH assisted by models of the objective, as a handler.

Two kinds of generations take turns. In a *proposal* models say which designs to simulate next;
CMA-ES does not learn from them. Otherwise it is a generation of ARCH as it is, but for two things:
the first one contains the start itself, and a design that was proposed and is the best one so far
is injected into the next one, its step clipped in Mahalanobis length [H11].

The rules for when are in :mod:`archeng.surrogate.rounds`; this module asks the models. Where the
proposals have ended, a :class:`archeng.surrogate.local.LocalSearch` has the last word: it simulates
what is missing to show that the best design is a local optimum, and goes on if it is not.

[H11] N. Hansen, Injecting External Solutions Into CMA-ES, 2011, arXiv:1110.4181.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers import Arch, Handler, HandlerParts, Population, Search, as_it_is
from archeng.outcomes import Outcomes, PastCalls
from archeng.repair import Repair
from archeng.strategy import StopReason
from archeng.surrogate import constants as c
from archeng.surrogate import rounds
from archeng.surrogate.belief import promising
from archeng.surrogate.companions import judged_together, with_companions
from archeng.surrogate.data import Frame, are_many, best_position, frame_at
from archeng.surrogate.doubts import Doubts, proposed
from archeng.surrogate.local import LocalSearch, LocalState, TrialKind
from archeng.surrogate.proposer import Proposer
from archeng.surrogate.rounds import AssistedSearch, Phase
from archeng.surrogate.trust import widened
from archeng.surrogate.valley import in_valley


class Assisted(Handler[AssistedSearch]):
    """ARCH with proposals by models of the objective, as a handler."""

    handles_simulated = True
    handles_diagonal = True
    asynchronous = True
    state_type = AssistedSearch

    def __init__(self, parts: HandlerParts) -> None:
        super().__init__(parts)
        self._arch, self._proposer = Arch(parts), Proposer(parts.repairer)
        self._local = LocalSearch(parts.repairer, parts.limits, parts.wide)
        formulas = parts.repairer.feasible_set.formulas
        composite = formulas is not None and bool(formulas.objective)
        kinks = composite and formulas is not None and not formulas.smooth_objective
        # With simulated constraints, kinks in the objective, or lessons, it makes all proposals
        self._taught, self._wide, self._formulas = parts.taught, parts.wide, formulas
        self._width, self._count = parts.width, parts.proposals
        self._only_local = bool(parts.limits) or kinks or parts.taught
        self.multistart = formulas is not None
        self._doubts = Doubts(parts)

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> AssistedSearch:
        """Start a restart of ARCH, nothing known yet."""
        return rounds.first_state(self._arch.init(distribution, anchor, size), self._width)

    def ask(
        self, search: AssistedSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[AssistedSearch, Population]:
        """Make a proposal if one is due, else the candidates of ARCH."""
        if search.repeat or search.phase is Phase.NOISY:
            return self._doubts.ask(search, past, rng)
        if search.phase is Phase.START:
            search = replace(search, calls_before=len(past))
            if self._taught or promising(frame_at(self._wide, search.anchor), past):
                return search, proposed([as_it_is(search.anchor)])
            if self._begins_with_models(search):
                return self._first_designs(search, rng, past)
            search, population = self._arch.ask(search, rng, past)
            return search, with_candidate(population, 0, as_it_is(search.anchor))
        if search.phase is Phase.LOCAL:
            assert search.local is not None
            assert search.local.trial is not None
            trials = (search.local.trial, *search.local.others)
            return search, proposed([as_it_is(trial.design) for trial in trials])
        best = self._best(search, past)
        if search.phase is Phase.PROPOSE and best is not None:
            search, proposals = self._proposals(search, rng, past, best)
            if proposals is not None:
                return search, proposals
        search, population = self._arch.ask(search, rng, past)
        if best is not None and search.inject:
            x = past.points[best]
            last = len(population.repairs) - 1
            population = with_candidate(population, last, as_it_is(x), clipped(search, x))
        return search, population

    def tell(
        self,
        search: AssistedSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> AssistedSearch:
        """Judge the proposals, or let CMA-ES learn; then say what is next."""
        if search.repeat or search.phase is Phase.NOISY:
            return self._doubts.tell(search, population, outcomes, past)
        search = self._learned(search, population, outcomes, past, rng)
        return self._doubts.raised(search, past)

    def _learned(
        self,
        search: AssistedSearch,
        population: Population,
        outcomes: Outcomes,
        past: PastCalls,
        rng: np.random.Generator,
    ) -> AssistedSearch:
        """Judge the proposals, or let CMA-ES learn; then say what is next."""
        objectives = np.where(self._limits.hold(outcomes.simulated), outcomes.objectives, np.nan)
        lowest = float(np.nanmin(objectives)) if np.isfinite(objectives).any() else np.inf
        surpassed = False
        if population.proposed and search.phase is Phase.START:
            search = rounds.after_start(search, self._only_local)
        elif population.proposed and search.local is not None:
            search, surpassed = self._after_trial(search, population, outcomes)
        elif population.proposed:
            search = rounds.after_proposals(search, objectives, self._settings)
        else:
            improved = rounds.improves(search, lowest)
            search = self._arch.tell(search, population, outcomes, past, rng)
            search = rounds.after_global_generation(search, objectives)
            if self._only_local:
                surpassed = self._surpassed(search.local, lowest)
                search = rounds.after_generation_with_limits(search)
            else:
                search = rounds.after_generation(search, improved, self._settings)
        if search.phase is Phase.CONSULT:
            return self._consulted(search, past, surpassed)
        return search

    def reconsidered(self, search: AssistedSearch, past: PastCalls) -> AssistedSearch:
        """Let the local search choose its step again."""
        local = search.local
        if search.phase is not Phase.LOCAL or local is None or local.trial is None:
            return search
        if local.trial.kind is TrialKind.GEOMETRY:
            return search
        return self._consulted(replace(search, local=replace(local, trial=None)), past, False)

    def stop(self, search: AssistedSearch) -> StopReason | None:
        """Return why nothing more is expected of this restart, if that is so."""
        return None if search.repeat else search.ended

    # -- asynchronous runs --------------------------------------------------------------------

    def more(
        self, search: AssistedSearch, rng: np.random.Generator, past: PastCalls, count: int
    ) -> Population:
        """Make candidates for idle workers: what would be next if designs away told nothing."""
        if search.phase is Phase.LOCAL and search.local is not None:
            local = self._local.advanced(replace(search.local, trial=None), past)
            if local.trial is not None:
                return proposed([as_it_is(local.trial.design)])
        best = self._best(search, past)
        if search.phase is Phase.PROPOSE and best is not None:
            _, population = self._proposals(search, rng, past, best)
            if population is not None:
                return population
        return self._arch.more(search, rng, past, count)

    def found(self, search: AssistedSearch) -> AssistedSearch:
        """Note that the best design is a proposal that CMA-ES does not know."""
        return replace(search, inject=True)

    def waits(self, search: AssistedSearch) -> bool:
        """Whether the design of the local search, or the start, has to be back."""
        return search.phase is not Phase.PROPOSE

    # -- proposals by a model of the objective ------------------------------------------------

    def _begins_with_models(self, search: AssistedSearch) -> bool:
        """Whether models are asked before ARCH has made a generation.

        Not in a global search, nor where all proposals are those of the local search, nor with so
        many free directions that the first generation is smaller than what a linear model takes.
        """
        return search.may_propose and not self._only_local and self._freedom() < c.WIDE_FROM

    def _freedom(self) -> int:
        """Directions that the equalities leave free, at least: dependent ones count, too."""
        fs = self._repairer.feasible_set
        return max(fs.n - int(np.count_nonzero(fs.equality)), 1)

    def _first_designs(
        self, search: AssistedSearch, rng: np.random.Generator, past: PastCalls
    ) -> tuple[AssistedSearch, Population]:
        """Simulate what a linear model takes."""
        count = math.ceil((self._freedom() + 1) / self._width) * self._width  # no idle workers
        frame = self._frame(search, past, search.anchor)
        designs = self._proposer.first_designs(frame, count, rng)
        return search, proposed([as_it_is(x) for x in designs])

    def _proposals(
        self, search: AssistedSearch, rng: np.random.Generator, past: PastCalls, best: int
    ) -> tuple[AssistedSearch, Population | None]:
        """Make proposals around the best design; None if the round is over."""
        lowest = float(past.objectives[best])
        begin = search.calls_before or 0
        frame = self._frame(search, past, past.points[best])
        frame = in_valley(frame, past, begin)
        trust, last, n_tried = search.trust, search.last, search.rounds.tried
        if search.best is not None and last is not None and n_tried == 0:
            by_arch = search.best - lowest > c.GAIN_MOVES * last.spread  # since the last round
            if by_arch and search.may_end_by_model:
                trust = widened(trust, frame.distance(last.centre))
        over = search.rounds.misses >= search.rounds.patience and not trust.collapsed
        if over or trust.exhausted:
            return rounds.round_over(search), None
        starts = search.starts
        if starts is None:
            starts = past.points[begin : begin + c.FAR_DESIGNS]
            if not are_many(len(frame.centre), self._formulas, past):
                starts = self._proposer.far_designs(frame, c.FAR_DESIGNS, rng)
        trust, selection, proposals = self._proposer.propose(
            frame, past, best, trust, search.selection, starts, rng, self._count
        )
        search = replace(search, trust=trust, selection=selection, starts=starts)
        if not proposals:
            return rounds.round_over(search), None
        search = replace(search, best=lowest, last=proposals[0], batch=tuple(proposals[1:]))
        return search, proposed([p.repair for p in proposals])

    def _frame(self, search: AssistedSearch, past: PastCalls, centre: Floats) -> Frame:
        """Return the frame of proposals: the initial search distribution around a design (n,).

        With many variables it is a diagonal, if it can be.
        """
        inverse, formulas = search.state.reference / search.sigma, self._formulas
        n = len(inverse)
        if inverse.ndim == 2 and np.count_nonzero(inverse) == n:
            inverse = np.diag(inverse)
        if inverse.ndim == 2:
            return Frame(centre, np.asarray(np.linalg.inv(inverse), dtype=float), inverse)
        if are_many(n, formulas, past):
            return Frame(centre, 1 / inverse, inverse)
        return Frame(centre, np.diag(1 / inverse), np.diag(inverse))

    # -- the local search ---------------------------------------------------------------------

    def _after_trial(
        self, search: AssistedSearch, population: Population, outcomes: Outcomes
    ) -> tuple[AssistedSearch, bool]:
        """Judge the design of the local search; say whether another one was better before it."""
        local = search.local
        assert local is not None
        assert local.trial is not None
        if not np.array_equal(population.repairs[0].x, local.trial.design):
            return replace(search, inject=True, phase=Phase.CONSULT), True
        local = judged_together(self._local, local, outcomes)
        return rounds.after_trial(search, local, only_local=self._only_local), False

    def _consulted(
        self, search: AssistedSearch, past: PastCalls, surpassed: bool
    ) -> AssistedSearch:
        """CONSULT -> LOCAL, or ARCH: with an end, or without a design to begin at.

        ``surpassed``: ARCH has found a better design than the local search, which goes on there.
        """
        best, local = self._best(search, past), search.local
        if best is None:
            return replace(search, phase=Phase.ARCH)
        if not self._only_local and _beaten(search, past, best):
            return replace(search, phase=Phase.ARCH, ended=StopReason.MODEL_EXHAUSTED)
        if local is None:
            lengths = c.LOCAL_FIRST if self._only_local else c.LOCAL_CLOSING
            local = self._local.begin(past, best, *lengths)
        elif surpassed:
            local = self._local.moved(local, past, best)
        local = self._local.advanced(local, past)
        local = with_companions(self._local, local, past, self._count - 1)
        return rounds.after_consulting(search, local, self._local.violates(local))

    def _surpassed(self, local: LocalState | None, lowest: float) -> bool:
        """Whether a generation of ARCH has found a better design than the local search."""
        if local is None or lowest == np.inf:
            return False
        return self._local.violates(local) or lowest < local.objective

    def _best(self, search: AssistedSearch, past: PastCalls) -> int | None:
        """Position of the best design of this restart: the least violating one if all violate."""
        return best_position(past, self._limits, search.calls_before or 0)


def _beaten(search: AssistedSearch, past: PastCalls, best: int) -> bool:
    """Whether an earlier restart has a better design: nothing has to be shown of this one."""
    assert search.best is not None
    margin = rounds.negligible_gain(search, search.best)
    return bool(np.any(past.objectives[: search.calls_before] < past.objectives[best] - margin))


def with_candidate(
    population: Population, position: int, repair: Repair, sampled: Floats | None = None
) -> Population:
    """Return the population with one candidate replaced."""
    points, repairs = population.sampled.copy(), list(population.repairs)
    points[position] = repair.x if sampled is None else sampled
    repairs[position] = repair
    return Population(points, tuple(repairs))


def clipped(search: Search, x: Floats) -> Floats:
    """Return x, or the point towards it as far from the mean as samples are [H11]."""
    d = search.distribution
    length = float(np.sqrt(d.distance_squared(x, d.mean)))
    longest = np.sqrt(d.n) + 2 * d.n / (d.n + 2)
    return np.asarray(d.mean + min(1.0, longest / length) * (x - d.mean) if length > 0 else x)
