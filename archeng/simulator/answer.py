"""What a simulator may return, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.checks import shown
from archeng.model import ONE_OBJECTIVE, RESERVED

OutputValue = float | int | bool | str | list[Any]

_KEYS = RESERVED
_LONGEST = 10_000  # numbers of one output


@dataclass(frozen=True)
class Evaluation:
    """What a simulator found out about a design.

    Attributes
    ----------
    objective : float, optional
        Not needed if the objective of the model is a formula of the outputs.
    constraints : mapping of str to float
        Values of the constraints declared by ``simulated=``, by name.
    outputs : mapping
        Values of the outputs that the model declares (:meth:`archeng.Model.output`), by name.
        Others (numbers, texts, lists of numbers) are recorded and do not influence the search.
    gradients : mapping, optional
        Derivatives of declared outputs, by name, where the simulator has them: a vector in the
        order of ``design.x`` (a matrix with a row for each entry of a vector output), or a
        mapping from names of variables. Models then need fewer calls.

    Examples
    --------
    >>> Evaluation(1.5, constraints={"stress": 2.1e8}, outputs={"mass": 12.0}).objective
    1.5
    """

    objective: float | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    gradients: Mapping[str, Any] = field(default_factory=dict)


class OnlyOutputs(Evaluation):
    """A dictionary of outputs: it must hold those that the model declares, and no others."""


class UnusableAnswerError(ValueError):
    """An answer that is no evaluation; the message says why.

    ``malformed`` answers have the wrong type or the wrong names: the simulator is written
    wrongly. The others are numbers that are not finite, as of a simulation that diverged.
    """

    def __init__(self, message: str, malformed: bool = True) -> None:
        super().__init__(message)
        self.malformed = malformed


def read_answer(value: Any) -> Evaluation:
    """Return a simulator's answer as plain numbers: a number, an `Evaluation` or a mapping.

    Raises
    ------
    UnusableAnswerError
        If a number is missing, is none, or is not finite; or if the answer's own methods fail.
    """
    try:
        return _evaluation(value)
    except UnusableAnswerError:
        raise
    except Exception as error:  # of __array__, __float__, __iter__, ... of a class of others
        raise UnusableAnswerError(
            f"the simulator returned {_named(value)}, which cannot be read "
            f"({type(error).__name__}: {error})"
        ) from error


def _evaluation(value: Any) -> Evaluation:
    if isinstance(value, Mapping):
        return _evaluation(_of_mapping(value))
    if not isinstance(value, Evaluation):
        return Evaluation(_finite("", value))
    for key in ("constraints", "outputs", "gradients"):
        if not isinstance(getattr(value, key), Mapping):
            raise UnusableAnswerError(
                f"the simulator returned {key} = {shown(getattr(value, key))}, expected a "
                "dictionary by name"
            )
    return type(value)(
        None if value.objective is None else _finite(" as objective", value.objective),
        {str(k): _finite(f" as constraint {k!r}", v) for k, v in value.constraints.items()},
        {str(k): _output(str(k), v) for k, v in value.outputs.items()},
        {str(k): _slopes(str(k), v) for k, v in value.gradients.items()},
    )


def _of_mapping(value: Mapping[Any, Any]) -> Evaluation:
    """Return a dictionary as an evaluation: by the names of its parts, or outputs by name."""
    known = [key for key in value if key in _KEYS]
    if len(known) == len(value) and ("objective" in value or "outputs" in value):
        return Evaluation(**value)
    if known or not value:
        raise UnusableAnswerError(
            f"the simulator returned a dictionary with the keys {[str(k) for k in value]}; "
            f"expected 'objective' and, if needed, 'constraints' and 'outputs'"
        )
    return OnlyOutputs(outputs=value)


def _finite(what: str, value: Any) -> float:
    number = _number(value)
    if number is None:
        several = isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.size > 1
        )
        raise UnusableAnswerError(
            f"the simulator returned {_named(value)}{what}, not a number"
            f"{'. ' + ONE_OBJECTIVE if several else ''}"
        )
    if not np.isfinite(number):
        raise UnusableAnswerError(f"the simulator returned {number}{what}", malformed=False)
    return number


def _slopes(name: str, value: Any) -> list[Any] | dict[str, Any]:
    """Return derivatives as JSON can hold them; whether they fit the model is seen later."""
    if isinstance(value, Mapping):
        return {str(k): _gradient(name, v) for k, v in value.items()}
    return _gradient(name, value)


def _gradient(name: str, value: Any) -> list[Any]:
    numbers = _numbers(value)
    if numbers is None or numbers.ndim > 2:
        raise UnusableAnswerError(
            f"the simulator returned {_named(value)} as gradient of {name!r}; expected numbers, or "
            "a dictionary of them by variable"
        )
    return numbers.tolist()  # type: ignore[no-any-return]


def _output(name: str, value: Any) -> OutputValue:
    """Return an output as JSON can hold it."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    numbers = _numbers(value) if isinstance(value, list | tuple | np.ndarray) else None
    if numbers is not None and numbers.ndim in (1, 2) and numbers.size <= _LONGEST:
        return numbers.tolist()  # type: ignore[no-any-return]
    number = _number(value)
    if number is None:
        raise UnusableAnswerError(
            f"the simulator returned {_named(value)} as output {name!r}; expected a number, a "
            "text or a list of numbers"
        )
    return number


def _named(value: Any) -> str:
    return f"{type(value).__name__} {shown(value)}"


def _number(value: Any) -> float | None:
    """Float of a real scalar (also a one-element array), else None."""
    numbers = None if isinstance(value, list | tuple) else _numbers(value)
    return float(numbers.reshape(-1)[0]) if numbers is not None and numbers.size == 1 else None


def _numbers(value: Any) -> NDArray[np.float64] | None:
    """Return an array of real numbers, None if it is none; what is masked is no number."""
    if isinstance(value, dict | str | bytes) or np.ma.is_masked(value):
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and array.ndim == 0:  # such as a Fraction
            array = np.asarray(float(value))
    except OverflowError:
        raise UnusableAnswerError(
            f"the simulator returned {_named(value)}, too large a number", malformed=False
        ) from None
    except Exception:  # an answer may be of any class, and its methods may raise anything
        return None
    return array.astype(float) if array.dtype.kind in "iuf" else None
