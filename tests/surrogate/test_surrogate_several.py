"""`Several`: the same as one model after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import Quadratic, moderate, seeds

from archeng.surrogate.guards import Lagrangian, Sides
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.several import Several

PARTS = [
    [(0.0, 0.0), (0.0, 0.0)],
    [(1.3, 0.0), (0.0, 0.0)],
    [(0.0, 0.7), (0.0, 0.0), (0.0, 0.2)],
    [(1.0, 0.0), (0.0, 1.0), (0.4, 2.0)],
]


def random_models(
    rng: np.random.Generator, parts: list[tuple[float, float]]
) -> tuple[Interpolant, ...]:
    n, p = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    centres = rng.standard_normal((p, n))
    models = []
    for spline, radial in parts:
        q, weights = Quadratic(rng, n), rng.standard_normal(p)
        q_parts = (q.constant, q.gradient, q.hessian)
        models.append(Interpolant(*q_parts, centres, weights, spline, radial))
    return tuple(models)


@pytest.mark.parametrize("parts", PARTS)
@moderate
@given(seed=seeds)
def test_together_is_one_after_the_other(parts: list[tuple[float, float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    models = random_models(rng, parts)
    several, weights = Several(models), rng.standard_normal(len(models))
    for v in (rng.standard_normal(len(models[0].gradient)), models[0].centres[0].copy()):
        found = [model.derivatives(v) for model in models]
        bend = sum(w * hessian for w, (_, hessian) in zip(weights, found, strict=True))
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(several.values(v), [m.value(v) for m in models], **close)
        np.testing.assert_allclose(several.slopes(v), [slope for slope, _ in found], **close)
        np.testing.assert_allclose(several.hessian(v, weights), bend, **close)


@pytest.mark.parametrize("parts", PARTS)
def test_derivatives_of_the_lagrangian_are_those_of_its_value(
    parts: list[tuple[float, float]],
) -> None:
    rng = np.random.default_rng(4)
    objective, *models = random_models(rng, [(0.5, 0.5), *parts])
    n, m = len(objective.gradient), len(models)
    both = np.concatenate((np.arange(m), np.arange(m)))  # a lower and an upper limit each
    sides = Sides(both, np.repeat([-1.0, 1.0], m), np.repeat([0.5, -0.5], m))
    lagrangian = Lagrangian(objective, Several(models), sides, sides, rng.random(2 * m))
    v, steps = rng.standard_normal(n), 1e-6 * np.eye(n)
    gradient, hessian = lagrangian.derivatives(v)
    slopes = [(lagrangian.value(v + e) - lagrangian.value(v - e)) / 2e-6 for e in steps]
    bends = [(lagrangian.derivatives(v + e)[0] - gradient) / 1e-6 for e in steps]
    size = 1 + float(np.abs(hessian).max())
    np.testing.assert_allclose(gradient, slopes, atol=1e-6 * size)
    np.testing.assert_allclose(hessian, bends, atol=1e-3 * size)
