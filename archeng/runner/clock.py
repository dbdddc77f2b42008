"""`Clock`: the time that a run has taken, and whether the user or the time ends it."""

from __future__ import annotations

import time

from archeng.runner.signals import Interruption
from archeng.strategy import StopReason


class Clock:
    """Counts the seconds of a run from its first beginning, and listens to Ctrl-C."""

    def __init__(self, max_time: float | None) -> None:
        self.begin = time.monotonic()
        self.interruption = Interruption()
        self._max_time = max_time

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.begin

    def go_on(self, elapsed: float) -> None:
        """Count on from the seconds that an earlier process took."""
        self.begin = time.monotonic() - elapsed

    def early_reason(self) -> StopReason | None:
        """Why a generation under way should be left open: the user, or the time."""
        if self.interruption.requested:
            return StopReason.INTERRUPTED
        late = self._max_time is not None and self.elapsed >= self._max_time
        return StopReason.MAX_TIME if late else None

    def budget_reason(self, calls_left: int | None) -> StopReason | None:
        """Why no further generation should begin: the user, the calls, or the time."""
        reason = self.early_reason()
        if reason is not StopReason.INTERRUPTED and calls_left == 0:
            return StopReason.MAX_EVALUATIONS
        return reason
