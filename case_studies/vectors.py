"""What suites of problems share: objectives of flat vectors, arrays that nobody can change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
