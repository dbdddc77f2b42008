"""Published starting points that lie outside the bounds."""

from __future__ import annotations

from collections.abc import Mapping

import pyomo.environ as pyo


def start_at(variable: pyo.Var, values: float | Mapping[int, float]) -> None:
    """Set an indexed variable without Pyomo's complaint about values outside the bounds."""
    for index, element in variable.items():
        value = values[index] if isinstance(values, Mapping) else values
        element.set_value(value, skip_validation=True)
