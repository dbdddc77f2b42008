"""ARCH beside AL and MCR: rank tests, the objective outside the box, the table, a tiny real run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archeng
from case_studies.cec2006 import names, problem
from case_studies.paper import al_mcr, al_mcr_report
from case_studies.paper.__main__ import main
from case_studies.paper.results import read_rows
from case_studies.paper.statistics import Sample, compare_all, geometric_mean, mann_whitney

pytestmark = pytest.mark.slow

# ----- statistics ----------------------------------------------------------------------------


def test_separated_samples_have_the_p_of_counting() -> None:
    """Of the 70 ways to choose 4 ranks of 8, one is the lowest and one the highest."""
    p, sign = mann_whitney([1, 2, 3, 4], [5, 6, 7, 8])
    assert (p, sign) == (pytest.approx(2 / 70), -1)
    p, sign = mann_whitney([5, 6, 7, 8], [1, 2, 3, 4])
    assert (p, sign) == (pytest.approx(2 / 70), 1)


def test_one_success_of_25_differs_from_25_successes() -> None:
    """Normal approximation with its corrections for ties and continuity, by hand."""
    few, all_of_them = [100.0, *[np.inf] * 24], np.arange(1.0, 26.0)
    p, sign = mann_whitney(few, all_of_them)
    n = 25
    u = 24 * n  # each of the 24 loses against all; the one that succeeded loses too
    variance = n * n / 12 * (2 * n + 1 - (24**3 - 24) / (2 * n * (2 * n - 1)))
    z = (u + n - n * n / 2 - 0.5) / math.sqrt(variance)
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-9)
    assert sign == 1
    # Among the successful runs alone it could not: the best that 1 against 25 can do is 2 / 26.
    assert mann_whitney([100.0], all_of_them)[0] == pytest.approx(2 / 26)


def test_equal_samples_do_not_differ() -> None:
    assert mann_whitney([7, 7, 7], [7, 7]) == (1.0, 0)
    assert mann_whitney([1, 4], [2, 3])[1] == 0


def test_level_is_divided_by_the_tests_that_were_made() -> None:
    low, high = Sample((1, 2, 3, 4), 100), Sample((5, 6, 7, 8), 100)
    never = Sample((None,) * 4, 100)
    one = compare_all({"a": (low, high), "b": (low, never)})
    assert set(one) == {"a"}
    assert one["a"].significant  # 2 / 70 < 0.05
    two = compare_all({"a": (low, high), "b": (high, low), "c": (never, never)})
    assert [t.significant for t in two.values()] == [False, False]  # 2 / 70 > 0.05 / 2
    assert [t.sign for t in two.values()] == [-1, 1]


def test_smaller_budget_counts_for_both() -> None:
    cut = Sample((None, None, None, 90), 100)
    full = Sample((80, 200, 300, 400), 1000)
    found = compare_all({"pair": (cut, full)})["pair"]
    assert found.p == pytest.approx(mann_whitney([90, 1e9, 1e9, 1e9], [80, 1e9, 1e9, 1e9])[0])
    assert full.within(100) == (80.0, np.inf, np.inf, np.inf)


def test_median_is_of_the_successful_runs() -> None:
    s = Sample((10, None, 30, 50, None))
    assert (s.median, s.rate, s.reached) == (30.0, 0.6, (10, 30, 50))
    assert (Sample((None,)).median, Sample((None,)).rate, Sample(()).rate) == (None, 0.0, 0.0)
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert math.isnan(geometric_mean([]))


def test_table_of_the_paper_has_42_tests() -> None:
    """m = 42 in [SA22] is the number of pairs in which both methods succeed at least once."""
    pairs = {}
    for name, row in al_mcr_report.PAPER.items():
        samples = {m: Sample((1 if row[m]["sr"] else None,)) for m in al_mcr_report.TESTED}
        pairs |= {(name, p): (samples[p[0]], samples[p[1]]) for p in al_mcr_report.MARKERS}
    assert len(pairs) == 72
    assert len(compare_all(pairs)) == 42


# ----- tasks and objective -------------------------------------------------------------------


def test_objective_is_taken_in_the_box_where_its_formula_fails() -> None:
    g14 = problem("g14")
    f = al_mcr.defined_everywhere(g14)
    inside = (g14.lower + g14.upper) / 2
    assert f(inside) == g14.objective(inside)
    outside = inside.copy()
    outside[3] = -0.2
    assert math.isnan(g14.objective(outside))
    assert f(outside) == g14.objective(np.clip(outside, g14.lower, g14.upper))
    g09 = problem("g09")  # a polynomial is defined everywhere, and left alone
    assert al_mcr.defined_everywhere(g09)(g09.upper + 5) == g09.objective(g09.upper + 5)
    g08 = problem("g08")
    assert math.isnan(al_mcr.defined_everywhere(g08)(np.array([0.0, 1.0])))


def test_initial_steps_are_those_of_the_paper() -> None:
    p = problem("g05")
    run = archeng.Run(p.model, p.objective, seed=0, settings=al_mcr.method_settings("arch"))
    fifth = (p.upper - p.lower) / 5
    assert run.distribution.sigma == pytest.approx(np.prod(fifth) ** (1 / 4))
    C0 = np.diag((fifth / run.distribution.sigma) ** 2)
    np.testing.assert_allclose(run.distribution.covariance, C0, rtol=1e-12)
    run.close()


def test_more_runs_only_add_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = al_mcr.tasks(3, quick=False), al_mcr.tasks(25, quick=False)
    assert all(t in many for t in few)
    count = {
        m: sum(t["method"] == m and t["problem"] == "g07" for t in many) for m in ("arch", "al")
    }
    assert count == {"arch": 25, "al": 25}
    assert sum(t["problem"] == "g20" for t in many) == 4 * 3
    assert sum((t["problem"], t["method"]) == ("g02", "arch") for t in many) == 5
    budgets = {(t["method"], t["problem"]): t["budget"] for t in many}
    assert budgets["al", "g02"] == al_mcr.CUTS["al", "g02"] < 500_000 == budgets["arch", "g02"]
    monkeypatch.setenv("AL_MCR_FULL_BUDGET", "1")
    assert {t["budget"] for t in al_mcr.tasks(25, quick=False)} == {500_000}
    arch = {t["problem"] for t in al_mcr.tasks(1, quick=True) if t["method"] == "arch"}
    assert arch == set(names())


def test_better_value_of_g22_is_the_one_to_reach() -> None:
    assert al_mcr.optimum(problem("g22")) == pytest.approx(236.3703, abs=1e-3)
    assert al_mcr.optimum(problem("g05")) == problem("g05").f_opt


def test_rows_of_an_infeasible_model_are_named() -> None:
    model = archeng.Model("none")
    x = model.variable("x", shape=2, lower=0, upper=1)
    model.subject_to(x[0] + x[1] >= 3, name="much", source="somewhere")
    with pytest.raises(archeng.errors.InfeasibleModelError) as caught:
        archeng.sample_feasible(model, 1, seed=0)
    found = al_mcr.diagnosis(caught.value)
    assert found.violated == ("much",)
    assert "much" not in found.at_limit
    assert str(found).startswith("violated: much; at a limit: ")
    assert str(al_mcr.Diagnosis(False)) == "feasible"


def test_g20_is_found_to_be_infeasible() -> None:
    quick = archeng.Settings(repair_solver="sqp")  # IPOPT finds none either, at ten times the time
    found = al_mcr.diagnose_g20(seed=1, settings=quick)
    assert found.infeasible
    named = {*found.violated, *found.at_limit}
    # Masses that add up to 1 against moles of gas, with six substances absent (see the README).
    assert {"h13", "h14", *(f"g{i}" for i in range(1, 7))} <= named


# ----- summary -------------------------------------------------------------------------------


def runs(name: str, method: str, calls: list[int | None], **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "problem": name,
            "method": method,
            "budget": 500_000,
            "seed": seed,
            "calls": c,
            "success": int(c is not None),
            "restarts": seed % 2,
            "evaluations": c or 500_000,
            "infeasible_calls": 3 if method in ("al", "mcr") else 0,
            "seconds": 2.0,
            "overhead_seconds": 1.0,
            "best_error": 5e-5 if c else 0.5,
            "stop": "TARGET" if c else "MAX_EVALUATIONS",
            "error": "",
            **changes,
        }
        for seed, c in enumerate(calls)
    ]


def line_of(text: str, name: str) -> list[str]:
    (line,) = [t for t in text.splitlines() if t.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def text() -> str:
    ten = list(range(10))
    rows = [
        # g06: AL never, ARCH below MCR; g24: ARCH and AL tie, both below MCR.
        *runs("g06", "al", [None] * 10, budget=100_000),
        *runs("g06", "mcr", [1000 + i for i in ten]),
        *runs("g06", "arch", [80 + i for i in ten]),
        *runs("g24", "al", [50 + i for i in ten]),
        *runs("g24", "mcr", [900 + i for i in ten]),
        *runs("g24", "arch", [59 - i for i in ten]),
        # g05: MCR needs more than its cut; g01: one run of ARCH fails; g16: only ARCH is there.
        *runs("g05", "mcr", [None] * 10, budget=100_000),
        *runs("g01", "arch", [1474, 1474, 1474, None]),
        *runs("g16", "arch", [40, 41, 42, 43]),
        *runs("g20", "arch", [None] * 2, stop="NO_FEASIBLE_DESIGN", evaluations=0, best_error=None,
              error="violated: h13; at a limit: g1"),
    ]  # fmt: skip
    return al_mcr.summary(rows)


def test_table_has_medians_restarts_and_shares(text: str) -> None:
    g06 = line_of(text, "g06")
    assert g06[1:3] == ["- 0/10 in 100000", "8981 (43.50) 4 %"]
    assert g06[3:5] == ["1004 (0.50) 10/10", "1332 (0.00) 100 %"]
    assert g06[5:7] == ["**84** (0.50)∘ 10/10", "90 (3.62) 100 %"]
    assert line_of(text, "g01")[5] == "1474 (0.33) 3/4"
    assert line_of(text, "g20")[5] == "- 0/2"


def test_best_is_bold_only_if_better_than_all_it_was_tested_with(text: str) -> None:
    g24 = line_of(text, "g24")
    assert g24[1] == "54 (0.50)+ 10/10"  # better than MCR, the same as ARCH
    assert g24[3] == "904 (0.50) 10/10"
    assert g24[5] == "54 (0.50)∘ 10/10"
    assert line_of(text, "g16")[5].startswith("42 ")  # tested with none
    assert "m = 4 tests" in text


def test_differences_from_the_paper_are_listed(text: str) -> None:
    assert "- success below the paper's: g01 75 % (100 %)\n" in text
    assert "- success above the paper's: g16 100 % (0 %)\n" in text
    assert "(ratio of the medians): g01 2.00, g24 1.01\n" in text
    assert "above our cut budget: g05 269447 (100000); success g05 0 % (8 %)" in text
    assert "- AL, 100000 calls: g06" in text
    assert "- MCR, 100000 calls: g05" in text
    # AL on g06: the paper has 4 % at a median of 8981, which is within the cut.
    assert "- success below the paper's: g06 0 % (4 %)" in text


def test_problems_without_success_in_the_paper_have_their_lines(text: str) -> None:
    assert "- g16, ARCH: 4 of 4 runs within 500000 calls, median 42 calls (paper: 0 %)" in text
    assert "g20: 2 of 2 runs end before the first call" in text
    assert "(violated: h13; at a limit: g1)" in text
    assert "- AL: 20 runs with 5000545 calls, 60 of them infeasible;" in text


def test_runs_with_the_larger_budget_replace_the_others() -> None:
    short = runs("g06", "mcr", [None, 7, 8], budget=10)
    (group,) = al_mcr_report.grouped([*short, *runs("g06", "mcr", [50, 7], budget=100)]).values()
    assert sorted(r["calls"] for r in group) == [7, 50]
    assert al_mcr_report.sample(group).budget == 100


# ----- a real run ----------------------------------------------------------------------------


def test_command_reaches_the_target_with_all_methods(tmp_path: Path) -> None:
    only = ["--only", "problem=g24", "--runs", "2", "--jobs", "1"]
    assert main(["al-mcr", "--quick", *only, "--out", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "al-mcr.csv")
    assert {(r["method"], r["seed"]) for r in rows} == {
        (m, s) for m in al_mcr.MOST_RUNS for s in range(2)
    }
    assert all(r["success"] == 1 and r["best_error"] <= 1e-4 for r in rows)
    assert all(r["calls"] == r["evaluations"] and r["stop"] == "TARGET" for r in rows)
    calls = {m: np.median([r["calls"] for r in rows if r["method"] == m]) for m in al_mcr.MOST_RUNS}
    assert max(calls["arch"], calls["arch-default"]) < min(calls["al"], calls["mcr"])
    outside = {m: sum(r["infeasible_calls"] for r in rows if r["method"] == m) for m in calls}
    assert outside["arch"] == outside["arch-default"] == 0 < min(outside["al"], outside["mcr"])
    assert (tmp_path / "al-mcr.png").stat().st_size > 10_000
    assert "| g24 |" in (tmp_path / "al-mcr.md").read_text()


def test_run_that_does_not_get_there_uses_its_budget() -> None:
    (row,) = al_mcr.run_task({"problem": "g07", "method": "arch", "budget": 60, "seed": 0})
    assert (row["calls"], row["success"], row["evaluations"]) == (None, False, 60)
    assert row["stop"] == "MAX_EVALUATIONS"
    assert row["best_error"] > 1e-4
