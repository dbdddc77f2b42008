"""Calling the simulator once: every outcome is a state, never a made-up number."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from archeng.errors import SimulationTimeoutError, SimulatorError
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

    ``seconds`` is the time of the last of the ``attempts``.
    """

    status: CallStatus
    objective: float
    message: str
    seconds: float
    attempts: int = 1

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
    number = _number(value)
    if number is None:
        message = f"the simulator returned {type(value).__name__} {_short(value)}, not a number"
        return _bad(CallStatus.INVALID, message, begin)
    if not np.isfinite(number):
        return _bad(CallStatus.INVALID, f"the simulator returned {number}", begin)
    return Call(CallStatus.OK, number, "", time.perf_counter() - begin)


def told(value: float | None) -> Call:
    """Return the outcome that an objective told by the user stands for."""
    number = float("nan") if value is None else float(value)
    if np.isfinite(number):
        return Call(CallStatus.OK, number, "", 0.0)
    return Call(CallStatus.INVALID, float("nan"), "told as failed", 0.0)


def _bad(status: CallStatus, message: str, begin: float) -> Call:
    return Call(status, float("nan"), message, time.perf_counter() - begin)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _number(value: Any) -> float | None:
    """Float of a real scalar (also a one-element array), else None."""
    if isinstance(value, list | tuple | dict | str | bytes):
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            array = np.asarray(float(value)) if array.dtype.kind == "O" else np.zeros(0)
        array = array.astype(float)
    except (TypeError, ValueError):
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 else None
