"""ARCH assisted by a model of the objective.

Two kinds of generations take turns. In a *proposal* the model says which designs to simulate next
(:mod:`archeng.surrogate`); CMA-ES does not learn from them. Otherwise it is a generation of ARCH as
it is, but for two things: the first one contains the start itself, and a design that was proposed
and is the best one so far is injected into the next one, its step clipped in Mahalanobis
length [Hansen 2011].

Proposals come in rounds. A round ends when too many in a row did not improve the best design, and a
generation of ARCH follows. Rounds that pay make the next ones longer; rounds that do not make them
shorter and rarer, until they cost a few per cent of the calls.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.handlers.arch import Arch
from archeng.handlers.base import Population, Search
from archeng.known import Known
from archeng.repair import Repair, Repairer, RepairKind
from archeng.settings import Settings
from archeng.strategy import default_population_size
from archeng.surrogate import Frame, Mode, Proposer, Selection, Trust, after, elsewhere

_STARTS = 8  # designs from which minima of the model are looked for far away
_REMEMBERED = 3000  # calls that models look at
_PAYS = 0.2  # share of proposals that have to improve the best design
_LOOK = 5  # proposals after which the progress is looked at
_SLOW = 0.01  # of all progress
_NEGLIGIBLE = 1e-12  # gain, relative to all progress
_TOLERANCE = 1e-9  # relative progress that calls for another look around
_AGAIN = 1e-2  # radius of the trust region for it
_NOISY = 1e-2  # noise of the model with which a search does not end
_LONGEST_REST = 4  # generations of ARCH between rounds that do not pay


@dataclass(frozen=True, eq=False)
class Notes:
    """What is remembered between generations, as numbers and arrays.

    Attributes
    ----------
    sigma : float
        Initial step size of the restart; with the initial factor it makes the frame.
    begin : int
        Calls before this restart; -1 until the first generation.
    trust, selection
        State of the model.
    patience : int
        Proposals in a row without improvement that end a round.
    proposals : int
        Of this restart.
    misses, hits, tried : int
        Proposals of this round: without improvement in a row, with, and all.
    rest, wait : int
        Generations of ARCH between rounds, and until the next one.
    best : float
        Best objective when the proposals were made.
    predicted, step, slope : float
        See :class:`archeng.surrogate.Proposal`; of the first of them.
    to_inject : int
        Whether the best design is a proposal that CMA-ES does not know yet.
    first, mark, since : float, float, int
        Best objective before the first proposal, and at the last look at the progress; proposals
        since then.
    small : float
        Best objective when the trust region became small; NaN while it is not.
    starts : ndarray, shape (k, n)
        Feasible designs all over the set.
    """

    sigma: float
    patience: int
    begin: int = -1
    trust: Trust = field(default_factory=Trust)
    selection: Selection = field(default_factory=Selection)
    proposals: int = 0
    misses: int = 0
    hits: int = 0
    tried: int = 0
    rest: int = 1
    wait: int = 1
    best: float = np.nan
    predicted: float = 0.0
    step: float = 0.0
    slope: float = 0.0
    to_inject: int = 0
    first: float = np.nan
    mark: float = np.nan
    since: int = 0
    small: float = np.nan
    starts: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def as_memory(self) -> dict[str, Any]:
        """Return plain numbers and arrays."""
        flat = {f.name: getattr(self, f.name) for f in fields(self)}
        for key in ("trust", "selection"):
            part = asdict(flat.pop(key))
            flat.update({f"{key}_{name}": value for name, value in part.items()})
        return flat

    @classmethod
    def of(cls, search: Search) -> Notes:
        """Return the notes of a search."""
        flat = dict(search.memory)
        parts: dict[str, dict[str, Any]] = {"trust": {}, "selection": {}}
        for name in list(flat):
            head, _, tail = name.partition("_")
            if head in parts:
                parts[head][tail] = flat.pop(name)
        parts["trust"]["mode"] = Mode(parts["trust"]["mode"])
        return cls(**flat, trust=Trust(**parts["trust"]), selection=Selection(**parts["selection"]))


class Assisted:
    """ARCH with proposals by a model of the objective, as a handler.

    Parameters
    ----------
    arch : Arch
    repairer : Repairer
    settings : Settings
    """

    outside = False

    def __init__(self, arch: Arch, repairer: Repairer, settings: Settings) -> None:
        self._arch, self._repairer, self._settings = arch, repairer, settings
        self._proposer = Proposer(repairer)

    def begin(self, distribution: Distribution, anchor: Floats, size: int | None) -> Search:
        """Start a restart of ARCH, nothing known yet."""
        n = distribution.n
        trust = Trust(most_leaps=4 + n // 2)
        notes = Notes(sigma=distribution.sigma, patience=_longest_round(n), trust=trust)
        return _with(self._arch.begin(distribution, anchor, size), notes)

    def populate(
        self, search: Search, rng: np.random.Generator, known: Known
    ) -> tuple[Search, Population]:
        """Make a proposal if one is due, else the candidates of ARCH."""
        notes = Notes.of(search)
        if notes.begin < 0:
            search = _with(search, replace(notes, begin=len(known)))
            search, population = self._arch.populate(search, rng, known)
            return search, _replaced(population, 0, _as_it_is(search.anchor))
        best = _best(known, notes.begin)
        if best is not None and notes.wait == 0:
            search, proposed = self._proposals(search, rng, known, best)
            if proposed is not None:
                return search, proposed
            notes = Notes.of(search)
        search, population = self._arch.populate(search, rng, known)
        if best is not None and notes.to_inject:
            x = known.points[best]
            last = len(population.repairs) - 1
            population = _replaced(population, last, _as_it_is(x), _clipped(search, x))
        return search, population

    def learn(
        self, search: Search, population: Population, objectives: Floats, rng: np.random.Generator
    ) -> Search:
        """Judge the proposals, or let CMA-ES learn."""
        notes = Notes.of(search)
        found = float(np.nanmin(objectives)) if np.isfinite(objectives).any() else np.inf
        improved = notes.best - found > _negligible(notes)
        if not population.proposed:
            search = self._arch.learn(search, population, objectives, rng)
            if notes.trust.exhausted:
                notes = self._again_if_it_paid(notes, notes.best)
            ended = notes.trust.exhausted and not improved and self._may_end(search, notes)
            return replace(_with(search, _after_generation(notes, search, ended)), converged=ended)
        gain = (notes.best - found) * notes.slope
        ratio = gain / notes.predicted if notes.predicted > 0 else 0.0
        learned = improved or notes.selection.prior >= 0  # no wonder if a linear model fails
        notes = replace(
            notes,
            trust=after(notes.trust, improved, ratio, notes.step) if learned else notes.trust,
            proposals=notes.proposals + 1,
            tried=notes.tried + 1,
            hits=notes.hits + improved,
            misses=0 if improved else notes.misses + 1,
            to_inject=1 if improved else notes.to_inject,
        )
        notes = _looked(notes, min(found, notes.best))
        best = min(found, notes.best)
        if notes.trust.radius > _AGAIN:
            notes = replace(notes, small=np.nan)
        elif np.isnan(notes.small):
            notes = replace(notes, small=best)
        if notes.trust.exhausted:
            notes = self._again_if_it_paid(notes, best)
        ended = notes.trust.exhausted and self._may_end(search, notes)
        return replace(_with(search, notes), converged=ended)

    def _again_if_it_paid(self, notes: Notes, best: float) -> Notes:
        """Open the trust region again if there was some progress since it became small."""
        if not notes.small - best > self._settings.tol_objective + _TOLERANCE * abs(best):
            return notes
        most = notes.trust.most_leaps
        return replace(notes, small=best, trust=Trust(_AGAIN, leaps=most, most_leaps=most))

    def _may_end(self, search: Search, notes: Notes) -> bool:
        """Whether a restart may end with the model.

        Not if the model is noisy or was linear until now, nor in a global search with many
        candidates.
        """
        n = search.parameters.n
        usual = search.parameters.population_size <= default_population_size(n)
        learned = notes.selection.prior >= 0 and notes.proposals > n
        return self._settings.stop_tests and usual and learned and notes.selection.noise <= _NOISY

    def _proposals(
        self, search: Search, rng: np.random.Generator, known: Known, best: int
    ) -> tuple[Search, Population | None]:
        """Make proposals around the best design; None if the round is over."""
        notes = Notes.of(search)
        trust = notes.trust
        if (notes.misses < notes.patience or trust.collapsed) and not trust.exhausted:
            inverse = search.state.reference / notes.sigma
            factor = np.asarray(np.linalg.inv(inverse), dtype=float)
            frame = Frame(known.points[best], factor, inverse)
            if len(notes.starts) == 0:
                starts = self._proposer.far_designs(frame, _STARTS, rng)
                notes = replace(notes, starts=starts)
            trust, selection, proposal = self._proposer.propose(
                frame, known.last_and(best, _REMEMBERED), trust, notes.selection, notes.starts, rng
            )
            notes = replace(notes, trust=trust, selection=selection)
            if proposal is not None:
                notes = replace(
                    notes,
                    best=float(known.objectives[best]),
                    predicted=proposal.predicted,
                    step=proposal.step,
                    slope=proposal.slope,
                )
                x = proposal.repair.x
                repair = replace(proposal.repair, kind=RepairKind.PROPOSED, distance_squared=0.0)
                return _with(search, notes), Population(x[None], (repair,), proposed=True)
        return _with(search, _after_round(notes, search.parameters.n)), None


def _negligible(notes: Notes) -> float:
    """Return gains that do not count: rounding, or next to nothing of all progress so far."""
    progress = 0.0 if np.isnan(notes.first) else notes.first - notes.best
    return _NEGLIGIBLE * progress + 4 * float(np.spacing(abs(notes.best)))


def _looked(notes: Notes, best: float) -> Notes:
    """Look at the progress from time to time; if it is slow, the next proposal is elsewhere."""
    if np.isnan(notes.first):
        notes = replace(notes, first=notes.best, mark=notes.best)
    notes = replace(notes, since=notes.since + 1)
    if notes.since < _LOOK:
        return notes
    nonlinear = notes.selection.prior >= 0
    slow = nonlinear and notes.mark - best < _SLOW * (notes.first - best)
    trust = elsewhere(notes.trust) if slow else notes.trust
    return replace(notes, mark=best, since=0, trust=trust)


def _after_round(notes: Notes, n: int) -> Notes:
    """Return the notes after a round: the next ones are longer or shorter, sooner or later."""
    if notes.hits and notes.hits >= _PAYS * notes.tried:
        patience, rest = min(2 * notes.patience, _longest_round(n)), 1
    else:
        patience = max(notes.patience // 2, 1)
        rest = min(2 * notes.rest, _LONGEST_REST) if patience == 1 else 1
    return replace(notes, patience=patience, rest=rest, wait=rest, hits=0, misses=0, tried=0)


def _after_generation(notes: Notes, search: Search, ended: bool) -> Notes:
    """Return the notes after a generation of ARCH; a collapsed trust region is opened again."""
    trust = notes.trust
    if trust.exhausted and not ended:
        spread = search.distribution.sigma / notes.sigma
        radius = float(np.clip(2 * spread, 1e-6, 2.0))
        trust = Trust(radius=radius, most_leaps=trust.most_leaps)
    return replace(notes, trust=trust, wait=max(notes.wait - 1, 0), to_inject=0)


def _longest_round(n: int) -> int:
    return 10 + n


def _best(known: Known, begin: int) -> int | None:
    """Position of the best design of this restart."""
    objectives = known.objectives[begin:]
    if not np.isfinite(objectives).any():
        return None
    return begin + int(np.nanargmin(objectives))


def _with(search: Search, notes: Notes) -> Search:
    return replace(search, memory=notes.as_memory())


def _as_it_is(x: Floats) -> Repair:
    """Return the certificate of a design that is known to be feasible."""
    return Repair(RepairKind.FEASIBLE, x, 0.0, 0.0, 0.0, (), "none", 0)


def _replaced(
    population: Population, position: int, repair: Repair, sampled: Floats | None = None
) -> Population:
    """Return the population with one candidate replaced."""
    points, repairs = population.sampled.copy(), list(population.repairs)
    points[position] = repair.x if sampled is None else sampled
    repairs[position] = repair
    return Population(points, tuple(repairs))


def _clipped(search: Search, x: Floats) -> Floats:
    """Return x, or the point towards it as far from the mean as samples are [Hansen 2011]."""
    d = search.distribution
    length = float(np.sqrt(d.distance_squared(x, d.mean)))
    longest = np.sqrt(d.n) + 2 * d.n / (d.n + 2)
    return np.asarray(d.mean + min(1.0, longest / length) * (x - d.mean) if length > 0 else x)
