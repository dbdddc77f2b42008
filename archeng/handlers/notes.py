"""`Notes`: what ARCH with a model of the objective remembers, and the rules of its rounds.

Pure functions of frozen notes; who calls the model is :mod:`archeng.handlers.assisted`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from archeng.distribution import Floats
from archeng.handlers.arch import ArchSearch
from archeng.handlers.base import Search
from archeng.strategy import StopReason
from archeng.surrogate import Local, Selection, Trust, elsewhere

_PAYS = 0.2  # share of proposals that have to improve the best design
_LOOK = 5  # proposals after which the progress is looked at
_SLOW = 0.01  # of all progress
_NEGLIGIBLE = 1e-12  # gain, relative to all progress ...
_LITTLE = 1e-4  # ... and to how much the designs around differ
_GATHERED = 1e-3  # of all progress: median of a generation above the best design
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
    predicted, step, slope, spread : float
        See :class:`archeng.surrogate.Proposal`; of the first of them.
    to_inject : int
        Whether the best design is a proposal that CMA-ES does not know yet.
    first, mark, since : float, float, int
        Best objective before the first proposal, and at the last look at the progress; proposals
        since then.
    failed : int
        Proposals in a row whose simulation failed.
    gathered : int
        Whether a generation of ARCH with many candidates was about as good as the best design.
    small : float
        Best objective when the trust region became small; NaN while it is not.
    centre : ndarray, shape (n,)
        The design around which the last proposals were made; empty before the first ones.
    starts : ndarray, shape (k, n)
        Feasible designs all over the set.
    local : Local
        The local search: from the beginning if there are simulated constraints, else where the
        proposals have ended.
    closing : bool
        Whether they have.
    moved : bool
        Whether ARCH has found a better design than the local search since.
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
    spread: float = np.inf
    to_inject: int = 0
    first: float = np.nan
    mark: float = np.nan
    since: int = 0
    failed: int = 0
    gathered: int = 0
    small: float = np.nan
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    starts: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    local: Local = field(default_factory=Local)
    closing: bool = False
    moved: bool = False


@dataclass(frozen=True, eq=False)
class AssistedSearch(ArchSearch):
    """The search of ARCH, with notes about the model."""

    notes: Notes
    ended: StopReason | None = None


def negligible(notes: Notes) -> float:
    """Return gains that do not count: rounding, or next to nothing.

    That is: of all progress so far, and of the differences between designs nearby, which may be
    much smaller for an objective that is flat near its optimum.
    """
    progress = 0.0 if np.isnan(notes.first) else notes.first - notes.best
    little = min(_NEGLIGIBLE * progress, _LITTLE * notes.spread)
    return little + 4 * float(np.spacing(abs(notes.best)))


def after_gathering(notes: Notes, merits: Floats, n: int) -> Notes:
    """Return the notes after a generation of a global search, with merits (k,).

    If most candidates are about as good as the best design, the global search is over. What is left
    is a local one, for which the model gets another chance.
    """
    known = merits[np.isfinite(merits)]
    if len(known) <= len(merits) // 2:
        return notes
    best = float(np.fmin(notes.best, known.min()))
    if np.isnan(notes.first):  # no proposal yet
        return replace(notes, first=float(np.median(known)), mark=best, best=best)
    notes = replace(notes, best=best)
    if np.median(known) - best > _GATHERED * (notes.first - best):
        return notes
    return replace(notes, gathered=1, patience=longest_round(n), rest=1, wait=0)


def looked(notes: Notes, best: float) -> Notes:
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


def after_round(notes: Notes, n: int) -> Notes:
    """Return the notes after a round: the next ones are longer or shorter, sooner or later."""
    if notes.hits and notes.hits >= _PAYS * notes.tried:
        patience, rest = min(2 * notes.patience, longest_round(n)), 1
    else:
        patience = max(notes.patience // 2, 1)
        rest = min(2 * notes.rest, _LONGEST_REST) if patience == 1 else 1
    return replace(notes, patience=patience, rest=rest, wait=rest, hits=0, misses=0, tried=0)


def after_generation(notes: Notes, search: Search, closed: bool) -> Notes:
    """Return the notes after a generation of ARCH.

    A collapsed trust region is opened again unless it is to stay ``closed``.
    """
    trust = notes.trust
    if trust.exhausted and not closed:
        spread = search.distribution.sigma / notes.sigma
        radius = float(np.clip(2 * spread, 1e-6, 2.0))
        trust = Trust(radius=radius, most_leaps=trust.most_leaps)
    return replace(notes, trust=trust, wait=max(notes.wait - 1, 0), to_inject=0)


def longest_round(n: int) -> int:
    """Return the most proposals in a row without improvement."""
    return 10 + n
