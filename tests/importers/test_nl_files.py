"""`from_nl` on files that Pyomo writes, with and without names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pyomo.environ as pyo
import pytest
from importer_helpers import random_points, row_values, write_nl

import archeng
from archeng.errors import ModelError
from archeng.model import Model, compile_model

INF = np.inf


def plant() -> Any:
    """Blocks, indices, shared expressions, every kind of row, one fixed and one unused variable."""
    m = pyo.ConcreteModel(name="plant")
    m.x = pyo.Var([1, 2], ["a", "b c"], bounds=(0.5, 4), initialize=1.5)
    m.b = pyo.Block([1, 2])
    for i in (1, 2):
        m.b[i].y = pyo.Var(bounds=(-1, None) if i == 1 else (None, 3))
    m.free = pyo.Var(initialize=-30)
    m.pos = pyo.Var(domain=pyo.PositiveReals, bounds=(None, 9))
    m.fixed = pyo.Var(initialize=2)
    m.fixed.fix()
    m.unused = pyo.Var(bounds=(0, 1))
    m.p = pyo.Param(initialize=1.25, mutable=True)
    m.e = pyo.Expression(expr=m.x[1, "a"] * m.b[1].y + m.p)
    m.le = pyo.Constraint(expr=m.e + pyo.exp(m.x[2, "a"]) <= 9)
    m.ge = pyo.Constraint(expr=m.e**2 / m.x[2, "b c"] >= -1)
    m.eq = pyo.Constraint(expr=pyo.sqrt(m.pos) == m.free + 31)
    m.ranged = pyo.Constraint(expr=(-7, m.e - m.b[2].y * m.fixed, 8))
    m.b[1].lin = pyo.Constraint(expr=m.x[1, "b c"] + 2 * m.free - 3 * m.pos <= 5 + m.p)
    m.lineq = pyo.Constraint(expr=m.x[1, "a"] + m.x[2, "a"] == 3)
    m.bound = pyo.Constraint(expr=m.b[1].y <= 2)
    m.off = pyo.Constraint(expr=m.x[1, "a"] <= -100)
    m.off.deactivate()
    m.o = pyo.Objective(expr=m.e * m.free + 3 * m.pos + 0.5)
    return m


def margins(model: Model, values: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Distance of each row to its two limits (writers move constants between them)."""
    table = model.violations([values[v.name] for v in model.variables])
    entries = {e.name: e for e in table}
    rows = {name: entries[name] for c in model.constraints for name in c.row_names()}
    widths = {c.name: c.widths()[0] for c in model.constraints}
    return {
        name: (e.value - e.lower - widths[name], e.upper - e.value - widths[name])
        for name, e in rows.items()
    }


def test_names_and_rows_agree_with_from_pyomo(tmp_path: Path) -> None:
    m = plant()
    mine, read = archeng.from_pyomo(m), archeng.from_nl(write_nl(m, tmp_path))
    assert {v.name for v in read.variables} == {v.name for v in mine.variables} - {
        "fixed",
        "unused",
    }
    assert {c.name for c in read.constraints} == {c.name for c in mine.constraints}
    for x in random_points(mine):
        values = dict(zip([v.name for v in mine.variables], x, strict=True))
        values["fixed"] = 2.0
        expected, found = margins(mine, values), margins(read, values)
        for name, pair in expected.items():
            np.testing.assert_allclose(found[name], pair, rtol=1e-11, atol=1e-12)


def test_bounds_and_starts(tmp_path: Path) -> None:
    m = plant()
    v = {v.name: v for v in archeng.from_nl(write_nl(m, tmp_path)).variables}
    assert (v["x[1,a]"].lower[0], v["x[1,a]"].upper[0], v["x[1,a]"].start[0]) == (0.5, 4, 1.5)
    assert (v["b[1].y"].lower[0], v["b[1].y"].upper[0], v["b[1].y"].start[0]) == (-1, INF, 0)
    assert (v["b[2].y"].lower[0], v["b[2].y"].upper[0]) == (-INF, 3)
    assert (v["free"].start[0], v["free"].scale[0]) == (-30, 6)
    assert np.isnan(v["pos"].start[0])


def test_without_labels_the_names_are_numbers(tmp_path: Path) -> None:
    m = plant()
    with_names = archeng.from_nl(write_nl(m, tmp_path, name="a.nl"))
    without = archeng.from_nl(write_nl(m, tmp_path, name="b.nl", labels=False))
    n, rows = len(with_names.variables), len(with_names.constraints)
    assert not (tmp_path / "b.col").exists()
    assert [v.name for v in without.variables] == [f"x{i}" for i in range(n)]
    assert [c.name for c in without.constraints] == [f"c{i}" for i in range(rows)]
    for x in random_points(with_names):
        first = margins(
            with_names, dict(zip([v.name for v in with_names.variables], x, strict=True))
        )
        second = margins(without, dict(zip([v.name for v in without.variables], x, strict=True)))
        assert list(first.values()) == list(second.values())


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_objective_and_sense(tmp_path: Path, sense: Any) -> None:
    m = plant()
    m.o.sense = sense
    path = write_nl(m, tmp_path)
    assert not archeng.from_nl(path).has_objective
    read = archeng.from_nl(path, objective=True)
    mine = archeng.from_pyomo(m, objective=True)
    assert read.objective_sense == ("minimize" if sense == pyo.minimize else "maximize")
    for x in random_points(mine):
        values = dict(zip([v.name for v in mine.variables], x, strict=True))
        values["fixed"] = 2.0
        expected = mine.objective_function()([values[v.name] for v in mine.variables])
        found = read.objective_function()([values[v.name] for v in read.variables])
        assert found == pytest.approx(expected, rel=1e-12)


def test_suffixes_are_ignored(tmp_path: Path) -> None:
    m = plant()
    plain = archeng.from_nl(write_nl(m, tmp_path, name="plain.nl"))
    m.priority = pyo.Suffix(direction=pyo.Suffix.EXPORT, datatype=pyo.Suffix.INT)
    m.weight = pyo.Suffix(direction=pyo.Suffix.EXPORT, datatype=pyo.Suffix.FLOAT)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT_EXPORT)
    m.priority[m.free] = 3
    m.weight[m.le] = 2.5
    m.weight[m.o] = 7.5
    m.dual[m.eq] = 1.5
    path = write_nl(m, tmp_path)
    assert "S" in {line[:1] for line in path.read_text().splitlines()}
    read = archeng.from_nl(path)
    names = [v.name for v in plain.variables]
    assert [v.name for v in read.variables] == names
    for x in random_points(plain, count=3):
        values = dict(zip(names, x, strict=True))
        assert margins(read, values) == margins(plain, values)


def test_linear_only_and_no_constraints(tmp_path: Path) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(0, 5))
    m.o = pyo.Objective(expr=m.x[1] + 2 * m.x[2])
    model = archeng.from_nl(write_nl(m, tmp_path), objective=True)
    assert (model.n_variables, len(model.constraints)) == (2, 0)
    assert model.objective_function()([1.5, 2]) == 5.5
    m.c = pyo.Constraint(expr=m.x[1] + m.x[2] >= 3)
    fs = compile_model(archeng.from_nl(write_nl(m, tmp_path)))
    assert fs.is_linear
    assert fs.lower[-1] == 3


def test_equalities_have_the_tolerance(tmp_path: Path) -> None:
    fs = compile_model(archeng.from_nl(write_nl(plant(), tmp_path), tolerance=0.25))
    widths = {r.name: b - a for r, a, b in zip(fs.rows, fs.lower, fs.upper, strict=True)}
    assert widths["eq"] == widths["lineq"] == 0.5
    assert {r.name for r in fs.rows if r.equality} == {"eq", "lineq"}


def test_solve_takes_a_path_or_a_string(tmp_path: Path) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(0.5, 2))
    m.c = pyo.Constraint(expr=m.x[1] + m.x[2] >= 2.5)
    m.o = pyo.Objective(expr=-(m.x[1] ** 2) - m.x[2] ** 2, sense=pyo.maximize)
    path = write_nl(m, tmp_path)
    result = archeng.solve(path, seed=1)
    assert result.fun == pytest.approx(-3.125, abs=1e-8)
    assert result.active == ["c"]
    simulated = archeng.solve(
        str(path), lambda d: d["x[1]"] + 2 * d["x[2]"], seed=1, scale={"x[1]": 0.1}
    )
    assert simulated.fun == pytest.approx(3, abs=1e-6)
    result.load_into(m)
    assert m.x[1].value == result.design["x[1]"]
    with pytest.raises(ModelError, match="lbx"):
        archeng.solve(path, lbx=0)
    assert len(archeng.sample_feasible(path, 3, seed=1)) == 3


BEYOND_CASADI = {
    "asinh": lambda m: pyo.asinh(m.x),
    "acosh": lambda m: pyo.acosh(m.x),
    "atanh": lambda m: pyo.atanh(m.x - 2),
    "if": lambda m: pyo.Expr_if(m.x <= 2, m.x, m.y),
}


@pytest.mark.parametrize("what", BEYOND_CASADI)
def test_operators_that_the_reader_of_casadi_does_not_have(tmp_path: Path, what: str) -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(1.5, 2.5)), pyo.Var(bounds=(0, 1))
    m.stress = pyo.Constraint([7], rule=lambda b, i: BEYOND_CASADI[what](b) + b.y <= 1)
    m.o = pyo.Objective(expr=m.x)
    model = archeng.from_nl(write_nl(m, tmp_path))
    for x, y in random_points(model):
        m.x, m.y = x, y
        expected = pyo.value(m.stress[7].body)
        assert row_values(model, [x, y])["stress[7]"] == pytest.approx(expected, rel=1e-12)


def test_rows_agree_with_the_reader_of_casadi(tmp_path: Path) -> None:
    """CasADi's own reader as a referee, on a file without labels (it stops at comments)."""
    path = write_nl(plant(), tmp_path, labels=False)
    nlp = ca.NlpBuilder()
    nlp.import_nl(str(path), {})
    rows = ca.Function("rows", [ca.vertcat(*nlp.x)], [ca.vertcat(*nlp.g), nlp.f])
    model = archeng.from_nl(path, objective=True)
    for x in random_points(model):
        g, f = (np.asarray(v).ravel() for v in rows(x))
        np.testing.assert_allclose(list(row_values(model, x).values()), g, rtol=1e-12)
        assert model.objective_function()(x) == pytest.approx(float(f[0]), rel=1e-12)


def test_discrete_variables_in_every_part_of_the_order(tmp_path: Path) -> None:
    for seed in range(12):
        m = random_mixed(np.random.default_rng(seed))
        other = archeng.from_pyomo(m)
        model = archeng.from_nl(write_nl(m, tmp_path))
        kinds = {v.name: v.domain.kind for v in other.variables}
        found = {v.name: v.domain.kind for v in model.variables}
        assert found == {name: kinds[name] for name in found}
        assert len(found) >= 6


def random_mixed(rng: np.random.Generator) -> Any:
    """Real, binary and integer variables, linear and nonlinear, in rows and in the objective."""
    m = pyo.ConcreteModel()
    m.r = pyo.Var(range(6), bounds=(0, 5))
    m.n = pyo.Var(range(6), domain=pyo.Integers, bounds=(0, 7))
    m.b = pyo.Var(range(6), domain=pyo.Binary)
    every = [*m.r.values(), *m.n.values(), *m.b.values()]
    curved, bent, flat, goal = ([v for v in every if rng.random() < 0.4] for _ in range(4))
    m.c = pyo.Constraint(expr=sum(v**2 for v in curved) + sum(flat) + every[0] <= 50)
    m.d = pyo.Constraint(expr=sum(3 * v for v in every[::2]) <= 60)
    m.o = pyo.Objective(expr=sum(pyo.exp(v) for v in bent) + sum(goal) + m.r[0])
    return m
