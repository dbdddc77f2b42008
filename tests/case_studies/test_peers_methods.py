"""Every adapter whose package is installed solves an easy problem, and is counted right."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

import archeng
from case_studies.peers import runs
from case_studies.peers.adapters import (
    METHODS,
    NOT_INSTALLED,
    Method,
    exact_constraints,
    fingerprint,
    gaussian_process,
)
from case_studies.peers.case import Case
from case_studies.peers.constraints import within_slack
from case_studies.peers.recorder import Finished
from case_studies.peers.variants import VARIANTS, Variant
from case_studies.shared.arguments import chosen

INSTALLED = [name for name, method in METHODS.items() if method.installed]
EASY = Variant("easy", 0.05, VARIANTS["plain"].seen)


def convex() -> Any:
    """Nearest point to (2, 1) in a disc and a half plane: (1.5, 0.5), f = 1.5."""
    model = archeng.Model("convex")
    x = model.variable("x", lower=-3, upper=3)
    y = model.variable("y", lower=-3, upper=3)
    model.subject_to(x + y <= 2, name="plane")
    model.subject_to(x**2 + y**2 <= 4, name="disc")
    box = np.full(2, 3.0)
    return SimpleNamespace(
        name="convex",
        model=model,
        objective=lambda v: 1 + (v[0] - 2) ** 2 + (v[1] - 1) ** 2,
        lower=-box,
        upper=box,
        f_opt=1.5,
    )


def equality() -> Any:
    """Minimise x^2 + y^2 on the line x + y = 1: (0.5, 0.5), f = 1.5."""
    model = archeng.Model("line")
    x = model.variable("x", lower=-3, upper=3)
    y = model.variable("y", lower=-3, upper=3)
    model.subject_to(x + y == 1, name="line", tolerance=1e-4)
    box = np.full(2, 3.0)
    return SimpleNamespace(
        name="line",
        model=model,
        objective=lambda v: 1 + v[0] ** 2 + v[1] ** 2,
        lower=-box,
        upper=box,
        f_opt=1.5,
    )


def recorded_case(problem: Any, strict: bool, **options: Any) -> tuple[Case, list[np.ndarray]]:
    """Return a case whose designs are written down."""
    designs: list[np.ndarray] = []
    objective = problem.objective

    def written(x: Any) -> float:
        designs.append(np.array(x))
        return float(objective(x))

    problem.objective = written
    limits = {"seed": 1, "budget": 3000, "seconds": 10.0, **options}
    case = runs.make_case(problem, strict, EASY, np.random.default_rng(1), **limits)
    return case, designs


@pytest.mark.parametrize("name", INSTALLED)
def test_method_solves_an_easy_problem(name: str) -> None:
    method = METHODS[name]
    case, designs = recorded_case(convex(), method.strict)
    row = runs.outcome(method.solve, case)
    assert row["error"] == ""
    assert (row["success"], row["stop"]) == (True, "target")
    judge = within_slack(case.feasible_set)
    values = [1 + (v[0] - 2) ** 2 + (v[1] - 1) ** 2 for v in designs]
    feasible = [judge(v) for v in designs]
    target = 1.5 * 1.05
    first = next(i for i, v in enumerate(values) if feasible[i] and v <= target) + 1
    assert row["calls_to_target"] == first == row["calls"] == len(designs)
    assert row["infeasible_share"] == pytest.approx(1 - np.mean(feasible), abs=1e-6)
    assert row["best"] == pytest.approx(
        min(v for v, ok in zip(values, feasible, strict=True) if ok)
    )
    assert row["overhead_ms"] > 0


@pytest.mark.parametrize(
    "name",
    ["archeng", "archeng-paper", "scipy-cobyla", "scipy-trust-constr", "slsqp-fd", "ipopt-fd"],
)
def test_equalities(name: str) -> None:
    method = METHODS[name]
    case, designs = recorded_case(equality(), method.strict)
    row = runs.outcome(method.solve, case)
    assert row["success"]
    off = [abs(v.sum() - 1) for v in designs]
    assert off[-1] <= 1.001e-4
    if method.strict:
        assert max(off) <= 1e-6
        assert row["infeasible_share"] == 0


@pytest.mark.parametrize(
    "name", [m for m in ("archeng", "nomad-eb", "optuna-tpe", "gp") if m in INSTALLED]
)
def test_methods_that_do_not_call_f_at_infeasible_designs(name: str) -> None:
    case, _ = recorded_case(convex(), METHODS[name].strict, budget=40)
    assert runs.outcome(METHODS[name].solve, case)["infeasible_share"] == 0


def test_budget_and_restarts_of_a_local_method() -> None:
    problem = convex()
    problem.f_opt = 1.0  # out of reach, so it begins again and again
    case, designs = recorded_case(problem, strict=False, budget=200)
    row = runs.outcome(METHODS["scipy-cobyla"].solve, case)
    assert (row["stop"], row["calls"], row["success"]) == ("budget", 200, False)
    jumps = np.linalg.norm(np.diff(designs, axis=0), axis=1)
    assert np.count_nonzero(jumps[40:] > 1.0) >= 1
    assert np.array_equal(designs[0], case.start)


def test_an_error_keeps_what_was_reached() -> None:
    def broken(case: Case) -> None:
        for _ in range(3):
            case.objective(case.start * 0)
        raise RuntimeError("no more")

    case, _ = recorded_case(convex(), strict=False)
    row = runs.outcome(broken, case)
    assert (row["error"], row["stop"], row["calls"]) == ("RuntimeError: no more", "ended", 3)
    assert (row["best"], row["success"]) == (6.0, False)


def task(method: str, **changes: Any) -> dict[str, Any]:
    return {"suite": "cec2006", "problem": "g24", "variant": "plain", "method": method,
            "version": METHODS[method].version, "budget": 60, "seconds": 5, "seed": 0,
            **changes}  # fmt: skip


def test_missing_package_gives_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ghost = Method("ghost", "no-such-distribution-on-earth", "arch:default")
    monkeypatch.setitem(METHODS, "ghost", ghost)
    assert ghost.version == NOT_INSTALLED
    [row] = runs.run_task(task("ghost"))
    assert (row["stop"], row["calls"], row["success"]) == ("skipped", 0, False)
    assert row["error"] == "no-such-distribution-on-earth is not installed"
    [ran] = runs.run_task(task("scipy-cobyla"))
    assert set(ran) == set(row)
    planned = runs.tasks([("cec2006", "g24")], ["plain"], 3, 100, 5)
    assert [t["seed"] for t in planned if t["method"] == "ghost"] == [0]
    assert [t["seed"] for t in planned if t["method"] == "archeng"] == [0, 1, 2]


def test_package_that_cannot_be_imported_gives_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "bad", Method("bad", "scipy", "no_such_adapter:solve"))
    [row] = runs.run_task(task("bad"))
    assert "ModuleNotFoundError" in row["error"]
    assert row["stop"] == "ended"


def test_runs_repeat_exactly() -> None:
    for variant in ("plain", "noise-1e-2", "failing"):
        for method in ("archeng", "scipy-cobyla"):
            first, again = (runs.run_task(task(method, variant=variant))[0] for _ in range(2))
            for row in (first, again):
                del row["overhead_ms"]
            assert first == again


def test_failing_designs_reach_the_method_as_failures() -> None:
    case = runs.make_case(
        convex(), False, VARIANTS["failing"], np.random.default_rng(0), seed=0, budget=10**6
    )
    rng = np.random.default_rng(5)
    values = []
    try:
        for _ in range(1000):
            values.append(case.objective(rng.uniform(-3, 1, 2)))
    except Finished:
        pass
    assert 20 < np.isnan(values).sum() < 90


def test_unit_cube_stays_in_the_box() -> None:
    case, _ = recorded_case(convex(), strict=False)
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.uniform(case.lower, case.upper)
        assert case.from_unit(case.to_unit(x)) == pytest.approx(x, abs=1e-14)
    assert np.array_equal(case.from_unit(np.ones(2)), case.upper)
    assert case.from_unit(np.array([1.5, 0.5]))[0] == 6.0


def test_version_of_archeng_changes_with_its_source(tmp_path: Path) -> None:
    assert METHODS["archeng"].version.startswith(f"{archeng.__version__}+")
    seen = set()
    for content in ("a = 1", "a = 2"):
        folder = tmp_path / content[-1] / "package"
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "module.py").write_text(content)
        assert fingerprint(folder) == fingerprint(folder)
        seen.add(fingerprint(folder))
    (folder / "other.py").write_text("")
    fingerprint.cache_clear()
    seen.add(fingerprint(folder))
    assert len(seen) == 3


def test_method_names() -> None:
    assert chosen(None, METHODS) == list(METHODS)
    assert chosen("scipy-de, archeng", METHODS) == ["scipy-de", "archeng"]
    with pytest.raises(ValueError, match="no method is named simplex; there are archeng, "):
        chosen("archeng,simplex", METHODS)
    with pytest.raises(ValueError, match="there are"):
        chosen(" ", METHODS)


def test_differences_stay_in_the_box_and_are_counted() -> None:
    case, designs = recorded_case(convex(), strict=False, budget=50)
    corner = np.array([1.0, 0.0])  # of the unit cube
    gradient = exact_constraints.differences(case, corner, case.objective.finite([3.0, -3.0]))
    assert len(designs) == 3  # the value, and one for each variable
    assert all(np.all(np.abs(x) <= 3.0) for x in designs)
    exact = 2 * (np.array([3.0, -3.0]) - [2.0, 1.0]) * 6.0
    np.testing.assert_allclose(gradient, exact, rtol=1e-4)


def test_lower_confidence_bound_has_the_right_gradient() -> None:
    rng = np.random.default_rng(4)
    u, lengths = rng.uniform(size=(9, 2)), np.array([0.6, 1.3])
    kernel = Matern(lengths, nu=2.5)
    factor = np.linalg.cholesky(kernel(u) + 1e-8 * np.eye(9))
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, rng.standard_normal(9)))
    model = gaussian_process._Model(u, 1.0, lengths, factor, alpha)
    point, step = np.array([0.3, 0.8]), 1e-6
    value, gradient = model.bound(point, 2.0)
    assert model.bounds(point[None], 2.0)[0] == pytest.approx(value, rel=1e-9)
    ahead = [model.bound(point + step * e, 2.0)[0] for e in np.eye(2)]
    behind = [model.bound(point - step * e, 2.0)[0] for e in np.eye(2)]
    np.testing.assert_allclose((np.array(ahead) - behind) / (2 * step), gradient, rtol=1e-4)
