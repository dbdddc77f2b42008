"""What to do about calls that do not end well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

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


def make_policy(
    timeout: Any = None,
    retries: Any = None,
    max_failures: Any = None,
    on_failure: Any = "rank_last",
) -> FailurePolicy:
    """Check what the user typed."""
    if timeout is not None and not (_real(timeout) and timeout > 0):
        raise SettingsError(f"timeout must be positive seconds, got {timeout!r}.")
    if max_failures is not None and not (_integer(max_failures) and max_failures >= 0):
        raise SettingsError(f"max_failures must be a non-negative integer, got {max_failures!r}.")
    if on_failure not in get_args(OnFailure):
        raise SettingsError(f'on_failure must be "rank_last" or "raise", got {on_failure!r}.')
    return FailurePolicy(timeout, _retries(retries), max_failures, on_failure)


def _retries(retries: Any) -> dict[CallStatus, int]:
    """One number holds for exceptions, time-outs and lost workers; a mapping for each state."""
    if retries is None:
        return dict(_DEFAULT_RETRIES)
    if _integer(retries) and retries >= 0:
        states = (CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.LOST)
        return {state: int(retries) for state in states}
    known = [s.value for s in _RETRIED]
    if not isinstance(retries, Mapping):
        raise SettingsError(
            f"retries must be a non-negative integer or a mapping from {known}, got {retries!r}."
        )
    result = dict(_DEFAULT_RETRIES)
    for state, count in retries.items():
        if state not in known or not _integer(count) or count < 0:
            raise SettingsError(
                f"retries: {state!r}: {count!r} is not one of {known} with a non-negative integer."
            )
        result[CallStatus(state)] = int(count)
    return result


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
