"""Stopping tests of BIPOP-CMA-ES [H09], each a function of its own.

A new test is written here and nowhere else: a sentence in :class:`StopReason`, a function of
:class:`Progress`, and a line in :data:`STOP_TESTS`, whose order is that of the reasons.

If there are discrete coordinates, tests of step sizes look at the real ones only: margins keep the
others moving for ever. A search without real coordinates ends when the best objective has
not changed for many generations. That says something because of the margins: about a quarter of the
candidates differ from the most probable design in some discrete coordinate, so that in those
generations each of its neighbours has been tried about four times. A category with K rows has K - 1
neighbours and counts as so many halves of a coordinate.

[H09] N. Hansen, Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed,
GECCO workshop, 2009, doi:10.1145/1570256.1570333.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from archeng.distribution import Floats, Integers
from archeng.settings import Settings
from archeng.strategy.cmaes import State
from archeng.strategy.parameters import Parameters

# Of the number of iterations of a restart, see `most_iterations`.
_ITERATIONS, _ITERATIONS_PER_SIZE = 100, 50
# Generations in which the best objective must change: 10 + ceil(30 n / lambda) [H09].
_TOL_WINDOW, _TOL_WINDOW_PER_SIZE = 10, 30
_FLAT_WINDOW = 10  # least number of generations that are searched for flat ones
_FLAT_SHARE = 3  # one flat generation in so many is too much
_FLAT_RANK, _FLAT_QUARTER = 0.1, 4  # k-th best that must differ, 1 + ceil(0.1 + lambda / 4)
_MOST_SIGMA = 1e20  # growth of sigma beyond that of the longest axis
# Least number of generations that can stagnate: 120 + 30 n / lambda [H09].
_STAGNATION, _STAGNATION_PER_SIZE = 120, 30
_STAGNATION_SHARE = 0.2  # of all generations, that are looked at for stagnation
_STAGNATION_WINDOW = 20_000  # the most generations that are looked at
_STAGNATION_PART = 0.3  # of them, first and last, whose medians are compared
_AXIS_STEP = 0.1  # deviations along a principal axis that must change the mean
_COORDINATE_STEP = 0.2  # deviations along a coordinate that must change the mean
_BARREN = 1000  # generations without any objective that end a restart
_SHORTEST, _LONGEST = 1e-150, 1e150  # steps whose squares are floating-point numbers


class StopReason(StrEnum):
    """Why a run, or one of its restarts, ended; the value is the sentence shown to users.

    ``RUNNING`` and ``CUT_OFF`` are of runs that have not ended, as a journal shows them.
    """

    TARGET = "the target objective was reached"
    NOISE = "any further gain is less than the noise of the simulator lets one see"
    MAX_EVALUATIONS = "the budget of simulator calls is used up"
    MAX_COST = "the budget of cost is used up"
    MAX_TIME = "the time limit was reached"
    CALLBACK = "the callback asked to stop"
    INTERRUPTED = "interrupted by the user"
    RUNNING = "the run goes on"
    CUT_OFF = "the run was cut off, or ended with an error; archeng.resume() goes on with it"
    IMPORTED = "its designs were imported from a table; nothing was searched"
    MAX_FAILURES = "too many simulator calls failed"
    MAX_ITERATIONS = "the restart used its number of iterations"
    RESTART_BUDGET = "the restart used its share of the calls"
    CONVERGED = "designs simulated all around the best one show nothing to gain"
    MODEL_EXHAUSTED = "the models expect no better design, but cannot show that there is none"
    TOL_OBJECTIVE = "the best objective has not changed for many generations"
    EQUAL_OBJECTIVES = "most generations had equal objective values"
    TOL_X = "all steps have become negligible"
    TOL_UP_SIGMA = "the step size grew without limit (start too small, or unbounded objective)"
    STAGNATION = "the objective has stagnated"
    CONDITION = "the covariance matrix is too ill-conditioned"
    NOTHING_TO_SIMULATE = "for many generations no candidate was feasible, or no call ended well"
    NO_EFFECT_AXIS = "a step along a principal axis no longer changes the mean"
    NO_EFFECT_COORDINATE = "a step along a coordinate no longer changes the mean"


class GenerationSummary(NamedTuple):
    """What the tests remember of one generation.

    ``best`` and ``median`` objective; ``flat``: the best and the k-th best of the candidates with
    different designs have the same objective.
    """

    best: float
    median: float
    flat: bool


@dataclass(frozen=True, eq=False)
class History:
    """The generations of one restart, of which the tests see the last ones.

    :meth:`add` returns a new history and leaves this one as it is. Both keep their generations
    in one list, of which each sees its own beginning, so that adding takes constant time.
    """

    _shared: list[GenerationSummary] = field(default_factory=list)
    size: int = 0

    @classmethod
    def of(cls, generations: Iterable[tuple[float, float, bool]]) -> History:
        """Return a history of these generations."""
        shared = [GenerationSummary(float(b), float(m), bool(f)) for b, m, f in generations]
        return cls(shared, len(shared))

    def add(self, objectives: Floats, distinct: Sequence[int] | None = None) -> History:
        """Return the history with one more generation of these objectives (lambda,).

        Failed candidates (NaN) count as infinitely bad. ``distinct`` are the positions of
        candidates with different designs (default all): a generation in which many are repaired
        to one vertex does not say that f is flat.
        """
        values = np.where(np.isnan(objectives), np.inf, objectives)
        k = min(1 + math.ceil(_FLAT_RANK + len(values) / _FLAT_QUARTER), len(values)) - 1
        different = np.sort(values if distinct is None else values[list(distinct)])
        several = len(different) > k >= 1
        flat = several and np.isfinite(different[0]) and different[0] == different[k]
        own = len(self._shared) == self.size  # else another history has added to the list
        shared = self._shared if own else self._shared[: self.size]
        shared.append(GenerationSummary(float(values.min()), float(np.median(values)), bool(flat)))
        return History(shared, self.size + 1)

    def last(self, count: int) -> list[GenerationSummary]:
        """Return the last generations, so many of them if there are."""
        return self._shared[max(self.size - count, 0) : self.size]


@dataclass(frozen=True, eq=False)
class Progress:
    """What a stopping test may look at: the restart so far.

    ``initial_sigma`` is the step size with which it began.
    """

    state: State
    parameters: Parameters
    history: History
    initial_sigma: float
    settings: Settings

    @property
    def growth(self) -> float:
        """Step size relative to the initial one."""
        return self.state.distribution.sigma / self.initial_sigma

    @property
    def n(self) -> int:
        """Number of all coordinates."""
        discrete = self.state.discrete
        return self.parameters.n if discrete is None else discrete.lattice.n

    @property
    def real(self) -> Integers | slice:
        """Which of the numeric coordinates are real: all, if there are no discrete ones."""
        discrete = self.state.discrete
        return slice(None) if discrete is None else discrete.real

    @property
    def has_real(self) -> bool:
        """Whether any coordinate is real."""
        return len(self.state.eigenvalues) > 0

    def per_size(self, constant: float) -> float:
        """Return ``constant * n / lambda``."""
        return constant * self._size / self.parameters.population_size

    @property
    def _size(self) -> float:
        """Number of coordinates; a category counts by its neighbours, of which others have two."""
        discrete = self.state.discrete
        rows = [] if discrete is None else [len(levels) for _, levels in discrete.unordered]
        return self.n + sum(max((k - 1) / 2, 1) - 1 for k in rows)


def stop_reasons(
    state: State,
    parameters: Parameters,
    history: History,
    initial_sigma: float,
    settings: Settings,
) -> list[StopReason]:
    """Return all reasons to end this restart, in a fixed order; empty to go on.

    With ``stop_tests=False`` only the end of floating point counts, and a search that has had
    nothing to simulate for a long time.
    """
    progress = Progress(state, parameters, history, initial_sigma, settings)
    for reason, test in _ALWAYS:
        if test(progress):
            return [reason]
    if not settings.stop_tests:
        return []
    return [reason for reason, test in STOP_TESTS if test(progress)]


def _exhausted(progress: Progress) -> bool:
    """Whether the steps are about to leave the range of floating point."""
    d = progress.state.distribution
    if d.n == 0:
        return False
    longest = d.sigma * float(np.abs(d.factor).max())
    return not _SHORTEST < longest < _LONGEST


def _barren(progress: Progress) -> bool:
    """Whether no candidate of many generations had an objective."""
    recent = progress.history.last(_BARREN)
    return len(recent) == _BARREN and min(g.best for g in recent) == math.inf


def most_iterations(n: int, population_size: int) -> float:
    """Return the number of iterations of a restart: 100 + 50 (n + 3)^2 / sqrt(lambda) [H09]."""
    return _ITERATIONS + _ITERATIONS_PER_SIZE * (n + 3) ** 2 / math.sqrt(population_size)


def _too_many_iterations(progress: Progress) -> bool:
    """Whether the restart has used the number of iterations that [H09] grants it."""
    most = most_iterations(progress.n, progress.parameters.population_size)
    return progress.state.generation >= most


def _best_unchanged(progress: Progress) -> bool:
    """Whether the range of the best objectives of the last generations is tiny."""
    window = _TOL_WINDOW + math.ceil(progress.per_size(_TOL_WINDOW_PER_SIZE))
    best = [g.best for g in progress.history.last(window)]
    return len(best) >= window and max(best) - min(best) <= progress.settings.tol_objective


def _often_flat(progress: Progress) -> bool:
    """Whether more than a third of the last n generations were flat.

    Different discrete designs often have the same objective; that says nothing.
    """
    if progress.state.discrete is not None:
        return False
    window = max(progress.n, _FLAT_WINDOW)
    recent = progress.history.last(window)
    return len(recent) >= window and sum(g.flat for g in recent) > window / _FLAT_SHARE


def _steps_negligible(progress: Progress) -> bool:
    """Whether deviations and path are a negligible fraction of the initial deviations."""
    if not progress.has_real:
        return False
    state, tolerance = progress.state, progress.settings.tol_x
    diagonal = state.reference.ndim == 1
    relative = state.reference * state.p_c if diagonal else state.reference @ state.p_c
    path = progress.growth * np.abs(relative)[progress.real]
    longest = progress.growth * math.sqrt(state.eigenvalues[-1])
    return longest < tolerance and bool(np.all(path < tolerance))


def _sigma_exploded(progress: Progress) -> bool:
    """Whether the step size grew without limit although the matrix did not need it."""
    if not progress.has_real:
        return False
    return bool(progress.growth > _MOST_SIGMA * math.sqrt(progress.state.eigenvalues[-1]))


def _stagnated(progress: Progress) -> bool:
    """Whether neither best nor median objectives improved over a long window.

    The medians of its first and of its last 30 % are compared.
    """
    t = progress.history.size
    least = _STAGNATION + progress.per_size(_STAGNATION_PER_SIZE)
    window = int(min(max(_STAGNATION_SHARE * t, least), _STAGNATION_WINDOW))
    if t < window or t < least:
        return False
    part = max(1, int(_STAGNATION_PART * window))

    def worse(values: list[float]) -> bool:
        before, after = float(np.median(values[:part])), float(np.median(values[-part:]))
        if math.isinf(before):  # most failed: that says something only if all did
            return min(values) == math.inf
        return after >= before

    recent = progress.history.last(window)
    return worse([g.best for g in recent]) and worse([g.median for g in recent])


def _ill_conditioned(progress: Progress) -> bool:
    """Whether C, relative to the initial one, has too large a condition number."""
    if not progress.has_real:
        return False
    eigenvalues = progress.state.eigenvalues
    return bool(eigenvalues[-1] > progress.settings.max_condition * max(eigenvalues[0], 0.0))


def _axis_without_effect(progress: Progress) -> bool:
    """Whether a tenth of a deviation along the current principal axis is lost in rounding.

    The axes of a diagonal metric are the coordinates, which have a test of their own.
    """
    state, d = progress.state, progress.state.distribution
    if not progress.has_real or d.factor.ndim == 1:
        return False
    axis = state.axes[state.generation % len(state.axes)]
    same = d.mean == d.mean + _AXIS_STEP * d.sigma * (d.factor @ axis)
    return bool(np.all(same[progress.real]))


def _coordinate_without_effect(progress: Progress) -> bool:
    """Whether a fifth of a deviation along any coordinate is lost in rounding."""
    d = progress.state.distribution
    diagonal = d.factor.ndim == 1
    lengths = np.abs(d.factor) if diagonal else np.sqrt(np.sum(d.factor**2, axis=1))
    same = d.mean == d.mean + _COORDINATE_STEP * (d.sigma * lengths)
    return bool(np.any(same[progress.real]))


StopTest = Callable[[Progress], bool]

STOP_TESTS: tuple[tuple[StopReason, StopTest], ...] = (
    (StopReason.MAX_ITERATIONS, _too_many_iterations),
    (StopReason.TOL_OBJECTIVE, _best_unchanged),
    (StopReason.EQUAL_OBJECTIVES, _often_flat),
    (StopReason.TOL_X, _steps_negligible),
    (StopReason.TOL_UP_SIGMA, _sigma_exploded),
    (StopReason.STAGNATION, _stagnated),
    (StopReason.CONDITION, _ill_conditioned),
    (StopReason.NO_EFFECT_AXIS, _axis_without_effect),
    (StopReason.NO_EFFECT_COORDINATE, _coordinate_without_effect),
)
"""The tests of a restart, in the order in which their reasons are given."""

# Tests that count even with ``stop_tests=False``; the first one that holds is the only reason.
_ALWAYS: tuple[tuple[StopReason, StopTest], ...] = (
    (StopReason.NO_EFFECT_AXIS, _exhausted),
    (StopReason.NOTHING_TO_SIMULATE, _barren),
)
