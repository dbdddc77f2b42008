"""Variables without bounds, or with bounds as far away as floats allow: one run, however made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings
from archeng.distribution import initial_distribution
from archeng.errors import ModelError
from archeng.model import compile_model
from archeng.repair import Repairer
from archeng.runner.team import RepairTeam


def box(lower: float | None = None) -> Model:
    """A product that can be reformulated, or not: it depends on where one looks."""
    model = Model("box")
    x = [model.variable(name, lower=lower, start=4.0, scale=3.0) for name in "abc"]
    model.subject_to(x[0] * x[1] * x[2] >= 8, name="volume")
    model.subject_to(x[0] + x[1] + x[2] <= 60, name="sum")
    return model


def waves(design: Design) -> float:
    a, b, c = design.x
    return float((a - 1) ** 2 + 2 * (b - 1.5) ** 2 + 0.5 * (c - 1) ** 2 + 0.3 * np.sin(5 * a))


def test_a_product_as_the_only_row() -> None:
    model = Model("box")
    a, b, c = (model.variable(name, start=4.0, scale=1.0) for name in "abc")
    model.subject_to(a * b * c >= 8, name="volume")
    result = archeng.solve(model, lambda d: float(d.x @ d.x), max_evaluations=100, seed=0)
    assert result.fun == pytest.approx(12.0, rel=1e-6)


@pytest.mark.parametrize("lower", [None, 0.1])
@pytest.mark.parametrize(("seed", "cut"), [(1, 20), (1, 77), (2, 41)])
def test_a_resumed_run_is_the_same_run(
    tmp_path: Path, lower: float | None, seed: int, cut: int
) -> None:
    plain = Settings(surrogate="none")
    options: dict[str, Any] = {"seed": seed, "settings": plain}
    whole = archeng.solve(box(lower), waves, max_evaluations=120, **options)
    archeng.solve(box(lower), waves, max_evaluations=cut, journal=tmp_path / "run.db", **options)
    seen: list[bytes] = []

    def simulate(design: Design) -> float:
        seen.append(design.x.tobytes())
        return waves(design)

    resumed = archeng.resume(tmp_path / "run.db", simulate, max_evaluations=120)
    designs = [e.x.tobytes() for e in whole.evaluations]
    assert [e.x.tobytes() for e in resumed.evaluations] == designs
    assert len(seen) == len(designs) - cut


def test_every_process_reformulates_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that begins with a late distribution repairs as the first process does."""
    sent: list[Any] = []
    monkeypatch.setattr("archeng.runner.team.Workers", lambda task, count: sent.append(task))
    fs = compile_model(box())
    first = initial_distribution(fs.start, fs.scale)
    late = initial_distribution(np.array([-4.0, 4.0, 4.0]), np.full(3, 0.1))
    points = late.mean + np.random.default_rng(0).normal(size=(20, 3))
    own = Repairer(fs, around=first)
    RepairTeam(own, 2)._hire()
    here, there = own.repair_all(points, late), sent[0]((points, late, None))
    assert [r.x.tobytes() for r in here] == [r.x.tobytes() for r in there]
    undecided = Repairer(fs).repair_all(points, late)  # sees no design with a positive volume
    assert [r.x.tobytes() for r in here] != [r.x.tobytes() for r in undecided]


ROWS = {
    "none": lambda x, y: [],
    "linear": lambda x, y: [x + y >= 1],
    "products": lambda x, y: [x**2 + y**2 <= 9, x * y >= 0.1],
    "exponential": lambda x, y: [ca.exp(x) + y <= 5],
}


def wide(size: float, rows: str, **about: float) -> Model:
    model = Model("wide")
    x, y = (model.variable(name, lower=-size, upper=size, **about) for name in "xy")
    for row in ROWS[rows](x, y):
        model.subject_to(row)
    return model


@pytest.mark.parametrize("rows", sorted(ROWS))
@pytest.mark.parametrize("size", [1e29, 1e100, 1e200, 1.7e308])
def test_bounds_as_far_away_as_floats_allow(size: float, rows: str) -> None:
    model = wide(size, rows, start=1.0, scale=1.0)
    result = archeng.solve(
        model, lambda d: float((d["x"] - 1) ** 2 + (d["y"] - 2) ** 2), max_evaluations=40, seed=1
    )
    assert result.fun < 1e-9
    assert len(archeng.sample_feasible(model, 4, seed=0)) == 4
    assert archeng.diagnose(model, samples=100).feasible


@pytest.mark.parametrize("rows", sorted(ROWS))
def test_between_such_bounds_a_start_is_needed(rows: str) -> None:
    for size in (1e31, 1.7e308):
        with pytest.raises(ModelError, match="start= and scale="):
            archeng.solve(wide(size, rows), waves, max_evaluations=40)
        with pytest.raises(ModelError, match="start= and scale="):
            archeng.sample_feasible(wide(size, rows), 8)


def test_an_equality_between_the_farthest_bounds() -> None:
    model = Model("hyperbola")
    x, y = (model.variable(name, lower=-1e308, upper=1e308, start=1.0, scale=1.0) for name in "xy")
    model.subject_to(x * y == 2, tolerance=1e-6)
    result = archeng.solve(
        model, lambda d: float((d["x"] - 1) ** 2 + (d["y"] - 2) ** 2), max_evaluations=40, seed=1
    )
    assert result.fun < 1e-9
