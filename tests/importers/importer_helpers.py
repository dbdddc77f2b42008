"""Comparing an imported Pyomo model with Pyomo itself, and files for the .nl tests."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from archeng.errors import UnsupportedModelError
from archeng.model import Model

POINTS = 20


def base_model() -> Any:
    """Three variables on sides of every domain border, and parameters of both kinds."""
    m = pyo.ConcreteModel(name="base")
    m.x = pyo.Var(bounds=(0.1, 0.9))
    m.y = pyo.Var(bounds=(1.1, 3.0))
    m.z = pyo.Var(bounds=(-2.0, 2.0))
    m.p = pyo.Param(initialize=1.7, mutable=True)
    m.q = pyo.Param(initialize=2.5)
    m.n = pyo.Param([1, 2], initialize={1: -0.3, 2: 0.8}, mutable=True)
    return m


def random_points(model: Model, seed: int = 0, count: int = POINTS) -> Any:
    """Points inside the bounds of a model, or in [-3, 3] where it has none."""
    low = np.concatenate([v.lower for v in model.variables])
    high = np.concatenate([v.upper for v in model.variables])
    low, high = np.where(np.isfinite(low), low, -3.0), np.where(np.isfinite(high), high, 3.0)
    return np.random.default_rng(seed).uniform(low, high, size=(count, len(low)))


def row_values(model: Model, x: Any) -> dict[str, float]:
    """Value of each row (not of the bounds) by name."""
    table = model.violations(x)
    return {name: table[name].value for c in model.constraints for name in c.row_names()}


def pyomo_values(m: Any, names: list[str], x: Any, rows: list[str]) -> dict[str, float]:
    """The same by Pyomo, in a copy of the model."""
    copy = m.model().clone()
    for name, value in zip(names, x, strict=True):
        copy.find_component(name).set_value(float(value), skip_validation=True)
    return {row: pyo.value(copy.find_component(row).body) for row in rows}


def assert_same_rows(m: Any, points: Any = None) -> Model:
    """Import; every row must have Pyomo's value, to 1e-12, at random points."""
    model = archeng.from_pyomo(m)
    names = [v.name for v in model.variables]
    for x in random_points(model) if points is None else points:
        mine = row_values(model, x)
        theirs = pyomo_values(m, names, x, list(mine))
        assert mine
        np.testing.assert_allclose(list(mine.values()), list(theirs.values()), rtol=1e-12, atol=0)
    return model


def assert_same_expression(m: Any, expression: Any, points: Any = None) -> None:
    """Compare one expression, as the body of a constraint that has no other part."""
    m.row = pyo.Constraint(expr=(None, expression, 1e9))
    assert_same_rows(m, points)


class _Errors(logging.Handler):
    """Collects what Pyomo logs as errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def problems(m: Any, **options: Any) -> dict[str, tuple[str, ...]]:
    """Problems of an import that must fail, silently and without a trace in the model."""
    before, errors = snapshot(m), _Errors()
    logging.getLogger("pyomo").addHandler(errors)
    try:
        with pytest.raises(UnsupportedModelError) as caught:
            archeng.from_pyomo(m, **options)
    finally:
        logging.getLogger("pyomo").removeHandler(errors)
    assert errors.messages == []
    assert snapshot(m) == before
    for name, reasons in caught.value.problems.items():
        assert reasons
        for reason in reasons:
            assert f"{name}: {reason}" in str(caught.value)
    return dict(caught.value.problems)


def write_nl(m: Any, folder: Path, *, labels: bool = True, name: str = "model.nl") -> Path:
    """Let Pyomo write an .nl file."""
    path = folder / name
    m.write(str(path), format="nl", io_options={"symbolic_solver_labels": labels})
    return path


def snapshot(m: Any) -> dict[str, Any]:
    """Everything an import or a run might change in a Pyomo model."""
    root = m.model()
    state: dict[str, Any] = {"components": [c.name for c in root.component_objects(active=None)]}
    for v in root.component_data_objects(pyo.Var, active=None):
        state[f"var {v.name}"] = (v.value, v.fixed, v.stale, id(v._lb), id(v._ub), v.domain.name)
    for c in root.component_data_objects(pyo.Constraint, active=None):
        state[f"con {c.name}"] = (c.active, id(c.expr))
    for o in root.component_data_objects(pyo.Objective, active=None):
        state[f"obj {o.name}"] = (o.active, id(o.expr), o.sense)
    for p in root.component_data_objects(pyo.Param, active=None):
        if getattr(p, "_value", None) is not pyo.Param.NoValue:  # Pyomo makes these when asked
            state[f"par {p.name}"] = getattr(p, "_value", None)
    for b in root.component_data_objects(pyo.Block, active=None):
        state[f"block {b.name}"] = b.active
    return state
