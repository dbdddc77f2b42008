"""Simulators that fork, die with children, block, and leave programs behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from runtime_helpers import (
    alive,
    append,
    assert_same,
    bowl,
    environment,
    line,
    lines,
    own_workers,
    reference,
    solve_case,
    wait_for,
)

import archeng
from archeng import Design
from archeng.errors import SimulatorError
from archeng.simulator.watchdog import Tree, watchdog

pytestmark = pytest.mark.slow

NAME = "budget within a generation"
SOON = 30.0  # seconds; "at once" on a machine that is very busy


# -- forks -----------------------------------------------------------------------------------


class Forking:
    """Fork a helper in one call; the helper ends in some way, the simulator goes on."""

    def __init__(self, log: Path, how: str) -> None:
        self.log, self.how = log, how

    def __call__(self, design: Design) -> float:
        append(self.log, f"call {os.getpid()}")
        if len(lines(self.log, "call")) >= 4 and self._first() and os.fork() == 0:
            append(self.log, f"helper {os.getpid()}")
            if self.how == "exit":
                sys.exit(0)
            if self.how == "exec":
                os.execvp("no-such-program", ["no-such-program"])
            if self.how == "interrupt":
                raise KeyboardInterrupt
        return bowl(design)

    def _first(self) -> bool:
        try:
            self.log.with_suffix(".forked").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("how", ["exit", "exec", "interrupt", "return"])
@pytest.mark.parametrize("workers", [None, "threads:2", 1])
def test_a_forked_helper_is_never_a_second_run(how: str, workers: Any, tmp_path: Path) -> None:
    log, journal, main = tmp_path / "log", tmp_path / "run.db", os.getpid()
    result = solve_case(NAME, simulator=Forking(log, how), workers=workers, journal=journal)
    if os.getpid() != main:  # what must never happen must not go on as a second pytest either
        os._exit(99)
    assert_same(result, reference(NAME))
    assert len(lines(log, "call")) == result.nfev
    [[_, helper]] = lines(log, "helper")
    wait_for(lambda: not alive(int(helper)), "the end of the helper", SOON)
    if workers != 1:
        os.waitpid(int(helper), 0)


def die_with_a_child(log: Path, design: Design) -> float:
    """Be killed, as by the kernel for want of memory, while a forked process lives on."""
    append(log, f"call {os.getpid()}")
    if len(lines(log, "call")) == 3:
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
        child.start()
        append(log, f"child {child.pid}")
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(design)


def test_a_worker_that_dies_is_seen_although_its_child_lives(tmp_path: Path) -> None:
    log, begin = tmp_path / "log", time.monotonic()
    result = solve_case(NAME, simulator=lambda d: die_with_a_child(log, d), workers=1)
    assert time.monotonic() - begin < 60
    assert_same(result, reference(NAME))
    assert [e.attempts for e in result.evaluations].count(2) == 1
    [[_, child]] = lines(log, "child")
    wait_for(lambda: not alive(int(child)), "the end of the child", SOON)


# -- time limits -----------------------------------------------------------------------------


class Unpacked:
    """Take for ever to be unpacked."""

    def __getstate__(self) -> dict[str, int]:
        return {"seconds": 600}

    def __setstate__(self, state: dict[str, int]) -> None:
        time.sleep(state["seconds"])

    def __call__(self, design: Design) -> float:
        return bowl(design)


def test_the_time_limit_covers_the_unpacking_of_the_simulator() -> None:
    begin = time.monotonic()
    with pytest.raises(SimulatorError, match=r"(?s)first call.*not unpacked within 0\.5 s"):
        archeng.solve(line(), Unpacked(), seed=1, max_evaluations=20, workers=2, timeout=0.5)
    assert time.monotonic() - begin < 60
    assert own_workers() == []


def start_a_session(log: Path, design: Design) -> float:
    """Start a program in a session of its own, and hang; the first call of all is good."""
    append(log, f"call {os.getpid()}")
    if len(lines(log, "call")) == 2:
        kept = subprocess.Popen(["sleep", "600"], start_new_session=True)
        orphan = subprocess.run(
            ["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & echo $!"],
            capture_output=True,
            check=True,
        )
        append(log, f"program {kept.pid}")
        append(log, f"program {int(orphan.stdout)}")
        time.sleep(600)
    return bowl(design)


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are found in /proc")
def test_a_time_out_ends_programs_in_sessions_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = archeng.solve(
        line(), lambda d: start_a_session(log, d), seed=1, max_evaluations=4, workers=1, timeout=2.0
    )
    assert [e.status for e in result.evaluations].count("timed_out") == 1
    programs = [int(words[1]) for words in lines(log, "program")]
    assert len(programs) == 2
    wait_for(lambda: not any(map(alive, programs)), "the end of the programs", SOON)


def leave_a_session(log: Path, design: Design) -> float:
    """Start a program in a session of its own, and one in that of the call; wait for neither."""
    if not lines(log):
        stays = subprocess.Popen(["sleep", "600"], start_new_session=True)
        goes = subprocess.Popen(["sleep", "600"])
        append(log, f"program {stays.pid} {goes.pid}")
    return bowl(design)


def test_a_program_in_a_session_of_its_own_stays_at_the_regular_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    archeng.solve(line(), lambda d: leave_a_session(log, d), seed=1, max_evaluations=3, workers=1)
    [[_, stays, goes]] = lines(log)
    try:
        wait_for(lambda: not alive(int(goes)), "the end of the other program", SOON)
        assert alive(int(stays))
    finally:
        os.kill(int(stays), signal.SIGKILL)


# -- the end of the run ----------------------------------------------------------------------

STUDY = """
import ctypes, os, subprocess, sys, time
import archeng
from pathlib import Path

log, what, workers = Path(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
model = archeng.Model("m")
model.variable("x", lower=0, upper=1)
model.variable("y", lower=0, upper=1)

def blocked(design):
    program = subprocess.Popen(["sleep", "600"], start_new_session=True)
    log.write_text(f"{os.getpid()} {program.pid}")
    ctypes.PyDLL(None).sleep(600)  # keeps the interpreter's lock, as many libraries do
    return 1.0

simulator = blocked
if what == "program":
    simulator = archeng.CommandSimulator(
        ["sh", "-c", f"sleep 600 & echo $$ $! > {log}.new; mv {log}.new {log}; wait"],
        read=archeng.read_regex("(.)"),
    )
archeng.solve(model, simulator, max_evaluations=8, seed=1, workers=workers)
"""


def hear_hangups() -> None:
    """Undo what ``nohup make test`` does to all processes that it starts."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ended_with_its_run(
    tmp_path: Path, what: str, workers: Any, number: signal.Signals
) -> tuple[list[int], int]:
    """Start a run, wait for its first call, and end it by a signal."""
    script, log = tmp_path / "study.py", tmp_path / "log"
    script.write_text(STUDY)
    run = subprocess.Popen(
        [sys.executable, str(script), str(log), what, repr(workers)],
        env=environment(),
        cwd=tmp_path,
        preexec_fn=hear_hangups,
    )
    try:
        found = wait_for(lambda: log.is_file() and log.read_text().split(), "the first call")
        others = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(number)
        run.wait(SOON)
    finally:
        run.kill()
        run.wait()
    return [int(pid) for pid in found] + [p.pid for p in others], run.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are found in /proc")
def test_a_killed_run_takes_workers_along_that_hold_the_global_lock(tmp_path: Path) -> None:
    processes, _ = ended_with_its_run(tmp_path, "blocked", 1, signal.SIGKILL)
    wait_for(lambda: not any(map(alive, processes)), "the end of worker and program", SOON)


@pytest.mark.parametrize("workers", [None, "threads:2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_is_ended_takes_its_programs_along(
    workers: Any, number: signal.Signals, tmp_path: Path
) -> None:
    processes, code = ended_with_its_run(tmp_path, "program", workers, number)
    assert code == -number  # it dies as others do
    wait_for(lambda: not any(map(alive, processes)), "the end of the programs", SOON)


def test_a_watchdog_that_somebody_kills_is_replaced() -> None:
    trees = [Tree(["sleep", "600"])]
    try:
        first = watchdog._process
        assert first is not None
        first.kill()
        first.wait()
        trees.append(Tree(["sleep", "600"]))
        assert watchdog._process is not None
        assert watchdog._process.pid != first.pid
        assert alive(watchdog._process.pid)
    finally:
        for tree in trees:
            tree.kill()
            tree.process.wait()
            watchdog.forget(tree)
        watchdog.rest()
    assert watchdog._process is None


def test_nothing_watches_after_a_run() -> None:
    archeng.solve(line(), bowl, seed=1, max_evaluations=3, workers=1)
    assert watchdog._process is None
