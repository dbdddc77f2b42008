"""``archeng.minimize`` on problems as SciPy's users write them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import (
    Bounds,
    LinearConstraint,
    NonlinearConstraint,
    OptimizeResult,
    rosen,
)
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_array

import archeng
from archeng.errors import InfeasibleModelError, ModelError, SettingsError


class Watched:
    """An objective that refuses to be called where a constraint does not hold."""

    def __init__(self, fun: Any, holds: Any) -> None:
        self.fun, self.holds, self.calls = fun, holds, 0

    def __call__(self, x: Any, *args: Any) -> float:
        assert self.holds(x), f"called at the infeasible {x}"
        self.calls += 1
        return float(self.fun(x, *args))


def disk(x: Any) -> Any:
    return x[0] ** 2 + x[1] ** 2


def test_rosenbrock_on_a_disk_agrees_with_scipy() -> None:
    rows = [NonlinearConstraint(disk, -np.inf, 1.0)]
    bounds = Bounds([-1.5, -1.5], [1.5, 1.5])
    fun = Watched(rosen, lambda x: disk(x) <= 1 and np.all(np.abs(x) <= 1.5))
    found = archeng.minimize(
        fun, [0, 0], bounds=bounds, constraints=rows, seed=1, max_evaluations=300
    )
    best = scipy_minimize(rosen, [0, 0], bounds=bounds, constraints=rows, method="SLSQP")
    assert isinstance(found, OptimizeResult)
    assert found.fun == pytest.approx(best.fun, rel=1e-4)
    np.testing.assert_allclose(found.x, best.x, atol=1e-3)
    assert (found.success, found.status, found.maxcv) == (True, 0, 0.0)
    assert found.n_infeasible_calls == 0
    assert found.nfev == fun.calls <= 300
    assert found.nit == len(found.archeng.history)
    assert [r.name for r in found.archeng.rows if r.active] == ["disk"]


def test_slsqp_example_with_dictionaries() -> None:
    # Nocedal and Wright, Numerical Optimization, example 16.4: optimum 0.8 at (1.4, 1.7).
    rows = (
        {"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2},
        {"type": "ineq", "fun": lambda x, a: -x[0] - a * x[1] + 6, "args": (2,)},
        {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2, "jac": lambda x: np.array([-1, 2])},
    )
    fun = Watched(
        lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2,
        lambda x: all(r["fun"](x, *r.get("args", ())) >= 0 for r in rows),
    )
    found = archeng.minimize(
        fun, (2, 0), bounds=((0, None), (0, None)), constraints=rows, seed=1, max_evaluations=200
    )
    assert found.fun == pytest.approx(0.8, abs=1e-6)
    np.testing.assert_allclose(found.x, [1.4, 1.7], atol=1e-4)
    assert [r.name for r in found.archeng.rows][-3:] == ["c1", "c2", "c3"]


def test_equalities_hold_to_the_tolerance() -> None:
    # Hock and Schittkowski, problem 28: f = 0 at (0.5, -0.5, 0.5); a sphere through it is added.
    def sphere(x: Any) -> Any:
        return x @ x - 0.75

    plane = LinearConstraint(csr_array([[1.0, 2.0, 3.0]]), 1.0, 1.0)
    rows = [plane, {"type": "eq", "fun": sphere}]
    fun = Watched(
        lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2,
        lambda x: abs(sphere(x)) <= 1e-7 and abs(x @ [1, 2, 3] - 1) <= 1e-7 * (1 + 1e-8),
    )
    found = archeng.minimize(
        fun, [-4, 1, 1], constraints=rows, seed=2, max_evaluations=200, tolerance=1e-7
    )
    np.testing.assert_allclose(found.x, [0.5, -0.5, 0.5], atol=1e-3)


def test_only_linear_constraints_stay_formulas(tmp_path: Path) -> None:
    rows = LinearConstraint([[1, 1, 1], [1, -1, 0]], [-np.inf, 0], [1, np.inf])
    model = archeng.from_scipy([0, 0, 0], constraints=rows)
    assert model.functions == ()
    path = tmp_path / "run.db"
    fun = lambda x: (x - [0.2, 0.6, 0.9]) @ (x - [0.2, 0.6, 0.9])  # noqa: E731
    found = archeng.minimize(
        fun, [0, 0, 0], constraints=rows, seed=1, max_evaluations=100, journal=path
    )
    again = archeng.resume(path, lambda d: fun(d.x))  # the journal holds the model
    np.testing.assert_array_equal(again.x, found.x)
    best = scipy_minimize(fun, [0, 0, 0], constraints=rows, method="SLSQP")
    np.testing.assert_allclose(found.x, best.x, atol=1e-4)


def test_args_names_options_and_workers() -> None:
    def fun(x: Any, a: float, b: float) -> float:
        return float((x[0] - a) ** 2 + (x[1] - b) ** 2)

    options = {"maxfev": 60, "workers": "threads:2", "parallel": 1, "disp": False}
    found = archeng.minimize(
        fun, [1, 1], (0.25, 0.5), bounds=[(0, 1)] * 2, options=options, seed=1, names=["u", "v"]
    )
    np.testing.assert_allclose(found.x, [0.25, 0.5], atol=1e-4)
    assert found.archeng.design["v"] == found.x[1]
    assert found.nfev <= 60
    again = archeng.minimize(fun, [1, 1], (0.25, 0.5), bounds=[(0, 1)] * 2, max_evaluations=60,
                             seed=1)  # fmt: skip
    np.testing.assert_array_equal(again.x, found.x)


def test_callbacks_of_both_kinds() -> None:
    seen: list[Any] = []

    def stop_when_good(intermediate_result: OptimizeResult) -> None:
        seen.append(intermediate_result)
        if intermediate_result.fun < 1e-2:
            raise StopIteration

    found = archeng.minimize(
        lambda x: float(x @ x), [1, 1, 1], callback=stop_when_good, seed=1, max_evaluations=200
    )
    assert (found.status, found.success) == (99, False)
    assert found.fun == seen[-1].fun < 1e-2 <= seen[-2].fun
    assert seen[-1].nfev == found.nfev
    vectors: list[Any] = []
    found = archeng.minimize(
        lambda x: float(x @ x), [1, 1], callback=vectors.append, seed=1, max_evaluations=20
    )
    assert found.status == 1
    np.testing.assert_array_equal(vectors[-1], found.x)


def test_failed_calls_do_not_end_the_run() -> None:
    def fun(x: Any) -> float:
        if x[0] > 0.6:
            raise RuntimeError("no convergence")
        return float(x @ x)

    found = archeng.minimize(fun, [0.5, 0.5], bounds=[(0.1, 1)] * 2, seed=1, max_evaluations=80)
    np.testing.assert_allclose(found.x, [0.1, 0.1], atol=1e-6)


@pytest.mark.slow
def test_no_feasible_design() -> None:
    empty = NonlinearConstraint(lambda x: x @ x, -np.inf, -1.0)
    with pytest.raises(InfeasibleModelError, match="c1"):
        archeng.minimize(rosen, [0, 0], bounds=[(-1, 1)] * 2, constraints=empty)


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"jac": rosen}, "no derivatives"),
        ({"method": "SLSQP"}, "one method"),
        ({"tol": 1e-6}, "tol_x"),
        ({"options": {"maxiter": 5}}, "max_evaluations"),
        ({"options": {"ftol": 5}}, "has no option ftol"),
        ({"options": 3}, "options must be"),
        ({"callback": 3}, "callback must be"),
    ],
)
def test_options_that_mean_nothing(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        archeng.minimize(rosen, [0, 0], **keywords)


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"bounds": [(0, 1)]}, "1 pairs for 2 variables"),
        ({"bounds": 3}, "one \\(min, max\\)"),
        ({"bounds": [(1, 0), (0, 1)]}, "above upper bound"),
        ({"constraints": 3}, "expected a scipy.optimize.LinearConstraint"),
        ({"constraints": [3]}, r"constraints\[0\]"),
        ({"constraints": {"type": "le", "fun": rosen}}, "'eq' or 'ineq'"),
        ({"constraints": {"type": "eq", "fun": rosen, "tol": 1}}, "may have 'jac' and 'args'"),
        ({"constraints": LinearConstraint([[1, 2, 3]], 0, 1)}, "3 columns for 2"),
        ({"constraints": NonlinearConstraint(disk, [0, 0], [1, 1])}, "have 1 entries"),
        ({"constraints": NonlinearConstraint(disk, 0, 1, jac="4-point")}, "jac must be"),
        ({"names": ["a"]}, "names must have one text"),
    ],
)
def test_problems_that_make_no_sense(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        archeng.minimize(rosen, [0, 0], **keywords)


@pytest.mark.parametrize("x0", [[[0, 0]], [], [np.nan, 0], "ab"])
def test_starts_that_make_no_sense(x0: Any) -> None:
    with pytest.raises(ModelError, match="x0 must be"):
        archeng.minimize(rosen, x0)


def test_importing_archeng_does_not_import_scipy() -> None:
    code = "import sys, archeng; assert 'scipy' not in sys.modules; assert archeng.minimize"
    subprocess.run([sys.executable, "-c", code], check=True)
