"""Tables and profiles from hand-made rows, and a small comparison through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from case_studies.paper.results import read_rows
from case_studies.peers.__main__ import main
from case_studies.peers.profiles import profile
from case_studies.peers.statistics import (
    Cell,
    best,
    grid,
    latest,
    near_first,
    ratio_of_expected,
    ratio_of_medians,
)
from case_studies.peers.tables import show, summary

pytestmark = pytest.mark.slow


def runs(method: str, calls: list[int | None], problem: str = "g01", **changes: Any) -> list[Any]:
    """One row for each run; None is a run without success, which used 1000 calls."""
    return [
        {
            "suite": "cec2006", "problem": problem, "variant": "plain", "method": method,
            "version": "1.0", "budget": 1000, "seconds": 60, "seed": seed, "n": 4,
            "calls_to_target": c, "calls": 1000 if c is None else c, "success": c is not None,
            "infeasible_share": 0.25, "overhead_ms": 2.0, "best": 1.0,
            "stop": "budget" if c is None else "target", "error": None, **changes,
        }
        for seed, c in enumerate(calls)
    ]  # fmt: skip


ROWS = [
    *runs("archeng", [100] * 10),
    *runs("pycma", [90] * 8 + [None] * 2),  # fewer calls, but only 80 %
    *runs("cobyqa", [108] * 9 + [None]),
    *runs("scipy-de", [None] * 10),
    *runs("archeng", [40] * 10, "g02"),
    *runs("pycma", [160] * 10, "g02"),
    *runs("cobyqa", [20] * 10, "g02"),
    *runs("scipy-de", [120] * 10, "g02"),
]


def line(text: str, start: str) -> list[str]:
    [found] = [row for row in text.splitlines() if row.startswith(f"| {start} |")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_cells_medians_success_and_the_best_in_bold() -> None:
    text = summary(ROWS)
    header = line(text, "problem")
    assert header == ["problem", "n", "archeng", "pycma", "cobyqa", "scipy-de"]
    assert line(text, "g01") == ["g01", "4", "**100**", "90 (80 %)", "108 (90 %)", "-"]
    assert line(text, "g02") == ["g02", "4", "40", "160", "**20**", "120"]


def test_first_or_within_ten_per_cent() -> None:
    found = grid(ROWS)
    assert best(found["g01"]) == 100
    assert [near_first(found, m) for m in ("archeng", "pycma", "cobyqa", "scipy-de")] == [
        1,
        0,
        2,
        0,
    ]
    text = summary(ROWS)
    assert "- cobyqa: first or within 10 % of the first on 2 of 2 problems" in text
    assert "- pycma: first or within 10 % of the first on 0 of 2 problems" in text


def test_nobody_is_first_where_nobody_succeeds_often() -> None:
    found = grid([*runs("archeng", [5, None]), *runs("pycma", [7, None])])
    assert best(found["g01"]) is None
    assert near_first(found, "archeng") == 0
    assert "**" not in summary(runs("archeng", [5, None]))


def test_ratios_are_geometric_means_over_common_problems() -> None:
    found = grid(ROWS)
    assert ratio_of_medians(found, "archeng") == (1.0, 2)
    assert ratio_of_medians(found, "pycma") == (pytest.approx(4.0), 1)  # g02 only
    value, count = ratio_of_medians(found, "cobyqa")
    assert (value, count) == (pytest.approx(np.sqrt(1.08 * 0.5)), 2)
    # pycma on g01: 8 * 90 + 2 * 1000 calls for 8 successes
    expected = np.sqrt((2720 / 8 / 100) * 4)
    assert ratio_of_expected(found, "pycma") == (pytest.approx(expected), 2)
    assert ratio_of_expected(found, "scipy-de") == (pytest.approx(3.0), 1)
    cells = line(summary(ROWS), "pycma")
    assert cells[6:8] == ["4.00 (1)", f"{expected:.2f} (2)"]


def test_method_table() -> None:
    rows = [*runs("archeng", [100, 100]), *runs("pycma", [10, None], infeasible_share=1.0)]
    rows[-1]["infeasible_share"] = 0.5
    rows[-1]["stop"] = "time"
    cells = line(summary(rows), "pycma")
    assert cells[:6] == ["pycma", "1.0", "2", "50 %", "50 %", "2.00"]  # (10 + 500) / 1010
    assert cells[-1] == "50 %"
    assert line(summary(rows), "archeng")[4] == "25 %"


def test_skipped_methods_and_errors_are_named() -> None:
    gone = runs("nomad", [None], stop="skipped", version="not installed")
    bad = runs("pycma", [None], error="ValueError: x", stop="ended")
    text = summary([*ROWS[:10], *gone, *bad])
    assert "Not installed and skipped: nomad." in text
    assert line(text, "pycma | ValueError: x")[2] == "1"
    later = runs("nomad", [50], version="4.5")
    assert "skipped" not in summary([*ROWS[:10], *gone, *later])


def test_the_newest_row_of_a_run_counts() -> None:
    rows = [*runs("archeng", [100]), *runs("archeng", [80], version="2.0")]
    assert [r["calls"] for r in latest(rows)] == [80]


def test_cells_as_text() -> None:
    assert show(None, 3.0) == ""
    assert show(Cell(None, 0.0, None), 3.0) == "-"
    assert show(Cell(3.0, 0.95, 4.0), 3.0) == "**3** (95 %)"
    assert show(Cell(3.0, 0.5, 4.0), 3.0) == "3 (50 %)"


def test_profile_is_the_share_solved() -> None:
    at, share = profile([*runs("archeng", [50, 10, None, 20])])
    assert at.tolist() == [2.0, 4.0, 10.0]  # n + 1 = 5
    assert share.tolist() == [0.25, 0.5, 0.75]
    assert profile(runs("archeng", [None]))[0].size == 0


def compare(out: Path, *arguments: str) -> int:
    return main(
        ["--quick", "--runs", "1", "--jobs", "1", "--out", str(out), "--match", "suite=cec2006",
         "--methods", "archeng,scipy-cobyla", *arguments]
    )  # fmt: skip


def test_a_small_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--only", "peers", "--match", "variant=plain", "--match", "problem=g"]
    assert compare(tmp_path, *command, "--match", "4 variant") == 0  # g04 and g24
    rows = read_rows(tmp_path / "peers.csv")
    assert {(r["problem"], r["method"]) for r in rows} == {
        (p, m) for p in ("g04", "g24") for m in ("archeng", "scipy-cobyla")
    }
    assert all(r["success"] and r["calls_to_target"] == r["calls"] < 300 for r in rows)
    assert {r["infeasible_share"] for r in rows if r["method"] == "archeng"} == {0.0}
    assert all(r["infeasible_share"] > 0 for r in rows if r["method"] == "scipy-cobyla")
    text = (tmp_path / "peers.md").read_text()
    assert text.startswith("# peers: ")
    assert "within 10 % of the first on" in text
    assert "![peers_cec2006_plain.png]" in text
    assert (tmp_path / "peers_cec2006_plain.png").stat().st_size > 10_000
    capsys.readouterr()
    before = (tmp_path / "peers.csv").read_bytes()
    assert compare(tmp_path, *command, "--match", "4 variant") == 0  # nothing is left to do
    assert (tmp_path / "peers.csv").read_bytes() == before
    assert compare(tmp_path, "--only", "peers", "--summary-only") == 0
    assert "| g24 |" in capsys.readouterr().out


def test_noise_variants_and_other_limits(tmp_path: Path) -> None:
    limits = ["--budget", "30", "--seconds", "3", "--match", "problem=g24"]
    assert compare(tmp_path, "--only", "noise", *limits) == 0
    rows = read_rows(tmp_path / "noise.csv")
    assert {r["variant"] for r in rows} == {"noise-1e-3", "noise-1e-2", "rounded", "failing"}
    assert {(r["budget"], r["seconds"]) for r in rows} == {(30, 3)}
    assert all(r["calls"] <= 30 for r in rows)
    assert len(list(tmp_path.glob("noise_cec2006_*.png"))) == 4


def test_unknown_methods_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--methods", "archeng,simplex"])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "no method is named simplex" in message
    assert "scipy-cobyla" in message


def test_help_lists_methods_and_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "optuna-tpe" in text
    assert "noise" in text
