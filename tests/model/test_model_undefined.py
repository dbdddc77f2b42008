"""Rows that CasADi fails to evaluate in a part of the box: undefined there, and nothing else."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings
from archeng.distribution import initial_distribution
from archeng.errors import JournalError, ModelError
from archeng.model import compile_model
from archeng.repair import Repairer

pytestmark = pytest.mark.slow

PLAIN = Settings(surrogate="none")


class Root(ca.Callback):
    """sqrt(6 - x), which raises where x > 6."""

    def __init__(self, **options: Any) -> None:
        ca.Callback.__init__(self)
        self.construct("root", options)

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 1

    def eval(self, arguments: Any) -> Any:
        x = float(arguments[0])
        if x > 6:
            raise ValueError("no root")
        return [np.sqrt(6 - x)]


@functools.cache
def root() -> Any:
    return Root(enable_fd=True)


def part(kind: str) -> tuple[Any, float]:
    """A function of x, and where it ends."""
    z, p = ca.MX.sym("z"), ca.MX.sym("p")
    if kind == "rootfinder":  # z^2 = 6 - p
        equation = {"x": z, "p": p, "g": z**2 - (6 - p)}
        find = ca.rootfinder("find", "newton", equation, {"max_iter": 20, "line_search": False})
        return lambda x: find(1.0, x), 6.0
    if kind == "integrator":  # z' = p z^2, z(0) = 1: infinite at time 1 for p = 1
        ode = {"x": z, "p": p, "ode": p * z**2}
        flow = ca.integrator("flow", "cvodes", ode, 0, 1, {"max_num_steps": 300})
        return lambda x: flow(x0=1, p=x / 6)["xf"], 6.0
    return root(), 6.0


def make(kind: str, symbols: str = "MX") -> Model:
    f, _ = part(kind)
    model = Model("part", symbols=symbols)
    x = model.variable("x", lower=0, upper=10, start=1.5, scale=0.8)
    y = model.variable("y", lower=0, upper=10, start=2, scale=1)
    model.subject_to(f(x) + y <= 8, name="curve")
    model.subject_to(x + y <= 12, name="line")
    return model


def objective(design: Design) -> float:
    assert design["x"] <= 6.0
    return float((design["x"] - 5) ** 2 + design["y"])


@pytest.mark.parametrize("kind", ["rootfinder", "integrator", "callback"])
def test_a_run_goes_around_the_undefined_part(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model, journal = make(kind), tmp_path / "run.db"
    whole = archeng.solve(model, objective, max_evaluations=60, seed=0, settings=PLAIN)
    assert whole.nfev == 60
    assert whole.design["x"] == pytest.approx(5.0, abs=0.5)
    options: dict[str, Any] = {"seed": 0, "settings": PLAIN}
    archeng.solve(model, objective, max_evaluations=35, journal=journal, **options)
    with pytest.raises(JournalError, match="pass it again"):
        archeng.resume(journal, objective)
    resumed = archeng.resume(journal, objective, model=model, max_evaluations=60)
    assert [e.x.tobytes() for e in resumed.evaluations] == [
        e.x.tobytes() for e in whole.evaluations
    ]
    assert "Input 0" not in capfd.readouterr().err  # what CasADi says of a failure


@pytest.mark.parametrize("kind", ["rootfinder", "integrator", "callback"])
def test_rows_and_derivatives(kind: str) -> None:
    fs = compile_model(make(kind))
    assert [row.kind.value for row in fs.rows] == ["bound", "bound", "linear", "nonlinear"]
    inside, outside = np.array([2.0, 1.0]), np.array([8.0, 1.0])
    value, slope = (1.5, 0.375) if kind == "integrator" else (2.0, -0.25)
    values, jacobian = fs.values_and_jacobian(inside)
    assert values[3] == pytest.approx(value + 1.0, rel=1e-5)
    assert jacobian[3] == pytest.approx([slope, 1.0], rel=1e-4)
    values, jacobian = fs.values_and_jacobian(outside)
    assert np.isnan(values[3])
    assert values[2] == 9.0  # the others are known all the same
    assert not fs.is_feasible(outside)
    assert fs.violations(outside)[3] == np.inf
    around = initial_distribution(inside, fs.scale)
    repair = Repairer(fs).repair(outside, around, anchor=inside)
    assert repair.feasible
    assert repair.x[0] <= 6.0


@pytest.mark.parametrize("kind", ["rootfinder", "integrator", "callback"])
def test_samples_and_diagnosis(kind: str) -> None:
    model = make(kind)
    designs = archeng.sample_feasible(model, 8, seed=0)
    assert len(designs) == 8
    assert max(d["x"] for d in designs) <= 6.0
    found = archeng.diagnose(model, samples=100)
    assert found.feasible
    assert [f.name for f in found.undefined] == ["curve"]


def test_functions_of_sx_symbols() -> None:
    fs = compile_model(make("rootfinder", "SX"))
    assert np.isnan(fs.values(np.array([8.0, 1.0]))[3])
    assert fs.rows[2].kind.value == "linear"


def test_a_row_without_derivatives() -> None:
    bare = Root()
    model = Model("bare", symbols="MX")
    x = model.variable("x", lower=0, upper=10)
    model.subject_to(bare(x) <= 2, name="curve")
    with pytest.raises(ModelError, match=r"curve.*enable_fd"):
        compile_model(model)
