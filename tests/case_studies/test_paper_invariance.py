"""Transformed problems are the same problems, and runs stay together exactly where they must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archeng.model import compile_model
from case_studies.paper import invariance, invariance_report
from case_studies.paper.__main__ import main
from case_studies.paper.invariance import Generation, differences, method_settings, played
from case_studies.paper.results import read_rows
from case_studies.paper.transformations import (
    AFFINE,
    OF_F,
    OF_G,
    TRANSFORMATIONS,
    affine_map,
    long_sinh,
    original,
    transformed,
)

# ----- transformations -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", TRANSFORMATIONS)
@pytest.mark.parametrize("name", ["sphere", "g04", "g05"])
def test_transformed_problem_has_the_same_feasible_designs_and_order(name: str, kind: str) -> None:
    play = original(name, seed=1)
    other = transformed(play, kind, seed=1)
    one, two = compile_model(play.model), compile_model(other.model)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((300, one.n)) * np.repeat([0.02, 0.3, 1.0], 100)[:, None]
    x = play.start.mean + play.start.sigma * play.start.steps(z)
    y = other.start.mean + other.start.sigma * other.start.steps(z)
    np.testing.assert_allclose(play.start.whiten(other.back(y) - x), 0, atol=1e-8)
    feasible = [one.violations(a).max() == 0 for a in x]
    assert feasible == [two.violations(b).max() == 0 for b in y]
    if name != "g05":  # samples do not meet its equalities
        assert 3 < sum(feasible) < 297
    f, h = [play.objective(a) for a in x], [other.objective(b) for b in y]
    np.testing.assert_array_equal(np.argsort(f), np.argsort(h))
    assert two.equality.sum() == one.equality.sum() == (3 if name == "g05" else 0)
    if kind in OF_F:
        assert not np.allclose(f, h)


def test_equality_keeps_its_width() -> None:
    """A point at half of the tolerance of h1 of g11 is feasible, at twice the tolerance not."""
    play = original("g11", seed=0)
    for kind in OF_G:
        fs = compile_model(transformed(play, kind, seed=0).model)
        for factor, expected in ((0.5, True), (0.999, True), (1.001, False), (2.0, False)):
            for sign in (-1, 1):
                x = np.array([0.6, 0.36 + sign * factor * 1e-4])
                assert bool(fs.violations(x).max() == 0) is expected, (kind, factor)


def test_maps_have_the_stated_condition() -> None:
    play = original("g05", seed=0)
    A, _ = affine_map(play, "affine, condition 1e4", np.random.default_rng(0))
    assert np.linalg.cond(np.linalg.inv(play.start.factor) @ A) == pytest.approx(1e4, rel=1e-6)
    assert np.linalg.cond(A) > 1e5  # the variables of g05 have different units


def test_box_stays_a_box_in_other_units_only() -> None:
    play = original("g05", seed=0)
    (box,), (units,) = play.model.variables, transformed(play, "units", 0).model.variables
    ratio = (box.upper - box.lower) / (units.upper - units.lower)
    np.testing.assert_allclose(np.sort(ratio), 10.0 ** np.linspace(-3, 3, 4))
    (free,) = transformed(play, AFFINE[0], 0).model.variables
    assert np.all(np.isinf(free.upper))


def test_long_sinh_is_increasing_and_finite() -> None:
    t = np.array([-1e6, -60.0, -50.0, -1.0, 0.0, 1.0, 50.0, 50.1, 1e6])
    values = [long_sinh(float(v), last=50.0) for v in t]
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) > 0)
    assert values[5] == np.sinh(1.0)


# ----- comparing runs ------------------------------------------------------------------------


def test_differences_are_in_deviations_and_see_missing_calls() -> None:
    d = original("sphere", seed=0).start
    designs = np.zeros((3, d.n))
    moved = designs.copy()
    moved[1, 2] = 0.5 * d.sigma
    first = [Generation(d, designs)] * 3
    second = [Generation(d, designs), Generation(d, moved), Generation(d, designs[:2])]
    assert differences(first, second) == [0.0, pytest.approx(0.5), np.inf]


def gap(name: str, method: str, kind: str, generations: int = 20, seed: int = 2) -> float:
    play, settings = original(name, seed), method_settings(method)
    first = played(play, settings, seed, generations)
    return max(
        differences(first, played(transformed(play, kind, seed), settings, seed, generations))
    )


@pytest.mark.parametrize("kind", [*AFFINE[:2], "units", *OF_G])
def test_arch_is_the_same_search_after_affine_maps_and_in_other_formulas(kind: str) -> None:
    assert gap("rotated ellipsoid", "arch", kind) < 1e-7


@pytest.mark.parametrize(
    ("name", "kind"),
    [("g09", "affine, condition 10"), ("g11", "affine, condition 1e4"), ("g05", "g scaled")],
)
def test_arch_is_the_same_search_on_curved_sets(name: str, kind: str) -> None:
    assert gap(name, "arch", kind) < 1e-6


@pytest.mark.parametrize("method", ["arch", "arch-paper", "mcr", "resampling", "active-set-es"])
@pytest.mark.parametrize("kind", OF_F)
def test_transformations_of_f_do_not_change_a_bit(method: str, kind: str) -> None:
    assert gap("g04", method, kind, generations=12) == 0.0


@pytest.mark.parametrize("kind", OF_G)
def test_ranks_of_violations_do_not_change_a_bit(kind: str) -> None:
    assert gap("g09", "mcr", kind) == 0.0
    assert gap("g09", "resampling", kind, generations=8) == 0.0


@pytest.mark.parametrize("method", ["mcr", "resampling", "al"])
def test_methods_that_only_rank_move_with_the_coordinates(method: str) -> None:
    assert gap("g04", method, "affine, condition 1e4") < 1e-6


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("arch-paper", "affine, condition 10"),
        ("arch-paper", "units"),
        ("al", "f cube"),
        ("al", "g scaled"),
        ("ap-bch", "f exp"),
        ("ap-bch", "units"),
    ],
)
def test_runs_part_where_nothing_is_claimed(method: str, kind: str) -> None:
    """The comparison sees differences: these are not small."""
    assert invariance_report.theory(method, kind) in ("in distribution", "not claimed")
    assert gap("sphere", method, kind) > 0.1


# ----- experiment ----------------------------------------------------------------------------


def test_theory_follows_the_classes_of_the_paper() -> None:
    theory = invariance_report.theory
    assert theory("arch", "affine, condition 10") == "exact on convex sets"
    assert theory("arch", "f cube") == theory("mcr", "g exp") == theory("al", AFFINE[0]) == "exact"
    assert theory("arch-paper", AFFINE[0]) == "in distribution"
    assert theory("al", "units") == theory("active-set-es", "units") == "not claimed"
    assert {theory("ap-bch", k) for k in TRANSFORMATIONS} == {"not claimed"}


def row(method: str, name: str, kind: str, largest: float | None, **changes: Any) -> dict[str, Any]:
    parted = None if largest is None or largest <= 1e-6 else 7
    return {"problem": name, "method": method, "generations": 60, "seed": 0,
            "transformation": kind, "calls": 100, "largest": largest, "parted": parted,
            "same_calls": 1, "error": "", **changes}  # fmt: skip


def test_summary_says_where_theory_and_runs_differ(tmp_path: Path) -> None:
    rows = [
        row("arch", "sphere", "g cube", 1e-9),
        row("arch", "g09", "g cube", 2.0),
        row("arch", "g06", "g cube", np.inf, parted=3),
        row("arch", "g06", "f cube", 0.0),
        row("mcr", "g06", "g cube", 0.0),
        row("ap-bch", "sphere", "units", None, error="no box"),
        row("active-set-es", "sphere", "units", 1e-12),
        row("arch-paper", "sphere", "units", 5.0),
    ]
    text = invariance.summary(rows)
    assert "| `arch` | increasing / affine | - | 1 of 1 the same | 1 of 2 the same | 0 of 1" in text
    assert (
        "| `arch` | g cube | exact on convex sets | 2.0e+00 | inf | 2 of 3 (from generation 3) |"
    ) in text
    assert "| `ap-bch` | units | not claimed | not applicable |  |  |" in text
    differ = text.split("Where theory and runs differ:")[1].strip().splitlines()
    assert differ == [
        "- `arch`, g cube: exact on convex sets, but 1 of 2 (from generation 7) part: g09",
        "- `active-set-es`, units: not claimed, but no run on convex sets parts",
    ]
    (path,) = invariance.figures(rows, tmp_path)
    assert path.stat().st_size > 10_000


def test_methods_are_left_out_where_they_cannot_be_applied() -> None:
    tasks = invariance.tasks(2, quick=False)
    assert all(t in invariance.tasks(5, quick=False) for t in tasks)
    pairs = {(t["method"], t["problem"]) for t in tasks}
    assert ("resampling", "g11") not in pairs
    assert ("ap-bch", "g04") not in pairs
    assert {m for m, _ in pairs} == set(invariance_report.METHODS)
    assert {p for m, p in pairs if m == "arch"} == set(invariance.PROBLEMS)


def test_command_compares_all_transformations(tmp_path: Path) -> None:
    only = ["--only", "problem=sphere method=ap-bch", "--jobs", "1"]
    assert main(["invariance", "--quick", *only, "--out", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "invariance.csv")
    assert [r["transformation"] for r in rows] == list(TRANSFORMATIONS)
    found = {r["transformation"]: r for r in rows}
    assert all(found[k]["largest"] is None and found[k]["error"] for k in (*AFFINE[:3], *OF_G))
    assert all(found[k]["parted"] < 25 for k in ("units", *OF_F))
    assert (tmp_path / "invariance.md").read_text().startswith("# invariance: ")
