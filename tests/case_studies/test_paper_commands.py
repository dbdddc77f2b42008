"""A tiny real run of each experiment through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from case_studies.paper.__main__ import main
from case_studies.paper.active_set import PRESETS
from case_studies.paper.results import read_rows

pytestmark = pytest.mark.slow


def rows_of(out: Path, name: str, *arguments: str) -> list[dict[str, Any]]:
    command = [name, "--quick", "--runs", "1", "--jobs", "1", "--out", str(out), *arguments]
    assert main(command) == 0
    assert (out / f"{name}.md").read_text().startswith(f"# {name}: ")
    return read_rows(out / f"{name}.csv")


@pytest.mark.parametrize(
    ("name", "systems", "limits"),
    [("median", ["BOX", "rotBox", "illrotBox"], (250, 550)), ("general", ["rotBox"], (450, 1100))],
)
def test_arch_needs_about_as_many_iterations_in_all_systems(
    name: str, systems: list[str], limits: tuple[int, int], tmp_path: Path
) -> None:
    only = ["--only", "function=sphere", "--only", "handler=arch"]
    only += ["--only", f"system={systems[0]}"] * (len(systems) == 1)
    rows = rows_of(tmp_path, name, *only)
    counts = {r["system"]: r["reached_1e-08"] for r in rows}
    assert list(counts) == systems
    assert max(counts.values()) < 1.25 * min(counts.values())
    assert all(limits[0] < c < limits[1] for c in counts.values())
    for row in rows:
        values = [float(v) for v in row["curve"].split()]
        assert len(values) == row["iterations"] // 5 + 2
        assert values[-1] == pytest.approx(row["last"], rel=1e-2)
        assert row["last"] < 1e-9
    assert (tmp_path / f"{name}_n20.png").stat().st_size > 10_000


def test_resampling_narrows_and_cmaes_does_not(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "single", "--only", "function=sphere")
    last = {r["method"]: r for r in rows}
    assert set(last) == {"CMA-ES", "resampling", "AP-BCH", "ARCH"}
    spread = {
        m: float(r["roots"].split()[-1]) / float(r["roots"].split()[0]) for m, r in last.items()
    }
    assert spread["resampling"] > 100 > 10 > max(spread["CMA-ES"], spread["ARCH"])
    assert last["CMA-ES"]["reached"] < last["ARCH"]["reached"]
    assert last["resampling"]["reached"] is None
    late = [r for r in rows if r["method"] == "ARCH" and r["iteration"] > 100]
    assert 0.5 < sorted(r["d_m"] for r in late)[len(late) // 2] < 2
    assert (tmp_path / "single.png").stat().st_size > 10_000


def test_nearest_only_splits_the_eigenvalues(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "nearest")
    last = {r["handler"]: r for r in rows}
    spread = {
        h: float(r["roots"].split()[-1]) / float(r["roots"].split()[0]) for h, r in last.items()
    }
    assert spread["arch-nearest"] > 100 > 10 > spread["arch"]
    assert last["arch"]["reached"] < 600
    assert last["arch-nearest"]["reached"] is None


def test_active_set_with_each_preset(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "active-set", "--only", "problem=g04")
    assert {r["preset"] for r in rows} == set(PRESETS)
    for row in rows:
        assert (row["infeasible_calls"] > 0) == (row["preset"] == "mu-lambda-ach")
        if row["preset"] == "mu-lambda-ach":  # it may be slow to the end
            continue
        assert (
            row["iterations_1e-4"] <= row["calls_1e-4"] <= row["calls_1e-8"] == row["evaluations"]
        )
    assert "### Preset `active-set-es`" in (tmp_path / "active-set.md").read_text()
