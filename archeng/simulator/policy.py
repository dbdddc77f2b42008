"""What to do about calls that do not end well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from archeng.checks import is_integer, shown
from archeng.errors import SettingsError
from archeng.simulator.call import Call, CallStatus

OnFailure = Literal["rank_last", "raise"]

_RETRIED = (CallStatus.FAILED, CallStatus.INVALID, CallStatus.TIMED_OUT, CallStatus.LOST)
_DEFAULT_RETRIES = {CallStatus.LOST: 1}


@dataclass(frozen=True)
class FailurePolicy:
    """Time limit, retries, and when a run gives up; see :func:`archeng.solve`.

    Attributes
    ----------
    timeout : float or None
        Seconds that one call may take.
    retries : mapping of CallStatus to int
        How often a call that ended so is repeated.
    max_failures : int or None
        The run stops with an error when more calls than this have failed for good.
    on_failure : {"rank_last", "raise"}
    """

    timeout: float | None = None
    retries: Mapping[CallStatus, int] = field(default_factory=lambda: dict(_DEFAULT_RETRIES))
    max_failures: int | None = None
    on_failure: OnFailure = "rank_last"

    def again(self, outcome: Call) -> bool:
        """Whether a call that ended so is to be repeated."""
        return outcome.attempts <= self.retries.get(outcome.status, 0)


def retry_counts(name: str, value: Any) -> dict[CallStatus, int]:
    """Return how often calls are repeated, by how they ended.

    One number holds for exceptions, time-outs and lost workers; a mapping has one for each state.
    """
    if value is None:
        return dict(_DEFAULT_RETRIES)
    if is_integer(value, 0):
        states = (CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.LOST)
        return {state: int(value) for state in states}
    words = [s.value for s in _RETRIED]
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"{name} must be a non-negative integer or a mapping from {words}, got {shown(value)}."
        )
    counts = dict(_DEFAULT_RETRIES)
    for state, count in value.items():
        if not isinstance(state, str) or state not in words or not is_integer(count, 0):
            raise SettingsError(
                f"{name}: {shown(state)}: {shown(count)} is not one of {words} with a "
                "non-negative integer."
            )
        counts[CallStatus(state)] = int(count)
    return counts
