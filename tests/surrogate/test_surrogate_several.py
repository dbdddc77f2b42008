"""`Several`: the same as one model after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import Quadratic, moderate, seeds

from archeng.surrogate.interpolant import Interpolant, Several

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
    several = Several(models)
    for v in (rng.standard_normal(len(models[0].gradient)), models[0].centres[0].copy()):
        found = [model.derivatives(v) for model in models]
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(several.values(v), [m.value(v) for m in models], **close)
        np.testing.assert_allclose(several.slopes(v), [slope for slope, _ in found], **close)


@pytest.mark.parametrize("parts", PARTS)
@moderate
@given(seed=seeds)
def test_many_points_are_one_after_the_other(parts: list[tuple[float, float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    models = random_models(rng, parts)
    V = np.vstack((rng.standard_normal((5, len(models[0].gradient))), models[0].centres[:1]))
    one_by_one = [[model.value(v) for model in models] for v in V]
    found = Several(models).values_of_many(V)
    np.testing.assert_allclose(found, one_by_one, rtol=1e-9, atol=1e-9)
