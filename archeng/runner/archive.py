"""`Archive`: every finished call of a run, the best of them, and which designs are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archeng.known import Known
from archeng.model import FeasibleSet
from archeng.records import Evaluation
from archeng.simulator import Call, CallStatus, Design

_FIRST = 64  # calls for which there is room at first


class Archive:
    """Records in the order of the run.

    Parameters
    ----------
    feasible_set : FeasibleSet
    sign : float
        -1 to maximise.
    reuse_designs : bool
        Whether a design that comes up again takes the outcome of its first simulation.
    earlier : mapping
        Objectives of designs that earlier runs simulated, by the bytes of the full vector.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        sign: float,
        reuse_designs: bool,
        earlier: Mapping[bytes, float],
    ) -> None:
        self.evaluations: list[Evaluation] = []
        self.best: Evaluation | None = None
        self.n_calls = 0
        self.n_failures = 0
        self._feasible_set = feasible_set
        self._sign = sign
        self._reuse = reuse_designs
        self._earlier = earlier
        self._index: dict[bytes, int] = {}
        self._points = np.empty((_FIRST, feasible_set.n))
        self._objectives = np.empty(_FIRST)

    def add(self, evaluation: Evaluation) -> None:
        """Take a finished call."""
        self._remember(evaluation)
        if self._reuse:
            self._index[evaluation.x.tobytes()] = len(self.evaluations)
        self.evaluations.append(evaluation)
        self.n_calls += evaluation.status != CallStatus.REUSED
        if not evaluation.good:
            self.n_failures += 1
            return
        if not evaluation.feasible:
            return
        sign = self._sign
        if self.best is None or sign * evaluation.objective < sign * self.best.objective:
            self.best = evaluation

    def find(self, design: Design | None) -> Evaluation | None:
        """Return the call of the same design in this run, if there is one."""
        index = None if design is None else self._index.get(design.x.tobytes())
        return None if index is None else self.evaluations[index]

    def find_earlier(self, design: Design) -> Call | None:
        """Return the outcome of the same design in an earlier run, if it is known."""
        objective = self._earlier.get(design.x.tobytes())
        if objective is None:
            return None
        return Call(CallStatus.REUSED, objective, "", 0.0)

    def key(self, design: Design, position: int) -> bytes:
        """Return what tells new designs apart: their vector, or their position."""
        return design.x.tobytes() if self._reuse else position.to_bytes(8, "big")

    def known(self) -> Known:
        """Return designs and objectives of all calls so far."""
        k = len(self.evaluations)
        return Known(self._points[:k], self._objectives[:k])

    def _remember(self, evaluation: Evaluation) -> None:
        """Write a call into the arrays, which double when they are full."""
        k = len(self.evaluations)
        if k == len(self._points):
            self._points = np.concatenate((self._points, np.empty_like(self._points)))
            self._objectives = np.concatenate((self._objectives, np.empty(k)))
        self._points[k] = self._feasible_set.reduce(evaluation.x)
        usable = evaluation.good and evaluation.feasible
        self._objectives[k] = self._sign * evaluation.objective if usable else np.nan
