"""The benchmark of discrete design: runs, their judge, the record and its summary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from study_commands import is_picture, refused

from case_studies.discrete import experiment, statistics, tables
from case_studies.discrete.__main__ import main
from case_studies.discrete.methods import METHODS, applies
from case_studies.discrete.suite import names, problem
from case_studies.discrete.trial import FAR, Measured, Trial
from case_studies.peers.recorder import Finished


def _task(name: str, method: str, **more: int) -> dict[str, object]:
    return {"problem": name, "method": method, "budget": 4000, "seconds": 60, "seed": 1, **more}


def test_the_black_box_counts_and_judges() -> None:
    p = problem("pressure_vessel")
    box = Measured(p, budget=5, seconds=60)
    feasible = np.array([1.0, 0.5, 50.0, 150.0])
    box.design(feasible)
    assert (box.calls, box.infeasible_calls) == (1, 0)
    box.design(np.array([1.01, 0.5, 50.0, 150.0]))  # no such plate
    assert (box.calls, box.infeasible_calls) == (2, 1)
    box.design(np.array([0.0625, 0.0625, 10.0, 10.0]))  # cheap, but it bursts
    assert (box.calls, box.infeasible_calls) == (3, 2)
    assert box.calls_to_target is None
    with pytest.raises(Finished):
        box.design(p.x_opt)
    assert (box.calls_to_target, box.stop) == (4, "target")


def test_coordinates_are_numbers_of_levels() -> None:
    trial = Trial(problem("welded_beam"), seed=1, budget=10, seconds=60)
    assert trial.counts.tolist() == [2, 4, 32, 0, 129, 32]
    assert trial.unordered.tolist() == [False, True, False, False, False, False]
    x = trial.objective.decode(np.array([1.0, 0.0, 2.4, 1.7, 100.0, 99.0]))
    assert x.tolist() == [1.0, 0.0, 0.1875, 1.7, 8.25, 2.0]  # rounded, and within the list


def test_infeasible_designs_are_not_called() -> None:
    trial = Trial(problem("concrete_beam"), seed=1, budget=10, seconds=60)
    good, bad = np.array([2.0, 6.0, 8.6]), np.array([0.0, 0.0, 5.0])
    assert trial.constraints.violation(good) == 0.0
    assert trial.constraints.violation(bad) > 0.0
    assert trial.far(bad) > FAR
    assert trial.far(good) == trial.worse(good) == pytest.approx(29.4 * 6.32 + 0.6 * 34 * 8.6)
    assert trial.worse(bad) > trial.worse(good)
    assert trial.objective.calls == 3
    assert trial.objective.infeasible_calls == 0


def test_starts_depend_on_problem_and_seed_only_and_are_feasible() -> None:
    one, two, other = (
        Trial(problem("speed_reducer"), seed=s, budget=9, seconds=60).start() for s in (3, 3, 4)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    trial = Trial(problem("speed_reducer"), seed=3, budget=9, seconds=60)
    assert trial.constraints.violation(one) == 0.0


@pytest.mark.parametrize(
    ("name", "method", "most"),
    [
        ("concrete_beam", "scipy-de", 1000),
        ("coil_spring", "scipy-de", 2500),
        ("concrete_beam", "catcmawm", 3000),
        ("concrete_beam", "cmawm", 3000),
        ("concrete_beam", "pycma", 3000),
        pytest.param("concrete_beam", "nomad", 3000, marks=pytest.mark.slow),
        pytest.param("concrete_beam", "optuna-tpe", 3000, marks=pytest.mark.slow),
        pytest.param("three_bar_truss", "pymoo-ga", 3000, marks=pytest.mark.slow),
        pytest.param("three_bar_truss", "nevergrad", 3000, marks=pytest.mark.slow),
    ],
)
def test_other_methods_solve_easy_ones_without_an_illegal_call(
    name: str, method: str, most: int
) -> None:
    if not METHODS[method].installed:
        pytest.skip(f"{METHODS[method].package} is not installed")
    (row,) = experiment.run_task(_task(name, method))
    assert row["success"], row
    assert row["illegal_calls"] == 0
    assert row["calls"] <= most
    assert row["best"] <= problem(name).target


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("concrete_beam", 40),
        ("three_bar_truss", 40),
        ("four_units", 60),
        ("batch_plant", 80),
        pytest.param("pressure_vessel", 120, marks=pytest.mark.slow),
        pytest.param("welded_beam", 150, marks=pytest.mark.slow),
    ],
)
def test_archeng_reaches_targets_without_an_illegal_call(name: str, most: int) -> None:
    (row,) = experiment.run_task(_task(name, "archeng", budget=most))
    assert row["success"], row
    assert (row["illegal_calls"], row["error"]) == (0, "")
    assert row["calls_to_target"] == row["calls"] <= most
    p = problem(name)
    assert p.optimum * (1 - 1e-7) <= row["best"] <= p.target


def test_who_runs_what() -> None:
    tasks = experiment.tasks(2, quick=False)
    asked = {(t["method"], t["problem"]) for t in tasks}
    assert ("cmawm", "welded_beam") not in asked  # it has a category
    assert ("scipy-de", "welded_beam") in asked
    assert {t["problem"] for t in tasks} == set(names())
    assert {t["budget"] for t in tasks if t["method"] == "archeng"} == {1000}
    assert applies("cmawm", problem("nvs13"))


def _rows(name: str, method: str, calls: list[int | None]) -> list[dict[str, object]]:
    return [
        {
            "problem": name, "held_out": 0, "method": method, "version": "1", "budget": 1000,
            "seconds": 10, "seed": seed, "n": 2, "discrete": 1, "calls_to_target": c,
            "calls": c or 1000, "success": int(c is not None), "illegal_calls": 0,
            "overhead_ms": 1.0, "wall_seconds": 2.0, "stop": "", "error": "",
        }
        for seed, c in enumerate(calls)
    ]  # fmt: skip


def test_medians_count_failures_as_infinite_and_ratios_follow_the_rule() -> None:
    rows = [
        *_rows("a", "archeng", [20, 30, None]),
        *_rows("a", "scipy-de", [600, 600, 600]),
        *_rows("a", "pycma", [300, None, 300]),
        *_rows("b", "archeng", [None, None, 5]),  # counts as 12,000 calls, not as its 1,000
        *_rows("b", "scipy-de", [6000, 6000, 6000]),
        *_rows("c", "archeng", [120, 120, 120]),
        *_rows("c", "scipy-de", [None, None, None]),
    ]
    found = statistics.grid(rows)
    assert found["a"]["archeng"].median == 30
    assert found["a"]["archeng"].expected == pytest.approx(1050 / 2)
    assert statistics.best_peer(found["a"]) == "pycma"
    assert statistics.best_peer(found["c"]) is None
    assert statistics.ratios(found) == pytest.approx({"a": 0.1, "b": 2.0, "c": 0.01})
    assert statistics.mean_ratio(found) == pytest.approx((0.1 * 2.0 * 0.01) ** (1 / 3))
    text = tables.summary(rows)
    assert "| a | 2 | 1 | **30** (2/3) | 600 | 300 (2/3) | 0.1 |" in text
    assert "geometric mean 0.126 over 3 problems, largest 2 (b)" in text
    assert "archeng's success: at least 33% (b), all runs on 1 of 3 problems" in text
    assert "no other method has a finite median: c" in text


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "concrete_beam,clutch_brake", "--methods", "scipy-de", "--seeds", "2"]
    arguments += ["--budget", "300", "--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = (tmp_path / "discrete.csv").read_bytes()
    assert first.count(b"\n") == 5
    page = (tmp_path / "discrete.md").read_text("utf-8")
    assert "### Problems: median calls to the target" in page
    assert "### Held-out problems: median calls to the target" in page
    assert is_picture(tmp_path / "discrete.png")
    assert main(arguments) == 0
    assert (tmp_path / "discrete.csv").read_bytes() == first
    starts = json.loads((tmp_path / "discrete.meta.json").read_text("utf-8"))["starts"]
    assert len(starts) == 2
    assert "--only concrete_beam,clutch_brake" in starts[0]["command"]
    capsys.readouterr()


def test_bad_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no problem is named g99" in refused(main, ["--only", "g99"], capsys)
    assert "no method is named nobody" in refused(main, ["--methods", "nobody"], capsys)


def test_optima_of_the_referee_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optima", "--only", "clutch_brake"]) == 0
    printed = capsys.readouterr().out
    assert "| clutch_brake | 0.313656611 | 0.313656611 | enumeration of all designs |" in printed
