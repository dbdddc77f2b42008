"""A small, seeded slice of each benchmark command."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest

from case_studies.benchmarks import overhead, repair
from case_studies.benchmarks.models import ball_and_planes, rotated_box, wake_loss, wind_farm
from case_studies.benchmarks.threads import VARIABLE, beside, by_turns, compared
from case_studies.paper import active_set

pytestmark = pytest.mark.slow


def test_active_set_reaches_both_accuracies_below_the_paper() -> None:
    tasks = [{"problem": p, "preset": "paper", "seed": s} for p in ("g04", "g11") for s in range(3)]
    rows = [row for task in tasks for row in active_set.run_task(task)]
    for name in ("g04", "g11"):
        runs = [r for r in rows if r["problem"] == name]
        assert sum(r["infeasible_calls"] for r in runs) == 0
        for accuracy in active_set.ACCURACIES:
            ours, paper = active_set.medians(runs, accuracy), active_set.PAPER[name][accuracy]
            assert ours["success"] == 1.0
            assert ours["calls"] <= 1.5 * paper["arch"]["nfes"]
            assert ours["iterations"] <= 1.5 * paper["arch"]["iterations"]


def test_repair_ladder_misses_nothing_that_ipopt_repairs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = repair.measure(15, ("g04", "g16"), seed=2)
    assert {(r["problem"], r["stage"]) for r in rows} == {
        (p, s) for p in ("g04", "g16") for s in ("start", "end")
    }
    assert all(r["missed"] == 0 for r in rows)
    assert all(r["ladder_success"] == 1.0 for r in rows)
    text = repair.report(rows, repair.measure_linear(5, seed=1))
    assert "Geometric mean" in text
    assert "rotated box, n = 50" in text


def test_overhead_is_split_into_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [beside(overhead.measure_by_name, case[0], 60, 1) for case in overhead.TARGETS[1:2]]
    for row in rows:
        parts = row["repair_ms"] + row["strategy_ms"] + row["other_ms"]
        assert parts == pytest.approx(row["total_ms"])
        assert row["infeasible_calls"] == 0
        assert row["ratio"] == row["processor_ms"] / row["set_ms"]
    assert "dense nonlinear" in overhead.table(rows)


def threads_here() -> dict[str, Any]:
    return {"value": os.environ.get(VARIABLE, "unset"), "number": 1.0}


def test_both_environments_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    unset, one = by_turns(threads_here, repeats=2)
    assert (unset["value"], one["value"]) == ("unset", "1")


def rest() -> None:
    """Nothing."""


def test_a_workload_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert compared(rest, repeats=1).startswith("Nothing. Processor seconds with")


def test_models_have_the_stated_size() -> None:
    assert sum(len(c.rows) for c in wind_farm(16).constraints) == 136
    assert wind_farm(16).n_variables == 32
    assert rotated_box(20).n_variables == 20
    assert len(ball_and_planes(5, 7).constraints) == 7


def test_wakes_cost_power_and_distance_helps() -> None:
    rng = np.random.default_rng(0)
    near = {"x": rng.uniform(-300, 300, 8), "y": rng.uniform(-300, 300, 8)}
    far = {k: 20 * v for k, v in near.items()}
    assert 0 < wake_loss(far) < wake_loss(near) < 1
