"""`solve` on a casadi.Opti and on an nlp dictionary, with and without a simulator."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design
from archeng.errors import ArchengError, ModelError


def opti(objective: bool = True) -> Any:
    o = ca.Opti()
    x, limit = o.variable(2), o.parameter()
    o.set_value(limit, 4)
    o.subject_to(ca.sum1(x) <= limit)
    o.subject_to(o.bounded(0, x, 5))
    if objective:
        o.minimize(ca.sumsqr(x - 3))
    return o


def nlp(kind: Any, objective: bool = True) -> dict[str, Any]:
    x, p = kind.sym("x", 2), kind.sym("p")
    problem = {"x": x, "g": ca.sum1(x) - p, "p": p}
    return {**problem, "f": ca.sumsqr(x - 3)} if objective else problem


BOUNDS = {"lbx": 0, "ubx": 5, "ubg": 0, "p": 4}


def black_box(design: Design) -> float:
    x = np.asarray(design)
    assert x.sum() <= 4 * (1 + 1e-12)
    assert (x >= 0).all()
    return float((x[0] - 4) ** 2 + (x[1] - 1) ** 2)


def test_opti_with_its_own_objective() -> None:
    result = archeng.solve(opti(), seed=1)
    assert result.fun == pytest.approx(2, abs=1e-6)
    np.testing.assert_allclose(result.x, [2, 2], atol=1e-4)
    assert result.n_infeasible_calls == 0


@pytest.mark.parametrize("objective", [True, False])
def test_opti_with_a_simulator_ignores_its_objective(objective: bool) -> None:
    result = archeng.solve(opti(objective), black_box, seed=1)
    np.testing.assert_allclose(result.x, [3.5, 0.5], atol=1e-3)
    assert result.fun == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_nlp_with_its_own_objective(kind: Any) -> None:
    result = archeng.solve(nlp(kind), seed=1, **BOUNDS)
    assert result.fun == pytest.approx(2, abs=1e-6)
    assert result.n_infeasible_calls == 0


@pytest.mark.parametrize("objective", [True, False])
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_nlp_with_a_simulator_ignores_its_objective(kind: Any, objective: bool) -> None:
    result = archeng.solve(nlp(kind, objective), black_box, seed=1, **BOUNDS)
    assert result.fun == pytest.approx(0.5, abs=1e-6)


def test_nlp_start_scale_and_names() -> None:
    x = ca.SX.sym("x", 2)
    result = archeng.solve(
        {"x": x, "f": ca.sumsqr(x), "g": ca.sum1(x)},
        lbg=1,
        x0=[3, 4],
        scale=1,
        names=["a", "b"],
        row_names=["total"],
        seed=1,
    )
    assert set(result.design) == {"a", "b"}
    assert result.fun == pytest.approx(0.5, abs=1e-6)
    assert result.active == ["total"]


def test_own_objective_maximised() -> None:
    x = ca.SX.sym("x", 2)
    result = archeng.solve(
        {"x": x, "f": 3 - ca.sumsqr(x)}, lbx=-1, ubx=[2, 3], sense="maximize", seed=1
    )
    assert result.fun == pytest.approx(3, abs=1e-6)


def test_no_simulator_and_no_objective_is_an_error_not_a_flat_run() -> None:
    with pytest.raises(ArchengError, match="objective"):
        archeng.solve(opti(objective=False), seed=1, max_evaluations=10)
    with pytest.raises(ArchengError, match=r"objective|'f'"):
        archeng.solve(nlp(ca.SX, objective=False), seed=1, **BOUNDS)


def test_unset_parameters_are_reported_before_anything_runs() -> None:
    o = ca.Opti()
    x, p = o.variable(), o.parameter()
    o.subject_to(o.bounded(0, x, p))
    with pytest.raises(ModelError, match="set_value"):
        archeng.solve(o, lambda d: 0.0)
    with pytest.raises(ModelError, match="p="):
        archeng.solve(nlp(ca.SX), lambda d: 0.0, lbx=0, ubx=5)


def test_bounds_are_refused_with_a_model() -> None:
    model = archeng.Model()
    model.variable("x", lower=0, upper=1)
    with pytest.raises(ModelError, match="lbx"):
        archeng.solve(model, lambda d: 0.0, lbx=0)


@pytest.mark.parametrize("thing", [None, 3, "model"])
def test_something_that_is_no_model(thing: Any) -> None:
    with pytest.raises(ModelError, match="first argument"):
        archeng.solve(thing, lambda d: 0.0)
