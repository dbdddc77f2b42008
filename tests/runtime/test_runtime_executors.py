"""Where the calls run does not matter: same seed, same run, on every kind of executor."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from discrete_models import frame
from runtime_helpers import (
    CASES,
    Logged,
    append,
    assert_same,
    begun,
    bowl,
    line,
    lines,
    own_workers,
    reference,
    solve_case,
    wait_for,
)

import archeng
from archeng import Design, StopReason
from archeng.errors import ExecutorError, SettingsError
from archeng.simulator import Workers, make_pool

pytestmark = pytest.mark.slow

SHUFFLING = 0.006  # most seconds of a call; calls finish in another order than they begin


class Backwards:
    """An executor that nobody has seen before: it runs what waits in random order."""

    def __init__(self) -> None:
        self.submitted = 0
        self._waiting: list[tuple[Future[Any], Any, Any]] = []
        self._random = random.Random(3)
        self._lock = threading.Condition()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self.submitted += 1
            self._waiting.append((future, function, arguments))
            self._lock.notify()
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    self._lock.wait()
            time.sleep(0.002)  # let more of the generation come in
            with self._lock:
                choice = self._random.randrange(len(self._waiting))
                future, function, arguments = self._waiting.pop(choice)
            if future.set_running_or_notify_cancel():
                future.set_result(function(*arguments))


def test_the_cases_are_what_they_say() -> None:
    cut = reference("budget within a generation")
    assert cut.stop_reason is StopReason.MAX_EVALUATIONS
    assert cut.nfev % cut.history[0].population_size
    hit = reference("target within a generation")
    assert hit.stop_reason is StopReason.TARGET
    assert hit.nfev % hit.history[0].population_size
    statuses = {e.status for e in reference("failures").evaluations}
    assert statuses == {"ok", "failed", "invalid"}
    again = reference("duplicates")
    assert sum(sum(g.repairs.values()) for g in again.history) > again.nfev + 20
    simulated = [e.x.tobytes() for e in reference("paper").evaluations]
    assert len(set(simulated)) < len(simulated)
    assert reference("restarts").history[-1].restart >= 1
    proposals = {name: proposed(name) for name in CASES}
    assert {name for name, count in proposals.items() if count} == {
        name for name in CASES if "proposals" in name
    }
    assert proposals["proposals"] >= 20
    ended = reference("proposals to the end")
    assert ended.stop_reason is StopReason.CONVERGED
    assert {"ok"} < {e.status for e in ended.evaluations}
    assert reference("proposals, restarts").history[-1].restart >= 1
    for name in ("outputs", "outputs, proposals"):
        calls = [e for e in reference(name).evaluations if e.good]
        assert any(e.violated for e in calls)
        assert any(not e.violated for e in calls)
        assert {e.parameters_read for e in calls} == {("weights",)}
        assert all(e.gradients for e in calls)
        assert len(calls) < reference(name).nfev  # some have failed
    for name in ("discrete", "discrete, proposals"):
        assert {e.status for e in reference(name).evaluations} == {"ok", "failed"}
        designs = [Design(frame().variables, e.x) for e in reference(name).evaluations]
        assert len({d["material"] for d in designs}) == 2
        assert len({s for d in designs for s in d["sections"]}) >= 2
    violated = [e.violated for e in reference("discrete outputs, proposals").evaluations]
    assert any(violated)
    assert not all(violated)


def proposed(name: str) -> int:
    return sum(e.repair_kind == "proposed" for e in reference(name).evaluations)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("workers", ["threads:1", "threads:3", "executor", "backwards"])
def test_threads_and_executors(name: str, workers: str) -> None:
    if workers == "executor":
        with ThreadPoolExecutor(2) as executor:
            assert_same(solve_case(name, workers=executor, delay=SHUFFLING), reference(name))
            assert executor.submit(int, "3").result() == 3  # it stays open
    elif workers == "backwards":
        mine = Backwards()
        assert_same(solve_case(name, workers=mine), reference(name))
        assert mine.submitted >= reference(name).nfev
    else:
        assert_same(solve_case(name, workers=workers, delay=SHUFFLING), reference(name))


@pytest.mark.parametrize(
    "name",
    [
        *("target within a generation", "paper", "proposals"),
        *("outputs, proposals", "discrete outputs, proposals"),
    ],
)
def test_two_processes(name: str) -> None:
    assert_same(solve_case(name, workers=2, delay=SHUFFLING), reference(name))


def test_three_processes() -> None:
    assert_same(solve_case("failures", workers=3, delay=SHUFFLING), reference("failures"))
    assert own_workers() == []


@pytest.fixture(scope="module")
def spawned() -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        yield executor


@pytest.mark.parametrize(
    "name", ["target within a generation", "failures", "duplicates", "restarts", "discrete"]
)
def test_process_pool_executor(name: str, spawned: ProcessPoolExecutor) -> None:
    assert_same(solve_case(name, workers=spawned, delay=SHUFFLING), reference(name))
    assert spawned.submit(int, "3").result() == 3


def meet(folder: Path, design: Design) -> float:
    """Wait inside the call, after the first one, until another call is under way too."""
    append(folder / "log", f"begin {design.x.tobytes().hex()}")
    if len(lines(folder / "log", "begin")) > 1:
        wait_for(lambda: len(lines(folder / "log", "begin")) >= 3, "a third call")
    return bowl(design)


def test_calls_run_side_by_side_in_threads(tmp_path: Path) -> None:
    result = archeng.solve(
        line(), lambda d: meet(tmp_path, d), max_evaluations=3, seed=1, workers="threads:2"
    )
    assert [e.status for e in result.evaluations] == ["ok"] * 3


def test_minus_one_is_one_process_per_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    result = archeng.solve(
        line(), lambda d: meet(tmp_path, d), max_evaluations=3, seed=1, workers=-1
    )
    assert [e.status for e in result.evaluations] == ["ok"] * 3


def test_no_more_calls_at_once_than_threads(tmp_path: Path) -> None:
    solve_case("budget within a generation", workers="threads:2", log=tmp_path / "log", delay=0.005)
    under_way = most = 0
    for words in lines(tmp_path / "log"):
        under_way += 1 if words[0] == "begin" else -1
        most = max(most, under_way)
    assert most == 2


def test_each_design_goes_out_once(tmp_path: Path) -> None:
    result = solve_case("duplicates", workers="threads:3", log=tmp_path / "log", delay=SHUFFLING)
    assert sorted(begun(tmp_path / "log")) == sorted(
        e.x.tobytes().hex() for e in result.evaluations
    )


@pytest.mark.parametrize(
    "workers",
    [
        0, -2, True, False, 1.5, "2", "", "threads", "threads:", "threads:0", "threads:-1",
        "threads:2x", "threads:1.5", "processes:2", [], [2], object(), lambda: 2,
    ],
)  # fmt: skip
def test_bad_workers_are_refused_before_any_call(workers: Any) -> None:
    def simulator(design: Design) -> float:
        raise AssertionError("called")

    with pytest.raises(SettingsError, match="workers must be"):
        archeng.solve(line(), simulator, workers=workers, max_evaluations=5)


def test_numpy_integers_are_numbers_of_processes() -> None:
    pool = make_pool(np.int64(2), bowl, None)
    try:
        assert isinstance(pool, Workers)
    finally:
        pool.close()


@pytest.mark.parametrize("kind", ["threads:2", "executor"])
def test_a_time_limit_needs_processes(kind: str) -> None:
    with ThreadPoolExecutor(1) as executor:
        workers = executor if kind == "executor" else kind
        with pytest.raises(SettingsError, match="timeout needs worker processes"):
            archeng.solve(line(), bowl, workers=workers, timeout=5.0, max_evaluations=5)


def test_a_time_limit_alone_takes_one_process(tmp_path: Path) -> None:
    name = "budget within a generation"
    result = solve_case(name, timeout=30.0, log=tmp_path / "log")
    assert_same(result, reference(name))
    assert len({words[1] for words in lines(tmp_path / "log")}) == 1
    assert lines(tmp_path / "log")[0][1] != str(threading.get_native_id())


class Closing(ThreadPoolExecutor):
    """An executor that somebody shuts down, with what waits, in the middle of a generation."""

    def __init__(self, after: int) -> None:
        super().__init__(1)
        self.after = after

    def simulate(self, design: Design) -> float:
        self.after -= 1
        if self.after == 0:
            self.shutdown(wait=False, cancel_futures=True)
        return bowl(design)


@pytest.mark.parametrize("after", [2, 8, 13])
def test_an_executor_that_is_shut_down_leaves_a_journal_that_goes_on_exactly(
    after: int, tmp_path: Path
) -> None:
    name = "budget within a generation"
    executor = Closing(after)
    with pytest.raises(ExecutorError, match="resume"):
        solve_case(name, simulator=executor.simulate, workers=executor, journal=tmp_path / "a.db")
    log = tmp_path / "log"
    result = archeng.resume(tmp_path / "a.db", Logged("bowl", log))
    assert_same(result, reference(name))
    assert len(begun(log)) == reference(name).nfev - after
