"""The harness of the experiments: nothing finished is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from case_studies.paper import __main__ as command
from case_studies.paper import harness, progress
from case_studies.paper.results import ResultsError, Store, read_meta, read_rows

pytestmark = pytest.mark.slow

TOY = '''
"""A toy."""
import time
from pathlib import Path

NAME, HELP, RUNS, QUICK_RUNS = "toy", "squares", 3, 1
LOG = Path(__file__).with_name("log.txt")

def tasks(runs, quick):
    return [{"kind": k, "scale": 0.1, "seed": s} for s in range(runs) for k in ("a", "b")]

def run_task(task):
    with LOG.open("a") as file:
        file.write(f"{task['kind']}{task['seed']}\\n")
    if LOG.with_name("bad").exists() and task["kind"] == "b":
        raise ArithmeticError("no square\\nof this")
    if LOG.with_name("slow").exists() and task["seed"] > 0:
        time.sleep(60)
    return [{**task, "i": i, "square": task["seed"] ** 2, "note": None, "ok": True}
            for i in range(3)]

def summary(rows):
    return f"{len(rows)} rows, sum {sum(r['square'] for r in rows)}"

def figures(rows, out):
    path = out / "toy.png"
    path.write_bytes(b"png")
    return [path]
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "toy_experiment.py").write_text(TOY)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "toy_experiment", raising=False)
    module = importlib.import_module("toy_experiment")
    monkeypatch.setitem(command.EXPERIMENTS, "toy", module)
    return module


def start(out: Path, *arguments: str) -> int:
    return command.main(["toy", "--out", str(out), "--jobs", "1", *arguments])


def done(toy: ModuleType) -> list[str]:
    """Tasks that were run since the last look."""
    lines = toy.LOG.read_text().split() if toy.LOG.exists() else []
    toy.LOG.unlink(missing_ok=True)
    return sorted(lines)


def test_results_summary_figure_and_record(
    toy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(tmp_path) == 0
    assert "18 rows, sum 30" in capsys.readouterr().out
    assert done(toy) == ["a0", "a1", "a2", "b0", "b1", "b2"]
    row = read_rows(tmp_path / "toy.csv")[0]
    assert row == {"kind": "a", "scale": 0.1, "seed": 0, "i": 0, "square": 0, "note": None, "ok": 1}
    page = (tmp_path / "toy.md").read_text()
    assert "18 rows, sum 30" in page
    assert "![toy.png](toy.png)" in page
    meta = read_meta(tmp_path / "toy.csv")
    assert meta["quick"] is False
    assert meta["starts"][0]["command"].startswith("python -m case_studies.paper toy --out")
    assert {"commit", "python", "numpy", "casadi"} <= set(meta["starts"][0])


def test_more_runs_add_to_what_is_there(toy: ModuleType, tmp_path: Path) -> None:
    assert start(tmp_path, "--runs", "1") == 0
    assert done(toy) == ["a0", "b0"]
    assert start(tmp_path, "--runs", "2") == 0
    assert done(toy) == ["a1", "b1"]
    assert start(tmp_path, "--runs", "1") == 0
    assert done(toy) == []
    assert len(read_rows(tmp_path / "toy.csv")) == 12
    assert len(read_meta(tmp_path / "toy.csv")["starts"]) == 3


def test_only_restricts_and_all_parts_must_match(toy: ModuleType, tmp_path: Path) -> None:
    assert start(tmp_path, "--only", "kind=b", "--only", "seed=1") == 0
    assert done(toy) == ["b1"]


@pytest.mark.parametrize("left", ["half a line", "whole lines of half a task"])
def test_what_a_crash_left_is_dropped_and_done_again(
    toy: ModuleType, tmp_path: Path, left: str
) -> None:
    assert start(tmp_path, "--runs", "2") == 0
    path = tmp_path / "toy.csv"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + (lines[-1][:4] if left == "half a line" else b""))
    assert len(read_rows(path)) == 9
    done(toy)
    assert start(tmp_path, "--runs", "2") == 0
    assert done(toy) == ["b1"]
    assert path.read_bytes() == whole


def test_a_line_without_its_end_is_not_trusted(toy: ModuleType, tmp_path: Path) -> None:
    assert start(tmp_path, "--runs", "1") == 0
    path = tmp_path / "toy.csv"
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read_rows(path)) == 3
    path.write_bytes(b"kind,sca")
    assert read_rows(path) == []
    assert start(tmp_path, "--runs", "1") == 0
    assert len(read_rows(path)) == 6


def test_failed_task_is_told_and_tried_again(
    toy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = toy.LOG.with_name("bad")
    bad.touch()
    assert start(tmp_path, "--runs", "2") == 1
    streams = capsys.readouterr()
    assert "failed: kind=b scale=0.1 seed=0" in streams.err
    assert "ArithmeticError: no square" in streams.err
    assert "2 failures" in streams.err
    assert len(read_rows(tmp_path / "toy.csv")) == 6
    bad.unlink()
    done(toy)
    assert start(tmp_path, "--runs", "2") == 0
    assert done(toy) == ["b0", "b1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_run_keeps_what_is_finished(
    toy: ModuleType, tmp_path: Path, number: signal.Signals
) -> None:
    slow = toy.LOG.with_name("slow")
    slow.touch()
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import toy_experiment\n"
        "from case_studies.paper import __main__ as command\n"
        "command.EXPERIMENTS['toy'] = toy_experiment\n"
        "sys.exit(command.main(['toy', '--out', sys.argv[2], '--jobs', '1']))"
    )
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(toy.LOG.parent), str(out)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(read_rows(out / "toy.csv")) < 6 or "a1" not in toy.LOG.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        begin = time.monotonic()
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: the workers get it too
            _, errors = process.communicate(timeout=20)
            assert process.returncode == 130
            assert "stopped; the same command goes on" in errors
            assert "Traceback" not in errors
        else:
            process.send_signal(number)
        assert process.wait(timeout=20) != 0
        assert time.monotonic() - begin < 20
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr:
            process.stderr.close()
    assert [r["kind"] for r in read_rows(out / "toy.csv")] == ["a"] * 3 + ["b"] * 3
    slow.unlink()
    done(toy)
    assert start(out) == 0
    assert done(toy) == ["a1", "a2", "b1", "b2"]


def test_summary_only_runs_nothing(
    toy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(tmp_path, "--summary-only") == 0
    assert "no finished tasks" in capsys.readouterr().err
    assert start(tmp_path, "--runs", "1") == 0
    (tmp_path / "toy.md").unlink()
    (tmp_path / "toy.png").unlink()
    done(toy)
    assert start(tmp_path, "--summary-only", "--runs", "2") == 0
    assert done(toy) == []
    assert (tmp_path / "toy.md").exists()
    assert (tmp_path / "toy.png").exists()


def test_quick_and_full_results_are_not_mixed(
    toy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(tmp_path, "--quick") == 0
    assert done(toy) == ["a0", "b0"]
    assert start(tmp_path) == 1
    assert "holds --quick results" in capsys.readouterr().err
    assert done(toy) == []


def test_unknown_name_and_bad_numbers_end_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["nothing"], "there is no experiment 'nothing'; there are active-set,"),
        (["single", "--runs", "0"], "must be at least 1"),
        (["single", "--jobs", "x"], "invalid positive value: 'x'"),
        ([], "required: NAME"),
    ):
        with pytest.raises(SystemExit) as stop:
            command.main(arguments)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err


def test_help_has_a_line_for_each_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        command.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for name, experiment in command.EXPERIMENTS.items():
        assert name == experiment.NAME
        assert experiment.HELP in text


def test_one_process_at_a_time(tmp_path: Path) -> None:
    message = "another process is writing"
    with Store(tmp_path / "toy.csv"), pytest.raises(ResultsError, match=message):
        Store(tmp_path / "toy.csv")
    with Store(tmp_path / "toy.csv"):
        pass


def test_store_refuses_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "toy.csv"
    with Store(path) as store:
        with pytest.raises(ResultsError, match="no rows"):
            store.append({"seed": 1}, [])
        with pytest.raises(ResultsError, match="another key"):
            store.append({"seed": 1}, [{"seed": 2, "x": 1}])
        store.append({"seed": 1}, [{"seed": 1, "x": 1}])
        with pytest.raises(ResultsError, match="move the file away"):
            store.append({"seed": 2}, [{"seed": 2, "y": 1}])
    with Store(path) as store, pytest.raises(ResultsError, match="no column 'n'"):
        store.has({"seed": 1, "n": 20})
    path.write_text("something,else\n1,2\n")
    with pytest.raises(ResultsError, match="not a result file"):
        read_rows(path)


def test_cells_read_back_the_same(tmp_path: Path) -> None:
    row = {"a": 0.1 + 0.2, "b": 10**20, "c": None, "d": 'x, "y"', "e": float("inf"), "f": "1e5"}
    with Store(tmp_path / "toy.csv") as store:
        store.append({"f": "1e5"}, [{**row, "g": "two\nlines", "h": True}])
    with Store(tmp_path / "toy.csv") as store:
        assert store.has({"f": "1e5"})
        assert not store.has({"f": "100000"})
    read = read_rows(tmp_path / "toy.csv")[0]
    assert {k: v for k, v in read.items() if k in "abcde"} == {k: row[k] for k in "abcde"}
    assert (read["g"], read["h"]) == ("two lines", 1)


def test_progress_off_a_terminal_is_one_line_in_thirty_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    bar = progress.Progress("toy", 110, 10, stream)
    for _ in range(50):
        clock[0] += 2.0
        bar.step()
    bar.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1 + 3 + 1  # beginning, every 30 s of 100 s, end
    assert "10/110" in lines[0]
    assert lines[1].split("] ")[1] == "25/110  0:00:30 elapsed, 0:02:50 left"
    assert "60/110  0:01:40 elapsed" in lines[-1]


def test_registered_experiments_follow_the_contract() -> None:
    for experiment in command.EXPERIMENTS.values():
        for quick in (True, False):
            few, more = experiment.tasks(1, quick), experiment.tasks(2, quick)
            labels = [harness.label(t) for t in more]
            assert len(set(labels)) == len(labels)
            assert {harness.label(t) for t in few} <= set(labels)
            assert len({tuple(t) for t in more}) == 1
        assert experiment.QUICK_RUNS <= experiment.RUNS
