"""`PlainFunction`: a function written in Python where a compiled CasADi function is expected.

Rows of a reduced model need Newton's method, so they are no formulas; the repair builds its own
compiled functions around those of a feasible set all the same. The method that computes must be
one of an object that can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from archeng.model.callables import BRIDGE
from archeng.model.functions import FastFunction
from archeng.model.variable import Floats

Size = tuple[int, int]
Evaluate = Callable[..., Sequence[Floats]]


class _Callback(ca.Callback):
    """The function as CasADi calls it."""

    def __init__(self, name: str, evaluate: Evaluate, ins: list[Size], outs: list[Size]) -> None:
        ca.Callback.__init__(self)
        self._evaluate, self._ins, self._outs = evaluate, ins, outs
        self.construct(f"{BRIDGE}{name}", {})

    def get_n_in(self) -> int:
        """Return the number of inputs."""
        return len(self._ins)

    def get_n_out(self) -> int:
        """Return the number of outputs."""
        return len(self._outs)

    def get_sparsity_in(self, i: int) -> Any:
        """All inputs are dense."""
        return ca.Sparsity.dense(*self._ins[i])

    def get_sparsity_out(self, i: int) -> Any:
        """All outputs are dense."""
        return ca.Sparsity.dense(*self._outs[i])

    def has_eval_buffer(self) -> bool:
        """Evaluate without copies."""
        return True

    def eval_buffer(self, inputs: Any, outputs: Any) -> int:
        """Evaluate, and write the outputs that are asked for."""
        results = self._evaluate(*(np.array(np.frombuffer(i)) for i in inputs))
        for target, value in zip(outputs, results, strict=True):
            if target is not None:
                np.frombuffer(target)[:] = value.reshape(-1, order="F")
        return 0


class PlainFunction(FastFunction):
    """A Python function of vectors, by itself and inside compiled functions.

    Parameters
    ----------
    name : str
    evaluate : callable
        Takes the inputs as vectors and returns the outputs as arrays.
    ins, outs : list of tuple of int
        Their sizes.
    matrices : tuple of int
        Which outputs are matrices; the others are vectors.
    """

    def __init__(
        self,
        name: str,
        evaluate: Evaluate,
        ins: list[Size],
        outs: list[Size],
        matrices: tuple[int, ...] = (),
    ) -> None:
        self._about = name, evaluate, ins, outs, matrices
        self._call, self._callback = evaluate, _Callback(name, evaluate, ins, outs)
        symbols = [ca.MX.sym("x", *size) for size in ins]
        results = self._callback.call(symbols)
        super().__init__(ca.Function(name, symbols, results), matrices)

    def __call__(self, *arguments: Floats) -> list[Floats]:
        """Evaluate without CasADi."""
        return [np.array(value) for value in self._call(*arguments)]

    def single(self, argument: Floats) -> Floats:
        """Evaluate a function of one vector with one vector result."""
        return np.array(self._call(argument)[0])

    def __reduce__(self) -> Any:
        return PlainFunction, self._about
