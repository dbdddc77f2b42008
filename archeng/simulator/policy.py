"""What to do about calls that do not end well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from archeng.checks import choice, integer, is_integer, seconds, shown
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
    choice("on_failure", on_failure, get_args(OnFailure))
    return FailurePolicy(
        None if timeout is None else seconds("timeout", timeout),
        _retries(retries),
        None if max_failures is None else integer("max_failures", max_failures, 0),
        on_failure,
    )


def _retries(retries: Any) -> dict[CallStatus, int]:
    """One number holds for exceptions, time-outs and lost workers; a mapping for each state."""
    if retries is None:
        return dict(_DEFAULT_RETRIES)
    if is_integer(retries, 0):
        states = (CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.LOST)
        return {state: int(retries) for state in states}
    known = [s.value for s in _RETRIED]
    if not isinstance(retries, Mapping):
        raise SettingsError(
            f"retries must be a non-negative integer or a mapping from {known}, got "
            f"{shown(retries)}."
        )
    result = dict(_DEFAULT_RETRIES)
    for state, count in retries.items():
        if not isinstance(state, str) or state not in known or not is_integer(count, 0):
            raise SettingsError(
                f"retries: {shown(state)}: {shown(count)} is not one of {known} with a "
                "non-negative integer."
            )
        result[CallStatus(state)] = int(count)
    return result
