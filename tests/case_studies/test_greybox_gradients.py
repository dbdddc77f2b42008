"""Gradients of outputs: they are those of the simulator, and save calls."""

import numpy as np
import pytest

import archeng
from case_studies.greybox import problem
from case_studies.greybox.gradients import PROBLEMS, table, with_gradients
from case_studies.greybox.trial import feasible


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_those_of_the_simulator(name: str) -> None:
    p = problem(name)
    x = feasible(p, 3)
    design = archeng.Design(p.model.variables, x)
    answer = with_gradients(name)(design)
    for key, slopes in answer.gradients.items():
        for i in range(p.n):
            step = 1e-6 * max(abs(x[i]), 1e-3)
            there = [x + sign * step * np.eye(p.n)[i] for sign in (1, -1)]
            up, down = (
                np.ravel(p.simulate(archeng.Design(p.model.variables, y))[key]) for y in there
            )
            slope = (up - down) / (2 * step)
            size = np.abs(slopes).max() + 1e-9
            assert slopes[:, i] == pytest.approx(slope, rel=1e-4, abs=1e-5 * size)


def test_they_save_calls() -> None:
    p = problem("brown_dennis")
    calls = [
        archeng.solve(
            p.model, simulator, start=feasible(p, 1), seed=1, target=p.target, max_evaluations=60
        ).nfev
        for simulator in (p.simulate, with_gradients("brown_dennis"))
    ]
    assert calls[1] < 0.8 * calls[0]


def test_the_table_has_medians_and_their_mean() -> None:
    rows = [
        {"problem": "a", "gradients": kind, "seed": seed, "calls": calls}
        for kind, several in (("without", (10, 40, 20)), ("with", (5, None, 10)))
        for seed, calls in enumerate(several)
    ]
    text = table(rows)
    assert "| a | 20 | 10 | 0.50 |" in text
    assert "| geometric mean |  |  | 0.50 |" in text
