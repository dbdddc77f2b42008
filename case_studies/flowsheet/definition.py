"""`Problem`: a Pyomo model with many equalities, its cost as a black box, and as a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes
    ----------
    name, family : str
    build : callable
        Returns a new Pyomo model without an objective, with bounds and initial values.
    cost : callable
        Of values by the names of the variables, and a module with ``exp``, ``log`` and ``sqrt``
        for them: numbers with `math`, Pyomo variables with `pyomo.environ`.
    independent : tuple of str
        Variables that an engineer would set; the equalities determine the others.
    held_out : bool
        Whether nothing may be tuned on it.
    """

    name: str
    family: str
    build: Callable[[], Any]
    cost: Callable[[Mapping[str, Any], Any], Any]
    independent: tuple[str, ...]
    held_out: bool = False


def variables(model: Any) -> dict[str, Any]:
    """Return the variables of a Pyomo model by name, fixed ones too."""
    return {var.name: var for var in model.component_data_objects(pyo.Var)}


def constraints(model: Any) -> list[Any]:
    """Return the active constraints of a Pyomo model."""
    return list(model.component_data_objects(pyo.Constraint, active=True))


def with_objective(problem: Problem) -> Any:
    """Return a new model with the cost as its objective: what the referee gets."""
    model = problem.build()
    model.hidden_cost = pyo.Objective(expr=problem.cost(variables(model), pyo))
    return model
