"""Calling the simulator once: every outcome is a state, never a made-up number."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from archeng.errors import SimulationTimeoutError, SimulatorError
from archeng.known import Limits
from archeng.simulator.answer import Evaluation, UnusableAnswerError, read_answer
from archeng.simulator.design import Design

Simulator = Callable[[Design], Any]


class CallStatus(StrEnum):
    """How one simulator call ended."""

    OK = "ok"
    FAILED = "failed"  # it raised an exception, or its program reported an error
    INVALID = "invalid"  # it returned NaN, an infinity or no number
    TIMED_OUT = "timed_out"  # it took too long and was killed
    LOST = "lost"  # the process it ran in died
    REUSED = "reused"  # not called: the objective comes from an earlier run


@dataclass(frozen=True, slots=True)
class Call:
    """Outcome of one call. ``objective`` is NaN unless the status is OK (or REUSED).

    ``seconds`` is the time of the last of the ``attempts``; ``constraints`` and ``outputs`` are
    those of the :class:`Evaluation`.
    """

    status: CallStatus
    objective: float
    message: str
    seconds: float
    attempts: int = 1
    constraints: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether there is an objective."""
        return self.status in (CallStatus.OK, CallStatus.REUSED)


def check_simulator(simulator: Any) -> None:
    """Raise unless the simulator can be called."""
    if not callable(simulator):
        raise SimulatorError(
            "The simulator must be a callable that takes a Design and returns a number, got "
            f"{type(simulator).__name__}."
        )


def call(simulator: Simulator, design: Design) -> Call:
    """Call the simulator in this process; exceptions become a status, with their traceback."""
    begin = time.perf_counter()
    try:
        value = simulator(design)
    except SimulationTimeoutError as error:
        return _bad(CallStatus.TIMED_OUT, str(error), begin)
    except SystemExit as error:
        return _bad(CallStatus.FAILED, f"the simulator called sys.exit({error.code!r})", begin)
    except Exception:
        return _bad(CallStatus.FAILED, traceback.format_exc(limit=-8), begin)
    try:
        return _good(read_answer(value), time.perf_counter() - begin)
    except UnusableAnswerError as error:
        return _bad(CallStatus.INVALID, str(error), begin)


def told(value: Any) -> Call:
    """Return the outcome that a value told by the user stands for; None and NaN: failed."""
    if value is None:
        return Call(CallStatus.INVALID, float("nan"), "told as failed", 0.0)
    try:
        return _good(read_answer(value), 0.0)
    except UnusableAnswerError as error:
        message = f"told as failed: {error}".replace("the simulator returned", "got")
        return Call(CallStatus.INVALID, float("nan"), message, 0.0)


def checked(outcome: Call, limits: Limits) -> Call:
    """Return the outcome, an invalid one if the declared constraints are not those returned."""
    if not outcome.good or set(outcome.constraints) == set(limits.names):
        return outcome
    missing = [name for name in limits.names if name not in outcome.constraints]
    strange = [name for name in outcome.constraints if name not in limits.names]
    parts = [f"no value of the declared {missing}"] if missing else []
    if strange:
        parts.append(f"values of {strange}, which simulated= does not declare")
    return replace(
        outcome,
        status=CallStatus.INVALID,
        objective=float("nan"),
        message=(
            f"the simulator returned {' and '.join(parts)}. Return archeng.Evaluation(objective, "
            "constraints={...}) with the names of simulated={...}; what is only to be recorded "
            "belongs into outputs."
        ),
        constraints={},
    )


def _good(answer: Evaluation, seconds: float) -> Call:
    return Call(
        CallStatus.OK,
        answer.objective,
        "",
        seconds,
        constraints=answer.constraints,
        outputs=answer.outputs,
    )


def _bad(status: CallStatus, message: str, begin: float) -> Call:
    return Call(status, float("nan"), message, time.perf_counter() - begin)
