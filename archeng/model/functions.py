"""CasADi functions that are called thousands of times, without the cost of conversions.

CasADi's ordinary call converts every argument to its own matrix type (tens of
microseconds). Its buffer interface reads and writes NumPy memory directly (a few).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def connected(function: Any, inputs: Iterable[Any], outputs: Iterable[Any]) -> Callable[[], None]:
    """Return a call of a CasADi function that reads and writes these arrays in place.

    Matrices are stored column by column. The caller keeps the arrays alive.
    """
    buffer, evaluate = function.buffer()
    for i, array in enumerate(inputs):
        buffer.set_arg(i, memoryview(array.reshape(-1, order="F")))
    for i, array in enumerate(outputs):
        buffer.set_res(i, memoryview(array.reshape(-1, order="F")))
    evaluate.buffer = buffer  # CasADi does not keep it
    return evaluate  # type: ignore[no-any-return]


class FastFunction:
    """A CasADi function with dense inputs and outputs, called on NumPy arrays.

    Parameters
    ----------
    function : casadi.Function
        Kept as an attribute, to build other functions from.
    matrices : tuple of int
        Which outputs are matrices; the others come back one-dimensional. Matrices are stored
        column by column, as CasADi does. Results are fresh arrays.
    """

    def __init__(self, function: Any, matrices: tuple[int, ...] = ()) -> None:
        self.function, self._matrices = function, matrices
        self._inputs = [np.zeros(function.size_in(i), order="F") for i in range(function.n_in())]
        self._outputs = [np.zeros(function.size_out(i), order="F") for i in range(function.n_out())]
        self._in: list[Any] = [a.reshape(-1, order="F") for a in self._inputs]
        self._out: list[Any] = [a.reshape(-1, order="F") for a in self._outputs]
        self._vector = [i not in matrices for i in range(function.n_out())]
        self._evaluate = connected(function, self._in, self._out)

    @classmethod
    def of(
        cls, name: str, inputs: list[Any], outputs: list[Any], matrices: tuple[int, ...] = ()
    ) -> FastFunction:
        """Compile expressions of symbols."""
        return cls(ca.Function(name, inputs, [ca.densify(o) for o in outputs]), matrices)

    def __call__(self, *arguments: Floats) -> list[Floats]:
        """Evaluate on vectors and matrices of the right sizes."""
        for flat, full, value in zip(self._in, self._inputs, arguments, strict=True):
            if value.ndim == 1:
                flat[:] = value
            else:
                full[:] = value
        self._evaluate()
        return [
            flat.copy() if vector else full.copy(order="F")
            for flat, full, vector in zip(self._out, self._outputs, self._vector, strict=True)
        ]

    def single(self, argument: Floats) -> Floats:
        """Evaluate a function of one vector with one vector result."""
        self._in[0][:] = argument
        self._evaluate()
        return self._out[0].copy()  # type: ignore[no-any-return]

    def many(self, arguments: Floats) -> Floats:
        """Evaluate a function of one vector at each row (k, n), with results (k, m)."""
        if len(arguments) == 0:
            return np.zeros((0, self._outputs[0].size))
        return np.array([self.single(argument) for argument in arguments])

    @property
    def failed(self) -> bool:
        """Whether the last call had no result: outputs are then those of an earlier call.

        Nothing raises; the functions that can fail are those that solve equations.
        """
        return bool(self._evaluate.buffer.ret() != 0)  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return FastFunction, (self.function, self._matrices)
