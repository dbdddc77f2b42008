"""The other methods of the paper's table: which problems they get, the page, tiny real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import archeng
from archeng.errors import SettingsError
from case_studies.cec2006 import names, problem
from case_studies.paper import al_mcr, methods
from case_studies.paper.__main__ import main
from case_studies.paper.results import read_rows


@pytest.mark.parametrize("method", methods.METHODS)
def test_a_handler_gets_the_problems_that_it_takes(method: str) -> None:
    for name in names():
        if name == methods.INFEASIBLE:
            continue
        p = problem(name)
        try:
            archeng.Run(
                p.model, p.objective, seed=0, settings=al_mcr.method_settings(method)
            ).close()
        except SettingsError:
            taken = False
        else:
            taken = True
        assert taken == methods.takes(method, name), name


def test_all_new_methods_have_ten_runs_on_what_they_take() -> None:
    tasks = methods.tasks(methods.RUNS, quick=False)
    count = {m: sum(t["method"] == m for t in tasks) for m in methods.METHODS}
    assert count["arch"] == count["lexicographic"] == 10 * (23 + 3)
    assert count["ma-es-ach"] == 10 * (13 + 3)
    assert count["lccmsa-es"] == 10 * (2 + 3)
    assert {t["problem"] for t in tasks} == {*names(), *methods.FUNCTIONS} - {methods.INFEASIBLE}
    assert all(t in tasks for t in methods.tasks(3, quick=False))


@pytest.mark.parametrize("method", [m for m in methods.METHODS if m != "arch"])
def test_only_methods_that_reject_samples_lose_their_stopping_tests(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(al_mcr, "run_task", lambda task, **changes: asked.update(changes) or [])
    methods.run_task({"problem": "g24", "method": method, "budget": 10, "seed": 0})
    rejects = method in ("one-plus-one-ach", "xcma-es-ach", "ma-es-ach")
    assert asked["restarts"] == (0 if rejects else methods.RESTARTS)
    assert ("settings" in asked) == rejects
    assert not rejects or not asked["settings"].stop_tests


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


def row(name: str, method: str, seed: int, calls: int | None, **more: Any) -> dict[str, Any]:
    found = {
        "problem": name,
        "method": method,
        "budget": 20_000,
        "seed": seed,
        "calls": calls,
        "success": calls is not None,
        "evaluations": calls or 20_000,
        "infeasible_calls": 0,
        "overhead_seconds": 1.0,
    }
    return {**found, **more}


def test_page_marks_what_differs_from_arch_and_what_is_refused() -> None:
    rows = [row("g24", "arch", s, 10 + s) for s in range(10)]
    rows += [row("g24", "ma-es-ach", s, 40 + s) for s in range(10)]
    rows += [row("g24", "lexicographic", s, None if s else 30) for s in range(10)]
    text = methods.summary(rows)
    (line,) = [t for t in text.splitlines() if t.startswith("| g24 |")]
    cells = dict(zip(["problem", *methods.METHODS], _cells(line), strict=True))
    assert cells["arch"] == "14 10/10"  # the median is 14.5, the digit even
    assert cells["ma-es-ach"] == "44 > 10/10"
    assert cells["lexicographic"] == "30 > 1/10"
    assert cells["lccmsa-es"] == "refused"
    assert "m = 2" in text
    assert "- MA-ES with ACH: 10 of 10 runs succeed; 0 of 445 calls infeasible; 3.07 times" in text


@pytest.mark.slow
def test_command_runs_a_slice_and_writes_its_page(tmp_path: Path) -> None:
    only = ["--only", "problem=sphere", "--runs", "1", "--jobs", "1"]
    assert main(["methods", "--quick", *only, "--out", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "methods.csv")
    assert {r["method"] for r in rows} == set(methods.METHODS)
    for r in rows:
        assert r["success"] == (r["best_error"] < 1e-8)
        assert (
            r["evaluations"] <= methods.QUICK_BUDGETS["quadratics"] + 100
        )  # it looks once a generation
        outside = r["method"] in ("mu-lambda-ach", "epsilon-lexicographic")
        assert (r["infeasible_calls"] > 0) == outside
    assert "| sphere |" in (tmp_path / "methods.md").read_text()
    assert (tmp_path / "methods.png").stat().st_size > 10_000
