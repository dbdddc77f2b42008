"""`Archive`: every finished call of a run, the best of them, and which designs are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from archeng.distribution import Floats
from archeng.known import Known, Limits
from archeng.ranking import violation_order
from archeng.records import CallRecord
from archeng.simulator import Call, CallStatus, Design

_FIRST = 64  # calls for which there is room at first


class _Space(Protocol):
    """Which variables are free, as a feasible set knows it."""

    @property
    def n(self) -> int: ...

    def reduce(self, full: Floats) -> Floats: ...


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
        Calls of designs that earlier runs simulated, by the bytes of the full vector.
    limits : Limits
        Of the simulated constraints.
    """

    def __init__(
        self,
        feasible_set: _Space,
        sign: float,
        reuse_designs: bool,
        earlier: Mapping[bytes, Call],
        limits: Limits,
    ) -> None:
        self.evaluations: list[CallRecord] = []
        self.best_acceptable: CallRecord | None = None
        self.n_calls = 0
        self.n_failures = 0
        self._feasible_set = feasible_set
        self._sign = sign
        self._reuse = reuse_designs
        self._earlier = earlier
        self._index: dict[bytes, int] = {}
        self._points = np.empty((_FIRST, feasible_set.n))
        self._objectives = np.empty(_FIRST)
        self._limits = limits
        self._simulated = np.empty((_FIRST, len(limits)))

    def add(self, evaluation: CallRecord) -> None:
        """Take a finished call."""
        self._remember(evaluation)
        if self._reuse:
            self._index[evaluation.x.tobytes()] = len(self.evaluations)
        self.evaluations.append(evaluation)
        self.n_calls += evaluation.status != CallStatus.REUSED
        if not evaluation.good:
            self.n_failures += 1
            return
        sign, best = self._sign, self.best_acceptable
        if evaluation.acceptable and (
            best is None or sign * evaluation.objective < sign * best.objective
        ):
            self.best_acceptable = evaluation

    @property
    def best(self) -> CallRecord | None:
        """The best call with all constraints satisfied; if there is none, the least violating."""
        if self.best_acceptable is not None or len(self._limits) == 0:
            return self.best_acceptable
        known = self.known()
        usable = np.flatnonzero(np.isfinite(known.objectives))
        if len(usable) == 0:
            return None
        violations = self._limits.violations(known.simulated[usable])
        first = violation_order(known.objectives[usable], violations)[0]
        return self.evaluations[int(usable[first])]

    @property
    def lowest(self) -> float:
        """Objective of the best acceptable call, to be minimised; infinite if there is none."""
        best = self.best_acceptable
        return np.inf if best is None else self._sign * best.objective

    def find(self, design: Design | None) -> CallRecord | None:
        """Return the call of the same design in this run, if there is one."""
        index = None if design is None else self._index.get(design.x.tobytes())
        return None if index is None else self.evaluations[index]

    def find_earlier(self, design: Design) -> Call | None:
        """Return the outcome of the same design in an earlier run, if it is known."""
        return self._earlier.get(design.x.tobytes())

    def key(self, design: Design, position: int) -> bytes:
        """Return what tells new designs apart: their vector, or their position."""
        return design.x.tobytes() if self._reuse else position.to_bytes(8, "big")

    def known(self) -> Known:
        """Return designs and objectives of all calls so far."""
        k = len(self.evaluations)
        return Known(self._points[:k], self._objectives[:k], self._simulated[:k])

    def _remember(self, evaluation: CallRecord) -> None:
        """Write a call into the arrays, which double when they are full."""
        k = len(self.evaluations)
        if k == len(self._points):
            self._points = np.concatenate((self._points, np.empty_like(self._points)))
            self._objectives = np.concatenate((self._objectives, np.empty(k)))
            self._simulated = np.concatenate((self._simulated, np.empty_like(self._simulated)))
        self._points[k] = self._feasible_set.reduce(evaluation.x)
        usable = evaluation.good and evaluation.feasible
        self._objectives[k] = self._sign * evaluation.objective if usable else np.nan
        values = [evaluation.constraints[name] for name in self._limits.names] if usable else np.nan
        self._simulated[k] = values
