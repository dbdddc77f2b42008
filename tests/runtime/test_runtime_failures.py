"""Calls that do not end well: their states, retries, and when a run gives up."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_helpers import (
    append,
    assert_same,
    begun,
    bowl,
    digest,
    line,
    lines,
    reference,
    solve_case,
)

import archeng
from archeng import Design, Result, Status, StopReason
from archeng.errors import SettingsError, SimulatorError

FAILURES = "failures"


def kinds(result: Result) -> list[str]:
    return [e.status for e in result.evaluations]


def test_failed_calls_keep_their_words_and_get_no_number() -> None:
    result = reference(FAILURES)
    for e in result.evaluations:
        expected = {0: "failed", 1: "invalid", 2: "invalid"}.get(digest(e.x) % 7, "ok")
        assert e.status == expected
        assert np.isnan(e.objective) == (expected != "ok")
        assert bool(e.message) == (expected != "ok")
        assert e.attempts == 1
    failed = next(e for e in result.evaluations if e.status == "failed")
    assert "FloatingPointError: the mesh is tangled" in failed.message
    assert "Traceback" in failed.message
    assert "in fragile" in failed.message
    assert all(np.isfinite(g.best) for g in result.history)
    assert result.fun == min(e.objective for e in result.evaluations if e.good)


class Mended:
    """Fail the first calls at each design, then give the objective."""

    def __init__(self, log: Path, bad_calls: int, how: str) -> None:
        self.log, self.bad_calls, self.how = log, bad_calls, how

    def __call__(self, design: Design) -> Any:
        key = design.x.tobytes().hex()
        append(self.log, f"begin 0 {key}")
        if begun(self.log).count(key) > self.bad_calls:
            return bowl(design)
        if self.how == "invalid":
            return None
        raise ValueError("not yet")


@pytest.mark.parametrize(
    ("how", "retries", "bad_calls", "ends_well"),
    [
        ("failed", None, 1, False),
        ("failed", 0, 1, False),
        ("failed", 1, 1, True),
        ("failed", 2, 2, True),
        ("failed", 2, 3, False),
        ("failed", {"failed": 2}, 2, True),
        ("failed", {"lost": 5, "timed_out": 5, "invalid": 5}, 1, False),
        ("invalid", 3, 1, False),  # a design without an answer has none the next time either
        ("invalid", {"invalid": 1}, 1, True),
        ("invalid", {"failed": 1}, 1, False),
        ("failed", {}, 1, False),
    ],
)
@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_retries(
    how: str, retries: Any, bad_calls: int, ends_well: bool, workers: Any, tmp_path: Path
) -> None:
    simulator = Mended(tmp_path / "log", bad_calls, how)
    options: dict[str, Any] = {"retries": retries, "workers": workers, "simulator": simulator}
    name = "budget within a generation"
    if ends_well:
        result = solve_case(name, **options)
        assert_same(result, reference(name))
        assert {e.attempts for e in result.evaluations} == {bad_calls + 1}
        assert len(begun(tmp_path / "log")) == result.nfev * (bad_calls + 1)
    else:
        with pytest.raises(SimulatorError) as caught:
            solve_case(name, **options)
        asked = retries if isinstance(retries, int) else (retries or {}).get(how, 0)
        expected = 1 + (0 if how == "invalid" and isinstance(retries, int) else asked)
        assert {e.attempts for e in caught.value.evaluations} == {expected}


@pytest.mark.parametrize(
    "retries",
    [-1, 1.5, True, "2", [1], {"failed": -1}, {"failed": 1.0}, {"failed": True}, {"ok": 1},
     {"crashed": 1}, {"reused": 1}, {1: 1}],
)  # fmt: skip
def test_bad_retries(retries: Any) -> None:
    with pytest.raises(SettingsError, match="retries"):
        archeng.solve(line(), bowl, retries=retries)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("timeout", v) for v in (0, -1, "1", True, float("nan"))],
        *[("max_failures", v) for v in (-1, 1.5, "1", True)],
        *[("on_failure", v) for v in ("stop", None, 0)],
    ],
)
def test_bad_policies(option: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=option):
        archeng.solve(line(), bowl, **{option: value})


@pytest.mark.parametrize("most", [2, 5])
@pytest.mark.parametrize("workers", [None, "threads:3"])
def test_max_failures(most: int, workers: Any) -> None:
    result = solve_case(FAILURES, max_failures=most, workers=workers, delay=0.003)
    whole = reference(FAILURES)
    bad = [e.index for e in whole.evaluations if not e.good]
    assert result.stop_reason is StopReason.MAX_FAILURES
    assert result.nfev == bad[most] + 1
    assert [e.x.tobytes() for e in result.evaluations] == [
        e.x.tobytes() for e in whole.evaluations[: result.nfev]
    ]
    good = [e.objective for e in result.evaluations if e.good]
    assert result.fun == min(good)
    assert result.status is Status.STOPPED
    assert not result.success


def test_as_many_failures_as_allowed_do_not_stop_the_run() -> None:
    whole = reference(FAILURES)
    most = sum(not e.good for e in whole.evaluations)
    assert_same(solve_case(FAILURES, max_failures=most), whole)


def failing_first(count: int) -> Any:
    calls = []

    def simulator(design: Design) -> float:
        calls.append(design)
        if len(calls) <= count:
            raise ValueError("no licence")
        return bowl(design)

    return simulator


@pytest.mark.parametrize("budget", [30, 3])
def test_max_failures_within_the_first_generation(budget: int) -> None:
    """The rest of the generation was not simulated: nobody knows that all of it fails."""
    result = archeng.solve(line(), failing_first(2), seed=1, max_failures=1, max_evaluations=budget)
    assert result.stop_reason is StopReason.MAX_FAILURES
    assert result.nfev == 2
    assert result.status is Status.NONE
    assert np.isnan(result.fun)


@pytest.mark.parametrize("budget", [30, 3])
def test_ctrl_c_after_a_failed_first_call_is_no_error_of_the_simulator(budget: int) -> None:
    assert threading.current_thread() is threading.main_thread()

    def simulator(design: Design) -> float:
        signal.raise_signal(signal.SIGINT)
        raise ValueError("no licence")

    result = archeng.solve(line(), simulator, seed=1, max_evaluations=budget)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert kinds(result) == ["failed"]


@pytest.mark.parametrize("workers", [None, "threads:3"])
def test_the_first_failure_raises_if_asked(workers: Any) -> None:
    whole = reference(FAILURES)
    first = next(e.index for e in whole.evaluations if e.status == "failed")
    before = [e.index for e in whole.evaluations[:first] if not e.good]
    with pytest.raises(SimulatorError) as caught:
        solve_case(FAILURES, on_failure="raise", workers=workers, delay=0.003)
    seen = caught.value.evaluations
    assert len(seen) == (before[0] if before else first) + 1
    assert [e.x.tobytes() for e in seen] == [e.x.tobytes() for e in whole.evaluations[: len(seen)]]
    assert str(seen[-1].x.tolist()) in str(caught.value)


def test_raise_with_retries_only_raises_what_stays_bad(tmp_path: Path) -> None:
    simulator = Mended(tmp_path / "log", 1, "failed")
    name = "budget within a generation"
    result = solve_case(name, simulator=simulator, retries=1, on_failure="raise")
    assert_same(result, reference(name))


@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_a_first_generation_that_fails_altogether(workers: Any) -> None:
    def simulator(design: Design) -> float:
        raise OSError("cannot open mesh.inp")

    with pytest.raises(SimulatorError) as caught:
        archeng.solve(line(), simulator, seed=1, workers=workers, max_evaluations=100)
    assert "OSError: cannot open mesh.inp" in str(caught.value)
    assert "in simulator" in str(caught.value)
    assert 9 <= len(caught.value.evaluations) <= 10  # first designs, and a generation of ARCH
    assert {e.status for e in caught.value.evaluations} == {"failed"}


def test_later_generations_may_fail_altogether() -> None:
    calls = []

    def simulator(design: Design) -> float:
        calls.append(design)
        return bowl(design) if len(calls) <= 6 else float("nan")

    result = archeng.solve(line(), simulator, seed=1, max_evaluations=30)
    assert kinds(result) == ["ok"] * 6 + ["invalid"] * 24
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


@pytest.mark.parametrize("journal", [False, True])
def test_words_that_are_not_unicode(journal: bool, tmp_path: Path) -> None:
    """File names may hold bytes that no encoding knows; Python writes them as surrogates."""

    def simulator(design: Design) -> float:
        if digest(design.x) % 3 == 0:
            raise FileNotFoundError("mesh-\udcff\x00.inp")
        return bowl(design)

    options = {"journal": tmp_path / "run.db"} if journal else {}
    result = archeng.solve(line(), simulator, seed=1, max_evaluations=20, **options)
    assert {"ok", "failed"} == set(kinds(result))
    assert all("mesh-" in e.message for e in result.evaluations if not e.good)
    result.save(tmp_path / "result.json")
    assert len(Result.load(tmp_path / "result.json").evaluations) == 20
    if journal:
        again = archeng.resume(tmp_path / "run.db", bowl)
        assert kinds(again) == kinds(result)


def test_an_executor_that_breaks_keeps_what_was_finished(tmp_path: Path) -> None:
    """A simulator that ends its process, in a pool that cannot mend itself."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    name, log = "budget within a generation", tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as executor,
        pytest.raises(archeng.errors.ExecutorError, match="BrokenProcessPool"),
    ):
        solve_case(name, simulator=Dying(log, 8), workers=executor, journal=tmp_path / "run.db")
    assert len(lines(log, "begin")) == 9
    assert_same(archeng.resume(tmp_path / "run.db", Dying(log, None)), reference(name))
    assert len(lines(log, "begin")) == reference(name).nfev + 1


def test_searches_in_which_proposals_fail_still_end() -> None:
    results = [solve_case("proposals to the end", seed=seed) for seed in range(6)]
    assert sum(e.status != "ok" for result in results for e in result.evaluations) >= 6
    for result in results:
        assert result.stop_reason is archeng.StopReason.CONVERGED
        assert result.nfev < 250
        assert result.fun == pytest.approx(0.875, abs=1e-6)


class Dying:
    """End the process after some calls."""

    def __init__(self, log: Path, after: int | None) -> None:
        self.log, self.after = log, after

    def __call__(self, design: Design) -> float:
        import os

        append(self.log, f"begin {os.getpid()}")
        if self.after is not None and len(lines(self.log, "begin")) > self.after:
            os._exit(1)
        return bowl(design)
