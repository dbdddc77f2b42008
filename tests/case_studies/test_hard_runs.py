"""Slices of the hard problems and of the real simulators beside other methods."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from case_studies.hard import elsewhere, experiment, tables
from case_studies.hard.__main__ import main as hard
from case_studies.paper.results import read_rows
from case_studies.peers import real, simulators


def row(line: str, method: str, calls: int | None, gap: float, seed: int = 0) -> dict[str, Any]:
    return {"line": line, "method": method, "seed": seed, "n": 4, "calls_to_target": calls,
            "calls": calls or 2000, "success": calls is not None, "gap": gap, "error": "",
            "stop": "target" if calls else "budget", "seconds": 5,
            "infeasible_share": 0.25, "overhead_ms": 1.5}  # fmt: skip


def test_who_is_ahead() -> None:
    found = tables.grid(
        [
            row("g17", "archeng", 110, 1e-5),
            row("g17", "scipy-cobyla", 101, 1e-5),
            row("gripper", "archeng", None, 0.02),
            row("gripper", "cobyqa", None, 0.01),
            row("HS 99", "archeng", None, 0.02),
            row("HS 99", "ipopt-fd", 500, 1e-5),
        ]
    )
    assert tables.ahead(found["g17"]) == ("scipy-cobyla", True)  # within 10 %
    assert tables.ahead(found["gripper"]) == ("cobyqa", False)
    assert tables.ahead(found["HS 99"]) == ("ipopt-fd", False)
    assert found["gripper"]["archeng"].text == "(2.0e-02)"


def test_every_line_has_an_anchor_and_a_problem() -> None:
    assert [line.label for line in experiment.LINES] == list(tables.ANCHORS)
    whole = experiment.tasks(1, quick=False)
    assert {t["method"] for t in whole if t["suite"] == "mixed"} <= {
        "archeng", *experiment.SAME_POINTS
    }  # fmt: skip


def test_what_has_a_study_of_its_own_is_read_from_its_record(tmp_path: Path) -> None:
    empty = elsewhere.summary(tmp_path)
    assert len(empty.splitlines()) == 2 + len(elsewhere.LINES)
    assert empty.count("| - | [record]") == len(elsewhere.LINES)
    (tmp_path / "dimension").mkdir()
    (tmp_path / "dimension" / "dimension.csv").write_text(
        "rows,n,method,overhead_ms,task_rows\n"
        "linear,50,archeng,8.25,1\ndiscs,50,archeng,9,1\nlinear,50,SLSQP,1,1\n"
    )
    assert "| 8.25 ms (rows linear), 9 ms (rows discs) |" in elsewhere.summary(tmp_path)


@pytest.mark.slow
def test_a_slice_of_the_hard_problems(tmp_path: Path) -> None:
    arguments = ["--quick", "--methods", "archeng,ipopt-fd", "--out", str(tmp_path)]
    assert hard(arguments) == 0
    rows = {(r["line"], r["method"]): r for r in read_rows(tmp_path / "hard.csv")}
    assert rows["HS 108", "archeng"]["success"]
    assert rows["gas compressor", "ipopt-fd"]["success"]
    assert rows["HS 108", "archeng"]["infeasible_share"] == 0
    assert rows["gas compressor", "archeng"]["calls"] <= experiment.QUICK_BUDGET
    assert "ahead" in (tmp_path / "hard.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("wntr") is None, reason="needs wntr")
def test_a_real_simulator_with_a_penalty() -> None:
    p = real.problem("water_network")
    wide, narrow = p.objective([20.0] * 8), p.objective([4.0] * 8)
    assert wide > p.f_opt
    assert narrow > wide  # cheaper, but the pressures are far too low
    task = next(
        t
        for t in simulators.tasks(1, quick=False)
        if (t["problem"], t["method"]) == ("water_network", "archeng")
    )
    [found] = simulators.run_task({**task, "budget": 40})
    assert (found["calls"], found["infeasible_share"], found["failed"]) == (40, 0, 0)
    assert "After 25 calls" in simulators.summary([found])
