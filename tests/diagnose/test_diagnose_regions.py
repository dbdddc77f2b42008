"""How much of the box is feasible, and in how many pieces."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.diagnose.designs import feasible_share
from archeng.diagnose.limits import system_of
from archeng.model import Model
from case_studies.cec2006 import problem


def ball(n: int, radius: float) -> Model:
    model = Model("ball")
    x = model.variable("x", lower=-1, upper=1, shape=n)
    model.subject_to(ca.sumsqr(x) <= radius**2, name="ball")
    return model


def share_of_ball(n: int, radius: float) -> float:
    return math.pi ** (n / 2) / math.gamma(n / 2 + 1) * radius**n / 2**n


@pytest.mark.parametrize(("n", "radius"), [(2, 0.9), (2, 0.01), (6, 0.1), (12, 0.3)])
def test_shares_of_balls(n: int, radius: float) -> None:
    rng = np.random.default_rng(0)
    share = feasible_share(system_of(ball(n, radius), rng), 2000, rng)
    true = share_of_ball(n, radius)
    assert share is not None
    assert share.low <= true <= share.high
    assert abs(math.log(share.value / true)) < (0.1 if true > 0.1 else 1.5)


def test_share_of_g06() -> None:
    """61 of a million uniform points are feasible."""
    share = archeng.diagnose(problem("g06").model).share
    assert share is not None
    assert share.low < 6.1e-5 < share.high
    assert 2e-5 < share.value < 2e-4


def test_equalities_and_open_boxes_have_no_share() -> None:
    model = Model("open")
    x = model.variable("x", lower=0, upper=5)
    y = model.variable("y", lower=0, start=1.0, scale=1.0)
    model.subject_to(x + y <= 4, name="line")
    assert archeng.diagnose(model).share is None
    model = Model("equation")
    x = model.variable("x", lower=0, upper=4)
    y = model.variable("y", lower=0, upper=4)
    model.subject_to(x * y == 2, name="curve")
    model.subject_to(x <= 2 * y, name="half")
    share = archeng.diagnose(model).share
    assert share is not None
    assert share.inequalities_only
    assert share.low <= 0.75 <= share.high


def test_two_pieces() -> None:
    model = Model("two discs")
    x = model.variable("x", lower=-5, upper=5)
    y = model.variable("y", lower=-5, upper=5)
    model.subject_to((x**2 - 9) ** 2 + y**2 <= 4, name="discs")
    regions = archeng.diagnose(model).regions
    assert len(regions) == 2
    left, right = sorted(regions, key=lambda r: r.design["x"])
    assert left.ranges["x"][1] < 0 < right.ranges["x"][0]
    assert left.points + right.points == 24
    for region in regions:
        assert model.violations(region.design).maximum == 0.0


def test_two_pieces_of_an_equality() -> None:
    model = Model("hyperbola")
    x = model.variable("x", lower=-5, upper=5)
    y = model.variable("y", lower=-5, upper=5)
    model.subject_to(x * y == 1, name="hyperbola")
    regions = archeng.diagnose(model).regions
    assert len(regions) == 2
    assert {np.sign(r.design["x"]) for r in regions} == {-1.0, 1.0}


@pytest.mark.parametrize("shape", ["ring", "banana", "circle", "corridor"])
def test_bent_sets_are_one_piece(shape: str) -> None:
    model = Model(shape)
    x = model.variable("x", lower=-3, upper=3)
    y = model.variable("y", lower=-3, upper=3)
    r = x**2 + y**2
    if shape == "ring":
        model.subject_to(r, lower=3, upper=4, name="ring")
    elif shape == "banana":
        model.subject_to((y - x**2) ** 2 <= 0.05, name="banana")
    elif shape == "circle":
        model.subject_to(r == 4, name="circle")
    else:
        model.subject_to(x * y <= 0.1, name="below")
        model.subject_to(x * y >= -0.1, name="above")
    assert len(archeng.diagnose(model).regions) == 1


def test_many_pieces_are_counted_from_below() -> None:
    diagnosis = archeng.diagnose(problem("g12").model)  # 729 balls
    assert len(diagnosis.regions) >= 20
    assert "disconnected regions" in str(diagnosis)
