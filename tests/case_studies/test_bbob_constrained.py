"""bbob-constrained: our formulas beside COCO's values, optimality by hand, a slice of the study."""

from __future__ import annotations

import warnings
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import nnls

from case_studies.bbob_constrained import coco
from case_studies.bbob_constrained.__main__ import main
from case_studies.bbob_constrained.definitions import (
    FUNCTIONS,
    LIMIT,
    active_rows,
    definition,
)
from case_studies.bbob_constrained.tables import hits
from case_studies.bbob_constrained.trial import TARGETS, Judged, coco_problem, local_gain
from case_studies.paper.results import read_rows

ERROR = 1e-10
"""Relative difference of our values and COCO's."""


def differences(function: int, n: int, instance: int) -> tuple[float, float, float]:
    """Return the relative errors of objective and rows, and the distance of the starts."""
    problem, of = coco_problem(definition(function, n, instance)), definition(function, n, instance)
    assert problem.number_of_constraints == len(of.b)
    rng = np.random.default_rng([function, n, instance])
    points = [rng.uniform(-LIMIT, LIMIT, n) for _ in range(3)]
    points.append(np.clip(of.optimum + 1e-3 * rng.normal(size=n), -LIMIT, LIMIT))
    objective = rows = 0.0
    for x in points:
        f, g = problem(x), np.asarray(problem.constraint(x))
        objective = max(objective, abs(of.objective(x) - f) / max(1.0, abs(f)))
        size = np.abs(of.b) + np.linalg.norm(of.A, axis=1)
        rows = max(rows, float((np.abs(of.rows(x) - g) / size).max()))
    assert problem(of.optimum) == pytest.approx(of.f_opt, rel=1e-12, abs=1e-9)
    assert max(problem.constraint(of.optimum)) <= 0
    return objective, rows, float(np.abs(of.start - problem.initial_solution).max())


@pytest.mark.parametrize(("n", "instance"), [(2, 1), (10, 1)])
def test_formulas_give_cocos_values(n: int, instance: int) -> None:
    pytest.importorskip("cocoex")
    worst = np.max([differences(f, n, instance) for f in FUNCTIONS], axis=0)
    assert worst[0] < ERROR
    assert worst[1] < ERROR
    assert worst[2] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("n", "instance"), [(2, 2), (2, 3), (5, 1), (5, 15), (20, 1), (40, 1)])
def test_formulas_give_cocos_values_for_more_instances(n: int, instance: int) -> None:
    pytest.importorskip("cocoex")
    some = FUNCTIONS if n < 20 else FUNCTIONS[::5]  # all objectives, all numbers of constraints
    worst = np.max([differences(f, n, instance) for f in some], axis=0)
    assert max(worst[:2]) < ERROR


@pytest.mark.parametrize("function", range(1, 55))
def test_the_optimum_satisfies_the_conditions_of_first_order(function: int) -> None:
    """Negative gradient of f = combination of active rows with weights of at least 0."""
    of = definition(function, 5, 2)
    active = of.b == 0
    assert active.sum() == active_rows(function, 5)
    z = ca.SX.sym("z", 5)
    gradient = ca.Function("g", [z], [ca.gradient(of.of_z(z), z)])
    g = gradient(of.optimum if of.kind == "linear slope" else np.zeros(5)).full().ravel()
    _, residual = nnls(of.A[active].T, -g)
    assert residual < 1e-8 * np.linalg.norm(g)
    assert of.rows(of.start).max() < 0
    assert of.rows(of.optimum).max() <= 0


@pytest.mark.parametrize("function", [2, 15, 33, 40])
def test_ipopt_finds_nothing_below_the_optimum(function: int) -> None:
    of = definition(function, 5, 1)
    assert local_gain(of, of.optimum) < 1e-6 * max(1.0, abs(of.f_opt))
    assert local_gain(of, of.start) > 1.0  # it does find what is there


def test_a_target_counts_violations() -> None:
    run = Judged(np.array([1.0, 0.0, 0.0]), np.array([-5.0, 50.0, 1e-9]), True)
    assert run.best() == 1e-9
    calls = [int(word) for word in run.hits().split()]
    assert calls == [1] * sum(TARGETS >= 1.0) + [3] * sum(TARGETS < 1.0)


def test_a_slice_of_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--quick", "--functions", "1,35", "--methods", "archeng,slsqp"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "bbob_constrained.csv")
    own = [r for r in rows if r["method"] == "archeng"]
    assert len(rows) == 4
    assert not any(r["error"] for r in rows)
    assert sum(r["infeasible"] for r in own) == 0
    assert all(r["first_feasible"] == 1 for r in own)
    assert max(r["gap"] for r in own) < 1e-6
    assert all(len(hits(r)) >= 40 for r in own)
    assert all(not r["claimed"] or r["gain"] < 1e-6 for r in own)
    page = (tmp_path / "bbob_constrained.md").read_text("utf-8")
    assert "FuRBO" in page
    assert (tmp_path / "bbob_constrained.png").stat().st_size > 0
    assert "archeng" in capsys.readouterr().out


def test_unknown_methods_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--methods", "nobody"])
    assert "nobody" in capsys.readouterr().err


def test_cocos_observer_logs_our_runs(tmp_path: Path) -> None:
    pytest.importorskip("cocoex")
    folder = coco.logged(tmp_path, [1, 13], [2], [1])
    for function in (1, 13):
        info = (folder / f"bbobexp_f{function}.info").read_text("utf-8")
        assert "bbob-constrained" in info
        calls, precision = info.rsplit(":", 1)[1].split("|")
        assert int(calls) <= 60
        assert float(precision) < 1e-6


@pytest.mark.slow
def test_cocopp_reads_the_log(tmp_path: Path) -> None:
    pytest.importorskip("cocoex")
    pytest.importorskip("cocopp")
    folder = coco.logged(tmp_path, [1], [2], [1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cocopp

        found = cocopp.load(str(folder))
    assert found[0].dim == 2
