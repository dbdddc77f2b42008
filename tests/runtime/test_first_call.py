"""The first call is made alone: a mistake in the simulator costs one call, not a generation."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import (
    Logged,
    append,
    assert_same,
    begun,
    bowl,
    line,
    lines,
    reading,
    reference,
    solve_case,
)

import archeng
from archeng import Design, Evaluation
from archeng.errors import SimulatorError

NAME = "budget within a generation"
LIMITS = {"stress": (None, 1e9)}


class Mistaken:
    """Make one of several mistakes, or fail as simulations do, in every call."""

    def __init__(self, log: Path, how: str) -> None:
        self.log, self.how = log, how

    def __call__(self, design: Design) -> Any:
        append(self.log, f"begin 0 {design.x.tobytes().hex()}")
        return getattr(self, self.how)(design)

    def misspelt(self, design: Design) -> Any:
        return design["depth"]

    def no_attribute(self, design: Design) -> Any:
        return design.thickness

    def no_name(self, design: Design) -> Any:
        return undefined  # type: ignore[name-defined]  # noqa: F821

    def no_module(self, design: Design) -> Any:
        import module_that_nobody_has  # type: ignore[import-not-found]

        return module_that_nobody_has.f(design)

    def wrong_type(self, design: Design) -> Any:
        return "1.0" + design.x[0]

    def nothing(self, design: Design) -> Any:
        return None

    def text(self, design: Design) -> Any:
        return "1.0"

    def solver(self, design: Design) -> Any:
        raise RuntimeError("diverged")

    def infinite(self, design: Design) -> Any:
        return float("inf")


MISTAKES = {
    "misspelt": "'depth' is not a variable",
    "no_attribute": "AttributeError",
    "no_name": "NameError",
    "no_module": "ModuleNotFoundError",
    "wrong_type": "TypeError",
    "nothing": "NoneType",
    "text": "str '1.0'",
}


@pytest.mark.parametrize("how", MISTAKES)
def test_a_mistake_ends_the_run_after_one_call(how: str, tmp_path: Path) -> None:
    simulator = Mistaken(tmp_path / "log", how)
    with pytest.raises(SimulatorError) as caught:
        archeng.solve(line(), simulator, seed=1, max_evaluations=50)
    assert MISTAKES[how] in str(caught.value)
    assert "The first call" in str(caught.value)
    assert len(begun(tmp_path / "log")) == 1
    [record] = caught.value.evaluations
    assert record.status in ("failed", "invalid")
    if how not in ("nothing", "text"):
        assert f"in {how}" in str(caught.value)
        cause = caught.value.__cause__
        assert cause is not None
        assert f"in {how}" in "".join(traceback.format_exception(cause))


@pytest.mark.parametrize("workers", ["threads:3", 2, "executor"])
def test_a_mistake_is_seen_wherever_calls_run(workers: Any, tmp_path: Path) -> None:
    simulator = Mistaken(tmp_path / "log", "misspelt")
    with contextlib.ExitStack() as stack:
        place = workers
        if workers == "executor":
            context = multiprocessing.get_context("spawn")
            place = stack.enter_context(ProcessPoolExecutor(2, mp_context=context))
        caught = stack.enter_context(pytest.raises(SimulatorError, match="'depth' is not a"))
        archeng.solve(line(), simulator, seed=1, max_evaluations=50, workers=place)
    assert len(begun(tmp_path / "log")) == 1
    assert isinstance(caught.value.__cause__, KeyError) == (workers == "threads:3")


@pytest.mark.parametrize(
    "constraints", [{}, {"stres": 1.0}, {"stress": 1.0, "mode": 2.0}, {"stress": "low"}]
)
def test_wrong_constraints_end_the_run_after_one_call(constraints: Any) -> None:
    calls = []

    def simulator(design: Design) -> Evaluation:
        calls.append(design)
        return Evaluation(1.0, constraints)

    with pytest.raises(SimulatorError, match=r"stres|mode"):
        archeng.solve(line(), simulator, seed=1, simulated=LIMITS, max_evaluations=50)
    assert len(calls) == 1


@pytest.mark.parametrize("how", ["solver", "infinite"])
@pytest.mark.parametrize("workers", [None, "threads:3"])
def test_a_simulation_that_fails_does_not_end_the_run_at_once(
    how: str, workers: Any, tmp_path: Path
) -> None:
    simulator = Mistaken(tmp_path / "log", how)
    with pytest.raises(SimulatorError, match="All 9 calls of the first generations"):
        archeng.solve(line(), simulator, seed=1, max_evaluations=50, workers=workers)
    assert len(begun(tmp_path / "log")) == 9  # first designs, and a generation of ARCH


def test_a_mistake_after_the_first_call_is_a_failed_call() -> None:
    calls = []

    def simulator(design: Design) -> Any:
        calls.append(design)
        return bowl(design) if len(calls) != 3 else {}["missing"]

    result = archeng.solve(line(), simulator, seed=1, max_evaluations=12)
    assert [e.status for e in result.evaluations].count("failed") == 1


def test_the_first_call_is_alone_and_the_others_are_not() -> None:
    under_way, most, lock, calls = [], [], threading.Lock(), []
    barrier = threading.Barrier(2)

    def simulator(design: Design) -> float:
        with lock:
            calls.append(design)
            under_way.append(design)
            most.append(len(under_way))
            number = len(calls)
        if number in (2, 3):
            barrier.wait(60)
        with lock:
            under_way.remove(design)
        return bowl(design)

    archeng.solve(line(), simulator, seed=1, max_evaluations=6, workers="threads:2")
    assert most[0] == 1
    assert max(most) == 2


@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_a_run_goes_on_once_the_mistake_is_mended(workers: Any, tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    with pytest.raises(SimulatorError) as caught:
        solve_case(
            NAME, simulator=Mistaken(tmp_path / "log", "no_name"), journal=journal, workers=workers
        )
    notes = " ".join(caught.value.__notes__)
    assert f"archeng.resume({str(journal)!r}, simulator)" in notes
    with reading(journal) as opened:
        assert list(opened.calls()) == []
    assert_same(archeng.resume(journal, bowl, workers=workers), reference(NAME))


def test_a_wholly_failed_first_generation_is_tried_again(tmp_path: Path) -> None:
    journal, log = tmp_path / "run.db", tmp_path / "log"
    with pytest.raises(SimulatorError, match="diverged"):
        solve_case(NAME, simulator=Mistaken(log, "solver"), journal=journal)
    with pytest.raises(SimulatorError, match="diverged"):  # as broken as before
        archeng.resume(journal, Mistaken(log, "solver"))
    assert len(begun(log)) == 12
    assert_same(archeng.resume(journal, bowl), reference(NAME))


def test_finished_failures_of_an_open_generation_stay(tmp_path: Path) -> None:
    """Only a generation that failed as a whole is tried again."""
    journal, log = tmp_path / "run.db", tmp_path / "log"
    calls = []

    def failing_at_first(design: Design) -> float:
        calls.append(design)
        if len(calls) == 3:
            raise KeyboardInterrupt
        raise RuntimeError("diverged")

    result = solve_case(NAME, simulator=failing_at_first, journal=journal)
    assert [e.status for e in result.evaluations] == ["failed"] * 2
    again = archeng.resume(journal, Logged("bowl", log))
    assert [e.status for e in again.evaluations][:3] == ["failed", "failed", "ok"]
    assert len(begun(log)) == again.nfev - 2


@pytest.mark.parametrize("workers", [None, "threads:2", 1])
@pytest.mark.parametrize("error", [asyncio.CancelledError, BaseException, GeneratorExit])
def test_whatever_is_raised_is_a_failed_call(error: Any, workers: Any, tmp_path: Path) -> None:
    log, once = tmp_path / "log", tmp_path / "once"

    def simulator(design: Design) -> float:
        append(log, "call")
        if len(lines(log)) >= 4:  # two threads may see five lines
            with contextlib.suppress(FileExistsError):
                once.touch(exist_ok=False)
                raise error("cancelled")
        return bowl(design)

    result = archeng.solve(line(), simulator, seed=1, max_evaluations=10, workers=workers)
    [bad] = [e for e in result.evaluations if e.status != "ok"]
    assert bad.status == "failed"
    assert error.__name__ in bad.message
