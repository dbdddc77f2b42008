"""Compiled formulas of outputs: values, derivatives and limits of their pieces."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archeng import Model
from archeng.model import Formulas, compile_model

Floats = np.ndarray
often = settings(deadline=None, max_examples=10, derandomize=True)


def doubled(u: Any) -> Any:
    """Return 2 u, by an equation that CasADi solves inside."""
    y, given = ca.MX.sym("y"), ca.MX.sym("u")
    solver = ca.rootfinder("r", "newton", {"x": y, "p": given, "g": y - 2 * given})
    return solver(0.0, u)


def grey(symbols: str = "SX", solved: bool = False) -> Model:
    """Three variables, one of them fixed, a parameter, and outputs a (2,) and b."""
    model = Model("grey", symbols=symbols)
    x = model.variable("x", shape=2, lower=0.5, upper=2)
    fixed = model.variable("fixed", lower=3, upper=3)
    p = model.parameter("p", 2.0)
    a, b = model.output("a", shape=2), model.output("b")
    model.subject_to(x[0] + x[1] <= 3, name="explicit")
    model.subject_to(ca.fmax(a[0], p * a[1]) <= 5, name="both")
    model.subject_to(ca.fmin(a[0] * x[0], b) >= -4, name="least")
    model.subject_to(ca.fabs(b - a[0]) <= 2, name="near")
    model.subject_to(a[0] * b, lower=-1, upper=7, name="two sides")
    model.subject_to(b / x[1] == 1.5, tolerance=1e-3, name="equal")
    twice = doubled(x[0]) if solved else 2 * x[0]
    model.maximize(fixed * ca.exp(-b) * x[1] - ca.fmax(a[0] ** 2, a[1] * twice) + p)
    return model


def compiled(model: Model) -> Formulas:
    formulas = compile_model(model).formulas
    assert formulas is not None
    return formulas


@cache
def formulas_of(symbols: str = "SX", solved: bool = False) -> Formulas:
    return compiled(grey(symbols, solved))


def by_hand(x: Floats, z: Floats) -> Floats:
    """Objective, to be minimised, and the rows."""
    (u, v), (a, c, b) = x, z
    f = -(3 * np.exp(-b) * v - max(a**2, 2 * u * c) + 2)
    return np.array([f, max(a, 2 * c), min(a * u, b), abs(b - a), a * b, b / v])


def differences(f: Callable[[Floats], Floats], at: Floats, h: float = 1e-6) -> Floats:
    """Derivatives (..., n) by central differences."""
    steps = h * np.eye(len(at))
    return np.stack([(f(at + s) - f(at - s)) / (2 * h) for s in steps], axis=-1)


def somewhere(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, 2), rng.uniform(-2, 2, 3)


seeds = st.integers(0, 2**32 - 1)
kinds = pytest.mark.parametrize(
    ("symbols", "solved"), [("SX", False), ("MX", False), ("MX", True)], ids=["SX", "MX", "solved"]
)


@kinds
@often
@given(seed=seeds)
def test_values_are_the_formulas(symbols: str, solved: bool, seed: int) -> None:
    formulas, (x, z) = formulas_of(symbols, solved), somewhere(seed)
    f, rows = formulas.at(x, z)
    np.testing.assert_allclose([f, *rows], by_hand(x, z), rtol=1e-12, atol=1e-12)
    X, Z = np.stack((x, x + 0.1)), np.stack((z, z - 0.1))
    np.testing.assert_allclose(formulas.at_all(X, Z)[0], [f, *rows])
    np.testing.assert_allclose(formulas.at_all(X, Z)[1], by_hand(X[1], Z[1]))


@often
@given(seed=seeds)
def test_the_pieces_are_objective_and_rows(seed: int) -> None:
    """Largest for the objective and for upper limits, least for lower ones."""
    formulas, (x, z) = formulas_of(), somewhere(seed)
    pieces = formulas.pieces
    g, _ = pieces.values_and_jacobian(x, z)
    exact = by_hand(x, z)
    assert g[pieces.owner == -1].max() == pytest.approx(exact[0])
    for j, row in enumerate(formulas.rows):
        own = pieces.owner == j
        if np.isfinite(row.upper):
            assert g[own & np.isfinite(pieces.upper)].max() == pytest.approx(exact[1 + j])
            assert set(pieces.upper[own & np.isfinite(pieces.upper)]) == {row.upper}
        if np.isfinite(row.lower):
            assert g[own & np.isfinite(pieces.lower)].min() == pytest.approx(exact[1 + j])
            assert set(pieces.lower[own & np.isfinite(pieces.lower)]) == {row.lower}
        held = row.lower <= exact[1 + j] <= row.upper
        assert held == bool(np.all((pieces.lower <= g) & (g <= pieces.upper), where=own))


@kinds
@often
@given(seed=seeds)
def test_derivatives_are_those_of_the_pieces(symbols: str, solved: bool, seed: int) -> None:
    formulas, (x, z) = formulas_of(symbols, solved), somewhere(seed)
    pieces, both = formulas.pieces, np.concatenate((x, z))

    def values(at: Floats) -> Floats:
        return pieces.values_and_jacobian(at[:2], at[2:])[0]

    _, jacobian = pieces.values_and_jacobian(x, z)
    np.testing.assert_allclose(jacobian, differences(values, both), rtol=1e-6, atol=1e-7)
    w = np.random.default_rng(seed).standard_normal(len(pieces.owner))
    (hessian,) = pieces.hessian(x, z, w)
    slopes = differences(lambda at: w @ pieces.values_and_jacobian(at[:2], at[2:])[1], both)
    np.testing.assert_allclose(hessian, slopes, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)


def test_limits_and_owners() -> None:
    formulas = compiled(grey())
    pieces, inf = formulas.pieces, np.inf
    assert formulas.row_names == ("both", "least", "near", "two sides", "equal")
    limits = list(zip(pieces.owner.tolist(), pieces.lower, pieces.upper, strict=True))
    assert limits == [
        (-1, -inf, inf), (-1, -inf, inf), (0, -inf, 5), (0, -inf, 5), (1, -4, inf), (1, -4, inf),
        (2, -inf, 2), (2, -inf, 2), (3, -1, 7), (4, 1.5 - 1e-3, 1.5 + 1e-3),
    ]  # fmt: skip
    assert pieces.smooth
    assert not formulas.smooth_objective
    np.testing.assert_array_equal(
        formulas.uses,
        [[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 1], [1, 0, 1], [0, 0, 1]],
    )


@pytest.mark.parametrize("solved", [False, True])
def test_formulas_in_mx_have_the_same_pieces(solved: bool) -> None:
    """CasADi expands them, equations that it solves inside as calls."""
    pieces, same = formulas_of("MX", solved).pieces, formulas_of().pieces
    np.testing.assert_array_equal(pieces.owner, same.owner)
    np.testing.assert_array_equal(pieces.upper, same.upper)
    assert pieces.smooth


def test_two_limits_of_a_largest_output() -> None:
    """-1 <= fmax(a, b): not convex, one piece with a kink; fmax(a, b) <= 3: two without."""
    model = Model("two")
    model.variable("x", lower=0, upper=1)
    a, b = model.output("a"), model.output("b")
    model.subject_to(ca.fmax(a, b), lower=-1, upper=3, name="both")
    formulas = compiled(model)
    limits = list(zip(formulas.pieces.lower, formulas.pieces.upper, strict=True))
    assert limits == [(-np.inf, np.inf), (-np.inf, 3), (-np.inf, 3), (-1, np.inf)]
    assert not formulas.pieces.smooth
    assert formulas.objective == ""


def test_no_outputs_no_formulas() -> None:
    model = Model("plain")
    x = model.variable("x", lower=0, upper=1)
    model.minimize(x**2)
    assert compile_model(model).formulas is None
