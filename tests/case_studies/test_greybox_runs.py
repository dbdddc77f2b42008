"""The benchmark of composite problems: runs, their judge, the record and its summary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from study_commands import is_picture, refused

from case_studies.greybox import experiment, problem, statistics, sweep, tables
from case_studies.greybox.__main__ import main
from case_studies.greybox.trial import Measured, feasible, make_trial
from case_studies.peers.recorder import Finished


def _task(name: str, method: str, **more: int) -> dict[str, object]:
    return {"problem": name, "method": method, "budget": 150, "seconds": 60, "seed": 1, **more}


@pytest.mark.parametrize("method", ["archeng-grey", "archeng-black"])
@pytest.mark.parametrize("name", ["welded_beam", "kinetics"])
def test_archeng_reaches_targets_without_an_illegal_call(name: str, method: str) -> None:
    (row,) = experiment.run_task(_task(name, method))
    assert row["success"], row
    assert row["stop"] == "target"
    assert row["calls_to_target"] == row["calls"] <= 120
    assert row["illegal_calls"] == 0
    assert row["error"] == ""
    p = problem(name)
    assert p.optimum * (1 - 1e-5) <= row["best"] <= p.target


@pytest.mark.parametrize("name", ["g10", "two_peaks", "truss_stress", "rotor", "chebyshev_exp"])
def test_no_call_of_archeng_is_illegal(name: str) -> None:
    (row,) = experiment.run_task(_task(name, "archeng-grey", budget=40))
    assert (row["illegal_calls"], row["error"]) == (0, "")
    assert row["calls"] == 40 or row["success"]


@pytest.mark.parametrize(
    ("name", "method", "most"),
    [
        ("welded_beam", "slsqp", 90),
        ("g04", "trust-constr", 130),
        pytest.param("kinetics", "dfo-ls", 40, marks=pytest.mark.slow),
        ("brown_dennis", "least_squares", 80),
        ("welded_beam", "cobyqa", 110),
        ("pressure_vessel", "slsqp", 100),  # needs a scaled objective
    ],
)
def test_peers_solve_what_suits_them(name: str, method: str, most: int) -> None:
    pytest.importorskip({"dfo-ls": "dfols", "cobyqa": "cobyqa"}.get(method, "scipy"))
    (row,) = experiment.run_task(_task(name, method, budget=200))
    assert row["success"], row
    assert row["calls"] <= most


def test_starts_depend_on_problem_and_seed_only() -> None:
    one, two = (make_trial(problem("spring"), 3, 10) for _ in range(2))
    assert np.array_equal(one.start, two.start)
    assert not np.array_equal(one.start, make_trial(problem("spring"), 4, 10).start)


def test_the_simulator_counts_and_judges() -> None:
    p = problem("pressure_vessel")
    measured = Measured(p, budget=4)
    x = feasible(p, 1)
    measured.look_up(x)
    measured.look_up(x)  # known by now
    assert (measured.recorder.calls, measured.illegal) == (1, 0)
    outside = x.copy()
    outside[3] = 210.0  # above its bound, but below the constraint on it
    measured.call(outside)
    assert (measured.recorder.calls, measured.illegal) == (2, 1)
    small = p.bounds[0].copy()  # cheap, but it breaks all simulated limits
    _, plain = measured.call(small)
    assert plain.objective < p.target
    assert measured.recorder.calls_to_target is None
    with pytest.raises(Finished):
        measured.call(p.x_opt)
    assert (measured.recorder.calls_to_target, measured.recorder.stop) == (4, "target")


def test_differences_cost_n_calls_once() -> None:
    trial = make_trial(problem("spring"), 1, 100)
    u = np.full(3, 0.5)
    slopes = trial.slopes(u)
    assert slopes.shape == (4, 3)
    assert slopes.flags["C_CONTIGUOUS"]
    assert trial.objective.calls == 4
    trial.slopes(u)
    assert trial.objective.calls == 4
    weight, (d, coil, turns) = slopes[0], trial.from_unit(u)
    exact = np.array([2 * (turns + 2) * coil * d, (turns + 2) * d**2, coil * d**2]) * trial.width
    assert weight == pytest.approx(exact, rel=1e-5)


def _row(problem: str, method: str, calls: list[int | None]) -> list[dict[str, object]]:
    return [
        {
            "problem": problem, "held_out": 0, "method": method, "version": "1", "budget": 500,
            "seed": seed, "n": 2, "outputs": 3, "calls_to_target": c, "calls": c or 500,
            "success": int(c is not None), "illegal_calls": 0, "overhead_ms": 1.0, "stop": "",
            "error": "",
        }
        for seed, c in enumerate(calls)
    ]  # fmt: skip


def test_medians_count_failures_as_infinite_and_ratios_follow_the_rule() -> None:
    rows = [
        *_row("a", "archeng-grey", [20, 30, None]),
        *_row("a", "archeng-black", [60, 60, 60]),
        *_row("a", "cobyqa", [10, None, None]),
        *_row("b", "archeng-grey", [100, 100, 100]),
        *_row("b", "archeng-black", [90, None, None]),
        *_row("c", "archeng-grey", [None, None, None]),
        *_row("c", "archeng-black", [None, None, 5]),
    ]
    found = statistics.grid(rows)
    assert found["a"]["archeng-grey"].median == 30
    assert found["a"]["cobyqa"].median == np.inf
    assert statistics.ratios(found) == {"a": 0.5, "b": 0.2}
    assert statistics.mean_ratio(found) == pytest.approx(np.sqrt(0.1))
    assert statistics.firsts(found, "archeng-grey") == ["a", "b"]
    text = tables.summary(rows)
    assert "| a | 2 | 3 | **30** (2/3) | 60 | 0.50 | - (1/3) |" in text
    assert "geometric mean 0.316 over 2 of 3 problems, largest 0.50 (a)" in text


def test_a_newer_run_replaces_the_older() -> None:
    old, new = _row("a", "archeng-grey", [50]), _row("a", "archeng-grey", [40])
    new[0]["version"] = "2"
    assert statistics.latest([*old, *new]) == new


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "cb2,mad1", "--methods", "archeng-grey", "--seeds", "1", "--budget"]
    arguments += ["20", "--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = (tmp_path / "greybox.csv").read_bytes()
    assert first.count(b"\n") == 3
    page = (tmp_path / "greybox.md").read_text("utf-8")
    assert "### Problems" in page
    assert "### Held-out problems" in page
    assert is_picture(tmp_path / "greybox.png")
    assert main(arguments) == 0
    assert (tmp_path / "greybox.csv").read_bytes() == first
    starts = json.loads((tmp_path / "greybox.meta.json").read_text("utf-8"))["starts"]
    assert len(starts) == 2
    assert "--only cb2,mad1" in starts[0]["command"]
    capsys.readouterr()


def test_bad_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no problem is named g99" in refused(main, ["--only", "g99"], capsys)
    assert "no method is named nobody" in refused(main, ["--methods", "nobody"], capsys)


def test_optima_of_the_referee_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optima", "--only", "cb2"]) == 0
    assert "| cb2 | 1.95222449 | 1.95222449 |" in capsys.readouterr().out


@pytest.mark.slow
def test_ten_loads_of_one_model(tmp_path: Path) -> None:
    assert sweep.problem(6000.0).optimum == pytest.approx(problem("welded_beam").optimum, rel=1e-6)
    swept = sweep.separate(sweep.LOADS[:2], seed=1)
    assert [s.load for s in swept] == [3000.0, 3500.0]
    assert swept[0].optimum < swept[1].optimum
    assert all(s.calls_to_target is not None and s.illegal == 0 for s in swept)
    rows = [{"strategy": "separate", "seed": 1, **s.__dict__} for s in swept]
    total, each = sum(s.calls for s in swept), np.median([s.calls_to_target for s in swept])
    assert f"| separate | {total} | {each:g} | 2/2 | 0 |" in sweep.table(rows)
    learned = sweep.learning(sweep.LOADS[:2], seed=1)
    assert all(s.illegal == 0 for s in learned)
    assert learned[0].calls == swept[0].calls
    assert learned[1].calls_to_target < 0.5 * swept[1].calls_to_target
