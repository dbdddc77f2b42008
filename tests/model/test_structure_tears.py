"""Loops through the simulator: which variables are torn, formulas of outputs, what is refused."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from structure_models import RECYCLE_CASE, near_points, reaction, recycle, tolerances

from archeng import Model
from archeng.errors import ModelError
from archeng.model import compile_model


def test_the_torn_variables_are_in_the_equations_with_outputs() -> None:
    fs = compile_model(recycle())
    assert fs.dependents is not None
    torn = set(fs.free_names) - {"temperature", "volume", "purge", "excess"}
    assert len(torn) == 2  # one for each loop
    assert torn <= {*(f"out[{i}]" for i in (0, 2)), *(f"hot[{i}]" for i in (0, 2))}
    assert {"react A", "react C"}.isdisjoint(row.name for row in fs.rows_in_full)
    assert fs.formulas is not None
    assert [row.name for row in fs.formulas.rows] == ["react A", "react C"]


def test_formulas_of_outputs_follow_the_dependents() -> None:
    """Values by NumPy at the full vector, slopes and bends by differences along solutions."""
    fs = compile_model(recycle())
    assert fs.formulas is not None
    pieces, n = fs.formulas.pieces, fs.n
    allowed = tolerances(recycle()) | {"react A": np.inf, "react C": np.inf}
    rng = np.random.default_rng(4)
    for u in near_points(fs, 3, 0.1):
        full = fs.expand(u)
        assert RECYCLE_CASE.offences(full, allowed) == []
        v = RECYCLE_CASE.at(full)
        z = np.array(reaction(v["temperature"], v["volume"], v["total"], np))
        g, J = pieces.values_and_jacobian(u, z)
        written = RECYCLE_CASE.formulas(v, np)
        expected = [written.cost, *(written.equations[f"react {c}"] for c in "AC")]
        for owner, value in zip(pieces.owner, g, strict=True):
            assert abs(value) == pytest.approx(abs(expected[owner + 1]), rel=1e-9, abs=1e-9)
        objective, rows = fs.formulas_at(full, z)
        assert [objective, *rows] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        w = rng.standard_normal(len(g))
        (H,) = pieces.hessian(u, z, w)
        steps = np.append(1e-4 * fs.scale, [1e-5, 1e-5])
        size = np.abs(J * steps).max(axis=1)
        bend = np.abs(H * np.outer(steps, steps)).max()
        for i, e in enumerate(np.diag(steps)):
            (ahead, up), (behind, down) = (
                pieces.values_and_jacobian(u + s * e[:n], z + s * e[n:]) for s in (1, -1)
            )
            assert np.abs((ahead - behind) / 2 - J[:, i] * steps[i]).max() < 1e-5 * size.max()
            slope = w @ (up - down) / 2 * steps
            assert np.abs(slope - H[i] * steps[i] * steps).max() < 1e-4 * bend


def loops(n_loops: int, n_free: int) -> Model:
    """So many equations with outputs, and so many variables that the others leave free."""
    model = Model("loops")
    u = model.variable("u", shape=n_free, lower=0, upper=1, start=0.5)
    w = model.variable("w", shape=30, lower=-9, upper=9)
    y = model.output("y", shape=n_loops)
    for i in range(30):
        model.subject_to(w[i] == u[i % n_free] + 0.1 * i, name=f"w{i}")
    for i in range(n_loops):
        model.subject_to(w[i] * u[0] == y[i], name=f"loop {i}", tolerance=1e-3)
    model.minimize(ca.sum1(u), name="cost")
    return model


def test_as_many_loops_as_free_variables_are_allowed() -> None:
    fs = compile_model(loops(2, 2))
    assert fs.dependents is not None
    assert fs.n == 2


@pytest.mark.parametrize(("n_loops", "n_free"), [(2, 1), (3, 2), (9, 4)])
def test_more_loops_than_free_variables_are_refused(n_loops: int, n_free: int) -> None:
    with pytest.raises(ModelError) as caught:
        compile_model(loops(n_loops, n_free))
    text = str(caught.value)
    assert text.startswith(f"Model 'loops': {n_loops} equations with outputs cannot be met")
    assert f"the other 30 equations leave {n_free} of {30 + n_free} variables free" in text
    assert "loop 0 (holds u[0], w[0])" in text
    assert len(re.findall(r"loop \d+ \(holds", text)) == min(n_loops, 6)
    assert "Free a variable" in text


def test_without_many_equations_they_are_not_counted() -> None:
    model = Model("small")
    x = model.variable("x", lower=0, upper=1)
    y = model.output("y", shape=2)
    for i in range(2):
        model.subject_to(x == y[i], name=f"loop {i}", tolerance=1e-3)
    model.minimize(x, name="cost")
    assert compile_model(model).dependents is None
