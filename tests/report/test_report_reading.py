"""`read_journal`: the same result as that of `solve`, also of runs that have not ended."""

from __future__ import annotations

import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_studies import STUDIES, comparable, run, start

import archeng
from archeng import Status, StopReason, read_journal
from archeng.errors import JournalError
from archeng.journal import Journal
from archeng.runner import JournalReader


def wait_for_calls(journal: Path, count: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if journal.exists():
            with_count = Journal.read(journal)
            made = sum(with_count.count().values())
            with_count.close()
            if made >= count:
                return
        time.sleep(0.05)
    raise AssertionError(f"no {count} calls within a minute")


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in ("table", "many")])
def test_a_finished_run_reads_as_it_was_returned(tmp_path: Path, name: str) -> None:
    result = run(name, journal=tmp_path / "run.db")
    read = read_journal(tmp_path / "run.db")
    mine, other = comparable(read), comparable(result)
    for key in other:
        assert mine[key] == other[key], key
    assert read.ended
    assert str(read) == str(result)
    for key in ("seed", "settings", "options", "archeng", "numpy", "restarts_used"):
        assert read.provenance[key] == result.provenance[key]


def test_calls_know_when_they_ended(tmp_path: Path) -> None:
    result = run("can", seconds=0.01, max_evaluations=12, journal=tmp_path / "run.db")
    for found in (result, read_journal(tmp_path / "run.db")):
        elapsed = np.array([e.elapsed for e in found.evaluations])
        assert np.all(np.diff(elapsed) >= 0.009)
        assert elapsed[0] >= 0.01


def test_generations_of_cma_es_know_their_eigenvalues(tmp_path: Path) -> None:
    settings = archeng.Settings(surrogate="none")
    run("can", settings=settings, journal=tmp_path / "run.db")
    for g in read_journal(tmp_path / "run.db").history:
        assert len(g.eigenvalues) == 2
        assert g.eigenvalues[1] / g.eigenvalues[0] == pytest.approx(g.condition)


@pytest.mark.parametrize(
    "stop", [StopReason.CALLBACK, StopReason.MAX_TIME, StopReason.MAX_FAILURES]
)
def test_the_reason_of_the_end_is_kept(tmp_path: Path, stop: StopReason) -> None:
    def leave(run: Any) -> None:
        if run.n_evaluations > 10:
            raise StopIteration

    options: dict[str, Any] = {
        StopReason.CALLBACK: {"callback": leave},
        StopReason.MAX_TIME: {"max_time": 0.2, "seconds": 0.02},
        StopReason.MAX_FAILURES: {"max_failures": 0},
    }[stop]
    name = "strange" if stop is StopReason.MAX_FAILURES else "can"
    result = run(name, journal=tmp_path / "run.db", **options)
    assert result.stop_reason is stop
    read = read_journal(tmp_path / "run.db")
    assert (read.stop_reason, read.status) == (stop, result.status)
    assert comparable(read)["history"] == comparable(result)["history"]


def test_a_run_that_goes_on_and_one_that_was_killed(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    process = start("can", journal, 0.03)
    try:
        wait_for_calls(journal, 5)
        reader = JournalReader(journal)
        first = reader.result()
        assert (first.stop_reason, first.status) == (StopReason.RUNNING, Status.SO_FAR)
        assert not first.ended
        assert "the run goes on" in str(first)
        assert "stopped because" not in str(first)
        wait_for_calls(journal, first.nfev + 5)
        second = reader.result()
        assert second.nfev >= first.nfev + 5
        assert len(second.rows) == len(first.rows) > 0
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    cut = read_journal(journal)
    assert (cut.stop_reason, cut.status) == (StopReason.CUT_OFF, Status.SO_FAR)
    assert "archeng.resume" in cut.message
    whole = archeng.resume(journal, STUDIES["can"][1])
    assert comparable(read_journal(journal)) == comparable(whole)


def test_a_resumed_run_has_its_own_limits(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    run("most", journal=journal, max_evaluations=10)
    assert read_journal(journal).stop_reason is StopReason.MAX_EVALUATIONS
    result = archeng.resume(journal, STUDIES["most"][1], max_evaluations=20)
    read = read_journal(journal)
    assert comparable(read) == comparable(result)
    assert read.provenance["options"]["max_evaluations"] == 20


def test_a_journal_without_the_notes_of_this_version(tmp_path: Path) -> None:
    """What older versions wrote: no reason of the end, no times, no eigenvalues."""
    journal = tmp_path / "run.db"
    result = run("can", journal=journal, max_evaluations=33)
    with sqlite3.connect(journal) as connection:
        connection.execute("DELETE FROM header WHERE key = 'latest'")
        for table in ("calls", "generations"):
            connection.execute(f"UPDATE {table} SET checksum = NULL")
        connection.execute("UPDATE calls SET details = json_remove(details, '$.elapsed')")
        connection.execute("UPDATE generations SET record = json_remove(record, '$.eigenvalues')")
    connection.close()
    read = read_journal(journal)
    assert read.stop_reason is result.stop_reason
    assert read.fun == result.fun
    assert all(np.isnan(e.elapsed) for e in read.evaluations)


def test_a_model_that_a_journal_cannot_hold(tmp_path: Path) -> None:
    result = run("table", journal=tmp_path / "run.db")
    read = read_journal(tmp_path / "run.db")
    assert (read.fun, read.x.tolist()) == (result.fun, result.x.tolist())
    assert [v.unit for v in read.variables] == ["kg", ""]
    assert read.variables[0].upper.tolist() == [2.0]
    assert (read.rows, read.activity) == ((), ())
    assert "MX" in read.provenance["incomplete"]
    assert "incomplete" not in result.provenance


def test_nothing_is_written(tmp_path: Path) -> None:
    run("can", journal=tmp_path / "run.db", max_evaluations=12)
    (tmp_path / "run.db.lock").unlink()

    def contents() -> dict[str, tuple[bytes, int]]:
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}

    before = contents()
    read_journal(tmp_path / "run.db")
    assert contents() == before


def test_looking_does_not_keep_others_from_writing(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    run("can", journal=journal, max_evaluations=12)
    looking = [Journal.read(journal) for _ in range(3)]
    assert not any(j.running for j in looking)
    with looking[0].moment():
        looking[0].count()
        archeng.resume(journal, STUDIES["can"][1], max_evaluations=16)
        assert sum(looking[0].count().values()) == 12  # still the same moment
    assert sum(looking[0].count().values()) == 16
    for j in looking:
        j.close()


def test_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no such journal"):
        read_journal(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("hello")
    with pytest.raises(JournalError, match="is not an archeng journal"):
        read_journal(tmp_path / "text.db")
    run("can", journal=tmp_path / "run.db", max_evaluations=12)
    for wrong in ('{"population_size": -1}', '{"colour": 3}', "[]", '{"simulated": {"a": 3}}'):
        copy = tmp_path / "wrong.db"
        copy.write_bytes((tmp_path / "run.db").read_bytes())
        with sqlite3.connect(copy) as connection:
            connection.execute("UPDATE header SET value = ? WHERE key = 'options'", (wrong,))
        connection.close()
        with pytest.raises(JournalError, match="damaged"):
            read_journal(copy)
        copy.unlink()
    with sqlite3.connect(tmp_path / "run.db") as connection:
        connection.execute("DELETE FROM calls WHERE generation = 0")
    connection.close()
    with pytest.raises(JournalError, match="rows are missing"):
        read_journal(tmp_path / "run.db")
