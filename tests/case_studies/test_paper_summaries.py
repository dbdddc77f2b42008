"""Summaries of the experiments on rows made by hand, whose answers are known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import archeng
from case_studies.paper import active_set, curves, follow, nearest, single, trace
from case_studies.paper.quadratics import quadratic


def curve_row(values: list[float], **changes: Any) -> dict[str, Any]:
    """Return a run that is recorded at every iteration."""
    below = {t: next((i for i, v in enumerate(values) if v < t), None) for t in (1e-6, 1e-8)}
    return {
        "function": "sphere",
        "system": "BOX",
        "handler": "arch",
        "n": 20,
        "cap": 100,
        "seed": 0,
        "reached_1e-06": below[1e-6],
        "reached_1e-08": below[1e-8],
        "iterations": len(values) - 1,
        "last": values[-1],
        "every": 1,
        "curve": " ".join(f"{v:.3g}" for v in [*values, values[-1]]),
        **changes,
    }


def lines_of(text: str, *cells: object) -> list[str]:
    """Rows of the tables of a summary that begin with these cells."""
    begin = "| " + " | ".join(str(c) for c in cells) + " |"
    return [line for line in text.splitlines() if line.startswith(begin)]


def test_quartiles_continue_finished_runs_with_their_last_value() -> None:
    group = [curve_row([8.0, 4.0]), curve_row([8.0, 6.0, 2.0, 1.0]), curve_row([8.0, 5.0, 3.0])]
    low, middle, high = curves.quartiles(group)
    assert middle.tolist() == [8, 5, 3, 3]
    assert (low.tolist(), high.tolist()) == ([8, 4.5, 2.5, 2], [8, 5.5, 3.5, 3.5])
    assert curves.quartiles(group, 6)[1].tolist() == [8, 5, 3, 3, 3, 3]


def test_last_criterion_between_two_records_is_not_lost() -> None:
    group = [curve_row([1.0], every=5, curve="8 4 0.5"), curve_row([1.0], every=5, curve="8 4 2 2")]
    assert curves.quartiles(group)[1].tolist() == [8, 4, 1.25]


def test_largest_ratio_stops_at_the_target() -> None:
    a = [curve_row([8.0, 4.0, 1e-3, 1e-9, 1e-12])]
    b = [curve_row([8.0, 2.0, 3e-3, 1e-4, 1e-4])]
    c = [curve_row([8.0, 1.0, 2e-3, 1e-5, 1e-5])]
    assert curves.largest_ratio([a, b, c]) == (4.0, 1)
    assert curves.largest_ratio([b, c]) == (pytest.approx(10.0), 3)


def test_curves_summary() -> None:
    fast, slow, never = [1.0, 1e-7, 1e-9], [1.0, 1e-2, 1e-7, 1e-7, 1e-9], [1.0, 0.5]
    rows = [
        curve_row(fast, seed=0),
        curve_row(slow, seed=1),
        curve_row(slow, seed=2),
        curve_row(never, seed=3),
        *(curve_row(fast, system=s) for s in ("rotBox", "illrotBox")),
        curve_row([1.0] * 8 + [1e-9], handler="ap-bch"),
        curve_row(never, handler="resampling"),
        curve_row(fast, function="ellipsoid"),
        curve_row(never, function="ellipsoid", handler="ap-bch"),
    ]
    text = curves.summary(rows)
    (line,) = lines_of(text, 20, "sphere", "ARCH", "BOX")
    assert line == "| 20 | sphere | ARCH | BOX | 4 | 2 | 75 % | 4 | 75 % | 1.0e-09 |"
    (line,) = lines_of(text, 20, "sphere", "resampling", "BOX")
    assert line == "| 20 | sphere | resampling | BOX | 1 | - | 0 % | - | 0 % | 5.0e-01 |"
    # AP-BCH needs 8 iterations against 4; on the ellipsoid more than its cap of 100 against 2.
    assert lines_of(text, 20, "sphere", 8, 4) == ["| 20 | sphere | 8 | 4 | 2.00 |"]
    assert lines_of(text, 20, "ellipsoid", "> 100") == ["| 20 | ellipsoid | > 100 | 2 | > 50.00 |"]
    # Medians of BOX: 1, 1e-2 and others; at iteration 1 the others have 1e-7.
    (line,) = [x for x in lines_of(text, 20, "sphere") if x.endswith("| 2.000 | 2.000 |")]
    assert line.split("|")[4].strip() == "1"
    ratio = float(line.split("|")[3])
    box = float(np.median([1e-7, 1e-2, 1e-2, 0.5]))
    assert ratio == pytest.approx(box / 1e-7, rel=1e-3)


def test_curves_tasks_are_those_of_the_paper() -> None:
    tasks = curves.tasks(1, quick=False)
    assert len(tasks) == 2 * 3 * (3 + 3 + 1)
    assert {t["system"] for t in tasks if t["handler"] == "ap-bch"} == {"BOX"}
    assert {t["n"] for t in curves.tasks(1, quick=True)} == {20}


def calls(*objectives: float, size: int = 2, violation: float = 0.0) -> tuple[Any, ...]:
    """Return simulator calls, so many per generation."""
    return tuple(
        SimpleNamespace(objective=f, generation=i // size, max_violation=violation)
        for i, f in enumerate(objectives)
    )


def test_active_set_counts_calls_and_iterations() -> None:
    row = active_set._outcome(calls(-90.0, -95.0, -99.98, -99.995, -99.9, -100.0), f_opt=-100.0)
    assert (row["calls_1e-4"], row["iterations_1e-4"]) == (4, 2)
    assert (row["calls_1e-8"], row["iterations_1e-8"]) == (6, 3)
    assert row["evaluations"] == 6
    outside = active_set._outcome(calls(-100.0, violation=1e-3), f_opt=-100.0)
    assert outside["calls_1e-4"] is None


def active_row(name: str, seed: int, made: int | None, preset: str = "paper") -> dict[str, Any]:
    found = None if made is None else made // 10
    return {
        "problem": name,
        "preset": preset,
        "seed": seed,
        "calls_1e-4": made,
        "iterations_1e-4": found,
        "calls_1e-8": None,
        "iterations_1e-8": None,
        "evaluations": 500,
        "infeasible_calls": 0,
        "seconds": 0.25,
        "error": None,
    }


def test_active_set_summary_marks_what_is_worse() -> None:
    rows = [active_row("g07", s, c) for s, c in enumerate((1000, 1600, 5000))]
    rows += [active_row("g09", s, c) for s, c in enumerate((940, 900, None, None))]
    rows += [active_row("g10", s, c) for s, c in enumerate((600, 580))]
    rows += [active_row("g07", s, 400, preset="active-set-es") for s in range(2)]
    text = active_set.summary(rows)
    paper, own = text.split("### Preset `active-set-es`")
    # The paper: g07 1635 calls, 163.5 iterations; g09 846 and 94; g10 580 and 58; all 100 %.
    (line,) = lines_of(paper, "g07", "1e-4")
    assert line.endswith("| 3 | 1600 | 160 | 100 % | 1635 | 163.5 | 100 % | 325 | 100 % "
                         "| 0.98 | 0.98 |  |")  # fmt: skip
    (line,) = lines_of(paper, "g07", "1e-8")
    assert line.endswith("| 3 | - | - | 0 % | 2705 | 270.5 | 100 % | 557 | 100 % "
                         "| - | - | **success** |")  # fmt: skip
    (line,) = lines_of(paper, "g09", "1e-4")
    assert "| 4 | 920 | 92 | 50 % |" in line
    assert line.endswith("| 1.09 | 0.98 | **success** |")
    (line,) = lines_of(paper, "g10", "1e-4")
    assert line.endswith("| 1.02 | 1.02 |  |")
    (line,) = lines_of(own, "g07", "1e-4")  # against the active-set ES: 325 calls
    assert line.endswith("| 1.23 | 0.12 | **calls** |")
    assert "9 runs, 4500 calls, 0 of them infeasible; 0.50 ms overhead per call" in paper
    assert "4 of 6 rows are worse" in paper


def test_active_set_worse_by_exactly_ten_percent_is_not_marked() -> None:
    theirs = {"calls": 100.0, "iterations": 10.0, "success": 1.0}
    assert active_set.worse({"calls": 110.0, "iterations": 11.0, "success": 0.9}, theirs) == []
    worse = {"calls": 110.2, "iterations": 11.1, "success": 0.89}
    assert active_set.worse(worse, theirs) == ["calls", "iterations", "success"]
    nothing = {"calls": None, "iterations": None, "success": None}
    assert active_set.worse(worse, nothing) == []


def test_active_set_tasks() -> None:
    tasks = active_set.tasks(100, quick=False)
    count = {p: sum(t["preset"] == p for t in tasks) for p in active_set.PRESETS}
    others = dict.fromkeys(active_set.ACH, 225)  # they refuse three problems
    assert count == {"paper": 1200, "default": 1200, "active-set-es": 300, **others}


def trace_row(iteration: int, reached: int | None, roots: str, **key: Any) -> dict[str, Any]:
    values = {"criterion": 1e-9, "sigma": 1.0, "alpha": None, "d_m": None, "r_feas": 0.5}
    return {
        **key,
        "reached": reached,
        "iteration": iteration,
        **values,
        "roots": roots,
        "mean": "0 1",
    }


def test_nearest_summary_and_figure(tmp_path: Path) -> None:
    rows = [trace_row(i, 300, "1 2", handler="arch", seed=0) for i in (0, 5, 310)]
    rows += [trace_row(400, 400, "1 4", handler="arch", seed=1)]
    rows += [trace_row(9, None, "0.001 2", handler="arch-nearest", seed=s) for s in (0, 1)]
    text = nearest.summary(rows)
    assert "| intersection first | 2 | 350 | 100 % | 3 |" in text
    assert "| nearest only | 2 | - | 0 % | 2e+03 |" in text
    (path,) = nearest.figures(rows, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_single_summary_and_figure(tmp_path: Path) -> None:
    key = {"method": "ARCH", "function": "sphere", "cap": 9, "seed": 0}
    rows = [{**trace_row(i, 4, "1 2", **key), "d_m": i / 4} for i in (0, 2, 4)]
    assert "| sphere | ARCH | 0 | 4 | 4 | 1.0e-09 | 2 | 0.50 | 0.50 |" in single.summary(rows)
    (path,) = single.figures(rows, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_follow_ends_at_its_end_and_finds_the_target() -> None:
    problem, seen = quadratic("sphere", "BOX", 4), []

    def watch(iteration: int, criterion: float, run: archeng.Run) -> None:
        seen.append((iteration, criterion, len(run.history)))

    reached = follow.follow(problem, "arch", 3, 500, watch)
    assert [s[0] for s in seen] == [s[2] for s in seen] == list(range(len(seen)))
    start = problem.start(np.random.default_rng([3, 4]))
    assert seen[0][1] == pytest.approx(problem.criterion(start))
    assert seen[-1][1] < follow.END <= min(s[1] for s in seen[:-1])
    assert reached is not None
    assert seen[reached][1] < follow.TARGET <= min(s[1] for s in seen[:reached])


def test_follow_ends_when_it_stalls_or_at_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, count = quadratic("sphere", "BOX", 4), []
    monkeypatch.setattr(follow, "END", 0.0)
    monkeypatch.setattr(follow, "STALLED", (1e-3, 1))
    criteria = iter([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, *[1e-4] * 100])
    monkeypatch.setattr(type(problem), "criterion", lambda self, mean: next(criteria))
    follow.follow(problem, "arch", 0, 50, lambda i, c, run: count.append(i))
    assert count[-1] == 10  # 1e-4 since iteration 6, and n = 4
    criteria = iter([1.0] * 100)
    follow.follow(problem, "arch", 0, 20, lambda i, c, run: count.append(i))
    assert count[-1] == 20


def test_trace_keeps_every_kth_iteration_and_the_last() -> None:
    problem, task = quadratic("sphere", "BOX", 4), {"seed": 5}
    rows = trace.trace(problem, "arch", 5, 33, 10, task)
    assert [r["iteration"] for r in rows] == [0, 10, 20, 30, 33]
    assert all(r["seed"] == 5 for r in rows)
    assert rows[0]["sigma"] == pytest.approx(1.25)
    assert rows[0]["roots"] == "1 1 1 1"
    assert rows[0]["alpha"] is None
    assert rows[-1]["alpha"] > 0
    assert rows[-1]["d_m"] > 0
    assert trace.unpacked(rows, "mean").shape == (5, 4)
    mean = trace.unpacked(rows[-1:], "mean")[0]
    assert problem.criterion(mean) == pytest.approx(rows[-1]["criterion"], abs=1e-3)
