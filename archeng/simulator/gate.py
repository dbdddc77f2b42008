"""The gate before every simulator call: no design passes that violates a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archeng.errors import GateError
from archeng.model import FeasibleSet
from archeng.simulator.design import Floats


@dataclass(frozen=True, eq=False)
class Gate:
    """Evaluates every row at the exact vector that the simulator would get.

    Attributes
    ----------
    feasible_set : FeasibleSet
    open_to_all : bool
        Let designs pass that violate rows. Only for handlers that simulate them, and only if the
        user said that the simulator is defined everywhere.
    """

    feasible_set: FeasibleSet
    open_to_all: bool = False

    def check(self, full: Floats) -> float:
        """Return the largest violation at a full vector (n_full,); 0 unless open to all.

        Raises
        ------
        GateError
            If any row does not hold, or a fixed variable was changed.
        """
        fs = self.feasible_set
        x = fs.reduce(full)
        if not np.array_equal(fs.expand(x), full):
            raise GateError(
                "A fixed variable differs from its value; the simulator was not called."
            )
        if fs.m == 0:
            return 0.0
        violations = fs.violations(x)
        worst = int(np.argmax(violations))
        if violations[worst] > 0 and not self.open_to_all:
            raise GateError(
                f"Design {full} violates {fs.rows[worst]} by {violations[worst]:.3g}; the "
                "simulator was not called. Designs must come from ask() unchanged."
            )
        return float(violations[worst])
