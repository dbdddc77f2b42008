"""Ctrl-C once, Ctrl-C twice, and runs that are killed together with what they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from runtime_helpers import (
    Logged,
    alive,
    assert_same,
    begun,
    bowl,
    finished,
    line,
    lines,
    reference,
    solve_case,
    wait_for,
)
from runtime_jobs import Runs, outcome_of

import archeng
from archeng import Design, StopReason

pytestmark = pytest.mark.slow

NAME = "budget within a generation"
SOON = 20.0  # seconds; "at once" on a machine that is very busy


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    opened = Runs()
    yield opened
    opened.close()


def interrupt(pid: int) -> None:
    """As a terminal does: to the whole group of processes."""
    os.killpg(pid, signal.SIGINT)


def descendants(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


@pytest.mark.parametrize("workers", [None, "threads:2", 2])
def test_ctrl_c_lets_the_calls_under_way_finish(workers: Any, runs: Runs, tmp_path: Path) -> None:
    journal, log, outcome = tmp_path / "run.db", tmp_path / "log", tmp_path / "outcome"
    pid = runs.start(
        what="solve", journal=journal, log=log, delay=0.3, workers=workers, outcome=outcome,
        errors=tmp_path / "errors",
    )  # fmt: skip
    wait_for(lambda: len(begun(log)) >= 8, "the eighth call")
    interrupt(pid)
    seen = len(begun(log))
    ended = outcome_of(outcome)
    assert ended["stop"] == "INTERRUPTED", ended
    assert sorted(begun(log)) == sorted(words[2] for words in lines(log, "end"))
    assert sorted(finished(journal)) == sorted(begun(log))
    assert len(begun(log)) <= seen + 4  # a call or two may have begun meanwhile
    assert ended["calls"] == finished(journal)[: ended["nfev"]]
    assert ended["nfev"] >= 7
    assert "Ctrl-C again" in (tmp_path / "errors").read_text()
    assert "Traceback" not in (tmp_path / "errors").read_text()
    done = finished(journal)
    before = len(begun(log))
    assert_same(archeng.resume(journal, Logged("bowl", log)), reference(NAME))
    assert not set(begun(log)[before:]) & set(done)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_second_ctrl_c_stops_at_once(workers: Any, runs: Runs, tmp_path: Path) -> None:
    journal, log, outcome = tmp_path / "run.db", tmp_path / "log", tmp_path / "outcome"
    errors = tmp_path / "errors"
    pid = runs.start(
        what="solve", journal=journal, log=log, delay=3000.0, workers=workers, outcome=outcome,
        errors=errors,
    )  # fmt: skip
    wait_for(lambda: begun(log), "the first call, which is made alone")
    processes = descendants(pid)
    interrupt(pid)
    wait_for(lambda: errors.exists() and "Ctrl-C again" in errors.read_text(), "the first Ctrl-C")
    assert not outcome.exists()
    interrupt(pid)
    wait_for(outcome.exists, "the end", SOON)
    ended = outcome_of(outcome)
    assert ended["stop"] == "INTERRUPTED"
    assert ended["nfev"] == 0
    wait_for(lambda: not alive(pid) and gone(processes), "the end of all processes", SOON)
    assert_same(archeng.resume(journal, bowl), reference(NAME))


@pytest.mark.parametrize("workers", [None, "threads:2", 2])
def test_a_second_ctrl_c_ends_the_programs(workers: Any, runs: Runs, tmp_path: Path) -> None:
    outcome, errors = tmp_path / "outcome", tmp_path / "errors"
    pid = runs.start(
        what="solve", journal=None, log=None, workers=workers, program=["sleep", "3000"],
        outcome=outcome, errors=errors,
    )  # fmt: skip

    def programs() -> list[psutil.Process]:
        return [p for p in descendants(pid) if p.name() == "sleep"]

    wait_for(programs, "the program of the first call, which is made alone")
    started = programs()
    try:
        interrupt(pid)
        wait_for(lambda: errors.exists() and "Ctrl-C again" in errors.read_text(), "Ctrl-C")
        interrupt(pid)
        assert outcome_of(outcome)["stop"] == "INTERRUPTED"
        wait_for(lambda: gone(started) and not alive(pid), "the end of the programs", SOON / 2)
    finally:
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_killed_run_takes_its_workers_and_their_programs_along(
    runs: Runs, tmp_path: Path
) -> None:
    pid = runs.start(
        what="solve", journal=None, log=None, workers=2,
        program=["sh", "-c", "sleep 3000 & wait"],
    )  # fmt: skip

    def programs() -> list[psutil.Process]:
        return [p for p in descendants(pid) if p.name() == "sleep"]

    wait_for(programs, "the program of the first call")
    processes = descendants(pid)
    assert len(processes) == 4  # worker, shell, program, watchdog
    runs.kill(pid)
    wait_for(lambda: gone(processes), "the end of workers and programs", SOON)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_killed_run(
    number: signal.Signals, runs: Runs, tmp_path: Path
) -> None:
    """Neither workers nor the folder of their socket."""
    log = tmp_path / "log"
    before = set(runs.place.iterdir())
    pid = runs.start(what="solve", journal=None, log=log, workers=1, delay=3000.0)
    wait_for(lambda: begun(log), "the first call")
    processes = descendants(pid)
    assert len(processes) == 2  # worker and watchdog
    os.kill(pid, number)
    wait_for(lambda: not alive(pid) and gone(processes), "the end of the workers", SOON)
    wait_for(lambda: set(runs.place.iterdir()) == before, "the end of the folder", 5.0)


# -- in this process -------------------------------------------------------------------------


def test_the_handler_of_the_program_is_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)

    def simulator(design: Design) -> float:
        assert signal.getsignal(signal.SIGINT) is not before
        return bowl(design)

    archeng.solve(line(), simulator, max_evaluations=3, seed=1, on_failure="raise")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_of_the_host_program_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:

        def simulator(design: Design) -> float:
            signal.raise_signal(signal.SIGINT)
            return bowl(design)

        result = archeng.solve(line(), simulator, max_evaluations=3, seed=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT] * 3
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


def test_a_run_in_another_thread_does_not_touch_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    results = []
    thread = threading.Thread(
        target=lambda: results.append(archeng.solve(line(), bowl, max_evaluations=8, seed=1))
    )
    thread.start()
    thread.join()
    assert results[0].nfev == 8
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("at", [1, 4, 6, 9])
def test_interrupted_runs_go_on_exactly(at: int, tmp_path: Path) -> None:
    calls = []

    def simulator(design: Design) -> float:
        calls.append(design)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return bowl(design)

    result = solve_case(NAME, simulator=simulator, journal=tmp_path / "run.db")
    assert result.stop_reason is StopReason.INTERRUPTED
    assert len(calls) == result.nfev == at
    assert result.fun == min(bowl(d) for d in calls)
    assert_same(archeng.resume(tmp_path / "run.db", bowl), reference(NAME))
