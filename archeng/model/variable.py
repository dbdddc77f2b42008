"""One declared design variable: name, shape, bounds, start, scale, unit."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.checks import floats, shown
from archeng.errors import ModelError

Floats = NDArray[np.float64]

_LARGEST = 10**7  # rows or columns of one variable


@dataclass(frozen=True)
class Variable:
    """A declared variable. Arrays are flat, column by column as CasADi stores matrices.

    Attributes
    ----------
    name, unit : str
    shape : tuple of int
        ``()`` for a scalar.
    lower, upper, start, scale : ndarray, shape (size,)
        ``start`` and ``scale`` are NaN where they were not given.
    """

    name: str
    shape: tuple[int, ...]
    lower: Floats
    upper: Floats
    start: Floats
    scale: Floats
    unit: str = ""

    @property
    def size(self) -> int:
        """Number of scalar entries."""
        return int(np.prod(self.shape, dtype=int))

    def element_names(self) -> Iterator[str]:
        """Names of the entries in flat order: ``t``, or ``w[0]``, ``w[1]``, or ``W[0,1]``."""
        return element_names(self.name, self.shape)

    def reshape(self, flat: Floats) -> float | Floats:
        """Turn the flat values of this variable into a float or an array of its shape."""
        if self.shape == ():
            return float(flat[0])
        return np.asarray(flat, dtype=float).reshape(self.shape, order="F")


def element_names(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Names of the entries of a variable in flat order."""
    if shape == ():
        yield name
        return
    for flat in range(int(np.prod(shape, dtype=int))):
        index = np.unravel_index(flat, shape, order="F")
        yield f"{name}[{','.join(str(int(i)) for i in index)}]"


def symbol_name(name: str) -> str:
    """Return the name of a variable's CasADi symbol: letters, digits and underscores only.

    CasADi reads a name that begins with a bracket as a list of names, and makes as many symbols.
    """
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in str(name))


def make_variable(
    name: str,
    *,
    lower: Any,
    upper: Any,
    start: Any,
    scale: Any,
    unit: str,
    shape: int | tuple[int, ...],
) -> Variable:
    """Check what the engineer typed and build the record; every error names the variable."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"A variable needs a non-empty name; got {shown(name)}.")
    try:
        dims = tuple(operator.index(d) for d in np.atleast_1d(np.asarray(shape, dtype=object)))
    except Exception:  # an object may raise anything
        dims = (0,)
    if len(dims) > 2 or any(not 1 <= d <= _LARGEST for d in dims):
        raise ModelError(
            f"Variable {name!r}: shape must be an int or a tuple of one or two positive ints, "
            f"got {shown(shape)}."
        )
    if unit is not None and not isinstance(unit, str):
        raise ModelError(f"Variable {name!r}: unit must be a text, got {shown(unit)}.")
    low = _flat(name, "lower", -np.inf if lower is None else lower, dims)
    high = _flat(name, "upper", np.inf if upper is None else upper, dims)
    first = _flat(name, "start", np.nan if start is None else start, dims)
    width = _flat(name, "scale", np.nan if scale is None else scale, dims)
    variable = Variable(name, dims, low, high, first, width, unit or "")
    for label, a, b in zip(variable.element_names(), low, high, strict=True):
        if np.isnan(a) or np.isnan(b) or a == np.inf or b == -np.inf:
            raise ModelError(
                f"Variable {label!r}: bounds must be numbers with lower < +inf and "
                f"upper > -inf, got lower={a}, upper={b}."
            )
        if a > b:
            raise ModelError(
                f"Variable {label!r}: lower bound {a:g} is above upper bound {b:g}. "
                "Swap them, or use lower == upper to fix the variable."
            )
    if start is not None and not np.all(np.isfinite(first)):
        raise ModelError(f"Variable {name!r}: start must be finite, got {shown(start)}.")
    if scale is not None and not (np.all(np.isfinite(width)) and np.all(width > 0)):
        raise ModelError(
            f"Variable {name!r}: scale must be positive and finite, got {shown(scale)}."
        )
    return variable


def _flat(name: str, what: str, value: Any, dims: tuple[int, ...]) -> Floats:
    """Broadcast a scalar or array option to the flat (column-major) entries of a variable."""
    try:
        full = np.broadcast_to(floats(value), dims)
    except ValueError as error:
        raise ModelError(
            f"Variable {name!r}: {what}={shown(value)} is not a number or an array of shape {dims}."
        ) from error
    flat = np.array(full, dtype=float).reshape(-1, order="F")
    flat.flags.writeable = False
    return flat
