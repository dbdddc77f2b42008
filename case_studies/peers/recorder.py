"""`Recorder`: the objective as a method sees it, and what the method did with it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NEVER_SEEN = 1e10
"""Stands for a failed call as long as no call has succeeded, see :meth:`Recorder.finite`."""


class Finished(BaseException):
    """The run is over: target, budget or time.

    Not an ``Exception``, because methods that survive a failing objective catch those.
    """


class Recorder:
    """Count calls, judge designs, and stop the method at target, budget or time limit.

    Parameters
    ----------
    objective : callable
        The true objective of a design. An exception counts as NaN.
    feasible : callable
        Whether a design satisfies the explicit constraints. Asked at every call.
    target : float
        A feasible design whose true objective is at most this ends the run.
    budget : int
        Most calls.
    seconds : float
        Most processor time of the whole run, the objective included.
    seen : callable, optional
        What the method is told, from the true objective and the design; NaN stands for a failed
        call, which never counts as a success. By default the true objective.

    Attributes
    ----------
    calls, infeasible_calls : int
        All calls, and those at designs that are not feasible.
    calls_to_target : int or None
        Number of the call that reached the target.
    failed_calls : int
        Calls that gave no number.
    best : float
        Least true objective at a feasible design, infinite if there was none.
    curve : list of (int, float)
        Number of the call and ``best``, at each improvement.
    stop : str
        ``target``, ``budget`` or ``time``; ``ended`` while nothing has stopped the method.
    """

    def __init__(
        self,
        objective: Callable[[Floats], float],
        feasible: Callable[[Floats], bool],
        *,
        target: float,
        budget: int,
        seconds: float = math.inf,
        seen: Callable[[float, Floats], float] | None = None,
    ) -> None:
        if budget < 1:
            raise ValueError(f"budget must be at least 1, got {budget}.")
        self._objective, self._feasible, self._seen = objective, feasible, seen
        self._target, self._budget, self._seconds = target, budget, seconds
        self._begin, self._inside = time.process_time(), 0.0
        self._worst = -math.inf
        self.calls = self.infeasible_calls = self.failed_calls = 0
        self.curve: list[tuple[int, float]] = []
        self.calls_to_target: int | None = None
        self.best = math.inf
        self.stop = "ended"

    def __call__(self, x: ArrayLike) -> float:
        """Return what the simulator says of a design: a number, or NaN if the call failed."""
        self.tick()
        begin = time.process_time()
        try:
            return self._call(np.array(x, dtype=float))
        finally:
            self._inside += time.process_time() - begin

    def finite(self, x: ArrayLike) -> float:
        """Call; a failed call gives the worst number seen so far.

        For methods that cannot take NaN. Before any success it is ``NEVER_SEEN``.
        """
        value = self(x)
        if math.isfinite(value):
            return value
        return self._worst if math.isfinite(self._worst) else NEVER_SEEN

    def allows(self, x: Floats) -> bool:
        """Whether a design satisfies the explicit constraints, by the judge of the run. Free."""
        return self._feasible(x)

    def tick(self) -> None:
        """Raise `Finished` if the run is over. Cheap; constraints call it too."""
        if self.stop != "ended":
            raise Finished(self.stop)
        if time.process_time() - self._begin > self._seconds:
            self._finish("time")

    @property
    def calls_left(self) -> int:
        """Return how many calls the budget still allows."""
        return self._budget - self.calls

    @property
    def infeasible_share(self) -> float | None:
        """Return the share of calls at infeasible designs; None without calls."""
        return self.infeasible_calls / self.calls if self.calls else None

    def overhead_ms(self) -> float | None:
        """Milliseconds of processor time per call so far outside of the objective."""
        outside = time.process_time() - self._begin - self._inside
        return 1e3 * outside / self.calls if self.calls else None

    def _call(self, x: Floats) -> float:
        try:
            truth = float(self._objective(x))
        except Exception:
            truth = math.nan
        value = truth if self._seen is None else self._seen(truth, x)
        self.calls += 1
        feasible = self._feasible(x)
        self.infeasible_calls += not feasible
        self.failed_calls += not math.isfinite(value)
        if math.isfinite(value):
            self._worst = max(self._worst, value)
            if feasible and truth < self.best:
                self.best = truth
                self.curve.append((self.calls, truth))
                if truth <= self._target:
                    self.calls_to_target = self.calls
                    self._finish("target")
        if self.calls >= self._budget:
            self._finish("budget")
        return value

    def _finish(self, reason: str) -> None:
        self.stop = reason
        raise Finished(reason)
