"""Calling the simulator once: every outcome is a state, never a made-up number."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from archeng.errors import SimulatorError
from archeng.simulator.design import Design

Simulator = Callable[[Design], Any]


class CallStatus(StrEnum):
    """How one simulator call ended."""

    OK = "ok"
    FAILED = "failed"  # it raised an exception
    INVALID = "invalid"  # it returned NaN, an infinity or no number


@dataclass(frozen=True)
class Call:
    """Outcome of one call. ``objective`` is NaN unless the status is OK."""

    status: CallStatus
    objective: float
    message: str
    seconds: float


def check_simulator(simulator: Any) -> None:
    """Raise unless the simulator can be called."""
    if not callable(simulator):
        raise SimulatorError(
            "The simulator must be a callable that takes a Design and returns a number, got "
            f"{type(simulator).__name__}."
        )


def call(simulator: Simulator, design: Design, *, first: bool = False) -> Call:
    """Call the simulator.

    Parameters
    ----------
    first : bool
        The very first call of a run: an exception or something that is not a number is then
        an error of the set-up, not of the design.

    Raises
    ------
    SimulatorError
        On the first call only, with the simulator's own exception as its cause.
    """
    begin = time.perf_counter()
    try:
        value = simulator(design)
    except Exception as error:
        seconds = time.perf_counter() - begin
        if first:
            raise SimulatorError(
                f"The simulator raised {type(error).__name__} on its first call, at {design}: "
                f"{error}. Its traceback is above."
            ) from error
        return Call(CallStatus.FAILED, float("nan"), traceback.format_exc(limit=-8), seconds)
    seconds = time.perf_counter() - begin
    number = _number(value)
    if number is None:
        message = f"the simulator returned {type(value).__name__} {value!r}, not a number"
        if first:
            raise SimulatorError(f"On its first call {message}. It must return the objective.")
        return Call(CallStatus.INVALID, float("nan"), message, seconds)
    if not np.isfinite(number):
        return Call(CallStatus.INVALID, float("nan"), f"the simulator returned {number}", seconds)
    return Call(CallStatus.OK, number, "", seconds)


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
