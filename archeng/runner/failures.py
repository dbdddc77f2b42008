"""When failed calls end a run with the simulator's own words."""

from __future__ import annotations

from collections.abc import Sequence

from archeng.errors import SimulatorError
from archeng.records import CallRecord
from archeng.simulator import CallStatus

_WHAT = {
    CallStatus.FAILED: "raised an exception or reported an error",
    CallStatus.INVALID: "returned nothing usable",
    CallStatus.TIMED_OUT: "took too long",
    CallStatus.LOST: "killed its process",
}


def check_first_calls(evaluations: Sequence[CallRecord], candidates: int) -> None:
    """Raise if all calls of the first generation failed: the set-up is wrong, not a design.

    With a single candidate per generation one failed call says nothing yet: the next decides.
    """
    enough = len(evaluations) > 1 or candidates > 1
    if evaluations and enough and not any(e.good for e in evaluations):
        raise failure(
            f"All {len(evaluations)} calls of the first generation failed. The first call",
            evaluations[0],
            evaluations,
        )


def failure(subject: str, call: CallRecord, evaluations: Sequence[CallRecord]) -> SimulatorError:
    """Return the error for a failed call: where it was, the traceback, every call so far."""
    what = _WHAT[CallStatus(call.status)]
    return SimulatorError(
        f"{subject} of the simulator {what}, at {call.x.tolist()}:\n{call.message}", evaluations
    )
