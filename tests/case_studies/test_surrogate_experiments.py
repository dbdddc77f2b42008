"""The experiments that count what the surrogate saves: tasks, small runs, summaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from case_studies.benchmarks import surrogate as overhead
from case_studies.benchmarks.threads import beside, verdict
from case_studies.surrogate import active_set, bipop, transformed
from case_studies.surrogate.__main__ import EXPERIMENTS, main


def test_more_runs_only_add_tasks() -> None:
    for experiment in EXPERIMENTS.values():
        few, many = experiment.tasks(1, False), experiment.tasks(2, False)
        assert len(many) == 2 * len(few)
        assert all(task in many for task in few)


def test_g04_in_the_setting_of_the_active_set_es() -> None:
    (row,) = active_set.run_task({"problem": "g04", "preset": "surrogate", "seed": 0})
    assert row["calls_1e-8"] <= 24  # the active-set ES of the paper
    assert row["infeasible_calls"] == 0


def test_g06_with_restarts() -> None:
    (row,) = bipop.run_task({"problem": "g06", "method": "surrogate", "budget": 90, "seed": 0})
    assert row["success"]
    assert row["infeasible_calls"] == 0


@pytest.mark.parametrize("transform", ["plain", "exp", "uneven"])
def test_transforms_of_g11(transform: str) -> None:
    task = {"problem": "g11", "surrogate": "auto", "transform": transform, "seed": 1}
    (row,) = transformed.run_task(task)
    assert row["calls"] is not None
    assert row["calls"] < 60  # ARCH of the paper
    assert row["infeasible_calls"] == 0


@pytest.mark.parametrize("name", transformed.TRANSFORMS)
def test_transforms_increase(name: str) -> None:
    t = np.concatenate(([0.0], np.logspace(-6, 2, 300)))
    values = np.array([transformed.TRANSFORMS[name](v) for v in t])
    assert np.all(np.diff(values) > 0)


def _active_row(problem: str, seed: int, at_4: int | None, at_8: int | None) -> dict[str, object]:
    return {
        "problem": problem, "preset": "surrogate", "seed": seed, "calls_1e-4": at_4,
        "calls_1e-8": at_8, "evaluations": 100, "infeasible_calls": 0, "seconds": 0.5,
    }  # fmt: skip


def test_summary_beside_the_published_figures() -> None:
    rows = [
        _active_row("g04", 0, 10, 12),
        _active_row("g04", 1, 12, None),
        _active_row("g06", 0, 20, 20),
    ]
    text = active_set.summary(rows)
    assert "| g04 | 2 | 100% | 11 | 12 | 176 / 176 | 22 / 24 (100%) | 22 | 5.0 |" in text
    assert "1e-4: below ARCH and active-set ES of the paper on 1 of 2 problems" in text
    assert "largest ratio to the better of them 4.00 (g06)" in text
    assert "below SACOBRA on 1 of 2 problems" in text


def test_summary_with_restarts() -> None:
    keys = {"method": "surrogate", "budget": 1, "evaluations": 50, "infeasible_calls": 0}
    rows = [
        {**keys, "problem": "g08", "seed": s, "calls": c, "restarts": 1, "overhead_seconds": 0.1}
        for s, c in enumerate((300, 500, None))
    ]
    text = bipop.summary(rows)
    assert "| g08 | 3 | 67% | 400 | 1.00 | 468 | 162 | 390 |" in text
    assert "on 0 of 1 problems that any of them solves; not on g08" in text


def test_summary_of_transforms_names_what_is_too_expensive() -> None:
    rows = [
        {"problem": "g04", "surrogate": "none", "transform": "plain", "seed": 0, "calls": 100},
        {"problem": "g04", "surrogate": "auto", "transform": "plain", "seed": 0, "calls": 10},
        {"problem": "g04", "surrogate": "auto", "transform": "flat", "seed": 0, "calls": 120},
        {"problem": "g04", "surrogate": "auto", "transform": "exp", "seed": 0, "calls": None},
    ]
    text = transformed.summary(rows)
    assert "10 (0.10)" in text
    assert "above ARCH alone: g04 exp, g04 flat" in text


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["active-set", "--quick", "--runs", "1", "--jobs", "1", "--only", "problem=g06"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "| g06 | 1 | 100% |" in capsys.readouterr().out
    assert (tmp_path / "active-set.png").exists()
    with pytest.raises(SystemExit):
        main(["nothing"])


def test_overhead_by_part() -> None:
    row = beside(overhead.measure, 4, True, 30, 1)
    parts = sum(row[f"{k}_ms"] for k in ("fit", "minimise", "repair", "other"))
    assert row["total_ms"] == pytest.approx(parts)
    assert row["fit_ms"] > 0
    assert row["minimise_ms"] > 0
    assert row["infeasible_calls"] == 0
    assert "planes and ball" in overhead.table([row])
    assert "set to 1" in verdict([row])


def test_growth_is_the_exponent() -> None:
    rows = [{"n": n, "total_ms": 2.0 * n**1.5} for n in (5, 10, 20)]
    assert overhead.growth(rows) == pytest.approx(1.5)
