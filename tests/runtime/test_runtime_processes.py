"""Worker processes: crashes, hangs, noise, and that nothing is left of them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import psutil
import pytest
from runtime_helpers import (
    alive,
    append,
    assert_same,
    bowl,
    digest,
    line,
    lines,
    own_workers,
    reference,
    solve_case,
    wait_for,
)

import archeng
from archeng import Design, Run, StopReason
from archeng.errors import SimulatorError
from archeng.simulator import CallStatus, Workers

pytestmark = pytest.mark.slow

NAME = "budget within a generation"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No worker, no zombie, no folder of a pool after each test."""
    before = own_workers()
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield
        assert list(Path(folder).iterdir()) == []
        assert [w for w in own_workers() if w not in before] == []


EXPECTED = {
    "ok": ("ok", ""),
    "raise": ("failed", "ValueError: tangled"),
    "nan": ("invalid", "nan"),
    "sys.exit": ("failed", "sys.exit(7)"),
    "exit": ("lost", "exit code 3"),
    "segfault": ("lost", f"signal {int(signal.SIGSEGV)}"),
    "kill": ("lost", f"signal {int(signal.SIGKILL)}"),
    "hang": ("timed_out", "within 2 s"),
}


def claim(folder: Path, name: str) -> bool:
    """Whether this call is the first one, in any process, that asks for a name."""
    try:
        (folder / f"claimed-{name}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def wild(folder: Path, design: Design) -> float:
    """Do each thing once, and behave in the first and in all other calls."""
    kind = next((k for k in EXPECTED if claim(folder, k)), "ok")
    append(folder / "log", f"{kind} {os.getpid()} {design.x.tobytes().hex()}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if kind == "raise":
        raise ValueError("tangled")
    if kind == "nan":
        return float("nan")
    if kind == "sys.exit":
        sys.exit(7)
    if kind == "exit":
        os._exit(3)
    if kind == "segfault":
        ctypes.string_at(0)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hang":
        child = subprocess.Popen(["sleep", "300"])
        append(folder / "log", f"child {child.pid}")
        child.wait()
    return bowl(design)


def test_whatever_a_simulator_does_is_a_state(tmp_path: Path) -> None:
    result = archeng.solve(
        line(), lambda d: wild(tmp_path, d), seed=1, max_evaluations=20, workers=2, timeout=2.0,
        retries={"lost": 0},
    )  # fmt: skip
    kinds = {words[2]: words[0] for words in lines(tmp_path / "log") if len(words) == 3}
    assert sorted(kinds.values()) == sorted([*EXPECTED, *["ok"] * 12])
    for e in result.evaluations:
        status, words = EXPECTED[kinds[e.x.tobytes().hex()]]
        assert e.status == status, e.message
        assert words in e.message
        assert (e.objective == e.objective) == (status == "ok")
    assert result.nfev == 20
    children = [int(words[1]) for words in lines(tmp_path / "log", "child")]
    hung = [int(words[1]) for words in lines(tmp_path / "log", "hang")]
    assert len(children) == 1
    assert not [pid for pid in children + hung if alive(pid)]


class Once:
    """Hang in the first call of all, then behave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, design: Design) -> float:
        if not claim(self.folder, "first"):
            return bowl(design)
        append(self.folder / "log", f"begin {os.getpid()}")
        time.sleep(300)
        return 0.0


def test_a_worker_that_is_killed_from_outside(tmp_path: Path) -> None:
    def kill() -> None:
        wait_for(lambda: lines(tmp_path / "log"), "the first call")
        os.kill(int(lines(tmp_path / "log")[0][1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = solve_case(NAME, simulator=Once(tmp_path), workers=2)
    killer.join()
    assert_same(result, reference(NAME))
    assert [e.attempts for e in result.evaluations].count(2) == 1


def test_idle_workers_that_are_killed_between_generations() -> None:
    def kill(run: Run) -> None:
        if len(run.history) == 2:
            for worker in own_workers():
                os.kill(worker.pid, signal.SIGKILL)
                wait_for(lambda w=worker: w.status() == psutil.STATUS_ZOMBIE, "its end")

    result = solve_case(NAME, workers=2, callback=kill)
    assert_same(result, reference(NAME))


def test_a_worker_that_dies_as_it_gets_its_task() -> None:
    """Its death may be seen only when the task is sent; then the task is lost, not forgotten."""
    workers = Workers(abs, 1)
    try:
        workers.submit(0, -1)
        assert workers.next() == (0, 1)
        [worker] = workers._workers
        alive, (worker.connection, theirs) = worker.connection, Pipe()
        theirs.close()
        workers.submit(7, -2)
        lost = workers.next()
        alive.close()
        assert lost is not None
        assert (lost[0], lost[1].status) == (7, CallStatus.LOST)
        workers.submit(7, -2)
        assert workers.next() == (7, 2)
    finally:
        workers.close()


def hog(folder: Path, design: Design) -> float:
    """Hold Python's global lock, so that no other thread of the worker gets a turn."""
    if claim(folder, "hog"):
        append(folder / "log", f"hog {os.getpid()}")
        re.match(r"(a+)+$", "a" * 64 + "b")
    return bowl(design)


def test_a_call_that_holds_the_global_lock_is_killed_and_repeated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"max_evaluations": 8}
    result = solve_case(
        NAME, simulator=lambda d: hog(tmp_path, d), timeout=0.5, retries={"timed_out": 1}, **options
    )
    assert_same(result, solve_case(NAME, **options))
    assert [e.attempts for e in result.evaluations] == [2] + [1] * 7
    assert not alive(int(lines(tmp_path / "log")[0][1]))


def hang_often(folder: Path, design: Design) -> float:
    """Behave in the first three calls of all; hang in the next three, whichever they are."""
    if claim(folder, "0") or claim(folder, "1") or claim(folder, "2"):
        return bowl(design)
    if any(claim(folder, f"hang {k}") for k in range(3)):
        append(folder / "log", f"hang {os.getpid()} {design.x.tobytes().hex()}")
        while True:
            time.sleep(100)
    return bowl(design)


def test_many_calls_that_hang(tmp_path: Path) -> None:
    result = archeng.solve(
        line(), lambda d: hang_often(tmp_path, d), seed=1, max_evaluations=12, workers=3,
        timeout=0.4,
    )  # fmt: skip
    hung = lines(tmp_path / "log", "hang")
    assert len(hung) == 3
    bad = [e.x.tobytes().hex() for e in result.evaluations if e.status == "timed_out"]
    assert sorted(bad) == sorted(words[2] for words in hung)
    assert [e.status for e in result.evaluations].count("ok") == 9
    assert all(0.4 <= e.seconds < 20 for e in result.evaluations if not e.good)
    assert not [words for words in hung if alive(int(words[1]))]


def noisy(design: Design) -> float:
    """Write everywhere, then close everything that is standard."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed by an earlier call
            stream.write("\x80\x00 not an answer \N{SNOWMAN}\nok 1.0\n")
            stream.flush()
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            os.write(descriptor, os.urandom(5000))
    assert os.read(0, 10) == b""  # standard input is empty, not the terminal
    if digest(design.x) % 2:
        sys.stdout.close()
        os.closerange(0, 3)
        assert os.open(os.devnull, os.O_RDONLY) == 0
    return bowl(design)


class EnoughError(Exception):
    pass


def test_noise_does_not_matter_and_errors_of_the_callback_leave_nothing(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    def callback(run: Run) -> None:
        assert len(own_workers()) == 1
        if len(run.history) == 3:
            raise EnoughError([(e.x.tobytes(), e.status, e.objective) for e in run.evaluations])

    with pytest.raises(EnoughError) as caught:
        solve_case(NAME, simulator=noisy, workers=1, callback=callback)
    seen = caught.value.args[0]
    alone = reference(NAME).evaluations
    assert seen == [(e.x.tobytes(), "ok", e.objective) for e in alone[: len(seen)]]
    assert "not an answer" in capfdbinary.readouterr().out.decode(errors="replace")


def first_designs(seed: int) -> list[bytes]:
    candidates = Run(line(), seed=seed).ask()
    return [c.design.x.tobytes() for c in candidates if c.design is not None]


def hang_unless_second(log: Path, designs: list[bytes], design: Design) -> float:
    """Fail at the second candidate once another call is under way, which would take for ever."""
    if design.x.tobytes() == designs[0]:
        return bowl(design)
    append(log, f"begin {os.getpid()}")
    if design.x.tobytes() != designs[1]:
        time.sleep(300)
    wait_for(lambda: len(lines(log, "begin")) == 2, "the other call")
    raise ValueError("tangled")


def test_an_error_kills_the_calls_under_way(tmp_path: Path) -> None:
    log, designs = tmp_path / "log", first_designs(seed=1)
    with pytest.raises(SimulatorError, match="tangled") as caught:
        archeng.solve(
            line(), lambda d: hang_unless_second(log, designs, d), seed=1, workers=2,
            on_failure="raise", max_evaluations=50,
        )  # fmt: skip
    assert [e.status for e in caught.value.evaluations] == ["ok", "failed"]
    assert not [words for words in lines(log) if alive(int(words[1]))]


def test_max_time_begins_no_further_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = solve_case(
        NAME, workers="threads:2", log=log, delay=0.1, max_time=0.5, max_evaluations=2000
    )
    assert result.stop_reason is StopReason.MAX_TIME
    assert len(lines(log, "begin")) == len(lines(log, "end"))
    assert 0 < result.nfev <= len(lines(log, "end")) < 500
