"""Dependent variables: values and derivatives, purity, which they are, and when there are any."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest
from structure_models import CASES, CIRCLE_CASE, Case, Vector, near_points, tolerances

import archeng
from archeng import Model, Settings
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet, compile_model
from archeng.model.structure.reduction import LEAST_EQUATIONS
from case_studies.flowsheet.suite import PROBLEMS

TESTED = pytest.mark.parametrize("name", CASES)


def compiled(name: str, **options: Any) -> tuple[Case, FeasibleSet]:
    fs = compile_model(CASES[name].model(**options))
    assert fs.dependents is not None
    return CASES[name], fs


def by_scipy(case: Case, fs: FeasibleSet, u: Vector) -> Vector:
    """Full vector at independents u, from a start that no solution is near to by chance."""
    assert fs.dependents is not None
    assert fs.whole is not None
    columns = fs.whole.free[fs.dependents.columns]
    x = fs.expand(fs.start)
    x[fs.free] = u
    x[columns] *= 1.01
    return case.solved(x, columns)


# -- values and derivatives ------------------------------------------------------------------


@TESTED
@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_solutions_and_rows_are_those_of_scipy(name: str, kind: str) -> None:
    case, fs = compiled(name, symbols=kind)
    assert fs.n + len(case.formulas(case.at(fs.template), np).equations) == len(case.names)
    for u in near_points(fs, 4):
        x, referee = fs.expand(u), by_scipy(case, fs, u)
        np.testing.assert_array_equal(x[fs.free], u)
        np.testing.assert_allclose(x, referee, rtol=1e-8, atol=1e-9)
        values = [case.value(row.name, referee) for row in fs.rows]
        np.testing.assert_allclose(fs.values(u), values, rtol=1e-8, atol=1e-9)
        nonlinear, _ = fs.nonlinear_rows_and_jacobian(u)
        np.testing.assert_array_equal(nonlinear, fs.values(u)[fs.m - fs.n_nonlinear :])
    assert not any(row.equality for row in fs.rows)  # those that are solved are no rows


@TESTED
@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_gradients_are_differences_of_solutions_by_scipy(name: str, kind: str) -> None:
    case, fs = compiled(name, symbols=kind)
    h = 1e-4
    for u in near_points(fs, 2, seed=1):
        _, J = fs.values_and_jacobian(u)
        size = np.abs(J * fs.scale).max(axis=1)
        for i, step in enumerate(h * fs.scale):
            e = np.eye(fs.n)[i] * step
            ahead, behind = (by_scipy(case, fs, u + s * e) for s in (1, -1))
            for j, row in enumerate(fs.rows):
                slope = (case.value(row.name, ahead) - case.value(row.name, behind)) / (2 * h)
                assert abs(slope - J[j, i] * fs.scale[i]) < 1e-5 * size[j] + 1e-9, (row.name, i)


@TESTED
@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_curvature_is_a_second_difference_of_solutions_by_scipy(name: str, kind: str) -> None:
    case, fs = compiled(name, symbols=kind)
    rng, h = np.random.default_rng(2), 1e-2
    (u,) = near_points(fs, 1, seed=2)
    for _ in range(4):
        weights = np.zeros(fs.m)
        weights[fs.m - fs.n_nonlinear :] = rng.standard_normal(fs.n_nonlinear)
        H = fs.hessian(u, weights)
        np.testing.assert_allclose(H, H.T, rtol=1e-9, atol=1e-12 * np.abs(H).max())
        d = rng.standard_normal(fs.n) * fs.scale / np.sqrt(fs.n)

        def total(t: float, d: Vector = d, weights: Vector = weights) -> float:
            x = by_scipy(case, fs, u + t * d)
            return float(weights @ [case.value(row.name, x) for row in fs.rows])

        near, far = ((total(k) - 2 * total(0) + total(-k)) / k**2 for k in (h, 2 * h))
        expected = near + (near - far) / 3  # Richardson: what is left is of the fourth order
        size = float(np.abs(H * np.outer(fs.scale, fs.scale)).max())
        assert d @ H @ d == pytest.approx(expected, rel=1e-4, abs=1e-4 * size)


@TESTED
def test_hessians_are_differences_of_gradients(name: str) -> None:
    _, fs = compiled(name)
    u, w = fs.start, np.random.default_rng(1).standard_normal(fs.n_nonlinear)
    (H,) = fs.nonlinear_hessian(u, w)
    steps = np.diag(1e-5 * fs.scale)
    slopes = [
        (fs.nonlinear_rows_and_jacobian(u + e)[1] - fs.nonlinear_rows_and_jacobian(u - e)[1]).T @ w
        for e in steps
    ]
    differences = np.array(slopes) / (2 * np.diag(steps)[:, None])
    scaled = np.outer(fs.scale, fs.scale)
    assert np.abs((differences - H) * scaled).max() < 1e-6 * np.abs(H * scaled).max()


@TESTED
def test_gradients_by_all_variables_become_gradients_by_the_independents(name: str) -> None:
    case, fs = compiled(name)
    symbol = ca.SX.sym("x", len(case.names))
    slopes = ca.Function(
        "f", [symbol], [ca.gradient(case.formulas(case.at(symbol), ca).cost, symbol)]
    )
    for u in near_points(fs, 3, seed=3):
        full = fs.expand(u)
        mine = fs.reduce_gradient(full, np.asarray(slopes(full)).reshape(-1))
        for i, e in enumerate(np.diag(1e-4 * fs.scale)):
            ahead, behind = (case.cost(by_scipy(case, fs, u + s * e)) for s in (1, -1))
            assert mine[i] == pytest.approx((ahead - behind) / (2 * e[i]), rel=1e-5, abs=1e-6)


# -- a pure function -------------------------------------------------------------------------


def everything(fs: FeasibleSet, points: Vector) -> list[bytes]:
    weights = np.ones(fs.n_nonlinear)
    return [
        part.tobytes()
        for u in points
        for part in (
            fs.expand(u), fs.values(u), fs.nonlinear_rows_and_jacobian(u)[1],
            fs.nonlinear_hessian(u, weights)[0],
        )
    ]  # fmt: skip


@TESTED
def test_the_same_bits_whatever_was_asked_before(name: str) -> None:
    case, fs = compiled(name)
    points = near_points(fs, 5, 0.5)
    asked = everything(fs, points)
    for u in near_points(fs, 60, 1.0, seed=5):  # more than are remembered
        fs.values(u)
    assert everything(fs, points) == asked
    backwards = everything(fs, points[::-1])
    assert [backwards[4 * k : 4 * k + 4] for k in range(5)][::-1] == [
        asked[4 * k : 4 * k + 4] for k in range(5)
    ]
    assert everything(pickle.loads(pickle.dumps(fs)), points) == asked
    assert everything(compile_model(case.model()), points) == asked
    assert fs.choice is not None
    chosen = compile_model(case.model(), choice=fs.choice)
    assert chosen.free_names == fs.free_names
    assert everything(chosen, points) == asked  # as a journal needs it


@TESTED
def test_solutions_begin_anywhere_and_end_at_the_same_point(name: str) -> None:
    _, fs = compiled(name)
    points = near_points(fs, 3, 0.1, seed=6)
    before = fs.expand(points)
    fs.begin_at(fs.expand(near_points(fs, 1, 0.3, seed=7)[0]))
    np.testing.assert_allclose(fs.expand(points), before, rtol=1e-9, atol=1e-10)
    again = pickle.loads(pickle.dumps(fs))
    assert everything(again, points) == everything(fs, points)  # the anchor goes along
    fs.begin_at(before[0])
    assert not fs.is_far(before[0])
    assert fs.is_far(fs.expand(near_points(fs, 1, 0.5, seed=8)[0]))


def test_where_the_equations_are_singular_there_is_no_tangent() -> None:
    """Whatever was asked before: a solver that fails leaves its last answer behind."""
    _, fs = compiled("circle", named=("x", "z"))
    assert fs.dependents is not None
    singular = fs.expand(np.array([0.5, 0.2]))
    singular[:2] = 1.0, 0.0
    for u in near_points(fs, 2):
        assert np.all(np.isfinite(fs.dependents.tangent(fs.expand(u))))
        assert np.all(np.isnan(fs.dependents.tangent(singular)))
        assert np.all(np.isnan(fs.dependents.adjoint(singular, np.ones(41))))


# -- no solution -----------------------------------------------------------------------------


@pytest.mark.parametrize("x", [1.001, 1.3, -1.2, 1e6, np.nan, np.inf])
def test_there_is_no_solution_beyond_the_circle(x: float) -> None:
    _, fs = compiled("circle", named=("x", "z"))
    u = np.array([x, 0.2])
    assert fs.dependents is not None
    assert fs.dependents.solve(u) is None
    full = fs.expand(u)
    np.testing.assert_array_equal(full[fs.free], u)
    assert np.all(np.isnan(np.delete(full, fs.free)))
    assert not fs.is_feasible(u)
    assert np.all(np.isnan(fs.values(u)[fs.m - fs.n_nonlinear :]))
    assert np.all(np.isinf(fs.violations(u)[fs.m - fs.n_nonlinear :]))
    values, jacobian = fs.nonlinear_rows_and_jacobian(u)
    assert np.all(np.isnan(values))
    assert np.all(np.isnan(jacobian))
    assert np.all(np.isnan(fs.nonlinear_hessian(u, np.ones(fs.n_nonlinear))[0]))
    assert np.any(fs.violations_in_full(full) == np.inf)


@pytest.mark.parametrize("x", [-0.999, -0.5, 0.0, 0.9, 0.9999])
def test_up_to_its_edge_there_is_one(x: float) -> None:
    _, fs = compiled("circle", named=("x", "z"))
    full = fs.expand(np.array([x, 0.2]))
    assert full[1] == pytest.approx(np.sqrt(1 - x**2), rel=1e-6)  # the branch of the start


def test_a_model_whose_equations_have_no_solution_is_searched_in_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = Model("nowhere")
    x, y = (model.variable(s, lower=-9, upper=9, start=1) for s in "xy")
    w = model.variable("w", lower=-9, upper=9, shape=40)
    model.subject_to(x**2 + y**2 == -1, name="impossible")
    model.subject_to(w[:39] == x + y, name="sums")
    fs = compile_model(model)
    assert fs.dependents is None
    assert fs.n == 42
    assert "no solution of its equations was found" in caplog.text
    assert any("no solution" in note for note in fs.notes)


# -- settled variables, bounds ---------------------------------------------------------------


def settled(top: float = 10.0, limit: float = np.inf) -> Model:
    """Two variables that two equations settle, and 30 that follow from the free one."""
    model = Model("settled")
    a = model.variable("a", lower=0, upper=top, start=1)
    b = model.variable("b", lower=0, upper=top, start=4)
    u = model.variable("u", lower=0, upper=1, start=0.5)
    w = model.variable("w", lower=-100, upper=100, shape=30)
    model.subject_to(a + b == 5, name="sum")
    model.subject_to(a * b == 6, name="product")
    for i in range(30):
        model.subject_to(w[i] == a * u + i * b, name=f"w{i}")
    model.subject_to(a - b <= limit, name="order")
    return model


def test_settled_variables_are_no_rows() -> None:
    fs = compile_model(settled())
    assert fs.dependents is not None
    names = {row.name for row in fs.rows}
    assert "bounds of w[3]" in names
    assert not names & {"bounds of a", "bounds of b", "order", "sum"}
    assert {"bounds of a", "bounds of b", "sum"} <= {row.name for row in fs.rows_in_full}
    for u in np.linspace(0, 1, 5):
        full = fs.expand(np.array([u]))
        assert sorted(full[:2]) == pytest.approx([2, 3], rel=1e-9)
        assert not np.any(fs.violations_in_full(full))
    full[0] += 1e-3
    assert np.any(fs.violations_in_full(full))  # the gate sees them all the same


def test_settled_variables_beyond_their_bounds_are_an_infeasible_model() -> None:
    with pytest.raises(InfeasibleModelError, match=r"equations alone make [ab] = .*bounds are 0"):
        compile_model(settled(top=2.5))


def test_a_row_of_settled_variables_that_is_violated_is_an_infeasible_model() -> None:
    with pytest.raises(InfeasibleModelError, match="order"):
        compile_model(settled(limit=-2.0))


@pytest.mark.parametrize("upper", [0.0, 4.0])
def test_dependents_at_a_bound_are_exactly_there(upper: float) -> None:
    """A third of three, a tenth of ten: what only rounding puts beyond a bound is put onto it."""
    model = Model("thirds")
    u = model.variable("u", shape=3, lower=-1, upper=5, start=0.5)
    w = model.variable("w", shape=40, lower=-20, upper=upper, scale=1)
    for i in range(40):
        model.subject_to(w[i] == upper + (u[0] - 0.1 * (i + 1)) * (u[1] + 2) / 3, name=f"w{i}")
    model.independent(u)
    fs = compile_model(model)
    for i in range(40):
        at = np.array([0.1 * (i + 1), 1 / 3, 0.0])
        assert fs.expand(at)[3 + i] == upper
        beyond = at + np.array([1e-9, 0, 0])
        assert fs.expand(beyond)[3 + i] > upper  # that is no rounding
    assert fs.expand(np.array([4.0, 1 / 3, 0.0]))[-1] == upper


# -- which variables are independent ---------------------------------------------------------


@TESTED
def test_named_independents_are(name: str) -> None:
    case = CASES[name]
    fs = compile_model(case.model(named=case.independent))
    assert fs.free_names == case.independent
    others = {"tanks": ("k[2]", "c[7]"), "grid": ("slack", "flow[3]"), "circle": ("w[11]", "y")}
    fs = compile_model(case.model(named=others[name]))
    assert set(others[name]) <= set(fs.free_names)
    x = fs.expand(fs.start)
    assert case.offences(x, tolerances(case.model())) == []


def test_few_equations_are_eliminated_if_independents_are_named() -> None:
    def can(*names: str) -> FeasibleSet:
        model = Model("can")
        r, h = (model.variable(s, lower=1, upper=10, start=3) for s in "rh")
        model.subject_to(3 * r**2 * h == 90, name="volume")
        model.independent(*names)
        return compile_model(model)

    assert can().dependents is None
    assert can("r").free_names == ("r",)
    assert can("h").free_names == ("h",)
    assert can("h").expand(np.array([2.0])) == pytest.approx([np.sqrt(15), 2])
    with pytest.raises(
        ModelError,
        match=r"r, h cannot all be independent: the equations volume .* 0 variables for 1",
    ):
        can("r", "h")


@pytest.mark.parametrize(
    ("name", "named", "words"),
    [
        ("circle", ("x", "y"), "x, y cannot all be independent: the equations circle would"),
        ("circle", ("z", "x", "w[3]"), "x, z, w\\[3\\] cannot .* equations circle, gauge 3 would"),
        ("tanks", ("k[2]", "T[2]"), "T\\[2\\], k\\[2\\] cannot .*speed 2"),
        ("grid", ("flow",), "cannot all be independent"),
    ],
)
def test_names_that_cannot_be_are_refused(name: str, named: tuple[str, ...], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        compile_model(CASES[name].model(named=named))
    assert f"Model {name!r}" in str(caught.value)
    assert "Name fewer, or others." in str(caught.value)


def test_discrete_variables_are_independent() -> None:
    model = Model("mixed")
    n = model.integer("n", lower=1, upper=6, start=3)
    d = model.choice("d", [0.5, 1.0, 2.0])
    u = model.variable("u", lower=0, upper=1)
    w = model.variable("w", shape=40, lower=-500, upper=500)
    for i in range(40):
        model.subject_to(n * d + 0.1 * w[i] == u * (i + 1), name=f"w{i}")
    fs = compile_model(model)
    assert fs.dependents is not None
    assert {"n", "d"} <= set(fs.free_names)
    assert fs.lattice is not None
    assert [fs.free_names[i] for i in fs.lattice.positions] == ["n", "d"]
    full = fs.expand(fs.start)
    assert full[3:] == pytest.approx(10 * (full[2] * np.arange(1, 41) - full[0] * full[1]))
    model.independent(w)
    with pytest.raises(ModelError, match="cannot all be independent"):
        compile_model(model)


def test_a_redundant_equation_stays_a_row() -> None:
    case = CIRCLE_CASE
    model, v = case.declare()
    written = case.formulas(v, ca)
    for name, residual in written.equations.items():
        model.subject_to(residual == 0, name=name)
    model.subject_to(2 * v["w"][0] + v["w"][1] == 4 * v["z"] + 0.03 * v["x"] * v["y"], name="again")
    fs = compile_model(model)
    assert fs.dependents is not None
    assert fs.n == 2  # as without it: it follows from the others
    (row,) = [j for j in range(fs.m) if fs.equality[j]]
    others = {"again", "gauge 0", "gauge 1"}
    assert fs.rows[row].name in others
    for u in near_points(fs, 5):
        assert fs.is_feasible(u)
        assert not np.any(fs.violations_in_full(fs.expand(u)))


def test_an_equation_that_contradicts_others_is_not_eliminated() -> None:
    model, v = CIRCLE_CASE.declare()
    for name, residual in CIRCLE_CASE.formulas(v, ca).equations.items():
        model.subject_to(residual == 0, name=name)
    model.subject_to(2 * v["w"][0] + v["w"][1] == 4 * v["z"] + 7, name="again")
    fs = compile_model(model)
    assert not fs.is_feasible(fs.reduce(fs.expand(fs.start)))
    assert not any(fs.is_feasible(u) for u in near_points(fs, 20))


# -- when ------------------------------------------------------------------------------------


def sums(equations: int, others: int) -> Model:
    model = Model("sums")
    u = model.variable("u", shape=others, lower=0, upper=1, start=0.5)
    w = model.variable("w", shape=equations, lower=-9, upper=9)
    for i in range(equations):
        model.subject_to(w[i] == u[i % others] ** 2 + u[(i + 1) % others], name=f"w{i}")
    return model


@pytest.mark.parametrize(
    ("equations", "others", "reduced"),
    [(29, 3, False), (30, 3, True), (30, 30, True), (30, 31, False), (60, 59, True)],
)
def test_from_thirty_equations_on(equations: int, others: int, reduced: bool) -> None:
    assert LEAST_EQUATIONS == 30
    fs = compile_model(sums(equations, others))
    assert (fs.dependents is not None) is reduced
    assert fs.n == (others if reduced else others + equations)
    assert compile_model(sums(equations, others), eliminate=False).dependents is None


def test_elimination_can_be_turned_off() -> None:
    choices: tuple[Any, ...] = ("auto", "never")
    for choice in choices:
        run = archeng.Run(
            sums(30, 2),
            lambda d: float(np.sum((d["w"] - 0.3) ** 2)),
            seed=1,
            settings=Settings(elimination=choice, surrogate="none"),
        )
        run.step()
        assert run.state.search.distribution.n == (2 if choice == "auto" else 32)
        assert all(len(e.x) == 32 for e in run.evaluations)
        assert run.result().n_infeasible_calls == 0
    with pytest.raises(archeng.errors.SettingsError, match="elimination"):
        Settings(elimination="sometimes")  # type: ignore[arg-type]


@pytest.mark.timeout(60)  # SciPy's matching went in circles with weights that were any numbers
@pytest.mark.parametrize("name", ["case14", "case14s"])
def test_named_independents_of_power_networks_are_taken(name: str) -> None:
    problem = PROBLEMS[name]
    model = archeng.from_pyomo(problem.build(), independent=list(problem.independent))
    feasible_set = compile_model(model)
    assert set(feasible_set.free_names) == set(problem.independent)
