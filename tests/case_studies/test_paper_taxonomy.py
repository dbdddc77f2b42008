"""The taxonomy of handlers by runs, and ARCH in three coordinate systems with shared seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archeng.model import compile_model
from case_studies.paper import curves, systems, taxonomy, taxonomy_report
from case_studies.paper.__main__ import main
from case_studies.paper.results import read_rows
from case_studies.paper.taxonomy_report import cells, explanations
from case_studies.paper.transformations import PLAIN, SIGN, TRANSFORMATIONS, original, transformed

TAKES = taxonomy.TAKES


def row(check: str, change: str, **values: Any) -> dict[str, Any]:
    return {"handler": "al", "check": check, "size": 1, "seed": 0, **taxonomy.EMPTY,
            "change": change, **values}  # fmt: skip


def took(change: str, gap: float | None, outside: int = 0, note: str | None = None) -> Any:
    calls = None if note else 100
    return row(TAKES, change, calls=calls, outside=outside, gap=gap, note=note)


def moved(change: str, largest: float, check: str = "g09") -> Any:
    parted = 3 if largest > 1e-6 else None
    return row(check, change, calls=100, first=0.0, largest=largest, parted=parted)


# ----- cells -------------------------------------------------------------------------------------


def test_cells_say_what_was_run() -> None:
    rows = [
        took("bounds", 0.01),
        took("linear", 0.01, outside=3),
        took("nonlinear", 0.05),
        took("nonlinear equality", 0.5),
        took("simulated", None, note="SettingsError: no"),
        took("hidden", 0.01),
        *(moved(k, 0.0) for k in TRANSFORMATIONS),
        moved(SIGN, 0.2),
    ]
    found = cells(rows)
    assert (found.takes, found.taxonomy) == ("nlc", "QRAH")
    assert (found.increasing, found.affine) == ("increasing", "affine")


@pytest.mark.parametrize("failing", [0, 1])
def test_a_kind_is_taken_only_if_every_seed_takes_it(failing: int) -> None:
    rows = [
        {**took(kind, 5.0 if kind == "hidden" and seed == failing else 0.01), "seed": seed}
        for seed in range(2)
        for kind in ("bounds", "linear", "hidden")
    ]
    found = cells(rows)
    assert (found.takes, found.taxonomy[3]) == ("lc", "K")
    text = taxonomy_report.summary(rows)
    assert text.startswith("Seeds of each handler: 2.")
    assert "| `al` | 100 calls | 100 calls | 100 calls, 5.0e+00 left |" in text
    assert taxonomy_report.summary([*rows, {**took("bounds", 0.0), "handler": "mcr"}]).startswith(
        "Seeds of each handler: 1 to 2."
    )


def test_what_is_taken_is_not_cut_short_by_stopping_tests() -> None:
    """With them this run ends after 225 calls, for stagnation."""
    settings = taxonomy.settings_of("one-plus-one-ach")
    found = taxonomy.taken(settings, "hidden", taxonomy.CALLS, 0)
    assert found["gap"] <= taxonomy.NEAR
    assert found["calls"] > 225


@pytest.mark.parametrize(
    ("change", "check", "increasing", "affine"),
    [
        ("f cube", "g09", "x", "affine"),
        ("g exp", "g09", "on bounds", "affine"),
        ("g exp", "rotated ellipsoid", "of f only", "affine"),
        ("affine, condition 10", "g09", "increasing", "x"),
        ("affine, condition 1e6", "g09", "increasing", "affine"),  # rounding alone may do it
        (SIGN, "g09", "increasing", "affine"),
    ],
)
def test_one_run_that_parts_changes_its_cell(
    change: str, check: str, increasing: str, affine: str
) -> None:
    rows = [moved(k, 1.0 if k == change else 1e-9, check) for k in (*TRANSFORMATIONS, SIGN)]
    found = cells([took("bounds", 0.0), *rows])
    assert (found.increasing, found.affine) == (increasing, affine)
    assert found.taxonomy[0] == ("Q" if change == SIGN else "N")
    assert found.takes == "bnds"


def test_cells_that_differ_are_explained_or_said_not_to_be() -> None:
    assert explanations("al", "takes", "nlc", "nlc + eq") == []
    ((_, text),) = explanations("active-set-es", "affine", "x", "affine")
    assert "metric of the initial distribution" in text
    ((_, text),) = explanations("mcr", "affine", "affine", "x")
    assert "not explained" in text
    assert len(explanations("al", "taxonomy", "QRSK", "QRAH")) == 2


def test_every_method_of_the_paper_is_a_handler() -> None:
    in_table = {k: v for k, v in taxonomy_report.PAPER.items() if "(text)" not in v.name}
    assert len({c.name for c in in_table.values()}) == 12
    assert set(taxonomy_report.PAPER) <= set(taxonomy.HANDLERS)


@pytest.mark.parametrize("kind", [PLAIN, SIGN])
@pytest.mark.parametrize("name", ["sphere", "g09"])
def test_signs_stay_and_the_order_does_not(name: str, kind: str) -> None:
    play = original(name, seed=1)
    one, two = (compile_model(transformed(play, k, seed=1).model) for k in (PLAIN, kind))
    z = np.random.default_rng(0).standard_normal((200, one.n))
    x = play.start.mean + play.start.sigma * play.start.steps(z)
    g, h = (np.array([fs.violations(a) for a in x]) for fs in (one, two))
    np.testing.assert_array_equal(g > 0, h > 0)
    kept = [np.array_equal(np.argsort(a), np.argsort(b)) for a, b in zip(g.T, h.T, strict=True)]
    assert all(kept) == (kind == PLAIN)


# ----- runs --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_command_shows_what_a_linear_method_takes_and_refuses(tmp_path: Path) -> None:
    only = ["--only", "handler=lccmsa-es", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["taxonomy", "--quick", *only]) == 0
    rows = read_rows(tmp_path / "taxonomy.csv")
    taken = {r["change"]: r for r in rows if r["check"] == TAKES}
    for kind in ("bounds", "linear", "linear equality", "hidden"):
        assert taken[kind]["gap"] <= 0.01
        assert taken[kind]["outside"] == 0
    for kind in ("nonlinear", "nonlinear equality", "simulated"):
        assert taken[kind]["calls"] is None
        assert taken[kind]["note"].startswith("SettingsError: handler='lccmsa-es'")
    found = {r["change"]: r for r in rows if r["check"] == "rotated ellipsoid"}
    assert found["f cube"]["largest"] == found["f exp"]["largest"] == 0
    assert found["g scaled"]["largest"] < 1e-9
    assert found["affine, condition 10"]["parted"] == 0  # it projects in the plain metric
    assert "nonlinear" in found["g cube"]["note"]
    text = (tmp_path / "taxonomy.md").read_text()
    assert "| `lccmsa-es` | lcCMSA-ES | lc | lc + eq | QUAK | QUAH | increasing |" in text
    assert "not explained" not in text
    assert "taxonomy.py" not in "".join(str(r["note"]) for r in rows)


@pytest.mark.slow
@pytest.mark.parametrize("handler", ["ma-es-ach", "lexicographic"])
def test_active_handling_uses_signs_only_and_the_orders_use_sums(handler: str) -> None:
    task = {"handler": handler, "check": "g09", "size": 12, "seed": 1}
    found = {r["change"]: r for r in taxonomy.run_task(task)}
    assert found["affine, condition 1e4"]["largest"] < 1e-6
    assert found["f exp"]["largest"] == 0
    assert (found["g scaled"]["largest"] == 0) == (handler == "ma-es-ach")
    assert (found[SIGN]["largest"] == 0) == (handler == "ma-es-ach")


@pytest.mark.slow
def test_arch_is_the_same_run_in_all_coordinate_systems(tmp_path: Path) -> None:
    only = ["--only", "system=illrotBox", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["systems", "--quick", *only]) == 0
    (found,) = read_rows(tmp_path / "systems.csv")
    assert found["iterations"] == systems.QUICK_CAP
    assert 0 < found["first"] < 1e-9
    assert found["above_1e-06"] is None
    assert found["largest_ratio"] < 1 + 1e-9
    assert "| sphere | illrotBox | 0 |" in (tmp_path / "systems.md").read_text()


def test_where_rounding_takes_over_is_seen() -> None:
    gaps = [1e-14, 1e-11, 1e-8, 1e-5, 1e-2]
    box = [1.0, 0.5, 0.25, 0.1, 0.05, 0.01]
    found = systems.measured(gaps, [box, [*box[:4], 0.1, 0.02]])
    assert [found[f"above_{v:.0e}"] for v in systems.LEVELS] == [1, 2, 3, 4]
    assert found["criterion_1e-06"] == 0.1
    assert found["ratio_below_1e-06"] == 1
    assert found["largest_ratio"] == pytest.approx(2)


def test_chance_is_told_from_another_law() -> None:
    rng = np.random.default_rng(1)

    def group(rate: float) -> list[dict[str, Any]]:
        rates = rate * (1 + 0.05 * rng.standard_normal(9))
        return [
            {"curve": " ".join(f"{np.exp(-r * t):.3g}" for t in range(20)), "every": 1}
            for r in rates
        ]

    same, other = [group(0.5) for _ in range(3)], [group(0.5), group(0.5), group(0.8)]
    assert curves.largest_ratio(same)[0] <= float(curves.by_chance(same, 50)[1])
    assert curves.largest_ratio(other)[0] > float(curves.by_chance(other, 50)[1])
