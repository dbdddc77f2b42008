"""What a simulator may return, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from archeng.model import ONE_OBJECTIVE

Output = float | int | bool | str | list[float]

_KEYS = ("objective", "constraints", "outputs")
_LONGEST = 10_000  # numbers of one output


@dataclass(frozen=True)
class Evaluation:
    """What a simulator found out about a design.

    Attributes
    ----------
    objective : float
    constraints : mapping of str to float
        Values of the constraints declared by ``simulated=``, by name.
    outputs : mapping
        Numbers, texts or lists of numbers to be recorded; they do not influence the search.

    Examples
    --------
    >>> Evaluation(1.5, constraints={"stress": 2.1e8}, outputs={"mass": 12.0}).objective
    1.5
    """

    objective: float
    constraints: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)


class UnusableAnswerError(ValueError):
    """An answer that is no evaluation; the message says why."""


def read_answer(value: Any) -> Evaluation:
    """Return a simulator's answer as plain numbers: a number, an `Evaluation` or a mapping.

    Raises
    ------
    UnusableAnswerError
        If a number is missing, is none, or is not finite.
    """
    if isinstance(value, Mapping):
        unknown = [str(k) for k in value if k not in _KEYS]
        if unknown or "objective" not in value:
            raise UnusableAnswerError(
                f"the simulator returned a dictionary with the keys {[str(k) for k in value]}; "
                f"expected 'objective' and, if needed, 'constraints' and 'outputs'"
            )
        value = Evaluation(**value)
    if not isinstance(value, Evaluation):
        return Evaluation(_finite("", value))
    for key in ("constraints", "outputs"):
        if not isinstance(getattr(value, key), Mapping):
            raise UnusableAnswerError(
                f"the simulator returned {key} = {_short(getattr(value, key))}, expected a "
                "dictionary by name"
            )
    return Evaluation(
        _finite(" as objective", value.objective),
        {str(k): _finite(f" as constraint {k!r}", v) for k, v in value.constraints.items()},
        {str(k): _output(str(k), v) for k, v in value.outputs.items()},
    )


def _finite(what: str, value: Any) -> float:
    number = _number(value)
    if number is None:
        several = isinstance(value, list | tuple | np.ndarray)
        raise UnusableAnswerError(
            f"the simulator returned {type(value).__name__} {_short(value)}{what}, not a number"
            f"{'. ' + ONE_OBJECTIVE if several else ''}"
        )
    if not np.isfinite(number):
        raise UnusableAnswerError(f"the simulator returned {number}{what}")
    return number


def _output(name: str, value: Any) -> Output:
    """Return an output as JSON can hold it."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, list | tuple | np.ndarray) and np.size(value) <= _LONGEST:
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.zeros(())
        if array.ndim == 1:
            return [float(v) for v in array]
    number = _number(value)
    if number is None:
        raise UnusableAnswerError(
            f"the simulator returned {type(value).__name__} {_short(value)} as output {name!r}; "
            "expected a number, a text or a list of numbers"
        )
    return number


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
