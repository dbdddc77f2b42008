"""Asynchronous runs: given the order in which calls end, they are the same, bit for bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import (
    CASES,
    Logged,
    assert_same,
    begun,
    bowl,
    digest,
    finished,
    line,
    lines,
    solve_case,
    wait_for,
)
from runtime_jobs import Runs

import archeng
from archeng import Result, Settings, StopReason
from archeng.errors import SettingsError, SimulatorError

WIDTH = 4
SOME = {
    "failures": 16,
    "duplicates": 7,
    "restarts": 40,
    "proposals": 21,
    "outputs, proposals": 11,
    "discrete, proposals": 1,
}
"""One of each kind (failed calls, the same design again, restarts, models, simulated constraints,
discrete variables), and after how many calls it is cut off."""


class InOrder:
    """An executor whose calls end in a given order of designs."""

    def __init__(self, order: Sequence[np.ndarray[Any, Any]]) -> None:
        self._order = [x.tobytes() for x in order]
        self._waiting: dict[bytes, tuple[_Listened, Callable[[], Any]]] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = _Listened(self._go_on)
        *_, design = arguments
        self._waiting[design.x.tobytes()] = future, lambda: function(*arguments)
        return future

    def _go_on(self) -> None:
        while self._order and self._order[0] in self._waiting:
            future, compute = self._waiting.pop(self._order.pop(0))
            future.set_result(compute())


class _Listened(Future[Any]):
    """A future that says when somebody listens to its end."""

    def __init__(self, heard: Callable[[], None]) -> None:
        super().__init__()
        self._heard = heard

    def add_done_callback(self, function: Callable[[Future[Any]], object]) -> None:
        super().add_done_callback(function)
        self._heard()


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    processes = Runs()
    yield processes
    processes.close()


def solved(name: str, **options: Any) -> Result:
    return solve_case(name, **{"asynchronous": True, "parallel": WIDTH, **options})


@pytest.mark.parametrize("name", SOME)
def test_the_order_of_ending_says_all(name: str, tmp_path: Path) -> None:
    first = solved(name, workers=f"threads:{WIDTH}", delay=0.02, journal=tmp_path / "run.db")
    order = [e.x for e in first.evaluations]
    assert_same(solved(name, workers=InOrder(order)), first)
    assert_same(archeng.read_journal(tmp_path / "run.db"), first)


class _CutOff:
    """Is interrupted in the middle of a call."""

    def __init__(self, objective: str, calls: int) -> None:
        self._simulator, self._calls = Logged(objective), calls

    def __call__(self, design: Any) -> Any:
        self._calls -= 1
        if self._calls < 0:
            raise KeyboardInterrupt
        return self._simulator(design)


@pytest.mark.parametrize(("name", "calls"), SOME.items())
def test_a_run_that_was_cut_off_goes_on_exactly(name: str, calls: int, tmp_path: Path) -> None:
    """Also calls that were under way: in this process, they end in the order of their beginning."""
    objective = CASES[name].get("objective", "bowl")
    journal, log = tmp_path / "run.db", tmp_path / "log"
    solved(name, journal=journal, simulator=_CutOff(objective, calls))
    done = archeng.read_journal(journal).evaluations
    assert len(done) == calls
    result = archeng.resume(journal, Logged(objective, log))
    assert_same(result, solved(name))
    assert not {e.x.tobytes().hex() for e in done} & set(begun(log))


def test_a_run_that_was_killed_goes_on(tmp_path: Path, runs: Runs) -> None:
    """Finished calls are not made again, those under way are, and the budget holds."""
    name, journal, log = "failures", tmp_path / "run.db", tmp_path / "log"
    more = {"asynchronous": True, "parallel": WIDTH, "workers": f"threads:{WIDTH}"}
    pid = runs.start(what="solve", case=name, journal=journal, log=log, delay=0.1, **more)
    wait_for(lambda: len(lines(log, "end")) >= 20, "twenty calls")
    runs.kill(pid)
    done = finished(journal)
    again = tmp_path / "again"
    result = archeng.resume(journal, Logged("fragile", again), workers=f"threads:{WIDTH}")
    assert [e.x.tobytes().hex() for e in result.evaluations][: len(done)] == done
    assert not set(begun(again)) & set(done)
    assert len(result.evaluations) == 60


@pytest.mark.parametrize("surrogate", ["none", "auto"])
def test_the_budget_is_used_up_and_never_exceeded(surrogate: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = archeng.solve(
        line(),
        Logged("waves", log, 0.01),
        workers="threads:4",
        asynchronous=True,
        max_evaluations=21,
        seed=1,
        settings=Settings(surrogate=surrogate),
    )
    assert len(begun(log)) == len(result.evaluations) == 21
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


def test_the_target_ends_it_at_once() -> None:
    result = solved("target within a generation")
    assert result.stop_reason is StopReason.TARGET
    assert result.fun == result.evaluations[-1].objective


def test_no_call_begins_after_the_time_is_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    more: dict[str, Any] = {"delay": 0.3, "workers": "threads:4", "max_time": 1.0}
    result = solved("failures", max_evaluations=None, log=log, **more)
    assert result.stop_reason is StopReason.MAX_TIME
    assert len(begun(log)) == len(result.evaluations)  # those under way are waited for


def test_worker_processes_time_limits_and_lost_calls() -> None:
    """One design in four is lost with its process, and one in four hangs."""
    result = archeng.solve(
        line(), hang_or_die, workers=2, asynchronous=True, max_evaluations=10, timeout=0.5, seed=1,
        settings=Settings(surrogate="none"), retries=0,
    )  # fmt: skip
    assert len(result.evaluations) == 10
    assert {e.status for e in result.evaluations} >= {"ok", "lost", "timed_out"}


def hang_or_die(design: Any) -> float:
    kind = digest(design.x) % 4
    if kind == 0:
        os._exit(3)
    if kind == 1:
        time.sleep(60)
    return bowl(design)


def test_a_mistake_in_the_simulator_ends_it_after_one_call() -> None:
    calls = []

    def mistaken(design: Any) -> float:
        calls.append(design)
        return design.no_such_thing  # type: ignore[no-any-return]

    with pytest.raises(SimulatorError, match="no_such_thing"):
        archeng.solve(line(), mistaken, workers="threads:4", asynchronous=True, seed=1)
    assert len(calls) == 1


def test_calls_that_all_fail_end_it_and_a_mended_simulator_goes_on(tmp_path: Path) -> None:
    def broken(design: Any) -> float:
        raise RuntimeError("no licence")

    journal = tmp_path / "run.db"
    with pytest.raises(SimulatorError, match="no licence"):
        solved("failures", simulator=broken, journal=journal)
    result = archeng.resume(journal, bowl)
    assert len(result.evaluations) == 60
    assert all(e.good for e in result.evaluations)


def test_workers_are_busy_although_durations_differ() -> None:
    """By a factor of ten, and a generation of twelve does not end with idle workers."""

    def slow(design: Any) -> float:
        time.sleep(0.05 * 10 ** (digest(design.x) / 2**32))
        return bowl(design)

    calls = archeng.solve(
        line(), slow, workers="threads:8", asynchronous=True, max_evaluations=60, seed=1,
        settings=Settings(surrogate="none"),
    ).evaluations  # fmt: skip
    ends = np.array([e.elapsed for e in calls])
    begins = ends - [e.seconds for e in calls]
    first, last = begins[1], begins.max()  # the first call is alone, at the end there is no more
    spans = np.minimum(ends, last) - np.maximum(begins, first)
    assert np.clip(spans, 0, None).sum() >= 0.9 * 8 * (last - first)


def test_other_handlers_refuse_it() -> None:
    with pytest.raises(SettingsError, match="arch"):
        archeng.solve(line(), bowl, asynchronous=True, settings=Settings(handler="resampling"))


def test_ask_and_tell_refuse_it() -> None:
    run = archeng.Run(line(), asynchronous=True, seed=1)
    with pytest.raises(SettingsError, match="asynchronous"):
        run.ask()
    run.close()
