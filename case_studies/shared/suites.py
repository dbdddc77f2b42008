"""What suites of problems share: looking up, known optima, objectives of flat vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from archeng.model import Model

Floats = NDArray[np.float64]
Definition = TypeVar("Definition")


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxProblem:
    """A problem of a suite; suites add what else they know.

    Attributes
    ----------
    name : str
    model : archeng.model.Model
        Variables with the box as bounds, and the explicit rows. A new one each time that a problem
        is built.
    objective : callable
        The black box to minimise: takes a flat vector, or whatever ``numpy.asarray`` turns
        into one, and returns a float; NaN where the formula is undefined. It can be pickled.
    lower, upper : ndarray, shape (n,)
        The box.
    f_opt, x_opt : float, ndarray of shape (n,)
        Best known value and point.
    source : str
        Where the figures come from.
    """

    name: str
    model: Model
    objective: Callable[[ArrayLike], float]
    lower: Floats
    upper: Floats
    f_opt: float
    x_opt: Floats
    source: str


def look_up(definitions: Mapping[str, Definition], name: str, suite: str) -> Definition:
    """Return the definition of a problem.

    Raises
    ------
    KeyError
        There is no problem of that name; the message names the suite and its problems.
    """
    if name not in definitions:
        names = ", ".join(sorted(definitions))
        raise KeyError(f"No {suite} problem is named {name!r}; the names are {names}.")
    return definitions[name]


@cache
def known_optima(path: Path) -> dict[str, Any]:
    """Return the known answers of a suite, by the names of its problems."""
    problems: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["problems"]
    return problems


def evaluate(function: Callable[[Floats], float], n: int, x: ArrayLike) -> float:
    """Value at ``x``; NaN or infinite where the formula is undefined, without a warning."""
    vector = np.asarray(x, dtype=float)
    if vector.shape != (n,):
        raise ValueError(f"Expected a vector of {n} numbers, got shape {vector.shape}.")
    with np.errstate(all="ignore"):
        return float(function(vector))


def frozen(values: ArrayLike) -> Floats:
    """Return an array that cannot be written to."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
