"""A new stopping test is one function and one line of the table in `strategy/stopping.py`."""

from __future__ import annotations

import numpy as np
import pytest

import archeng
from archeng.distribution import initial_distribution
from archeng.settings import Settings
from archeng.strategy import History, StopReason, default_parameters, initial_state, stopping

ENOUGH = 5  # generations of the toy test


def _five_generations(progress: stopping.Progress) -> bool:
    """Whether the restart has had five generations."""
    return progress.history.size >= ENOUGH


@pytest.fixture
def with_toy_test(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (StopReason.CALLBACK, _five_generations)  # a real one has a sentence of its own
    monkeypatch.setattr(stopping, "STOP_TESTS", (line, *stopping.STOP_TESTS))


@pytest.mark.usefixtures("with_toy_test")
def test_the_reason_is_given_in_its_place() -> None:
    state = initial_state(initial_distribution(np.zeros(2), np.ones(2)))
    history, flat = History(), np.ones(6)
    for _ in range(40):
        history = history.add(flat)
    reasons = stopping.stop_reasons(state, default_parameters(2), history, 1.0, Settings())
    assert reasons[0] is StopReason.CALLBACK
    assert reasons[1:] == [StopReason.TOL_OBJECTIVE, StopReason.EQUAL_OBJECTIVES]


@pytest.mark.usefixtures("with_toy_test")
def test_it_ends_a_run() -> None:
    model = archeng.Model("disc")
    x, y = (model.variable(name, lower=-2, upper=2) for name in "xy")
    model.subject_to(x**2 + y**2 >= 1, name="outside")
    result = archeng.solve(
        model,
        lambda design: design["x"] ** 2 + design["y"],
        settings=Settings(surrogate="none"),
        seed=1,
    )
    assert result.stop_reason is StopReason.CALLBACK
    assert len(result.history) == ENOUGH
