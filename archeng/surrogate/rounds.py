"""The rules of ARCH assisted by models: what is simulated next, as a state machine.

The `Phase` of an `AssistedSearch` says what the next generation is::

    START -> ARCH <-> PROPOSE <-> CONSULT <-> LOCAL       without simulated constraints
    START -> ARCH <-> CONSULT <-> LOCAL                   with them

A *round* is what is proposed between two generations of ARCH. It ends when too many proposals in a
row did not improve the best design. Rounds that pay make the next ones longer; rounds that do not
make them shorter and rarer, until they cost a few per cent of the calls. Where the proposals have
ended, a local search is consulted; with simulated constraints it makes all of the proposals.

Pure functions of frozen states. Who calls the models is :mod:`archeng.surrogate.assisted`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from archeng.codec import OMITTED
from archeng.distribution import Floats
from archeng.handlers import ArchSearch
from archeng.settings import Settings
from archeng.strategy import StopReason, suitable_population_size
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Selection
from archeng.surrogate.local import LocalEnd, LocalState
from archeng.surrogate.noisy import NoisyState
from archeng.surrogate.proposer import Proposal
from archeng.surrogate.trust import (
    ProposalKind,
    Trust,
    at_jump,
    shrunk_less,
    trust_after,
    with_leap,
)
from archeng.surrogate.wide import WIDE_BY_NAME


class Phase(StrEnum):
    """What the next generation is."""

    START = "start"  # the first one of ARCH, which contains the start itself
    ARCH = "arch"  # one of ARCH
    PROPOSE = "propose"  # proposals by a model; if it has none, the round is over: one of ARCH
    CONSULT = "consult"  # whatever the local search says; it is asked at once
    LOCAL = "local"  # a design of the local search
    NOISY = "noisy"  # designs of the search under noise


@dataclass(frozen=True)
class Rounds:
    """How long rounds are, how far apart, and the proposals of the present one."""

    patience: int  # proposals in a row without improvement that end a round
    rest: int = 1  # generations of ARCH between rounds ...
    wait: int = 1  # ... and until the next one
    misses: int = 0  # proposals of this round in a row without improvement ...
    hits: int = 0  # ... with improvement ...
    tried: int = 0  # ... and all


@dataclass(frozen=True)
class ObjectiveProgress:
    """Best objective before the first proposal and at the last measurement; proposals since."""

    first: float
    measured: float
    since: int = 0


@dataclass(frozen=True, eq=False)
class AssistedSearch(ArchSearch):
    """The search of ARCH, and what is remembered about models and proposals."""

    sigma: float  # initial step size of the restart
    rounds: Rounds
    trust: Trust
    phase: Phase = Phase.START
    calls_before: int | None = None  # calls before this restart; None until its first one
    selection: Selection | None = None  # the model that was chosen; None as long as it is linear
    starts: Floats | None = None  # feasible designs (k, n) all over the set, once they are needed
    best: float | None = None  # best objective when the last proposals were made
    last: Proposal | None = None  # the first of the last proposals
    proposals: int = 0  # generations of proposals in this restart
    failed: bool = False  # whether the simulation of the last one failed
    progress: ObjectiveProgress | None = None  # None before the first proposal
    small_at: float | None = None  # best objective when the trust region became small, if it is
    inject: bool = False  # whether the best design is a proposal that CMA-ES does not know
    gathered: bool = False  # whether a global search's candidates came near to the best
    local: LocalState | None = None  # the local search, once it was consulted
    ended: StopReason | None = None  # why nothing more is expected of this restart
    repeat: bool = field(default=False, metadata=OMITTED)  # whether the best design comes again
    repeatable: bool | None = field(default=None, metadata=OMITTED)  # the simulator; None: unknown
    noisy: NoisyState | None = field(default=None, metadata=OMITTED)  # the search under noise
    batch: tuple[Proposal, ...] = field(default=(), metadata=OMITTED)  # the others of them
    width: int = field(default=1, metadata=OMITTED)  # calls that are made at a time

    @property
    def may_propose(self) -> bool:
        """Whether models are asked: not while a global search has not gathered."""
        return self.gathered or not self.is_large

    @property
    def may_end_by_model(self) -> bool:
        """Whether the restart may end where the model has nothing better.

        One with more candidates than usual searches globally until these have gathered.
        """
        return self.population_size <= self.usual_size or self.gathered

    @property
    def is_large(self) -> bool:
        """Whether it has so many candidates that ARCH is left alone at first."""
        return self.population_size >= c.GLOBAL_POPULATION * self.usual_size

    @property
    def usual_size(self) -> int:
        """Candidates that restarts have unless they are to search globally."""
        return suitable_population_size(self.distribution.n, self.width)


def first_state(search: ArchSearch, width: int = 1) -> AssistedSearch:
    """Return the state at the begin of a restart of ARCH; so many calls are made at a time."""
    n = search.distribution.n
    times = search.population_size // suitable_population_size(n, width)
    patience = max(longest_round(n) // max(times // 2, 1), 1)
    most_leaps = c.LEAPS + min(n, c.LEAPS_MANY) // 2 if n <= c.LEAPS_MOST_VARIABLES else 0
    return AssistedSearch(
        **vars(search),
        sigma=search.distribution.sigma,
        rounds=Rounds(patience),
        trust=Trust(most_leaps=most_leaps),
        width=width,
    )


def longest_round(n: int) -> int:
    """Return the most proposals in a row without improvement."""
    return c.ROUND_LONGEST + n


def improves(search: AssistedSearch, lowest: float) -> bool:
    """Whether an objective is better than the best one by more than a negligible gain."""
    return search.best is not None and search.best - lowest > negligible_gain(search, search.best)


def negligible_gain(search: AssistedSearch, best: float) -> float:
    """Return the gain up to which an objective counts as the same.

    A small part of all progress so far, and of the differences between designs nearby, which may
    be much smaller for an objective that is flat near its optimum; and rounding.
    """
    progress = 0.0 if search.progress is None else search.progress.first - best
    spread = np.inf if search.last is None else search.last.spread
    little = min(c.GAIN_NEGLIGIBLE * progress, c.GAIN_LITTLE * spread)
    return little + c.GAIN_ROUNDING * float(np.spacing(abs(best)))


def after_global_generation(search: AssistedSearch, objectives: Floats) -> AssistedSearch:
    """ARCH: note whether the candidates of a global search, with objectives (k,), have gathered.

    If most are about as good as the best design, what is left is a local search, for which the
    model gets another chance.
    """
    values = objectives[np.isfinite(objectives)]
    if search.may_propose or len(values) <= len(objectives) // 2:
        return search
    best, median = float(values.min()), float(np.median(values))
    best = best if search.best is None else min(search.best, best)
    search = replace(search, best=best)
    if search.progress is None:  # no proposal yet
        return replace(search, progress=ObjectiveProgress(median, best))
    if median - best > c.GLOBAL_GATHERED * (search.progress.first - best):
        return search
    rounds = replace(search.rounds, patience=longest_round(search.distribution.n), rest=1, wait=0)
    return replace(search, gathered=True, rounds=rounds)


def after_start(search: AssistedSearch, only_local: bool) -> AssistedSearch:
    """START -> PROPOSE or CONSULT: teachers have something to say after one call."""
    return replace(search, phase=Phase.CONSULT if only_local else Phase.PROPOSE)


def after_generation(search: AssistedSearch, improved: bool, settings: Settings) -> AssistedSearch:
    """START, ARCH -> ARCH, PROPOSE or CONSULT, without simulated constraints.

    A trust region that was given up is opened again, unless the model has nothing more to say.
    """
    if search.trust.exhausted and search.best is not None:
        search = _reopened_if_it_paid(search, search.best, settings)
    if search.trust.exhausted and search.failed:
        rounds = replace(search.rounds, wait=0, patience=longest_round(search.distribution.n))
        search = _reopened(replace(search, failed=False, rounds=rounds))
    trust = search.trust
    finished = trust.exhausted and not improved and _model_is_finished(search, settings)
    if trust.exhausted and not (finished and (search.may_end_by_model or search.is_large)):
        spread = search.distribution.sigma / search.sigma
        radius = float(np.clip(c.TRUST_REOPENED_SPREAD * spread, *c.TRUST_REOPENED))
        trust = Trust(radius=radius, most_leaps=trust.most_leaps)
    rounds = replace(search.rounds, wait=max(search.rounds.wait - 1, 0))
    phase = Phase.PROPOSE if rounds.wait == 0 and search.may_propose else Phase.ARCH
    if finished and search.may_end_by_model:
        phase = Phase.CONSULT
    return replace(search, trust=trust, rounds=rounds, phase=phase, inject=False)


def after_generation_with_limits(search: AssistedSearch) -> AssistedSearch:
    """START, ARCH -> ARCH or CONSULT, with simulated constraints."""
    phase = Phase.CONSULT if search.may_propose else Phase.ARCH
    return replace(search, phase=phase, inject=False)


def after_trial(search: AssistedSearch, local: LocalState, only_local: bool) -> AssistedSearch:
    """LOCAL -> CONSULT; after many misses with simulated constraints ARCH.

    ``local`` is the local search after its design was simulated. Without simulated constraints, one
    that finds so much is no end: -> PROPOSE, around the best design.
    """
    n = len(local.centre)
    if local.hits >= longest_round(n) and not only_local and n < c.WIDE_FROM:
        search = _reopened(replace(search, local=None, inject=True, failed=False, small_at=None))
        rounds = Rounds(longest_round(n))
        return replace(search, rounds=rounds, phase=Phase.PROPOSE)
    tired = local.misses >= longest_round(n)
    better = search.local is not None and local.centre is not search.local.centre
    return replace(
        search,
        local=replace(local, misses=0) if tired else local,
        inject=search.inject or better,
        phase=Phase.ARCH if tired and only_local else Phase.CONSULT,
    )


def after_consulting(search: AssistedSearch, local: LocalState, violates: bool) -> AssistedSearch:
    """CONSULT -> LOCAL or ARCH, with an end if the local search has one.

    One that has stalled where simulated constraints are violated begins anew.
    """
    if local.ended is LocalEnd.STALLED and violates:
        return replace(search, local=None, phase=Phase.ARCH)
    ended = None
    if local.ended is not None:
        shown = local.ended is LocalEnd.SHOWN
        ended = StopReason.CONVERGED if shown else StopReason.MODEL_EXHAUSTED
    phase = Phase.ARCH if local.trial is None else Phase.LOCAL
    return replace(search, local=local, phase=phase, ended=ended)


def after_proposals(
    search: AssistedSearch, objectives: Floats, settings: Settings
) -> AssistedSearch:
    """PROPOSE -> PROPOSE or CONSULT, after designs were simulated with these objectives (k,).

    NaN where a simulation failed.
    """
    last, best, rounds = search.last, search.best, search.rounds
    lowest = float(np.nanmin(objectives)) if np.isfinite(objectives).any() else np.inf
    assert last is not None
    assert best is not None
    improved, failed = improves(search, lowest), not np.isfinite(lowest)
    misses = 0 if improved else rounds.misses + (c.ROUND_FAILURE if failed else 1)
    if improved or search.selection is not None:  # no wonder if a linear model fails
        search = replace(search, trust=_trust_after(search, objectives, improved))
    search = replace(
        search,
        rounds=replace(rounds, tried=rounds.tried + 1, hits=rounds.hits + improved, misses=misses),
        proposals=search.proposals + 1,
        failed=failed,
        inject=improved or search.inject,
    )
    search = _progress_measured(search, best, min(lowest, best))
    small = search.trust.radius <= c.TRUST_AGAIN
    if small == (search.small_at is None):
        search = replace(search, small_at=min(lowest, best) if small else None)
    if search.trust.exhausted:
        search = _reopened_if_it_paid(search, min(lowest, best), settings)
    if search.trust.exhausted and search.may_end_by_model:
        finished = _model_is_finished(search, settings)
        return replace(search, phase=Phase.CONSULT if finished else Phase.PROPOSE)
    return search


def _trust_after(search: AssistedSearch, objectives: Floats, improved: bool) -> Trust:
    """Return the trust after proposals with objectives (k,), NaN where a simulation failed.

    The best one counts as if it had been alone; among minima of the model that were as good as
    promised, the one with the longest step. If none is better, the one in the smallest region. A
    linear model that was right is asked for its minimum anywhere.
    """
    last, best, trust = search.last, search.best, search.trust
    assert last is not None
    assert best is not None
    made, values = [last, *search.batch], np.where(np.isnan(objectives), np.inf, objectives)
    if len(made) != len(values):  # of an asynchronous run: whatever came back
        made, values = [last], values.min(keepdims=True)
    gains = best - values
    ratios = [
        float(gains[k] * p.slope / p.predicted) if p.predicted > 0 else 0.0
        for k, p in enumerate(made)
    ]
    k, anywhere = int(np.argmax(gains)), (ProposalKind.LEAP, ProposalKind.WANDER)
    minima = [j for j, p in enumerate(made) if p.kind is ProposalKind.EXPLOIT]
    if improved and made[k].kind not in anywhere:
        good = [j for j in minima if ratios[j] > c.TRUST_GOOD and improves(search, best - gains[j])]
        k = max(good, key=lambda j: made[j].step, default=k)
    elif not improved:
        k = 0
        if last.kind is ProposalKind.EXPLOIT:
            k = min(minima, key=lambda j: made[j].radius)
    kind = made[k].kind if len(made) > 1 else trust.kind
    if kind is ProposalKind.EXPLOIT and made[k].jump < values[k] < np.inf:
        return at_jump(replace(trust, kind=kind))
    if len(made) > 1:
        trust = replace(trust, kind=kind, radius=made[k].radius)
        if not improved and kind in anywhere:
            trust = replace(trust, leaps=trust.leaps + sum(p.kind in anywhere for p in made) - 1)
    after = trust_after(trust, improved, ratios[k], made[k].step)
    linear = search.selection is None and kind is ProposalKind.EXPLOIT
    if improved and linear and ratios[k] > c.TRUST_GOOD:
        return with_leap(after)
    wide = search.selection is not None and search.selection.kind in WIDE_BY_NAME
    slower = c.WIDE_SLOWER if wide else c.TRUST_SLOWER
    return shrunk_less(trust, after, min(slower / search.distribution.n, 1.0))


def round_over(search: AssistedSearch) -> AssistedSearch:
    """PROPOSE -> ARCH: the next rounds are longer or shorter, sooner or later."""
    r, n = search.rounds, search.distribution.n
    if r.hits and r.hits >= c.ROUND_PAYS * r.tried:
        patience, rest = min(2 * r.patience, longest_round(n)), 1
    else:
        patience = max(r.patience // 2, 1)
        rest = min(2 * r.rest, c.ROUND_LONGEST_REST) if patience == 1 else 1
    return replace(search, phase=Phase.ARCH, rounds=Rounds(patience, rest, wait=rest))


def _progress_measured(search: AssistedSearch, before: float, best: float) -> AssistedSearch:
    """Measure the progress from time to time; if it is slow, the next proposal is far away."""
    progress = search.progress or ObjectiveProgress(before, before)
    progress = replace(progress, since=progress.since + 1)
    if progress.since < c.PROGRESS_INTERVAL:
        return replace(search, progress=progress)
    slow = progress.measured - best < c.PROGRESS_SLOW * (progress.first - best)
    if slow and search.selection is not None:
        search = replace(search, trust=with_leap(search.trust))
    return replace(search, progress=replace(progress, measured=best, since=0))


def _model_is_finished(search: AssistedSearch, settings: Settings) -> bool:
    """Whether nothing more is expected of the model.

    Not if it is noisy or was linear until now, nor if the last proposal failed (another search
    around the best design follows).
    """
    chosen = search.selection is not None and search.selection.noise <= c.MODEL_NOISY
    enough = search.proposals > search.distribution.n
    return settings.stop_tests and chosen and enough and not search.failed


def _reopened_if_it_paid(search: AssistedSearch, best: float, settings: Settings) -> AssistedSearch:
    """Open the trust region again if there was some progress since it became small."""
    least = settings.tol_objective + c.PROGRESS_AGAIN * abs(best)
    if search.small_at is None or not search.small_at - best > least:
        return search
    return _reopened(replace(search, small_at=best))


def _reopened(search: AssistedSearch) -> AssistedSearch:
    """Open the trust region a little for another search around the best design, without leaps."""
    most = search.trust.most_leaps
    return replace(search, trust=Trust(c.TRUST_AGAIN, leaps=most, most_leaps=most))
