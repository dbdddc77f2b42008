"""When failed calls end a run with the simulator's own words."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from archeng.errors import SimulatorError
from archeng.records import CallRecord
from archeng.runner.options import Options
from archeng.runner.state import RunState
from archeng.simulator import CallStatus, FailurePolicy
from archeng.strategy import StopReason

logger = logging.getLogger("archeng")

_SHOWN = 30  # entries of a design in a message
_WHAT = {
    CallStatus.FAILED: "raised an exception or reported an error",
    CallStatus.INVALID: "returned nothing usable",
    CallStatus.TIMED_OUT: "took too long",
    CallStatus.LOST: "killed its process",
}


def check_first_calls(
    evaluations: Sequence[CallRecord], candidates: int, state: RunState, options: Options
) -> None:
    """Raise if all calls of the first generation failed: the set-up is wrong, not a design.

    One with fewer candidates than usual, or with a single one, says nothing yet: the next decides,
    if the budget allows that.
    """
    usual, budget = state.search.population_size, options.max_evaluations or math.inf
    first = len(evaluations) <= candidates
    enough = not first or candidates >= max(min(usual, budget), 2)
    if evaluations and enough and not any(e.good for e in evaluations):
        which = "first generation" if first else "first generations"
        raise failure(
            f"All {len(evaluations)} calls of the {which} failed. The first call",
            evaluations[0],
            evaluations,
        )


def mistaken(call: CallRecord, before: Sequence[CallRecord]) -> SimulatorError:
    """Return the error for a first call that shows a mistake in the simulator."""
    return SimulatorError(
        f"The first call of the simulator {_WHAT[CallStatus(call.status)]}, at {_design(call)}. "
        "It looks like a mistake in the simulator, so no further call is made. If it is how a "
        "simulation fails, raise a RuntimeError there or return NaN: then the run goes on.\n"
        f"{call.message}",
        [*before, call],
    )


def all_failed(
    evaluations: Sequence[CallRecord], stored: Mapping[int, CallRecord], positions: Sequence[int]
) -> bool:
    """Whether a journal has all calls of a first generation and none of them ended well.

    To use them would only repeat the error with which the run ended.
    """
    calls = [*evaluations, *stored.values()]
    return bool(positions) and stored.keys() >= set(positions) and not any(e.good for e in calls)


def after_failure(
    call: CallRecord, policy: FailurePolicy, n_failures: int, evaluations: Sequence[CallRecord]
) -> StopReason | None:
    """Return why a run should stop after a call that did not end well; or raise, if it is to."""
    logger.info("call %d: %s", call.index, call.message.strip())
    if policy.on_failure == "raise":
        raise failure("A call", call, evaluations)
    many = policy.max_failures is not None and n_failures > policy.max_failures
    return StopReason.MAX_FAILURES if many else None


def how_to_go_on(journal: Path) -> str:
    """Return what to do after an error of the simulator, if there is a journal."""
    return (
        f"Once it is mended, archeng.resume({str(journal)!r}, simulator) goes on with the run; "
        "retry_failed=True simulates the failed calls of the last generation again."
    )


def _design(call: CallRecord) -> str:
    """Return the vector of a design, of a long one the first entries."""
    more = f" and {len(call.x) - _SHOWN} more" if len(call.x) > _SHOWN else ""
    return f"{call.x[:_SHOWN].tolist()}{more}"


def failure(subject: str, call: CallRecord, evaluations: Sequence[CallRecord]) -> SimulatorError:
    """Return the error for a failed call: where it was, the traceback, every call so far."""
    what = _WHAT[CallStatus(call.status)]
    return SimulatorError(
        f"{subject} of the simulator {what}, at {_design(call)}:\n{call.message}", evaluations
    )
