"""Calling the simulator once: every outcome is a state, never a made-up number."""

from __future__ import annotations

import contextlib
import math
import os
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NoReturn

from archeng.errors import SimulationTimeoutError, SimulatorError
from archeng.simulator.answer import OnlyOutputs, UnusableAnswerError, read_answer
from archeng.simulator.design import Design

Simulator = Callable[[Design], Any]

MISTAKES = (
    AttributeError,
    ImportError,
    LookupError,  # KeyError, IndexError
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)
"""Exceptions that tell of a mistake in the program text rather than of a simulation that failed."""


class EndOfRunError(BaseException):
    """Raised inside a simulator of our own adapters to end the run; calls let it pass."""


class CallStatus(StrEnum):
    """How one simulator call ended."""

    OK = "ok"
    FAILED = "failed"  # it raised an exception, or its program reported an error
    INVALID = "invalid"  # it returned NaN, an infinity, no number, or wrong constraints
    TIMED_OUT = "timed_out"  # it took too long and was killed
    LOST = "lost"  # the process it ran in died
    REUSED = "reused"  # not called: the objective comes from an earlier run


GOOD = (CallStatus.OK, CallStatus.REUSED)
"""Of calls with an objective."""


@dataclass(frozen=True, slots=True)
class Call:
    """Outcome of one call. ``objective`` is NaN unless the status is OK (or REUSED).

    ``seconds`` is the time of the last of the ``attempts``; ``constraints``, ``outputs`` and
    ``gradients`` are those of the :class:`Evaluation`, ``strict`` says that it was a dictionary of
    outputs and nothing else. ``parameters_read`` are those that the simulator looked at.
    ``mistake`` says that the simulator is written wrongly, as far as one can tell; ``cause`` is its
    exception, if the call was made in this process.
    """

    status: CallStatus
    objective: float = math.nan
    message: str = ""
    seconds: float = 0.0
    attempts: int = 1
    constraints: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    gradients: Mapping[str, Any] = field(default_factory=dict)
    parameters_read: tuple[str, ...] = ()
    strict: bool = False
    mistake: bool = False
    cause: BaseException | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> Any:
        """Leave the exception behind: it need not be picklable, and its text is the message."""
        return Call, tuple(getattr(self, f.name) for f in fields(self) if f.name != "cause")

    @property
    def good(self) -> bool:
        """Whether there is an objective."""
        return self.status in GOOD

    @property
    def summary(self) -> str:
        """The message in one line: of a traceback the last, else the first."""
        lines = self.message.strip().splitlines() or [""]
        return lines[-1 if lines[0].startswith("Traceback") else 0]


def check_simulator(simulator: Any) -> None:
    """Raise unless the simulator can be called."""
    if not callable(simulator):
        raise SimulatorError(
            "The simulator must be a callable that takes a Design and returns a number, got "
            f"{type(simulator).__name__}."
        )


def call(simulator: Simulator, design: Design) -> Call:
    """Call the simulator in this process; exceptions become a status, with their traceback.

    The simulator gets a copy of the design. Only Ctrl-C passes. A process that the simulator
    forks ends here: it must never go on as a second copy of ours.
    """
    process, begin = os.getpid(), time.perf_counter()
    given = design.copy()
    try:
        value = simulator(given)
    except BaseException as error:
        if os.getpid() != process:
            _end_of_fork(error)
        if isinstance(error, KeyboardInterrupt | EndOfRunError):
            raise
        outcome = _raised(error)
    else:
        if os.getpid() != process:
            _end_of_fork(None)
        outcome = _returned(value)
    seconds = time.perf_counter() - begin
    read = tuple(sorted(given.parameters.names_read))
    return replace(outcome, seconds=seconds, parameters_read=read)


def _returned(value: Any) -> Call:
    """Return the outcome of a simulator that returned something."""
    try:
        answer = read_answer(value)
    except UnusableAnswerError as error:
        return Call(CallStatus.INVALID, message=str(error), mistake=error.malformed)
    return Call(
        CallStatus.OK,
        math.nan if answer.objective is None else answer.objective,
        constraints=answer.constraints,
        outputs=answer.outputs,
        gradients=answer.gradients,
        strict=isinstance(answer, OnlyOutputs),
    )


def _raised(error: BaseException) -> Call:
    """Return the outcome of a simulator that raised something."""
    if isinstance(error, SimulationTimeoutError):
        return Call(CallStatus.TIMED_OUT, message=str(error))
    if isinstance(error, SystemExit):
        return Call(CallStatus.FAILED, message=f"the simulator called sys.exit({error.code!r})")
    text = "".join(traceback.format_exception(error, limit=-8))  # of the frames the last ones
    mistake = isinstance(error, MISTAKES)
    return Call(CallStatus.FAILED, message=text, mistake=mistake, cause=error)


def _end_of_fork(error: BaseException | None) -> NoReturn:
    """End a process that the simulator forked, as Python would have ended it, but at once."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        code = 1
        with contextlib.suppress(Exception):
            text = "".join(traceback.format_exception(error))
            os.write(2, text.encode("utf-8", "backslashreplace"))
    os._exit(code & 0xFF)


def told(value: Any) -> Call:
    """Return the outcome that a value told by the user stands for; None and NaN: failed."""
    if value is None:
        return Call(CallStatus.INVALID, message="told as failed")
    outcome = _returned(value)
    if outcome.good:
        return outcome
    message = f"told as failed: {outcome.message}".replace("the simulator returned", "got")
    return Call(CallStatus.INVALID, message=message)
