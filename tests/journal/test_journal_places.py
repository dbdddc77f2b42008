"""One journal, however it is reached: by links, copied alone, on another machine, of old."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import PLAIN, Logged, assert_same, begun, bowl, finished, line, reading

from runtime_helpers import reference, run_script, solve_case  # isort: skip

import archeng
from archeng import Run
from archeng.cli import main
from archeng.errors import JournalError
from archeng.journal import is_written
from archeng.runner import moved

NAME = "budget within a generation"
OLD = Path(__file__).parent / "journals"


# -- links ------------------------------------------------------------------------------------


def test_a_link_is_the_same_journal(tmp_path: Path) -> None:
    path, link = tmp_path / "run.db", tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    solve_case(NAME, journal=path)
    link.symlink_to(path)
    run = Run.resume(link, bowl, max_evaluations=40)
    assert is_written(path)
    assert is_written(link)
    for name in (path, link):
        with pytest.raises(JournalError, match="another process"):
            archeng.resume(name, bowl, max_evaluations=40)
        assert archeng.read_journal(name).stop_reason is archeng.StopReason.RUNNING
    run.close()
    result = archeng.resume(link, bowl, max_evaluations=40)
    assert_same(result, solve_case(NAME, max_evaluations=40))
    assert [p.name for p in link.parent.iterdir()] == ["link.db"]


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "run.db", tmp_path / "other.db"
    solve_case(NAME, journal=path)
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(JournalError, match="2 names"):
            archeng.resume(name, bowl, max_evaluations=40)
    assert archeng.read_journal(other).nfev == 33  # looking does no harm
    other.unlink()
    assert archeng.resume(path, bowl, max_evaluations=40).nfev == 40


# -- a copy without the log -------------------------------------------------------------------

KILLED = """
import os, sys, time
from runtime_helpers import bowl, line, PLAIN, archeng
calls = []
def simulator(design):
    calls.append(design)
    if len(calls) == 34:
        os._exit(9)
    time.sleep(float(sys.argv[2]))
    return bowl(design)
archeng.solve(line(), simulator, journal=sys.argv[1], seed=5, settings=PLAIN, max_evaluations=60)
"""


def killed(folder: Path, delay: float, slow: float | None = None) -> Path:
    """A run that died in its 34th call, in the sixth generation of six."""
    script, path = folder / "killed.py", folder / "run.db"
    more = "" if slow is None else f"import archeng.journal.store as s; s._SLOW = {slow}\n"
    script.write_text(more + KILLED)
    ended = run_script(script, path, delay)
    assert ended.returncode == 9, ended.stderr
    assert len(finished(path)) == 33
    return path


@pytest.mark.slow
def test_a_copy_of_the_file_alone_has_all_finished_generations(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = killed(tmp_path, 0.0)
    assert (tmp_path / "run.db-wal").exists()
    alone = Path(shutil.copy(path, tmp_path / "alone.db"))
    log = tmp_path / "log"
    with caplog.at_level(logging.WARNING, logger="archeng"):
        result = archeng.resume(alone, Logged("bowl", log))
    assert "alone.db-wal" in caplog.text
    assert_same(result, solve_case(NAME, max_evaluations=60))
    assert 27 < len(begun(log)) <= 27 + 6  # at most the open generation again
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="archeng"):
        archeng.resume(alone, bowl)  # it ended by itself
        again = archeng.resume(path, bowl)  # with its log nothing is missing
    assert "-wal" not in caplog.text
    assert_same(again, result)


def test_a_copy_of_the_file_alone_has_all_slow_calls(tmp_path: Path) -> None:
    path = killed(tmp_path, 0.01, slow=0.001)
    alone = Path(shutil.copy(path, tmp_path / "alone.db"))
    assert len(finished(alone)) == 33


def test_looking_leaves_the_log_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = killed(tmp_path, 0.0)
    for command in ("status", "export"):
        assert main([command, str(path)]) == 0
        assert (tmp_path / "run.db-wal").stat().st_size > 0
    capsys.readouterr()


# -- another machine --------------------------------------------------------------------------


def test_another_machine_is_noted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.db"
    solve_case(NAME, journal=path)
    archeng.resume(path, bowl, max_evaluations=36)
    with reading(path) as journal:
        assert journal.moves() == []
    monkeypatch.setattr(moved, "numerics", lambda: {"processor": "arm64", "blas": "accelerate"})
    with caplog.at_level(logging.WARNING, logger="archeng"):
        archeng.resume(path, bowl, max_evaluations=40)
    assert "rounding may differ" in caplog.text
    caplog.clear()
    archeng.resume(path, bowl, max_evaluations=44)  # still there: nothing new to note
    assert caplog.text == ""
    with reading(path) as journal:
        (move,) = journal.moves()
    assert move["calls"] == 36
    assert main(["status", str(path)]) == 0
    assert "rounding may differ after call 36" in capsys.readouterr().out


# -- journals of the version before -----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["version_3", "version_3_proposals"])
def test_a_journal_of_version_3_can_be_looked_at(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(OLD / f"{name}.db", tmp_path))
    before = path.read_bytes()
    result = archeng.read_journal(path)
    assert result.nfev == {"version_3": 15, "version_3_proposals": 13}[name]
    assert result.stop_reason is archeng.StopReason.MAX_EVALUATIONS
    result.report(tmp_path / "run.html")
    assert main(["status", str(path)]) == 0
    assert f"calls: {result.nfev} of {result.nfev}" in capsys.readouterr().out
    assert main(["export", str(path), "--csv", str(tmp_path / "calls.csv")]) == 0
    assert len((tmp_path / "calls.csv").read_text().splitlines()) == result.nfev + 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["version_3", "version_3_proposals"])
def test_a_journal_of_version_3_says_how_to_go_on(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD / f"{name}.db", tmp_path))
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"version 3.*seed=\d+ and reuse="):
        archeng.resume(path, Logged("bowl", tmp_path / "log"), max_evaluations=33)
    assert begun(tmp_path / "log") == []
    assert path.read_bytes() == before


# -- folders that cannot be written -----------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="/proc cannot be written by anybody")
def test_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(JournalError, match="cannot be written"):
        archeng.solve(line(), bowl, journal="/proc/run.db", max_evaluations=3)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_read_only_folder(tmp_path: Path) -> None:
    solve_case(NAME, journal=tmp_path / "run.db")
    tmp_path.chmod(0o555)
    try:
        (tmp_path / "run.db").chmod(0o444)
        assert archeng.read_journal(tmp_path / "run.db").nfev == 33
        uses: list[Any] = [
            lambda: archeng.resume(tmp_path / "run.db", bowl, max_evaluations=40),
            lambda: archeng.solve(line(), bowl, journal=tmp_path / "new.db", settings=PLAIN),
        ]
        for use in uses:
            with pytest.raises(JournalError):
                use()
    finally:
        tmp_path.chmod(0o755)
    assert_same(archeng.read_journal(tmp_path / "run.db"), reference(NAME))
