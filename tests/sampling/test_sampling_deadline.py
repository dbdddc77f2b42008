"""The search for a first feasible design: how long, and what is said."""

from __future__ import annotations

import logging
import time

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model
from archeng.errors import InfeasibleModelError
from archeng.sampling.search import SearchDeadline


def ellipsoids(n: int, count: int) -> Model:
    """Ellipsoids far from each other: each pair is in conflict, and each repair takes long."""
    rng = np.random.default_rng(1)
    model = Model("ellipsoids")
    x = model.variable("x", shape=n, lower=-10, upper=10)
    for k in range(count):
        A, c = rng.normal(size=(n, n)) / np.sqrt(n), rng.uniform(-8, 8, n)
        model.subject_to(ca.sumsqr(ca.mtimes(ca.DM(A), x - ca.DM(c))) <= 1, name=f"e{k}")
    return model


def test_max_time_covers_the_search() -> None:
    begin = time.monotonic()
    with pytest.raises(InfeasibleModelError, match=r"was found in \d+ s .*there may be one"):
        archeng.solve(ellipsoids(20, 20), lambda d: 0.0, max_time=0.5, max_evaluations=10, seed=1)
    assert time.monotonic() - begin < 60


def test_a_limit_without_max_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("archeng.sampling.search.SEARCH_SECONDS", 0.5)
    monkeypatch.setattr("archeng.sampling.search._QUIET", 0.0)
    with (
        caplog.at_level(logging.WARNING, logger="archeng"),
        pytest.raises(InfeasibleModelError, match=r"was found in \d+ s"),
    ):
        archeng.sample_feasible(ellipsoids(20, 20), 3, seed=1)
    assert "no feasible design of ellipsoids found yet" in caplog.text


def test_a_search_that_ends_by_itself_says_so() -> None:
    model = Model("pair")
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(x**2 >= 2, name="large")
    with pytest.raises(InfeasibleModelError, match="found in 80 attempts"):
        archeng.solve(model, lambda d: 0.0, max_evaluations=10, seed=1)


def test_without_a_limit_by_the_user_the_speed_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("archeng.sampling.search.SEARCH_SECONDS", 0.0)
    assert not SearchDeadline("m").over(points=1, attempts=3)
    assert SearchDeadline("m").over(points=0, attempts=3)
    assert SearchDeadline("m", 0.0).over(points=1, attempts=3)
