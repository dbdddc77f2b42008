"""Named quantities beside the variables: outputs of the simulator, and parameters with a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from archeng.checks import floats, shown
from archeng.errors import ModelError
from archeng.model.variable import Floats, checked_shape, element_names

RESERVED = ("objective", "constraints", "outputs", "gradients")
"""What a simulator's dictionary may have beside outputs: no output has such a name."""


@dataclass(frozen=True)
class Quantity:
    """Name, shape and unit. Matrices are flat column by column, as CasADi stores them."""

    name: str
    shape: tuple[int, ...]
    unit: str = ""

    @cached_property
    def size(self) -> int:
        """Number of scalar entries."""
        return int(np.prod(self.shape, dtype=int))

    def element_names(self) -> Iterator[str]:
        """Names of the entries in flat order."""
        return element_names(self.name, self.shape)

    def flat(self, value: Any) -> Floats | None:
        """Return a value of this shape as a flat vector (size,); None if it has another shape.

        One number in an array is a scalar, too.
        """
        array = floats(value)
        if self.shape == () and array.size == 1:
            array = array.reshape(())
        return array.reshape(-1, order="F") if array.shape == self.shape else None

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"name": self.name, "shape": list(self.shape), "unit": self.unit}


@dataclass(frozen=True)
class Output(Quantity):
    """What the simulator returns under this name."""

    @classmethod
    def declared(cls, name: Any, unit: Any, shape: Any) -> Output:
        """Check what the engineer typed."""
        dims = checked_shape("Output", name, unit, shape)
        if name in RESERVED:
            raise ModelError(f"An output cannot be named {name!r}: choose another name.")
        return cls(name, dims, unit or "")

    @classmethod
    def from_data(cls, record: Mapping[str, Any]) -> Output:
        """Return the output of :meth:`to_data`."""
        return cls(str(record["name"]), _shape(record), str(record["unit"]))


@dataclass(frozen=True, eq=False)
class Parameter(Quantity):
    """A number in the formulas that is not searched for, with its value; ``values``: flat."""

    values: Floats = field(default_factory=lambda: np.zeros(1))

    @classmethod
    def declared(cls, name: Any, value: Any, unit: Any) -> Parameter:
        """Check what the engineer typed; the shape is that of the value."""
        dims = checked_shape("Parameter", name, unit, ())
        array = _numbers(name, value)
        if array.ndim > 2 or array.size == 0:
            raise ModelError(_no_value(name, value))
        return cls(name, array.shape or dims, unit or "").with_value(value)

    def with_value(self, value: Any) -> Parameter:
        """Return the same parameter with another value."""
        array = _numbers(self.name, value)
        flat = self.flat(array)
        if flat is None:
            shape = array.shape
            raise ModelError(f"Parameter {self.name!r}: expected shape {self.shape}, got {shape}.")
        if not np.all(np.isfinite(flat)):
            raise ModelError(_no_value(self.name, value))
        flat = np.array(flat)
        flat.flags.writeable = False
        return replace(self, values=flat)

    @property
    def value(self) -> float | Floats:
        """A float, or an array of its shape."""
        if self.shape == ():
            return float(self.values[0])
        return np.array(self.values.reshape(self.shape, order="F"))

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {**super().to_data(), "values": self.values.tolist()}

    @classmethod
    def from_data(cls, record: Mapping[str, Any]) -> Parameter:
        """Return the parameter of :meth:`to_data`."""
        values = np.array(record["values"], dtype=float)
        return cls(str(record["name"]), _shape(record), str(record["unit"]), values)


def _shape(record: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(d) for d in record["shape"])


def _numbers(name: str, value: Any) -> Floats:
    """Return the value of a parameter as an array; truth values and texts are no numbers."""
    try:
        if np.asarray(value).dtype.kind in "bUS":
            raise ValueError("not numbers")
        return floats(value)
    except Exception as error:  # an object may raise anything
        raise ModelError(_no_value(name, value)) from error


def _no_value(name: str, value: Any) -> str:
    return (
        f"Parameter {name!r} needs a finite number, or a vector or matrix of them, as its value; "
        f"got {shown(value)}."
    )
