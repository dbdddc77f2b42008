"""`CallArrays`: the calls of one simulator as arrays that grow, for the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from archeng.distribution import Floats
from archeng.model import Formulas
from archeng.outcomes import PastCalls
from archeng.records import CallRecord
from archeng.simulator import output_vector

_FIRST_ROOM = 64  # calls for which the arrays have room at first; they double when they are full


class Space(Protocol):
    """Which variables are free, as a feasible set says it."""

    @property
    def n(self) -> int:
        """How many."""

    def reduce(self, full: Floats) -> Floats:
        """Return their part of a full vector."""

    def reduce_gradient(self, full: Floats, gradient: Floats) -> Floats:
        """Return derivatives by them, given those by all variables at a full vector."""

    @property
    def hidden(self) -> Any:
        """Positions in a full vector of variables that follow from others; None: there are none."""


class CallArrays:
    """Designs, objectives, simulated constraints and outputs of calls, in their order.

    Parameters
    ----------
    space : FeasibleSet
        Says which variables are free.
    names : sequence of str
        Of the simulated constraints.
    sign : float
        -1 if the objective is maximised.
    formulas : Formulas, optional
        Say which outputs are kept.
    """

    def __init__(
        self, space: Space, names: Sequence[str], sign: float, formulas: Formulas | None
    ) -> None:
        self._space, self._names, self._sign, self._formulas = space, names, sign, formulas
        self._count = 0
        self._points = np.empty((_FIRST_ROOM, space.n))
        self._objectives = np.empty(_FIRST_ROOM)
        self._simulated = np.empty((_FIRST_ROOM, len(names)))
        self._outputs = np.empty((_FIRST_ROOM, 0 if formulas is None else formulas.q))
        self._slopes: Floats | None = None  # until a simulator returns gradients

    def past(self) -> PastCalls:
        """Return what is known so far."""
        every = PastCalls(
            self._points, self._objectives, self._simulated, self._outputs, self._slopes
        )
        return every.taken(slice(self._count))

    def add(self, call: CallRecord, usable: bool) -> None:
        """Take the next call; NaN for one that is not ``usable``."""
        k = self._count
        if k == len(self._points):
            self._points, self._objectives = _doubled(self._points), _doubled(self._objectives)
            self._simulated, self._outputs = _doubled(self._simulated), _doubled(self._outputs)
            self._slopes = None if self._slopes is None else _doubled(self._slopes)
        self._points[k] = self._space.reduce(call.x)
        self._objectives[k] = self._sign * call.objective if usable else np.nan
        self._simulated[k] = [call.constraints[name] for name in self._names] if usable else np.nan
        if self._formulas is not None:
            outputs = output_vector(self._formulas, call.outputs) if usable else np.nan
            self._outputs[k] = outputs
            self._extend_slopes(self._formulas, call, usable)
        self._count += 1

    def _extend_slopes(self, formulas: Formulas, call: CallRecord, usable: bool) -> None:
        """Take the derivatives of outputs, if the simulator gave some."""
        if call.gradients and usable and self._slopes is None:
            self._slopes = np.full((*self._outputs.shape, self._space.n), np.nan)
        if self._slopes is None:
            return
        first, slopes = 0, self._slopes[self._count]
        slopes[:] = np.nan
        for output in formulas.outputs:
            rows = call.gradients.get(output.name, ()) if usable else ()
            for i, row in enumerate(rows):
                slopes[first + i] = self._space.reduce_gradient(call.x, np.array(row))
            first += output.size


def _doubled(a: Floats) -> Floats:
    return np.concatenate((a, np.empty_like(a)))
