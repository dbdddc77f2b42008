"""Parts of a run out of a journal: of the right types and shapes, or a `ValueError`.

A file may hold anything. What is wrong with it is to be said when it is read, not by whatever
stumbles over it later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.records import Generation
from archeng.repair import Repair, RepairKind

_COUNTS = ("generation", "restart", "population_size", "evaluations", "n_active")


def array(value: Any, *shape: int) -> Floats:
    """Return an array of numbers with a shape."""
    found = np.asarray(value, dtype=float)
    if found.shape != shape:
        raise ValueError(f"an array has shape {found.shape}, not {shape}")
    return found


def distribution(data: Mapping[str, Any], n: int) -> Distribution:
    """Return a search distribution over n variables."""
    return Distribution(
        mean=array(data["mean"], n),
        sigma=float(data["sigma"]),
        factor=array(data["factor"], n, n),
        inverse_factor=array(data["inverse_factor"], n, n),
    )


def repair(data: Mapping[str, Any], n: int) -> Repair:
    """Return the record of a repair."""
    numbers = ("distance_squared", "max_violation", "kkt_residual")
    return Repair(
        **{
            **data,
            **{name: float(data[name]) for name in numbers},
            "kind": RepairKind(data["kind"]),
            "x": array(data["x"], n),
            "active": tuple(int(j) for j in data["active"]),
            "solver": str(data["solver"]),
            "iterations": int(data["iterations"]),
            "multipliers": tuple(float(u) for u in data["multipliers"]),
        }
    )


def generation(data: Mapping[str, Any]) -> Generation:
    """Return the record of a generation; older journals have less of it."""
    values: dict[str, Any] = {k: v for k, v in data.items() if k != "tests"}
    for name, value in values.items():
        if name == "repairs":
            values[name] = {str(kind): int(number) for kind, number in value.items()}
        elif name == "eigenvalues":
            values[name] = tuple(float(v) for v in value)
        else:
            values[name] = int(value) if name in _COUNTS else float(value)
    return Generation(**values)
