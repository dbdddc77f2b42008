"""A choice of independents that was stored gives the same solutions, to the last bit."""

from __future__ import annotations

import numpy as np

import archeng
from archeng.model import compile_model


def ladder(n: int = 12) -> archeng.Model:
    """Three equations for each rung, written in an order in which they cannot be solved."""
    model = archeng.Model("ladder")
    u = model.variable("u", lower=0.5, upper=2, start=1)
    w = model.variable("w", lower=0.5, upper=2, start=1.2)
    a, b, c = (model.variable(name, shape=(n,), lower=-9, upper=9, start=1) for name in "abc")
    for k in reversed(range(n)):
        before = w if k == 0 else c[k - 1]
        model.subject_to(c[k] + 0.3 * a[k] == 0.5 * b[k] ** 2 + 0.1 * u, name=f"c{k}")
        model.subject_to(a[k] * 3 + b[k] == u + before, name=f"a{k}")
        model.subject_to(b[k] - 0.2 * c[k] * a[k] == before / (1 + u), name=f"b{k}")
    return model


def test_equations_are_solved_in_the_same_order() -> None:
    first = compile_model(ladder())
    again = compile_model(ladder(), choice=first.choice)
    assert first.dependents is not None
    assert again.dependents is not None
    assert np.array_equal(first.dependents.columns, again.dependents.columns)
    assert np.array_equal(first.dependents.rows, again.dependents.rows)
    for u in first.start + np.random.default_rng(1).normal(0, 0.05, (20, first.n)):
        assert np.array_equal(first.expand(u), again.expand(u))
