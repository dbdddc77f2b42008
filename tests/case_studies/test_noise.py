"""A slice of the noise study: the command, and what it says of archeng."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from case_studies.noise import tables
from case_studies.noise.__main__ import main
from case_studies.noise.problems import Trial, problem
from case_studies.paper.results import read_rows


def test_the_command_judges_by_the_true_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--quick", "--only", "g06", "--methods", "archeng", "--out", str(tmp_path)]
    assert main(words) == 0
    rows = read_rows(tmp_path / "noise.csv")
    assert len(rows) == 6
    assert max(float(r["gap"]) for r in rows) < 1e-3
    assert sum(int(r["covered"]) for r in rows) >= 5
    assert "interval holds the true value" in (tmp_path / "noise.md").read_text("utf-8")
    assert "archeng" in tables.score(rows)
    capsys.readouterr()


def test_an_infeasible_design_is_worth_nothing() -> None:
    trial = Trial(problem("g06"), "additive", 0.05, 1, 10)
    assert trial.gap(trial.problem.x_opt + np.array([-1.0, 0.0])) == float("inf")
    assert trial.gap(None) == float("inf")


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "g99"])
    assert "g99" in capsys.readouterr().err
