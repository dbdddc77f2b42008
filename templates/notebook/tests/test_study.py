"""Tests of this study: cheap to run before an expensive one."""

import json
from pathlib import Path

import archeng
import pytest
from model import model
from simulator import FEED, rate, simulator, tank


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_the_balance_of_a_tank():
    time, temperature = 0.5, 380.0
    a, b = tank(FEED, 0.3, time, temperature)
    used = time * (rate("AB", temperature) * a + 2 * rate("AAD", temperature) * a**2)
    assert FEED - a == pytest.approx(used)
    made = time * (rate("AB", temperature) * a - rate("BC", temperature) * b)
    assert b - 0.3 == pytest.approx(made)


def test_a_short_run_gets_better_and_stays_legal():
    result = archeng.solve(model, simulator, sense="maximize", max_evaluations=25, seed=1)
    assert result.n_infeasible_calls == 0
    assert result.fun > result.evaluations[0].objective
    assert 0 < result.fun < 1


def test_the_notebook_is_one():
    notebook = json.loads((Path(__file__).parents[1] / "study.ipynb").read_text(encoding="utf-8"))
    assert any(cell["cell_type"] == "code" for cell in notebook["cells"])
