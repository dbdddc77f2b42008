"""The gate before every simulator call: no design passes that violates a row."""

from __future__ import annotations

import numpy as np

from archeng.errors import GateError
from archeng.model import FeasibleSet
from archeng.simulator.design import Floats


def check_gate(feasible_set: FeasibleSet, full: Floats) -> float:
    """Evaluate every row at the exact vector (n_full,) that the simulator would get.

    Returns
    -------
    float
        The largest violation: 0, or the design does not pass.

    Raises
    ------
    GateError
        If any row does not hold, or a fixed variable was changed.
    """
    fs = feasible_set
    x = fs.reduce(full)
    if not np.array_equal(fs.expand(x), full):
        raise GateError("A fixed variable differs from its value; the simulator was not called.")
    if fs.m == 0:
        return 0.0
    violations = fs.violations(x)
    worst = int(np.argmax(violations))
    if violations[worst] > 0:
        raise GateError(
            f"Design {full} violates {fs.rows[worst]} by {violations[worst]:.3g}; the simulator "
            "was not called. Designs must come from ask() unchanged."
        )
    return float(violations[worst])
