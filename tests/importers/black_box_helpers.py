"""Callbacks that remember where they were called, and problems with them inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np


class Box(ca.Callback):
    """A function of vectors, as a Callback: remembers its arguments, may have derivatives."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        inputs: list[int],
        outputs: dict[str, tuple[int, int]],
        **options: Any,
    ) -> None:
        ca.Callback.__init__(self)
        self.function, self.inputs, self.outputs = function, inputs, outputs
        self.calls: list[list[np.ndarray[Any, Any]]] = []
        self.construct(name, options)

    def get_n_in(self) -> int:
        return len(self.inputs)

    def get_n_out(self) -> int:
        return len(self.outputs)

    def get_name_out(self, i: int) -> str:
        return list(self.outputs)[i]

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self.inputs[i], 1)

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(*list(self.outputs.values())[i])

    def eval(self, arguments: Any) -> Any:
        values = [np.asarray(a.full(), dtype=float).reshape(-1) for a in arguments]
        self.calls.append(values)
        return self.function(*values)


def stress_of(x: Any, load: Any) -> list[Any]:
    return [2 * load / (x[0] * x[1] ** 2)]


def beam(function: Callable[..., Any] = stress_of, **options: Any) -> tuple[Any, Box]:
    """Least area x0 x1 with stress 2 load / (x0 x1^2) <= 2, x1 <= 2 x0, 0.2 <= x <= 5.

    With load 6 the optimum is x0^3 = 1.5, x1 = 2 x0: area 2 * 1.5^(2/3).
    """
    box = Box("fem", function, [2, 1], {"stress": (1, 1)}, **options)
    opti = ca.Opti()
    x, load = opti.variable(2), opti.parameter()
    opti.set_value(load, 6)
    opti.set_initial(x, 2)
    opti.subject_to(opti.bounded(0.2, x, 5))
    opti.subject_to(x[1] <= 2 * x[0])
    opti.subject_to(box(x, load) <= 2)
    opti.minimize(x[0] * x[1])
    return opti, box


BEST = 2 * 1.5 ** (2 / 3)


def assert_explicit(designs: Any) -> None:
    """The explicit constraints of the beam hold, by plain NumPy."""
    x = np.array(designs)
    assert len(x)
    assert (x >= 0.2).all()
    assert (x <= 5).all()
    assert (x[:, 1] <= 2 * x[:, 0]).all()
