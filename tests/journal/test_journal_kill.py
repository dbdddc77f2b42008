"""Runs that are killed at any moment, and go on as if nothing had happened."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import (
    CASES,
    Logged,
    alive,
    assert_same,
    begun,
    bowl,
    finished,
    line,
    reading,
    reference,
    solve_case,
    wait_for,
)
from runtime_jobs import Runs

import archeng
from archeng import Result
from archeng.errors import JournalError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    opened = Runs()
    yield opened
    opened.close()


def kill_after(runs: Runs, pid: int, log: Path, calls: int, seconds: float) -> None:
    """Kill a run some time after its given call has begun."""
    wait_for(lambda: len(begun(log)) >= calls or not alive(pid), f"call {calls}")
    assert len(begun(log)) >= calls, "the run ended before it could be killed"
    time.sleep(seconds)  # anywhere in a call, in the journal or between generations
    runs.kill(pid)


def go_on(case: str, journal: Path, log: Path, **options: Any) -> Result:
    """Resume in this process; nothing that had finished may be simulated again."""
    done = finished(journal)
    before = len(begun(log))
    assert len(set(done)) == len(done) or "paper" in case
    result = archeng.resume(journal, Logged(CASES[case].get("objective", "bowl"), log), **options)
    again = begun(log)[before:]
    if "paper" not in case:
        assert not set(again) & set(done)
    assert len(again) == result.nfev - len(done)
    return result


MOMENTS = random.Random(20)


@pytest.mark.parametrize(
    ("calls", "seconds"), [(MOMENTS.randint(1, 33), MOMENTS.uniform(0, 0.02)) for _ in range(10)]
)
def test_killed_at_a_random_moment(calls: int, seconds: float, runs: Runs, tmp_path: Path) -> None:
    case, journal, log = "budget within a generation", tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(what="solve", case=case, journal=journal, log=log, delay=0.02)
    kill_after(runs, pid, log, calls, seconds)
    assert_same(go_on(case, journal, log), reference(case))


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ("restarts", 0.35),
        ("restarts", 0.8),
        ("equality, maximize", 0.6),
        ("failures", 0.5),
        ("duplicates", 0.7),
        ("paper", 0.9),
        ("target within a generation", 0.99),
        ("proposals", 0.3),
        ("proposals", 0.8),
        ("proposals to the end", 0.9),
        ("proposals, restarts", 0.7),
        ("outputs", 0.5),
        ("outputs, proposals", 0.6),
        ("discrete", 0.3),
        ("discrete", 0.8),
        ("discrete, proposals", 0.7),
        ("discrete outputs, proposals", 0.6),
    ],
)
def test_killed_in_all_kinds_of_runs(case: str, part: float, runs: Runs, tmp_path: Path) -> None:
    whole = reference(case)
    journal, log = tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(what="solve", case=case, journal=journal, log=log, delay=0.01)
    kill_after(runs, pid, log, int(part * whole.nfev), 0.004)
    assert_same(go_on(case, journal, log), whole)


@pytest.mark.parametrize("calls", [7, 22])
@pytest.mark.parametrize("case", ["failures", "outputs", "discrete"])
def test_killed_with_two_workers(case: str, calls: int, runs: Runs, tmp_path: Path) -> None:
    journal, log = tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(what="solve", case=case, journal=journal, log=log, delay=0.04, workers=2)
    kill_after(runs, pid, log, calls, 0.01)
    wait_for(lambda: not _pids_alive(log), "the end of the workers")
    workers = 2 if calls == 7 else None
    assert_same(go_on(case, journal, log, workers=workers), reference(case))


def _pids_alive(log: Path) -> list[int]:
    pids = {int(line.split()[1]) for line in log.read_text().splitlines()}
    return [pid for pid in pids if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_again_and_again(runs: Runs, tmp_path: Path) -> None:
    case, journal, log = "restarts", tmp_path / "run.db", tmp_path / "log"
    chance = random.Random(7)
    what, calls = "solve", 0
    for _ in range(8):
        pid = runs.start(what=what, case=case, journal=journal, log=log, delay=0.01)
        calls += chance.randint(1, 25)
        kill_after(runs, pid, log, calls, chance.uniform(0, 0.01))
        calls = len(begun(log))
        what = "resume"
    result = go_on(case, journal, log)
    assert_same(result, reference(case))
    # Each kill costs at most the one call that was under way.
    assert len(begun(log)) <= result.nfev + 8


def test_killed_while_it_is_resumed_with_a_larger_budget(runs: Runs, tmp_path: Path) -> None:
    case, journal, log = "budget within a generation", tmp_path / "run.db", tmp_path / "log"
    solve_case(case, journal=journal, log=log)
    pid = runs.start(
        what="resume", case=case, journal=journal, log=log, delay=0.01, max_evaluations=70
    )
    kill_after(runs, pid, log, 50, 0.003)
    result = go_on(case, journal, log, max_evaluations=70)
    assert_same(result, solve_case(case, max_evaluations=70))


def test_one_process_at_a_time_and_others_may_look(runs: Runs, tmp_path: Path) -> None:
    case, journal, log = "budget within a generation", tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(what="solve", case=case, journal=journal, log=log, delay=0.3)
    wait_for(lambda: len(begun(log)) >= 3, "the third call")
    with pytest.raises(JournalError, match="another process"):
        archeng.resume(journal, bowl)
    with pytest.raises(JournalError, match="exists already"):
        archeng.solve(line(), bowl, journal=journal)
    with reading(journal) as opened:
        assert opened.running
        assert sum(opened.count().values()) >= 1
    runs.kill(pid)
    with reading(journal) as opened:
        assert not opened.running
    assert_same(go_on(case, journal, log), reference(case))


def test_a_forked_pool_that_outlives_its_run_does_not_keep_the_lock(
    runs: Runs, tmp_path: Path
) -> None:
    """Workers of a forking executor inherit the open files of the run, and may be orphans."""
    case, journal, log = "budget within a generation", tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(
        what="solve", case=case, journal=journal, log=log, delay=0.05, workers="forked:2"
    )
    wait_for(lambda: len(begun(log)) >= 5, "the fifth call")
    runs.kill(pid)
    orphans = {int(text.split()[1]) for text in log.read_text().splitlines()}
    try:
        # the orphans go on with what they had been given, so calls cannot be counted here
        assert_same(archeng.resume(journal, bowl), reference(case))
    finally:
        for orphan in orphans:
            if _alive(orphan):
                os.kill(orphan, 9)


def test_a_run_that_died_while_it_created_its_journal_can_begin_again(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    half = journal.with_name("run.db.new")  # a journal gets its name when it is complete
    connection = sqlite3.connect(half)
    connection.execute(f"PRAGMA application_id = {0x41524348}")
    connection.execute("CREATE TABLE header (key TEXT)")
    connection.close()
    result = archeng.solve(line(), bowl, journal=journal, max_evaluations=8, seed=1)
    assert len(finished(journal)) == result.nfev == 8
    assert not half.exists()


@pytest.mark.parametrize("calls", [9, 50, 100])
@pytest.mark.parametrize("shared_memory", [False, True])
def test_what_a_deleted_journal_left_behind_does_not_matter(
    calls: int, shared_memory: bool, runs: Runs, tmp_path: Path
) -> None:
    """Who deletes the journal of a killed run may forget the files that SQLite put beside it."""
    journal, log = tmp_path / "run.db", tmp_path / "log"
    pid = runs.start(what="solve", case="restarts", journal=journal, log=log, delay=0.002)
    kill_after(runs, pid, log, calls, 0.0)
    assert (tmp_path / "run.db-wal").exists()
    journal.unlink()
    if not shared_memory:
        (tmp_path / "run.db-shm").unlink(missing_ok=True)
    result = solve_case("failures", journal=journal)
    assert_same(result, reference("failures"))
    assert finished(journal) == [e.x.tobytes().hex() for e in result.evaluations]
    with reading(journal) as opened:
        assert opened.header()["options"]["max_evaluations"] == 60
    assert_same(archeng.resume(journal, Logged("fragile")), result)


def test_every_finished_call_is_on_disk_before_the_next_begins(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    made: list[str] = []

    def simulator(design: Any) -> float:
        assert finished(journal) == sorted(made, key=made.index)
        made.append(design.x.tobytes().hex())
        return bowl(design)

    case = "budget within a generation"
    result = solve_case(case, simulator=simulator, journal=journal, on_failure="raise")
    assert_same(result, reference(case))
    assert finished(journal) == made
