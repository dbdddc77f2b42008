"""A new executor is one module with a pool and its `Executor`, and its name in ``EXECUTORS``.

The toy here is such a module: it makes the calls in this process, the last design first.
"""

from __future__ import annotations

from typing import Any

import pytest

import archeng
from archeng.errors import SettingsError
from archeng.simulator import Call, Design, Simulator, call, evaluate
from archeng.simulator.pools import Executor, Pool

# -- the module -------------------------------------------------------------------------------


class Stack:
    """Designs on a stack."""

    def __init__(self, simulator: Simulator, height: int) -> None:
        self.size: int | None = height
        self.closed = False
        self._simulator = simulator
        self._waiting: list[tuple[int, Design]] = []

    def submit(self, key: int, design: Design) -> None:
        self._waiting.append((key, design))

    def next(self) -> tuple[int, Call] | None:
        if not self._waiting:
            return None
        key, design = self._waiting.pop()
        return key, call(self._simulator, design)

    def cancel_waiting(self) -> None:
        self._waiting.clear()

    def abandon(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self.closed = True


OPENED: list[Stack] = []


def open_stack(workers: Any, simulator: Simulator, timeout: float | None) -> Pool:
    OPENED.append(Stack(simulator, int(workers.removeprefix("stack:"))))
    return OPENED[-1]


STACK = Executor(
    '"stack:N"',
    lambda workers: isinstance(workers, str) and workers.startswith("stack:"),
    open_stack,
)

# -- its line in the registry, and the runs ----------------------------------------------------


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "EXECUTORS", (*evaluate.EXECUTORS, STACK))


def plate() -> archeng.Model:
    model = archeng.Model("plate")
    x = model.variable("x", shape=2, lower=0, upper=4)
    model.subject_to(x[0] * x[1] >= 1, name="area")
    return model


class Counted:
    """Return the sum of squares, fail at some designs, and note the order of the calls."""

    def __init__(self) -> None:
        self.order: list[bytes] = []

    def __call__(self, design: Design) -> float:
        self.order.append(design.x.tobytes())
        if design["x"][0] > 3:
            raise RuntimeError("diverged")
        return float(design.x @ design.x)


def test_a_run_is_the_same_on_it() -> None:
    options: dict[str, Any] = {"max_evaluations": 40, "seed": 1, "retries": 1}
    alone, stacked = Counted(), Counted()
    expected = archeng.solve(plate(), alone, **options)
    result = archeng.solve(plate(), stacked, workers="stack:3", **options)
    assert [(e.x.tobytes(), e.status, e.attempts) for e in result.evaluations] == [
        (e.x.tobytes(), e.status, e.attempts) for e in expected.evaluations
    ]
    assert result.fun == expected.fun
    assert stacked.order != alone.order
    assert OPENED[-1].closed


def test_a_time_limit_is_refused_as_it_says() -> None:
    with pytest.raises(SettingsError, match=r"timeout needs worker processes.*stack:3"):
        archeng.solve(plate(), Counted(), workers="stack:3", timeout=1.0)


def test_messages_name_it() -> None:
    with pytest.raises(SettingsError, match=r'workers must be .*"stack:N".*got \'heap:2\''):
        archeng.solve(plate(), Counted(), workers="heap:2")
