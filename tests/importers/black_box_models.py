"""Pyomo models with black boxes, and Pyomo itself as the referee of what was called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.pynumero.interfaces.external_grey_box import (
    ExternalGreyBoxBlock,
    ExternalGreyBoxModel,
)
from scipy.sparse import coo_matrix

SLACK = 1e-5  # of equalities: wider than their default tolerances in these models


class Formula(ExternalGreyBoxModel):  # type: ignore[misc]
    """A grey box from a function of its inputs; it counts how often it is evaluated."""

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        function: Callable[..., Sequence[float]],
    ) -> None:
        self._names, self._outputs, self._function = list(inputs), list(outputs), function
        self.seen: list[tuple[float, ...]] = []

    def input_names(self) -> list[str]:
        return self._names

    def output_names(self) -> list[str]:
        return self._outputs

    def set_input_values(self, values: Any) -> None:
        self._values = np.array(values, dtype=float)

    def evaluate_outputs(self) -> Any:
        self.seen.append(tuple(self._values.tolist()))
        return np.array(self._function(*self._values), dtype=float)


class WithJacobian(Formula):
    """The same with derivatives, by complex steps of the function."""

    def evaluate_jacobian_outputs(self) -> Any:
        columns = []
        for k in range(len(self._values)):
            at = self._values.astype(complex)
            at[k] += 1e-30j
            columns.append(np.imag(self._function(*at)) / 1e-30)
        return coo_matrix(np.array(columns).T)


class Residuals(Formula):
    """What would be outputs are residuals."""

    def output_names(self) -> list[str]:
        return []

    def equality_constraint_names(self) -> list[str]:
        return self._outputs

    def evaluate_equality_constraints(self) -> Any:
        return self.evaluate_outputs()


class OwnObjective(Formula):
    """The first output is an objective."""

    def output_names(self) -> list[str]:
        return []

    def has_objective(self) -> bool:
        return True

    def evaluate_objective(self) -> float:
        return float(self.evaluate_outputs()[0])


def box(model: Any, name: str, external: Any, **variables: Any) -> Any:
    """Add a grey box to a model."""
    model.add_component(name, ExternalGreyBoxBlock())
    block = model.component(name)
    block.set_external_model(external, **variables)
    return block


def reactor(gradient: bool = False) -> Any:
    """Least (x - 1)^2 + (y - 2)^2 + d^2 with x + y <= 2.5, x y >= 0.5, d = f(x, y) >= 1.

    f = x^2 + exp(-y) is an external function that remembers its arguments in ``m.seen``.
    """
    m = pyo.ConcreteModel(name="reactor")
    m.x = pyo.Var(bounds=(0, 3), initialize=1.5)
    m.y = pyo.Var(bounds=(0, 3), initialize=0.5)
    m.d = pyo.Var(bounds=(1, None))
    m.seen = []
    seen = m.seen

    def function(a: float, b: float) -> float:
        seen.append((a, b))
        return float(a**2 + np.exp(-b))

    def slopes(arguments: Any, fixed: Any) -> list[float]:
        a, b = arguments
        return [2 * a, float(-np.exp(-b))]

    m.f = pyo.ExternalFunction(function, slopes if gradient else None)
    m.define = pyo.Constraint(expr=m.d == m.f(m.x, m.y))
    m.room = pyo.Constraint(expr=m.x + m.y <= 2.5)
    m.hyperbola = pyo.Constraint(expr=m.x * m.y >= 0.5)
    m.o = pyo.Objective(expr=(m.x - 1) ** 2 + (m.y - 2) ** 2 + m.d**2)
    return m


def violated(m: Any, design: Any, explicit: Sequence[str]) -> list[str]:
    """Names of explicit constraints and bounds that Pyomo finds violated at a design."""
    copy = m.clone()
    for name in design:
        copy.find_component(name).set_value(float(design[name]), skip_validation=True)
    found = [
        name
        for name in design
        if not (copy.find_component(name).lb or -np.inf)
        <= design[name]
        <= (np.inf if copy.find_component(name).ub is None else copy.find_component(name).ub)
    ]
    for name in explicit:
        row = copy.find_component(name)
        body, slack = pyo.value(row.body), SLACK if row.equality else 0.0
        lower = -np.inf if row.lb is None else row.lb
        upper = np.inf if row.ub is None else row.ub
        if not lower - slack <= body <= upper + slack:
            found.append(name)
    return found
