"""ARCH assisted by a model of the objective.

Two kinds of generations take turns. In a *proposal* the model says which designs to simulate next
(:mod:`archeng.surrogate`); CMA-ES does not learn from them. Otherwise it is a generation of ARCH as
it is, but for two things: the first one contains the start itself, and a design that was proposed
and is the best one so far is injected into the next one, its step clipped in Mahalanobis
length [Hansen 2011].

Proposals come in rounds. A round ends when too many in a row did not improve the best design, and a
generation of ARCH follows. Rounds that pay make the next ones longer; rounds that do not make them
shorter and rarer, until they cost a few per cent of the calls.

Where the proposals have ended, a *local search* (:class:`archeng.surrogate.LocalSearch`) has the
last word: it simulates what is missing to show that the best design is a local optimum, and goes
on if it is not. With simulated constraints it makes all the proposals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.arch import Arch
from archeng.handlers.base import Population, as_it_is
from archeng.handlers.notes import (
    AssistedSearch,
    Notes,
    after_gathering,
    after_generation,
    after_round,
    longest_round,
    looked,
    negligible,
)
from archeng.known import Found, Known, Limits
from archeng.ranking import violation_order
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings
from archeng.strategy import StopReason, default_population_size
from archeng.surrogate import (
    CLOSING,
    FIRST_RADIUS,
    FIRST_RESOLUTION,
    Ended,
    Frame,
    Kind,
    Local,
    LocalSearch,
    Mode,
    Proposal,
    Proposer,
    Trust,
    after,
    moved,
)

_STARTS = 8  # designs from which minima of the model are looked for far away
_REMEMBERED = 3000  # calls that models look at
_TOLERANCE = 1e-9  # relative progress that calls for another look around
_AGAIN = 1e-2  # radius of the trust region for it
_MANY = 4  # times the default population: a global search, in which ARCH is left alone at first
_BETTER = 1e-2  # gain by ARCH that moves the trust region, relative to how much designs differ
_FAILURE = 4  # misses as which a proposal counts whose simulation failed
_NOISY = 1e-2  # noise of the model with which a search does not end


class Assisted:
    """ARCH with proposals by a model of the objective, as a handler.

    Parameters
    ----------
    arch : Arch
    repairer : Repairer
    settings : Settings
    limits : Limits
        Of the simulated constraints.
    wide : Distribution
        The initial search distribution, around any mean; lengths of the local search are
        measured in its deviations.
    """

    outside = False
    state_type = AssistedSearch

    def __init__(
        self,
        arch: Arch,
        repairer: Repairer,
        settings: Settings,
        limits: Limits,
        wide: Distribution,
    ) -> None:
        self._arch, self._repairer, self._settings = arch, repairer, settings
        self._limits = limits
        self._proposer = Proposer(repairer)
        self._local = LocalSearch(repairer, limits)
        self._factor, self._inverse = wide.scaled_factor, wide.inverse_factor / wide.sigma

    def init(self, distribution: Distribution, anchor: Floats, size: int | None) -> AssistedSearch:
        """Start a restart of ARCH, nothing known yet."""
        n = distribution.n
        many = (size or 0) // default_population_size(n)
        notes = Notes(
            sigma=distribution.sigma,
            patience=max(longest_round(n) // max(many // 2, 1), 1),
            trust=Trust(most_leaps=4 + n // 2),
        )
        return AssistedSearch(**vars(self._arch.init(distribution, anchor, size)), notes=notes)

    def ask(
        self, search: AssistedSearch, rng: np.random.Generator, known: Known
    ) -> tuple[AssistedSearch, Population]:
        """Make a proposal if one is due, else the candidates of ARCH."""
        notes = search.notes
        if notes.begin < 0:
            search = _with(search, replace(notes, begin=len(known)))
            search, population = self._arch.ask(search, rng, known)
            return search, _replaced(population, 0, as_it_is(search.anchor))
        best = self._best(known, notes)
        if notes.local.kind is not Kind.NOTHING:
            more = self._local.companions(
                notes.local, self._factor, self._inverse, known, self._settings.proposals - 1
            )
            return search, proposed(np.array([notes.local.design, *more]))
        asked = notes.wait == 0 and (notes.gathered or not _many(search))
        if best is not None and asked and not self._limits:
            notes, found = self._proposals(search, notes, rng, known, best)
            search = _with(search, notes)
            if found is not None:
                return search, found
        search, population = self._arch.ask(search, rng, known)
        if best is not None and notes.to_inject:
            x = known.points[best]
            last = len(population.repairs) - 1
            population = _replaced(population, last, as_it_is(x), _clipped(search, x))
        return search, population

    def tell(
        self,
        search: AssistedSearch,
        population: Population,
        found: Found,
        known: Known,
        rng: np.random.Generator,
    ) -> AssistedSearch:
        """Judge the proposals, or let CMA-ES learn; then decide what follows."""
        return self._conclude(self._learn(search, population, found, known, rng), known)

    def stop(self, search: AssistedSearch) -> StopReason | None:
        """Return why nothing more is expected of this restart, if that is so."""
        return search.ended

    def _learn(
        self,
        search: AssistedSearch,
        population: Population,
        found: Found,
        known: Known,
        rng: np.random.Generator,
    ) -> AssistedSearch:
        """Judge the proposals, or let CMA-ES learn."""
        notes = search.notes
        objectives = _acceptable(found, self._limits)
        lowest = float(np.nanmin(objectives)) if np.isfinite(objectives).any() else np.inf
        improved = notes.best - lowest > negligible(notes)
        if not population.proposed:
            search = self._arch.tell(search, population, found, known, rng)
            if _many(search) and not notes.gathered:
                notes = after_gathering(notes, objectives, search.parameters.n)
            if self._limits or notes.local.open:
                found_better = _better(objectives, notes.local, self._limits)
                return _with(search, replace(notes, wait=0, to_inject=0, moved=found_better))
            return self._after_arch(search, notes, improved)
        if notes.local.kind is not Kind.NOTHING:
            return _with(search, self._after_local(notes, found))
        gain = (notes.best - lowest) * notes.slope
        ratio = gain / notes.predicted if notes.predicted > 0 else 0.0
        learned = improved or notes.selection.prior >= 0  # no wonder if a linear model fails
        notes = replace(
            notes,
            trust=after(notes.trust, improved, ratio, notes.step) if learned else notes.trust,
            proposals=notes.proposals + 1,
            failed=0 if np.isfinite(lowest) else notes.failed + 1,
            tried=notes.tried + 1,
            hits=notes.hits + improved,
            misses=0 if improved else notes.misses + (1 if np.isfinite(lowest) else _FAILURE),
            to_inject=1 if improved else notes.to_inject,
        )
        best = min(lowest, notes.best)
        notes = looked(notes, best)
        small = notes.trust.radius <= _AGAIN
        if small == np.isnan(notes.small):
            notes = replace(notes, small=best if small else np.nan)
        if notes.trust.exhausted:
            notes = self._again_if_it_paid(notes, best)
        over = notes.trust.exhausted and self._may_end(notes) and _local(search, notes)
        return _with(search, replace(notes, closing=over))

    def _conclude(self, search: AssistedSearch, known: Known) -> AssistedSearch:
        """Let the local search say what is simulated next, or that this restart is over."""
        notes = search.notes
        local = notes.local
        due = notes.wait == 0 and (notes.gathered or not _many(search))
        if not (self._limits and due) and not notes.closing:
            return search
        best = self._best(known, notes)
        if best is None:
            return search
        if notes.closing and not self._limits and _beaten(known, notes, best):
            return replace(search, ended=StopReason.MODEL_EXHAUSTED)
        if not local.open or notes.moved:
            local = self._begun(notes, known, best)
        local = self._local.advanced(local, self._factor, self._inverse, known)
        if local.ended is Ended.STALLED and np.any(self._limits.violations(local.values) > 0):
            return _with(search, replace(notes, local=Local(), wait=1))
        ended = None
        if local.ended is not Ended.NO:
            shown = local.ended is Ended.SHOWN
            ended = StopReason.CONVERGED if shown else StopReason.MODEL_EXHAUSTED
        return replace(_with(search, replace(notes, local=local, moved=False)), ended=ended)

    def _begun(self, notes: Notes, known: Known, best: int) -> Local:
        """Begin a local search at the best design, or go on from there."""
        local = notes.local
        if local.open:
            return replace(
                local,
                centre=known.points[best],
                objective=float(known.objectives[best]),
                values=known.simulated[best],
                kind=Kind.NOTHING,
            )
        first = (FIRST_RADIUS, FIRST_RESOLUTION) if self._limits else (CLOSING, CLOSING)
        return self._local.begin(known, best, *first)

    def _after_local(self, notes: Notes, found: Found) -> Notes:
        """Return the notes after a design of the local search was simulated."""
        before = notes.local
        local = self._local.judged(
            before, self._inverse, float(found.objectives[0]), found.simulated[0]
        )
        rest = local.misses >= longest_round(len(local.centre))
        if rest:  # a generation of ARCH
            local = replace(local, misses=0)
        inject = 1 if local.centre is not before.centre else notes.to_inject
        return replace(notes, local=local, wait=int(rest), to_inject=inject)

    def _after_arch(self, search: AssistedSearch, notes: Notes, improved: bool) -> AssistedSearch:
        """Return the search after a generation of ARCH, without a local search."""
        if notes.trust.exhausted:
            notes = self._again_if_it_paid(notes, notes.best)
        if notes.trust.exhausted and notes.failed:
            long = longest_round(search.parameters.n)
            notes = _reopened(replace(notes, failed=0, wait=0, patience=long))
        over = notes.trust.exhausted and not improved and self._may_end(notes)
        closing = over and _local(search, notes)
        closed = closing or (over and _many(search))
        return _with(search, replace(after_generation(notes, search, closed), closing=closing))

    def _best(self, known: Known, notes: Notes) -> int | None:
        """Position of the best design of this restart: the least violating one if all violate."""
        begin = notes.begin
        usable = np.flatnonzero(np.isfinite(known.objectives[begin:])) + begin
        if len(usable) == 0:
            return None
        violations = self._limits.violations(known.simulated[usable])
        return int(usable[violation_order(known.objectives[usable], violations)[0]])

    def _again_if_it_paid(self, notes: Notes, best: float) -> Notes:
        """Open the trust region again if there was some progress since it became small."""
        if not notes.small - best > self._settings.tol_objective + _TOLERANCE * abs(best):
            return notes
        return _reopened(replace(notes, small=best))

    def _may_end(self, notes: Notes) -> bool:
        """Whether nothing more is expected of the model.

        Not if it is noisy or was linear until now, nor if the last proposal failed (another look
        around follows).
        """
        learned = notes.selection.prior >= 0 and notes.proposals > len(notes.centre)
        learned = learned and notes.failed == 0
        return self._settings.stop_tests and learned and notes.selection.noise <= _NOISY

    def _proposals(
        self,
        search: AssistedSearch,
        notes: Notes,
        rng: np.random.Generator,
        known: Known,
        best: int,
    ) -> tuple[Notes, Population | None]:
        """Make proposals around the best design; None if the round is over."""
        lowest = float(known.objectives[best])
        inverse = search.state.reference / notes.sigma
        factor = np.asarray(np.linalg.inv(inverse), dtype=float)
        frame = Frame(known.points[best], factor, inverse)
        trust = notes.trust
        by_arch = notes.best - lowest > _BETTER * notes.spread  # found since the last proposals
        if notes.tried == 0 and by_arch and _local(search, notes):
            trust = moved(trust, frame.distance(notes.centre))
        over = notes.misses >= notes.patience and not trust.collapsed
        if over or trust.exhausted:
            return after_round(notes, search.parameters.n), None
        if len(notes.starts) == 0:
            notes = replace(notes, starts=self._proposer.far_designs(frame, _STARTS, rng))
        seen = known.last_and(best, _REMEMBERED)
        trust, selection, proposal = self._proposer.propose(
            frame, seen, trust, notes.selection, notes.starts, rng
        )
        if proposal is None:
            notes = replace(notes, trust=trust, selection=selection)
            return after_round(notes, search.parameters.n), None
        notes = replace(
            notes,
            trust=trust,
            selection=selection,
            best=lowest,
            centre=frame.centre,
            predicted=proposal.predicted,
            step=proposal.step,
            slope=proposal.slope,
            spread=proposal.spread,
        )
        found = [proposal.repair, *self._more(frame, seen, notes, proposal, rng)]
        repairs = [replace(r, kind=RepairKind.PROPOSED, distance_squared=0.0) for r in found]
        points = np.array([r.x for r in repairs])
        return notes, Population(points, tuple(repairs), proposed=True)

    def _more(
        self,
        frame: Frame,
        seen: Known,
        notes: Notes,
        proposal: Proposal,
        rng: np.random.Generator,
    ) -> list[Repair]:
        """Return further proposals for the same generation, by random models."""
        found: list[Repair] = []
        trust = replace(notes.trust, mode=Mode.EXPLORE)
        for _ in range(self._settings.proposals - 1):
            seen = seen.and_pending(proposal.repair.x)
            _, _, other = self._proposer.propose(
                frame, seen, trust, notes.selection, notes.starts, rng
            )
            if other is None:
                break
            found.append(other.repair)
            proposal = other
        return found


def _acceptable(found: Found, limits: Limits) -> Floats:
    """Objectives (k,); NaN where there is none or a simulated constraint is violated."""
    return np.where(limits.hold(found.simulated), found.objectives, np.nan)


def _beaten(known: Known, notes: Notes, best: int) -> bool:
    """Whether an earlier restart has a better design: nothing has to be shown of this one."""
    earlier = known.objectives[: notes.begin]
    margin = negligible(notes)
    return bool(np.any(earlier < known.objectives[best] - margin))


def _better(acceptable: Floats, local: Local, limits: Limits) -> bool:
    """Whether a generation of ARCH has found a better design than the local search."""
    if not local.open or not np.isfinite(acceptable).any():
        return False
    violates = np.any(limits.violations(local.values) > 0)
    return bool(violates or np.nanmin(acceptable) < local.objective)


def _local(search: AssistedSearch, notes: Notes) -> bool:
    """Whether the search is a local one, which may end together with that of the model.

    One with many candidates is a global search until these have gathered around the best design.
    """
    p = search.parameters
    return p.population_size <= default_population_size(p.n) or notes.gathered == 1


def _many(search: AssistedSearch) -> bool:
    """Whether ARCH goes on without a model that has nothing more to say until candidates gather."""
    p = search.parameters
    return p.population_size >= _MANY * default_population_size(p.n)


def _reopened(notes: Notes) -> Notes:
    """Open the trust region a little for another look around, without leaps."""
    most = notes.trust.most_leaps
    return replace(notes, trust=Trust(_AGAIN, leaps=most, most_leaps=most))


def _with(search: AssistedSearch, notes: Notes) -> AssistedSearch:
    return replace(search, notes=notes)


def proposed(points: Floats) -> Population:
    """Return proposals (k, n) that are known to be feasible."""
    repairs = (replace(as_it_is(x), kind=RepairKind.PROPOSED) for x in points)
    return Population(points, tuple(repairs), proposed=True)


def _replaced(
    population: Population, position: int, repair: Repair, sampled: Floats | None = None
) -> Population:
    """Return the population with one candidate replaced."""
    points, repairs = population.sampled.copy(), list(population.repairs)
    points[position] = repair.x if sampled is None else sampled
    repairs[position] = repair
    return Population(points, tuple(repairs))


def _clipped(search: AssistedSearch, x: Floats) -> Floats:
    """Return x, or the point towards it as far from the mean as samples are [Hansen 2011]."""
    d = search.distribution
    length = float(np.sqrt(d.distance_squared(x, d.mean)))
    longest = np.sqrt(d.n) + 2 * d.n / (d.n + 2)
    return np.asarray(d.mean + min(1.0, longest / length) * (x - d.mean) if length > 0 else x)
