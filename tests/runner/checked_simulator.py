"""A simulator that checks its own designs with formulas that archeng has never seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from archeng import Design, Result

Vector = NDArray[np.float64]
Row = tuple[float, float, float]
ROUNDING = 1e-12


class CheckedSimulator:
    """Objective and rows ``(value, lower, upper)`` in plain NumPy, with a count of offences.

    Two formulas of the same row may differ by rounding: an excess of 1e-12 of the size of
    the numbers involved is not an offence.
    """

    def __init__(
        self,
        objective: Callable[[Vector], float],
        rows: Callable[[Vector], Sequence[Row]],
    ) -> None:
        self._objective, self._rows = objective, rows
        self.calls: list[Vector] = []
        self.offences: list[str] = []

    def __call__(self, design: Design) -> float:
        x = np.array(design)
        self.calls.append(x)
        for j, (value, lower, upper) in enumerate(self._rows(x)):
            room = ROUNDING * max(1.0, abs(value))
            if not lower - room <= value <= upper + room:
                self.offences.append(f"call {len(self.calls)}: row {j} is {value!r} at {x}")
        return self._objective(x)

    def assert_clean(self, result: Result) -> None:
        """Every call was feasible, and the result tells exactly the calls that were made."""
        assert not self.offences, "\n".join(self.offences[:5])
        assert result.n_infeasible_calls == 0, f"{result.n_infeasible_calls} infeasible calls"
        assert result.nfev == len(self.calls), f"{result.nfev} of {len(self.calls)} calls told"
        assert self.calls, "the simulator was never called"
        for e, x in zip(result.evaluations, self.calls, strict=True):
            assert e.x.tobytes() == x.tobytes()
            assert e.max_violation == 0
        assert [e.index for e in result.evaluations] == list(range(result.nfev))
