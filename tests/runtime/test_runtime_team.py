"""Repairs on several processes: the same run, and nothing left behind."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from runtime_helpers import (
    assert_same,
    bowl,
    own_workers,
    reference,
    solve_case,
    table_model,
    wait_for,
)

import archeng
from archeng import Run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hire workers after the first generation, however fast the repairs are."""
    monkeypatch.setattr("archeng.runner.team._PATIENCE", 0.0)
    monkeypatch.setattr("archeng.runner.team._SLOW_REPAIR", 0.0)


def own_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the simulator in this process, so that all workers are there for repairs."""
    monkeypatch.setattr(
        "archeng.runner.assemble.make_pool",
        lambda workers, simulator, timeout: archeng.simulator.pools.InProcess(simulator),
    )


def test_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "restarts"
    own_simulator(monkeypatch)
    seen: list[int] = []

    def look(run: Run) -> None:
        seen.append(len(own_workers()))

    assert_same(solve_case(name, workers=2, callback=look), reference(name))
    assert max(seen) == 2
    assert own_workers() == []


def test_repair_workers_may_die(monkeypatch: pytest.MonkeyPatch) -> None:
    own_simulator(monkeypatch)
    killed: list[int] = []

    def kill(run: Run) -> None:
        if len(run.history) in (3, 5):
            for worker in own_workers()[: len(run.history) - 2]:
                os.kill(worker.pid, signal.SIGKILL)
                wait_for(lambda w=worker: w.status() == "zombie", "the end of a worker")
                killed.append(worker.pid)

    name = "budget within a generation"
    assert_same(solve_case(name, workers=2, callback=kill), reference(name))
    assert len(killed) == 3
    assert own_workers() == []


def test_models_with_tables_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    own_simulator(monkeypatch)
    options: dict[str, Any] = {"max_evaluations": 30, "seed": 2, "parallel": 1}
    alone = archeng.solve(table_model(), bowl, **options)
    assert_same(archeng.solve(table_model(), bowl, workers=2, **options), alone)
