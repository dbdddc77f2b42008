"""`Design`: what a simulator receives. Names, not positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.model import Variable

Floats = NDArray[np.float64]


class Design(Mapping[str, Any]):
    """A read-only mapping from variable name to float or array.

    ``design.x`` is the flat vector in declaration order, fixed variables included; NumPy
    functions take the design itself: ``np.asarray(design)``.
    """

    __slots__ = ("_by_name", "_variables", "_x")

    def __init__(self, variables: Sequence[Variable], x: Floats) -> None:
        vector = np.array(x, dtype=float)
        vector.flags.writeable = False
        self._x = vector
        self._variables = tuple(variables)
        self._by_name: dict[str, tuple[int, Variable]] = {}

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The declared variables, with names, bounds and units."""
        return self._variables

    @property
    def x(self) -> Floats:
        """The flat vector in declaration order, read-only."""
        return self._x

    def copy(self) -> Design:
        """Return an equal design with a vector of its own."""
        return Design(self._variables, self._x)

    def __getitem__(self, name: str) -> Any:
        if not self._by_name:
            k = 0
            for variable in self._variables:
                self._by_name[variable.name] = (k, variable)
                k += variable.size
        if name not in self._by_name:
            raise KeyError(f"{name!r} is not a variable; there are {', '.join(self)}.")
        first, variable = self._by_name[name]
        return variable.reshape(self.x[first : first + variable.size])

    def __iter__(self) -> Iterator[str]:
        return (v.name for v in self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.x, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        return list(self) == list(other) and bool(np.array_equal(self.x, other.x))

    def __hash__(self) -> int:
        return hash((tuple(self), self.x.tobytes()))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={self[name]!r}" for name in self)
        return f"Design({inner})"

    def __reduce__(self) -> Any:
        return (Design, (self._variables, np.array(self.x)))
