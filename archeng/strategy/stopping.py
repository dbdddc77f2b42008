"""Stopping tests of BIPOP-CMA-ES [H09], each returning its reason.

[H09] N. Hansen, Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed,
GECCO workshop, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from archeng.distribution import Floats
from archeng.settings import Settings
from archeng.strategy.cmaes import State
from archeng.strategy.parameters import Parameters

_BARREN = 1000  # generations


class StopReason(StrEnum):
    """Why a run, or one of its restarts, ended; the value is the sentence shown to users.

    ``RUNNING`` and ``CUT_OFF`` are of runs that have not ended, as a journal shows them.
    """

    TARGET = "the target objective was reached"
    MAX_EVALUATIONS = "the budget of simulator calls is used up"
    MAX_TIME = "the time limit was reached"
    CALLBACK = "the callback asked to stop"
    INTERRUPTED = "interrupted by the user"
    RUNNING = "the run goes on"
    CUT_OFF = "the run was cut off, or ended with an error; archeng.resume() goes on with it"
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


@dataclass
class History:
    """What the tests remember of one restart: best, k-th best and median objectives."""

    best: list[float] = field(default_factory=list)
    median: list[float] = field(default_factory=list)
    flat: list[bool] = field(default_factory=list)

    def add(self, objectives: Floats, distinct: Sequence[int] | None = None) -> None:
        """Record one generation; failed candidates (NaN) count as infinitely bad.

        ``distinct`` are the positions of candidates with different designs (default all): a
        generation in which many are repaired to one vertex does not say that f is flat.
        """
        values = np.where(np.isnan(objectives), np.inf, objectives)
        k = min(1 + math.ceil(0.1 + len(values) / 4), len(values)) - 1
        different = np.sort(values if distinct is None else values[list(distinct)])
        self.best.append(float(values.min()))
        self.median.append(float(np.median(values)))
        several = len(different) > k >= 1
        flat = several and np.isfinite(different[0]) and different[0] == different[k]
        self.flat.append(bool(flat))


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
    if _exhausted(state):
        return [StopReason.NO_EFFECT_AXIS]
    if _barren(history):
        return [StopReason.NOTHING_TO_SIMULATE]
    if not settings.stop_tests:
        return []
    return list(_reasons(state, parameters, history, initial_sigma, settings))


def _exhausted(state: State) -> bool:
    """Whether the steps are about to leave the range of floating point."""
    d = state.distribution
    longest = d.sigma * float(np.abs(d.factor).max())
    return not 1e-150 < longest < 1e150  # squares of steps are computed


def _barren(history: History) -> bool:
    """Whether no candidate of many generations had an objective."""
    recent = history.best[-_BARREN:]
    return len(recent) == _BARREN and min(recent) == math.inf


def _reasons(
    state: State,
    p: Parameters,
    history: History,
    initial_sigma: float,
    settings: Settings,
) -> Iterator[StopReason]:
    d, t = state.distribution, state.generation
    n, lam = p.n, p.population_size
    deviations = d.sigma * np.sqrt(np.sum(d.factor**2, axis=1))

    # The number of iterations that [H09] grants a restart.
    if t >= 100 + 50 * (n + 3) ** 2 / math.sqrt(lam):
        yield StopReason.MAX_ITERATIONS

    # The range of the best objectives of the last generations is tiny.
    window = 10 + math.ceil(30 * n / lam)
    recent = history.best[-window:]
    if len(recent) >= window and max(recent) - min(recent) <= settings.tol_objective:
        yield StopReason.TOL_OBJECTIVE

    # In more than a third of the last n generations best and k-th best were equal.
    if len(history.flat) >= max(n, 10) and sum(history.flat[-max(n, 10) :]) > max(n, 10) / 3:
        yield StopReason.EQUAL_OBJECTIVES

    # All deviations and the path are a negligible fraction of the initial deviations.
    scale = d.sigma / initial_sigma
    path = scale * np.abs(state.reference @ state.p_c)
    if scale * math.sqrt(state.eigenvalues[-1]) < settings.tol_x and np.all(path < settings.tol_x):
        yield StopReason.TOL_X

    # The step size exploded although the matrix did not need it.
    if d.sigma / initial_sigma > 1e20 * math.sqrt(state.eigenvalues[-1]):
        yield StopReason.TOL_UP_SIGMA

    # Neither best nor median improved over the last part of a long history.
    if _stagnated(history, n, lam):
        yield StopReason.STAGNATION

    if state.eigenvalues[-1] > settings.max_condition * max(state.eigenvalues[0], 0.0):
        yield StopReason.CONDITION

    # A tenth of a deviation along the current principal axis is lost in rounding.
    step = 0.1 * d.sigma * (d.factor @ state.axes[t % n])
    if np.all(d.mean == d.mean + step):
        yield StopReason.NO_EFFECT_AXIS

    # A fifth of a deviation along any coordinate is lost in rounding.
    if np.any(d.mean == d.mean + 0.2 * deviations):
        yield StopReason.NO_EFFECT_COORDINATE


def _stagnated(history: History, n: int, lam: int) -> bool:
    """Median of the last 30 % of the window not better than of its first 30 %, best and median."""
    t = len(history.best)
    least = 120 + 30 * n / lam
    window = int(min(max(0.2 * t, least), 20000))
    if t < window or t < least:
        return False
    part = max(1, int(0.3 * window))

    def worse(values: list[float]) -> bool:
        recent = values[-window:]
        before, after = float(np.median(recent[:part])), float(np.median(recent[-part:]))
        if math.isinf(before):  # most failed: that says something only if all did
            return min(recent) == math.inf
        return after >= before

    return worse(history.best) and worse(history.median)
