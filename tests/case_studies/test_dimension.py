"""A small slice of the study of many variables."""

from __future__ import annotations

import numpy as np
import pytest

from case_studies.dimension import calls, metrics, repairs, tables
from case_studies.dimension.problems import OBJECTIVES, ROWS, problem


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_optimum_is_one(objective: str, rows: str):
    p = problem(objective, rows, 6)
    fs = p.feasible_set
    assert fs.is_feasible(np.zeros(6))
    assert p.f_opt < p.f_start == p.objective(np.zeros(6))
    points = np.random.default_rng(0).uniform(-2, 2, (2000, 6))
    inside = [x for x in points if fs.is_feasible(x)]
    assert inside
    assert min(p.objective(x) for x in inside) >= p.f_opt


@pytest.mark.slow
def test_a_slice_of_the_calls():
    chosen = [
        {**t, "seconds": 20}
        for t in calls.tasks(1, quick=True)
        if t["method"] in ("archeng", "SLSQP") and t["objective"] == "chained"
    ]
    rows = [row for task in chosen for row in calls.run_task(task)]
    ours, slsqp = rows
    assert ours["infeasible_share"] == 0
    assert ours["to_target"] is not None
    assert ours["to_target"] <= 60  # 29 when this was written
    assert slsqp["to_target"] is not None
    page = tables.calls_summary(rows)
    assert "grows like" in page
    assert f"/ {ours['to_target']} |" in page


@pytest.mark.slow
def test_a_slice_of_the_repairs():
    tasks = [t for t in repairs.tasks(1, quick=True) if t["metric"] == "diagonal"][:2]
    rows = [row for task in tasks for row in repairs.run_task(task)]
    assert [row["certified"] for row in rows] == [1.0, 1.0]
    assert all(row["residual"] < 1e-6 for row in rows)
    assert rows[0]["active"] == rows[1]["active"]
    assert "100 %" in tables.repair_summary(rows)


@pytest.mark.slow
def test_a_full_metric_does_not_care_for_rotations_and_a_diagonal_one_does():
    tasks = [t for t in metrics.tasks(1, quick=True) if t["metric"] in ("full", "diagonal", "vkd")]
    rows = [row for task in tasks for row in metrics.run_task(task)]
    late = {(r["metric"], r["problem"]): r["late"] for r in rows}
    assert all(0 <= r["late"] <= r["early"] <= 1 for r in rows)
    assert late["diagonal", "along the axes"] < 1e-3 * late["full", "along the axes"]
    assert late["diagonal", "rotated"] > 30 * late["full", "rotated"]
    assert "| 10 | diagonal and low rank (pycma) |" in metrics.summary(rows)
