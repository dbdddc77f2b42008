"""The referee of claims with discrete variables: it must find better neighbours where there are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from case_studies.discrete import claims
from case_studies.discrete.suite import problem


def test_neighbours_are_one_or_two_changes_away() -> None:
    p = problem("concrete_beam")
    own, *others = claims.neighbours(p, np.array([6.32, 34.0, 8.5]))
    assert own == [6.32, 34.0]
    assert len(others) == 4 + 4
    assert [6.16, 34.0] in others
    assert [6.6, 33.0] in others


def test_a_design_that_is_no_optimum_has_a_better_one_around_it() -> None:
    p = problem("concrete_beam")
    assert claims.best_around(p, np.array([6.6, 34.0, 8.5])) < p.objective(
        np.array([6.6, 34.0, 8.5])
    )
    best = claims.best_around(p, p.x_opt)
    assert best == pytest.approx(p.optimum, rel=1e-6)


@pytest.mark.slow
def test_a_slice_of_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["concrete_beam", "three_bar_truss"], 2, tmp_path, "a command") == 0
    record = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert len(record["runs"]) == 4
    for run in record["runs"]:
        assert run["legal"]
        assert run["claim"]
        assert run["gain"] <= claims.TOLERANCE
    assert "**0 false**" in (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert "concrete_beam" in capsys.readouterr().out
