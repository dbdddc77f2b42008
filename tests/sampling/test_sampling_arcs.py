"""A feasible set of short arcs, where walks along the tangents all leave it."""

from __future__ import annotations

import pytest

import archeng
from archeng import Model
from archeng.model import compile_model


@pytest.mark.parametrize("seed", range(4))
def test_no_point_comes_back_to_the_manifold(seed: int) -> None:
    model = Model("arcs")
    x = model.variable("x", start=2.1149237, scale=0.55714093)
    y = model.variable("y", start=2.87705867, scale=1.0514435)
    cubic = x * (-0.86 * x + 0.67 * y) * y
    model.subject_to(cubic, lower=1.1241482262897726, upper=2.3237747359233043)
    model.subject_to(
        x * (-0.86 * x + 0.46 * y) * y == -2.2724392345689406, tolerance=1e-6, name="curve"
    )
    model.subject_to(x**4 + y**4, lower=103.57044469563317, upper=103.92448326672252)
    designs = archeng.sample_feasible(model, 6, seed=seed)
    assert len(designs) == 6
    fs = compile_model(model)
    assert all(fs.is_feasible(fs.reduce(d.x)) for d in designs)
