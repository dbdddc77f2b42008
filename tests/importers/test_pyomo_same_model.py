"""One model by Pyomo, by an .nl file, by Opti and by hand: the same rows, the same designs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import POINTS, write_nl

import archeng
from archeng.model import Model, as_model, compile_model

WAYS = ["pyomo", "nl", "opti", "hand"]

Rows = Callable[[Any, Any], list[tuple[str, Any, float, float]]]


@dataclass(frozen=True)
class Case:
    """Rows and objective as functions of the variables and of a module of functions."""

    bounds: dict[str, tuple[float, float]]
    start: list[float]
    rows: Rows
    objective: Callable[[Any, Any], Any]
    best: float
    shared: Callable[[Any, Any], list[Any]] = lambda v, f: []


def equalities() -> Case:
    """A tank: volume and mass balance are equalities."""

    def rows(v: Any, f: Any) -> list[tuple[str, Any, float, float]]:
        r, h, t = v
        return [
            ("volume", 3.14159 * r**2 * h, 30.0, 30.0),
            ("mass", 6.28318 * r * h * t, 4.0, 4.0),
            ("stress", r / t, -np.inf, 25.0),
            ("slender", h - 4 * r, -np.inf, 0.0),
        ]

    return Case(
        bounds={"r": (0.5, 5.0), "h": (0.5, 20.0), "t": (0.01, 1.0)},
        start=[2.0, 2.5, 0.15],
        rows=rows,
        objective=lambda v, f: v[0] * v[1] + 40 * v[2] + v[0] ** 2,
        best=np.nan,
    )


def shared_expressions() -> Case:
    """Several rows use the same intermediate results."""

    def shared(v: Any, f: Any) -> list[Any]:
        x, y, z = v
        force = f.exp(0.3 * x) * y + f.sqrt(z)
        return [force, force * f.log(1 + x) / y]

    def rows(v: Any, f: Any) -> list[tuple[str, Any, float, float]]:
        force, moment = v[3:]
        return [
            ("force", force, 1.0, 6.0),
            ("moment", moment, -np.inf, 2.0),
            ("ratio", moment / force + f.sin(v[0]), 0.25, np.inf),
            ("sum", v[0] + v[1] + v[2], 2.0, np.inf),
        ]

    return Case(
        bounds={"x": (0.1, 3.0), "y": (0.5, 3.0), "z": (0.1, 4.0)},
        start=[1.0, 1.0, 1.0],
        rows=rows,
        objective=lambda v, f: (v[0] - 2) ** 2 + v[1] ** 2 + 0.5 * v[2] + v[3] ** 2,
        best=np.nan,
        shared=shared,
    )


def linear() -> Case:
    """A blend: least cost 49/6 at a vertex."""

    def rows(v: Any, f: Any) -> list[tuple[str, Any, float, float]]:
        a, b, c = v
        return [
            ("total", a + b + c, 4.0, np.inf),
            ("quality", 2 * a - b + 0.5 * c, 1.0, 9.0),
            ("supply", a + 3 * b, -np.inf, 7.0),
        ]

    return Case(
        bounds={"a": (0.0, 4.0), "b": (0.0, 4.0), "c": (0.0, 1.0)},
        start=[2.0, 1.0, 0.5],
        rows=rows,
        objective=lambda v, f: 3 * v[0] + 2 * v[1] + v[2],
        best=49 / 6,
    )


CASES = {"equalities": equalities, "shared": shared_expressions, "linear": linear}


# -- four ways of writing it -----------------------------------------------------------------


def by_pyomo(case: Case) -> Any:
    m = pyo.ConcreteModel(name="same")
    for (name, bounds), start in zip(case.bounds.items(), case.start, strict=True):
        m.add_component(name, pyo.Var(bounds=bounds, initialize=start))
    v = [m.component(name) for name in case.bounds]
    for k, expression in enumerate(case.shared(v, pyo)):
        m.add_component(f"shared{k}", pyo.Expression(expr=expression))
        v.append(m.component(f"shared{k}"))
    for name, body, low, high in case.rows(v, pyo):
        limits = (None if low == -np.inf else low, body, None if high == np.inf else high)
        m.add_component(name, pyo.Constraint(expr=limits))
    m.objective = pyo.Objective(expr=case.objective(v, pyo))
    return m


def by_opti(case: Case) -> Any:
    opti = ca.Opti()
    v = [opti.variable() for _ in case.bounds]
    for x, (low, high), start in zip(v, case.bounds.values(), case.start, strict=True):
        opti.subject_to(opti.bounded(low, x, high))
        opti.set_initial(x, start)
    v += case.shared(v, ca)
    for _, body, low, high in case.rows(v, ca):
        opti.subject_to(opti.bounded(low, body, high) if low < high else body == low)
    opti.minimize(case.objective(v, ca))
    return opti


def by_hand(case: Case) -> Model:
    model = Model("same")
    v = [
        model.variable(name, lower=low, upper=high, start=start)
        for (name, (low, high)), start in zip(case.bounds.items(), case.start, strict=True)
    ]
    v += case.shared(v, ca)
    for name, body, low, high in case.rows(v, ca):
        model.subject_to(body, lower=low, upper=high, name=name)
    model.set_objective(case.objective(v, ca))
    return model


def imported(case: Case, way: str, folder: Path) -> Model:
    if way == "nl":
        return as_model(write_nl(by_pyomo(case), folder), objective=True)
    if way == "opti":
        names = list(case.bounds)
        return archeng.from_opti(by_opti(case), names=names, objective=True)
    return as_model(by_pyomo(case) if way == "pyomo" else by_hand(case), objective=True)


# -- comparing them --------------------------------------------------------------------------


def in_order(model: Model, case: Case, values: dict[str, float]) -> Any:
    """Row values in the order of the case, then the objective."""
    x = [values[v.name] for v in model.variables]
    table = model.violations(x)
    v = [1.0] * len(case.bounds)
    names = [name for name, *_ in case.rows([*v, *case.shared(v, np)], np)]
    if model.name == "opti":
        names = [f"g[{len(case.bounds) + k}]" for k in range(len(names))]
    return np.array([*(table[name].value for name in names), model.objective_function()(x)])


@pytest.mark.parametrize("case", CASES)
def test_rows_and_objective_agree(case: str, tmp_path: Path) -> None:
    c = CASES[case]()
    models = {way: imported(c, way, tmp_path) for way in WAYS}
    low, high = np.array(list(c.bounds.values())).T
    points = np.random.default_rng(0).uniform(low, high, size=(POINTS, len(low)))
    for x in points:
        v = [*x]
        v += c.shared(v, np)
        truth = np.array([*(body for _, body, *_ in c.rows(v, np)), c.objective(v, np)])
        for way, model in models.items():
            values = in_order(model, c, dict(zip(c.bounds, x, strict=True)))
            np.testing.assert_allclose(values, truth, rtol=1e-12, atol=1e-12, err_msg=way)


@pytest.mark.parametrize("case", CASES)
def test_compiled_sets_agree(case: str, tmp_path: Path) -> None:
    c = CASES[case]()

    def describe(way: str) -> Any:
        fs = compile_model(imported(c, way, tmp_path))
        box = dict(zip(fs.free_names, zip(*map(list, fs.box()), strict=True), strict=True))
        general = sorted(
            (r.kind, r.equality, low, high)
            for r, low, high in zip(fs.rows, fs.lower.tolist(), fs.upper.tolist(), strict=True)
        )
        starts = dict(zip(fs.free_names, fs.start.tolist(), strict=True))
        scales = dict(zip(fs.free_names, fs.scale.tolist(), strict=True))
        return box, general, starts, scales

    expected = describe("hand")
    for way in WAYS:
        assert describe(way) == expected


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_design(case: str, tmp_path: Path) -> None:
    c = CASES[case]()
    results = {way: archeng.solve(imported(c, way, tmp_path), seed=3) for way in WAYS}
    hand = results["hand"]
    if np.isfinite(c.best):
        assert hand.fun == pytest.approx(c.best, abs=1e-6)
    for result in results.values():
        assert result.success
        assert result.n_infeasible_calls == 0
        assert result.fun == pytest.approx(hand.fun, rel=1e-7)
        for name in c.bounds:
            assert result.design[name] == pytest.approx(hand.design[name], abs=2e-6)


@pytest.mark.parametrize("case", CASES)
def test_pyomo_and_by_hand_are_the_same_run(case: str, tmp_path: Path) -> None:
    """To rounding: the derivatives of shared expressions may be added up in another order."""
    c = CASES[case]()
    one, two = (
        archeng.solve(imported(c, way, tmp_path), seed=5, max_evaluations=60)
        for way in ("pyomo", "hand")
    )
    first, second = (np.array([e.x for e in r.evaluations]) for r in (one, two))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-13)


def test_solve_imports_all_four_by_itself(tmp_path: Path) -> None:
    c = linear()
    models = [by_pyomo(c), write_nl(by_pyomo(c), tmp_path), by_opti(c), by_hand(c)]
    found = [archeng.solve(model, seed=1).fun for model in models]
    assert found == pytest.approx([c.best] * 4, abs=1e-6)
