"""`Shown`: what reports and figures show of a run, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from archeng.model import Variable
from archeng.records import (
    Activity,
    CallRecord,
    Floats,
    Generation,
    RowAtBest,
    SimulatedAtBest,
    VariableAtBest,
)
from archeng.surrogate import Optimality


@dataclass(frozen=True, eq=False)
class Shown:
    """A run, ended or not.

    Attributes
    ----------
    status, message : str
        What the best design is, and why the run ended, in words.
    state : {"ended", "running", "cut off"}
    x : ndarray
        The best design, NaN if there is none.
    The others are those of :class:`archeng.Result`.
    """

    name: str
    status: str
    message: str
    state: str
    x: Floats
    fun: float
    maximize: bool
    variables: Sequence[Variable]
    evaluations: Sequence[CallRecord]
    history: Sequence[Generation]
    rows: Sequence[RowAtBest]
    simulated: Sequence[SimulatedAtBest]
    outputs: Mapping[str, Any]
    activity: Sequence[Activity]
    optimality: Optimality | None
    provenance: Mapping[str, Any]

    @cached_property
    def at_best(self) -> list[VariableAtBest]:
        """Every scalar variable at the best design."""
        return variables_at(self.variables, self.x)

    @cached_property
    def free(self) -> list[int]:
        """Positions of the variables that are not fixed by their bounds."""
        return [j for j, v in enumerate(self.at_best) if v.lower != v.upper]

    @cached_property
    def designs(self) -> Floats:
        """Designs (k, n) of all calls."""
        n = len(self.at_best)
        return np.array([e.x for e in self.evaluations], dtype=float).reshape(-1, n)

    @cached_property
    def objectives(self) -> Floats:
        """Objectives (k,) of all calls; NaN where there is none."""
        return np.array([e.objective for e in self.evaluations], dtype=float)

    @cached_property
    def acceptable(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which calls (k,) have an objective and satisfy all constraints."""
        return np.array([e.acceptable for e in self.evaluations], dtype=bool)

    @cached_property
    def best_so_far(self) -> Floats:
        """Best objective (k,) of the acceptable calls up to each; NaN before the first."""
        values = np.where(self.acceptable, self.objectives, np.nan)
        return np.asarray((np.fmax if self.maximize else np.fmin).accumulate(values))

    @cached_property
    def holders(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Positions (k,) of the best call up to each; -1 before the first acceptable one."""
        best = self.best_so_far
        new = self.acceptable & np.append(True, best[1:] != best[:-1])[: len(best)]
        where = np.where(new, np.arange(len(best)), -1)
        return np.maximum.accumulate(where) if len(where) else where

    @cached_property
    def best_calls(self) -> list[CallRecord]:
        """Acceptable calls, best first, each design once."""
        sign = -1.0 if self.maximize else 1.0
        good = [e for e in self.evaluations if e.acceptable]
        found: dict[bytes, CallRecord] = {}
        for e in sorted(good, key=lambda e: sign * e.objective):
            found.setdefault(e.x.tobytes(), e)
        return list(found.values())

    @property
    def n_calls(self) -> int:
        """Simulator calls; reused designs do not count."""
        return sum(e.status != "reused" for e in self.evaluations)

    @property
    def failures(self) -> list[CallRecord]:
        """Calls that did not end well."""
        return [e for e in self.evaluations if not e.good]

    @cached_property
    def times(self) -> tuple[Floats, bool]:
        """Seconds (k,) at which each call had ended, and whether they are measured.

        Runs of earlier versions did not record them: then the times in the simulator are added
        up.
        """
        elapsed = np.array([e.elapsed for e in self.evaluations], dtype=float)
        if np.isfinite(elapsed).any():
            return elapsed, True
        return np.cumsum([e.seconds for e in self.evaluations], dtype=float), False


def variables_at(variables: Sequence[Variable], x: Floats) -> list[VariableAtBest]:
    """Return every scalar variable at a design."""
    names = [(name, v) for v in variables for name in v.element_names()]
    lower = np.concatenate([v.lower for v in variables])
    upper = np.concatenate([v.upper for v in variables])
    return [
        VariableAtBest(name, float(value), float(a), float(b), v.unit)
        for (name, v), value, a, b in zip(names, x, lower, upper, strict=True)
    ]


def short(text: str, length: int = 32) -> str:
    """Return a text on one line, cut in its middle if it is longer than that."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    if len(line) <= length:
        return line
    half = (length - 1) // 2
    return f"{line[: length - 1 - half]}…{line[-half:]}"
