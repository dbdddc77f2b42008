"""Journals as files: damaged, foreign, old, full disks, strange names."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import (
    Logged,
    assert_same,
    begun,
    bowl,
    finished,
    line,
    reading,
    reference,
    solve_case,
)
from runtime_jobs import Runs, outcome_of

import archeng
from archeng.errors import JournalError, SettingsError
from archeng.journal import Journal
from archeng.journal.lock import Lock

NAME = "budget within a generation"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of a finished run."""
    path = tmp_path_factory.mktemp("good") / "run.db"
    solve_case(NAME, journal=path)
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.db", "run.db.lock"]
    return path


def assert_refused(path: Path, words: str = "") -> None:
    """Every way to open it ends in a clear error, and leaves the file as it is."""
    before = path.read_bytes() if path.is_file() else None
    uses: dict[str, Callable[[], Any]] = {
        "resume": lambda: archeng.resume(path, bowl, max_evaluations=40),
        "run": lambda: archeng.Run.resume(path),
        "read": lambda: Journal.read(path).header(),
        "reuse": lambda: archeng.solve(line(), bowl, reuse=[path], max_evaluations=3),
    }
    for use, function in uses.items():
        with pytest.raises(JournalError) as caught:
            function()
        assert str(path) in str(caught.value), use
        assert words in str(caught.value), use
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_journal_is_never_overwritten(good: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(good, tmp_path))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="exists already"):
        archeng.solve(line(), bowl, journal=path)
    assert path.read_bytes() == before
    (tmp_path / "notes.txt").write_text("my notes")
    with pytest.raises(JournalError, match="exists already"):
        archeng.solve(line(), bowl, journal=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_a_journal_that_appears_meanwhile_is_not_overwritten(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may create the file, and end, after we looked and before we lock."""
    path = tmp_path / "run.db"

    def slow_lock(file: Path) -> Any:
        shutil.copy(good, path)
        return Lock(file)

    monkeypatch.setattr("archeng.journal.store.Lock", slow_lock)
    with pytest.raises(JournalError):
        archeng.solve(line(), bowl, journal=path, max_evaluations=3)
    assert path.read_bytes() == good.read_bytes()


def test_truncated_files(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    size = len(content)
    page = int.from_bytes(content[16:18], "big")
    assert size % page == 0
    points = {0, 1, 15, 16, 17, 50, 99, 100, 101, 512, page - 1, page, page + 1, size - 1}
    points |= set(range(page, size, page)) | set(range(777, size, 3333))
    for number, point in enumerate(sorted(points)):
        path = tmp_path / f"{number}.db"
        path.write_bytes(content[:point])
        before = path.read_bytes()
        for use in (
            lambda path=path: archeng.resume(path, bowl, max_evaluations=40),
            lambda path=path: archeng.solve(line(), bowl, reuse=[path], max_evaluations=3),
        ):
            try:
                use()
            except JournalError as error:
                assert str(path) in str(error)  # noqa: PT017
            else:
                # The last pages may be needed for neither: then nothing is lost either.
                assert use is not None
                assert point > size - 2 * page
                break
        else:
            assert path.read_bytes() == before, point


@pytest.mark.parametrize(
    "content",
    [b"", b"my notes\n", b"\x00" * 5000, b"SQLite format 3\x00", b"SQLite format 3\x00" * 400],
)
def test_other_files(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(content)
    assert_refused(path)


def test_no_file_and_directories(tmp_path: Path) -> None:
    assert_refused(tmp_path / "missing.db", "no such journal")
    assert not (tmp_path / "missing.db").exists()
    assert_refused(tmp_path, "no such journal")
    with pytest.raises(JournalError):
        archeng.solve(line(), bowl, journal=tmp_path)
    with pytest.raises(JournalError, match="no directory"):
        archeng.solve(line(), bowl, journal=tmp_path / "folder" / "run.db")


def test_foreign_databases(tmp_path: Path) -> None:
    path = tmp_path / "firefox.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE state (value TEXT)")
    connection.execute("INSERT INTO state VALUES ('mine')")
    connection.commit()
    connection.close()
    assert_refused(path, "another program")


@pytest.mark.parametrize("version", [0, 1, 99])
def test_other_versions(good: Path, version: int, tmp_path: Path) -> None:
    path = Path(shutil.copy(good, tmp_path))
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    assert_refused(path, f"version {version}")


@pytest.mark.parametrize("table", ["header", "calls", "generations", "state"])
@pytest.mark.parametrize("change", ["DROP TABLE {}", "DELETE FROM {}"])
def test_missing_tables_and_rows(good: Path, table: str, change: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(good, tmp_path))
    connection = sqlite3.connect(path)
    connection.execute(change.format(table))
    connection.commit()
    connection.close()
    with pytest.raises(JournalError) as caught:
        archeng.resume(path, bowl, max_evaluations=40)
    assert str(path) in str(caught.value)


def test_a_path_must_be_a_path() -> None:
    for bad in (3, b"run.db", ["run.db"], True):
        with pytest.raises(SettingsError, match="journal"):
            archeng.solve(line(), bowl, journal=bad, max_evaluations=3)


@pytest.mark.parametrize(
    "name", ["a b.db", "50%.db", "what?.db", "#1.db", "größe.db", "file:x.db", "x;y'\".db", "%41"]
)
def test_strange_names(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    result = archeng.solve(line(), bowl, journal=str(path), max_evaluations=8, seed=1)
    assert path.is_file()
    assert len(finished(path)) == 8
    again = archeng.resume(str(path), bowl)
    assert_same(again, result)
    assert all(p.name.startswith(name) for p in tmp_path.iterdir())


def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulator that changes the directory does not move the journal."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def simulator(design: Any) -> float:
        monkeypatch.chdir(tmp_path / "elsewhere")
        return bowl(design)

    archeng.solve(line(), simulator, journal="run.db", max_evaluations=8, seed=1)
    assert len(finished(tmp_path / "run.db")) == 8
    assert list((tmp_path / "elsewhere").iterdir()) == []


# -- full disks ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    opened = Runs()
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("room", [50_000, 60_000, 80_000, 100_000])
def test_a_full_disk_stops_the_run_which_then_goes_on_exactly(
    room: int, runs: Runs, tmp_path: Path
) -> None:
    journal, log = tmp_path / "run.db", tmp_path / "log"
    case = "restarts"
    runs.start(
        what="solve", case=case, journal=journal, log=log, file_limit=room,
        outcome=tmp_path / "outcome",
    )  # fmt: skip
    ended = outcome_of(tmp_path / "outcome")
    assert ended["error"] == "JournalError", ended
    assert "free some space" in ended["message"]
    done = finished(journal)
    assert 0 < len(done) < 160
    before = len(begun(log))
    result = archeng.resume(journal, Logged("waves", log))
    assert_same(result, reference(case))
    assert not set(begun(log)[before:]) & set(done)


@pytest.mark.parametrize("room", [0, 2000, 5000, 20_000])
def test_a_disk_that_is_full_from_the_beginning(room: int, runs: Runs, tmp_path: Path) -> None:
    journal, log = tmp_path / "run.db", tmp_path / "log"
    runs.start(
        what="solve", journal=journal, log=log, file_limit=room, outcome=tmp_path / "outcome"
    )
    ended = outcome_of(tmp_path / "outcome")
    assert ended["error"] == "JournalError", ended
    assert begun(log) == []
    # With some space, the same command runs.
    assert_same(solve_case(NAME, journal=journal), reference(NAME))


def test_a_journal_that_is_full(tmp_path: Path) -> None:
    journal = tmp_path / "run.db"

    def fill(run: archeng.Run) -> None:
        """Let nothing more be written, whatever the file system."""
        if len(run.history) == 2:
            assert run.ledger.journal is not None
            connection = run.ledger.journal._connection
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(JournalError, match="full"):
        solve_case("failures", journal=journal, callback=fill)
    with reading(journal) as opened:
        assert len(opened.generations()) >= 2
    assert_same(archeng.resume(journal, Logged("fragile")), reference("failures"))
