"""``archeng run``, ``resume``, ``status`` and ``export``."""

from __future__ import annotations

import csv
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import environment, finished, run_script, wait_for

import archeng
from archeng import Result
from archeng.cli import main

pytestmark = pytest.mark.slow

_numbers = itertools.count()

STUDY = """
import time
import archeng

model = archeng.Model("plate")
x = model.variable("x", shape=2, lower=-5, upper=5, unit="mm")
model.subject_to(x[0] + x[1] >= 1, name="line")

def helper(design):
    return float(design.x @ design.x + design.x[0])

def simulator(design):
    time.sleep({delay})
    return helper(design)

options = {options}
"""


def write_study(folder: Path, delay: float = 0.0, text: str = STUDY, **options: Any) -> Path:
    """Write a study with a module name of its own."""
    options = {"max_evaluations": 20, "seed": 1, **options}
    path = folder / f"study_{os.getpid()}_{next(_numbers)}.py"
    path.write_text(text.format(delay=delay, options=options))
    return path


def reference(**options: Any) -> Result:
    model = archeng.Model("plate")
    x = model.variable("x", shape=2, lower=-5, upper=5, unit="mm")
    model.subject_to(x[0] + x[1] >= 1, name="line")
    return archeng.solve(
        model, lambda d: float(d.x @ d.x + d.x[0]), **{"max_evaluations": 20, "seed": 1, **options}
    )


def designs(result: Result) -> list[str]:
    return [e.x.tobytes().hex() for e in result.evaluations]


def command(*arguments: Any) -> int:
    return main([str(a) for a in arguments])


def test_run_writes_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write_study(tmp_path)
    assert command("run", study, "--quiet", "--output", tmp_path / "out.json") == 0
    shown = capsys.readouterr()
    saved = Result.load(tmp_path / "out.json")
    assert designs(saved) == designs(reference())
    assert shown.out == f"{saved}\n"
    assert "plate" in shown.out
    assert shown.err == ""


def test_options_on_the_command_line_win(tmp_path: Path) -> None:
    study = write_study(tmp_path, max_evaluations=5, seed=9, sense="maximize")
    out = tmp_path / "out.json"
    command("run", study, "--quiet", "--output", out, "--max-evaluations", 13, "--seed", 3,
            "--population-size", 7, "--sense", "minimize", "--restarts", 1)  # fmt: skip
    expected = reference(max_evaluations=13, seed=3, population_size=7, restarts=1)
    assert designs(Result.load(out)) == designs(expected)
    command("run", study, "--quiet", "--output", out, "--target", 100, "--sense", "minimize")
    assert Result.load(out).success


def test_progress_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", write_study(tmp_path)) == 0
    shown = capsys.readouterr()
    assert "/20 calls" in shown.err
    assert "workers busy" not in shown.err
    assert "calls  best" not in shown.out


def test_workers_from_another_folder_then_resume_and_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the manual: a study in a folder that is not the present one, two workers."""
    folder = tmp_path / "studies"
    folder.mkdir()
    study, journal = write_study(folder), tmp_path / "run.db"
    ended = run_script("-m archeng", "run", study, "--workers", 2, "--parallel", 1, "--journal",
                       journal, cwd=tmp_path)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert finished(journal) == designs(reference())
    assert command("resume", journal, study, "--max-evaluations", 31, "--quiet") == 0
    assert finished(journal) == designs(reference(max_evaluations=31))
    capsys.readouterr()
    assert command("export", journal, "--csv", tmp_path / "calls.csv") == 0
    assert command("export", journal) == 0
    assert capsys.readouterr().out.splitlines() == (tmp_path / "calls.csv").read_text().splitlines()


def test_a_helper_module_beside_the_study(tmp_path: Path) -> None:
    """The folder of a study is on the path, for the workers too."""
    (tmp_path / "physics_beside.py").write_text("def f(x):\n    return float(x @ x + x[0])\n")
    text = STUDY.replace("import archeng", "import archeng\nfrom physics_beside import f", 1)
    text = text.replace("return helper(design)", "return f(design.x)")
    study = write_study(tmp_path, text=text)
    (tmp_path / "elsewhere").mkdir()
    ended = run_script("-m archeng", "run", study, "--workers", 1, "--quiet",
                       "--output", tmp_path / "out.json", cwd=tmp_path / "elsewhere")  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert designs(Result.load(tmp_path / "out.json")) == designs(reference())


def test_export_keeps_every_bit(tmp_path: Path) -> None:
    study, journal, table = write_study(tmp_path), tmp_path / "run.db", tmp_path / "calls.csv"
    command("run", study, "--journal", journal, "--quiet")
    assert command("export", journal, "--csv", table) == 0
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, e in zip(rows, reference().evaluations, strict=True):
        assert [float(row["x[0]"]), float(row["x[1]"])] == e.x.tolist()
        assert float(row["objective"]) == e.objective
        assert int(row["index"]) == e.index
        assert row["status"] == "ok"


def test_status_before_during_and_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, journal = write_study(tmp_path, delay=0.3, max_evaluations=40), tmp_path / "run.db"
    with subprocess.Popen(
        [sys.executable, "-m", "archeng", "run", study, "--journal", journal, "--quiet"],
        cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        try:
            wait_for(lambda: journal.exists() and _calls(journal) >= 3, "the third call")
            capsys.readouterr()
            assert command("status", journal) == 0
            shown = capsys.readouterr().out
            assert shown.startswith("plate: running\n")
            assert " of 40 (" in shown
            assert "best objective:" in shown
            assert command("resume", journal, study, "--quiet") == 2
            assert "another process" in capsys.readouterr().err
        finally:
            running.send_signal(signal.SIGKILL)
    assert command("status", journal) == 0
    assert "not running" in capsys.readouterr().out
    quick = write_study(tmp_path, max_evaluations=40)
    assert command("resume", journal, quick, "--quiet", "--max-evaluations", 200) == 0
    expected = reference(max_evaluations=200)
    assert finished(journal) == designs(expected)
    capsys.readouterr()
    assert command("status", journal) == 0
    shown = capsys.readouterr().out
    assert f"calls: {expected.nfev} " in shown
    assert f"best objective: {expected.fun:.10g}" in shown
    for name, value in zip(("x[0]", "x[1]"), expected.x, strict=True):
        assert f"  {name} = {value:.10g}" in shown


def _calls(journal: Path) -> int:
    try:
        return len(finished(journal))
    except archeng.errors.JournalError:  # it is just being created
        return 0


@pytest.mark.parametrize("maximize", [False, True])
def test_status_shows_the_best_design(
    maximize: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sense = "maximize" if maximize else "minimize"
    study, journal = write_study(tmp_path, sense=sense), tmp_path / "run.db"
    command("run", study, "--journal", journal, "--quiet")
    capsys.readouterr()
    command("status", journal)
    best = reference(sense=sense)
    assert f"best objective: {best.fun:.10g}" in capsys.readouterr().out


NLP = """
import casadi as ca
s = ca.SX.sym("s", 2)
model = {{"x": s, "g": s[0] * s[1]}}
def simulator(design):
    return float(design.x.sum())
options = {options}
"""


def test_resume_knows_the_options_of_the_study(tmp_path: Path) -> None:
    """Bounds of an nlp dictionary are options; without them it would be another model."""
    study = write_study(tmp_path, text=NLP, lbx=0.1, ubx=5, lbg=1)
    assert command("run", study, "--journal", tmp_path / "run.db", "--quiet") == 0
    arguments = ("--quiet", "--max-evaluations", 25)
    assert command("resume", tmp_path / "run.db", study, *arguments) == 0
    assert len(finished(tmp_path / "run.db")) == 25


def test_ctrl_c(tmp_path: Path) -> None:
    study, journal = write_study(tmp_path, delay=0.2, max_evaluations=90), tmp_path / "run.db"
    with subprocess.Popen(
        [sys.executable, "-m", "archeng", "run", study, "--journal", journal],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:  # fmt: skip
        wait_for(lambda: journal.exists() and _calls(journal) >= 3, "the third call")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted by the user" in out
    assert "Traceback" not in err
    quick = write_study(tmp_path, max_evaluations=90)
    assert command("resume", journal, quick, "--quiet", "--max-evaluations", 20) == 0


# -- wrong inputs ----------------------------------------------------------------------------

GOOD = "import archeng\nmodel = archeng.Model('m')\nx = model.variable('x', lower=0, upper=1)\n"
WRONG = {
    "syntax": "def simulator(:\n",
    "error at import": "raise RuntimeError('no licence')\n",
    "exit at import": "import sys\nsys.exit('no licence')\n",
    "no model": "simulator = len\n",
    "two models": GOOD + "other = archeng.Model('n')\nfirst = model\ndel model\n",
    "error in make_model": "def make_model():\n    raise KeyError('no such mesh')\n",
    "no simulator": GOOD,
    "simulator is a number": GOOD + "simulator = 3\n",
    "options are a list": GOOD + "simulator = len\noptions = [1]\n",
    "unknown option": GOOD + "simulator = len\noptions = {'max_evaluation': 3}\n",
    "option that is an argument": GOOD + "simulator = len\noptions = {'model': 3}\n",
    "bad value": GOOD + "simulator = len\noptions = {'max_evaluations': 0}\n",
    "not utf-8": b"# \xff\n",
    "nul": b"x = 1\0\n",
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_studies(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"wrong_{os.getpid()}_{next(_numbers)}.py"
    text = WRONG[kind]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert command("run", path, "--quiet") == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("archeng: error: ")
    assert "Traceback" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "missing.py"),
        ("run", "."),
        ("run", "notes.txt"),
        ("run", "STUDY", "--object", "nothing"),
        ("run", "STUDY", "--workers", "many"),
        ("run", "STUDY", "--workers", "0"),
        ("run", "STUDY", "--max-evaluations", "-1"),
        ("run", "STUDY", "--seed", "-1"),
        ("run", "STUDY", "--timeout", "-1"),
        ("run", "STUDY", "--reuse", "missing.db"),
        ("run", "STUDY", "--journal", "missing/run.db"),
        ("run", "STUDY", "--output", "missing/out.json"),
        ("resume", "missing.db"),
        ("resume", "notes.txt", "STUDY"),
        ("resume", "run.db", "missing.py"),
        ("resume", "run.db"),
        ("status", "missing.db"),
        ("status", "notes.txt"),
        ("status", "."),
        ("export", "missing.db"),
        ("export", "run.db", "--csv", "missing/calls.csv"),
        ("export", "run.db", "--csv", "."),
        ("check", "STUDY", "--seed", "-1"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    study = write_study(tmp_path)
    (tmp_path / "notes.txt").write_text("my notes\n")
    command("run", study, "--journal", "run.db", "--quiet")
    capsys.readouterr()
    assert command(*(str(study) if a == "STUDY" else a for a in arguments)) == 2
    shown = capsys.readouterr()
    assert "archeng: error: " in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize("arguments", [(), ("fly",), ("compare",), ("run", "a.py", "--seed", "x")])
def test_usage(arguments: tuple[str, ...]) -> None:
    assert command(*arguments) == 2


def test_a_bad_place_for_the_result_is_seen_before_the_run(tmp_path: Path) -> None:
    """Not after days of simulation."""
    study, journal = write_study(tmp_path), tmp_path / "run.db"
    command("run", study, "--journal", journal, "--quiet", "--output", tmp_path / "no" / "a.json")
    assert not journal.exists() or finished(journal) == []
