"""Discrete problems: every one is stated twice, and its optimum is found by a referee."""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.model import compile_model
from archeng.model.domain import Kind
from case_studies.discrete import referee
from case_studies.discrete.definition import Problem, listed, named, real, whole
from case_studies.discrete.suite import DEFINITIONS, HELD_OUT, OPTIMA, names, problem

POINTS = 40  # random designs at which two statements are compared


def _designs(p: Problem, n: int = POINTS) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    return [p.random(rng) for _ in range(n)]


def _rows_of(model: Model) -> tuple[ca.Function, np.ndarray]:
    """Rows of a model and their limits, in the order in which they are written."""
    expressions, limits = [], []
    for constraint in model.constraints:
        for row, low, high in zip(constraint.rows, *constraint.limits(), strict=True):
            expressions.append(ca.SX(row.expression))
            limits.append((low, high))
    rows = ca.Function("rows", [model.symbols], [ca.vertcat(*expressions)])
    return rows, np.array(limits).reshape(-1, 2)


def _missed(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """How far each row is outside of its limits; negative inside."""
    return np.maximum(lower - values, values - upper)


def test_the_suite_is_what_it_says() -> None:
    assert len(names(held_out=False)) >= 20
    assert set(names(held_out=True)) == set(HELD_OUT)
    assert len(HELD_OUT) == 6
    kinds = {(v.levels is None, v.ordered) for name in names() for v in problem(name).space}
    assert kinds == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize("name", names())
def test_model_and_plain_form_have_the_same_variables(name: str) -> None:
    p, seen = problem(name), 0
    for variable in p.model().variables:
        for low, high in zip(np.ravel(variable.lower), np.ravel(variable.upper), strict=True):
            values = p.space[seen]
            levels = variable.domain.levels_between(low, high)
            assert (levels is None) == (values.levels is None)
            assert (low, high) == (values.lower, values.upper)
            assert levels is None or np.array_equal(levels, values.levels)
            assert (variable.domain.kind is Kind.CATEGORY) == (not values.ordered)
            seen += 1
    assert seen == p.n


@pytest.mark.parametrize("name", names())
def test_rows_of_the_model_agree_with_plain_numpy(name: str) -> None:
    p = problem(name)
    rows, limits = _rows_of(p.model())
    compared = 0
    for x in _designs(p):
        plain = p.limits(x)
        assert len(plain) == len(limits)
        ours = _missed(rows(x).full().ravel(), limits[:, 0], limits[:, 1])
        theirs = _missed(*plain.T)
        both = np.isfinite(ours) & np.isfinite(theirs)
        scale = np.maximum(1.0, np.abs(plain[:, 0]))
        assert (np.abs(ours - theirs)[both] <= 1e-9 * scale[both]).all()
        compared += int(both.sum())
    assert compared >= POINTS * len(limits) / 2


@pytest.mark.parametrize("name", names())
def test_archeng_and_plain_numpy_agree_about_what_is_legal(name: str) -> None:
    p = problem(name)
    fs = compile_model(p.model())
    assert p.legal(p.x_opt)
    for x in _designs(p, 100):
        assert p.legal(x) == fs.is_feasible(fs.reduce(x))
    for i, values in enumerate(p.space):
        outside = p.x_opt.copy()
        outside[i] = values.upper + 1.0 if values.levels is None else outside[i] + 0.01
        assert not p.on_list(outside)
        assert not p.legal(outside)
        if values.levels is not None:
            assert not fs.is_feasible(fs.reduce(outside))


@pytest.mark.parametrize("name", names())
def test_the_known_design_has_the_known_value(name: str) -> None:
    p, known = problem(name), json.loads(OPTIMA.read_text())["problems"][name]
    assert p.objective(p.x_opt) == pytest.approx(p.optimum, rel=1e-12)
    assert p.optimum == pytest.approx(known["published"], rel=4e-4)
    assert p.objective(p.x_opt) <= p.target
    for x in _designs(p, 300):
        assert not p.legal(x) or p.objective(x) >= p.optimum - 1e-7 * abs(p.optimum)


@pytest.mark.parametrize("name", ["gear_train", "clutch_brake", "three_bar_truss"])
def test_enumeration_finds_the_known_optimum(name: str) -> None:
    found = referee.by_enumeration(DEFINITIONS[name])
    assert found.f == pytest.approx(problem(name).optimum, rel=1e-12)


SMALL = ("pressure_vessel", "concrete_beam", "stepped_cantilever", "four_units", "nvs13", "nvs20")


@pytest.mark.parametrize("name", SMALL)
def test_scip_finds_the_known_optimum(name: str) -> None:
    pytest.importorskip("pyscipopt")
    found = referee.found(problem(name))
    assert found.how == "SCIP, proven"
    assert found.f == pytest.approx(problem(name).optimum, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in names() if n not in (*SMALL, "ten_bar_truss")])
def test_every_referee_finds_the_known_optimum(name: str) -> None:
    pytest.importorskip("pyscipopt")
    assert referee.found(problem(name)).f == pytest.approx(problem(name).optimum, rel=1e-6)


def test_values_know_their_lists() -> None:
    assert real(0, 2).holds(2.0)
    assert not real(0, 2).holds(2.1)
    assert listed([3, 1, 2.5]).levels.tolist() == [1.0, 2.5, 3.0]
    assert not listed([3, 1, 2.5]).holds(2.0)
    assert whole(2, 4).levels.tolist() == [2.0, 3.0, 4.0]
    assert not named(3).ordered
    assert not named(3).holds(3.0)


def test_a_row_without_a_value_is_violated() -> None:
    p = problem("synthes1")
    x = np.array([0.0, 2.0, 0.5, 0.0, 0.0, 0.0])  # the logarithm of -1
    assert p.excess(x).max() >= 1.0
    assert not p.legal(x)
