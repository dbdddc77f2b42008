"""Commands in a study's folder: without arguments they do the obvious thing."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    MODEL,
    PATIENCE,
    TOML,
    calls,
    command,
    environment,
    process,
    typed,
    write_study,
)

import archeng
from archeng.cli.main import commands
from archeng.errors import JournalError


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small study, which is the present folder."""
    folder = write_study(tmp_path / "plate")
    monkeypatch.chdir(folder)
    return folder


def reference(**options: Any) -> list[tuple[str, float, str]]:
    namespace: dict[str, Any] = {}
    exec(MODEL, namespace)
    result = archeng.solve(
        namespace["model"],
        lambda d: float(d.x @ d.x + d.x[0]),
        **{"max_evaluations": 10, "seed": 1, **options},
    )
    return [(e.x.tobytes().hex(), e.objective, e.status) for e in result.evaluations]


# -- the present folder ----------------------------------------------------------------------


def test_check_run_status_resume_export(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("check") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("plate: 2 variables, 3 rows")
    assert "simulator: simulator.py" in shown
    assert "journal: run.db\n" in shown
    assert command("run", "--quiet") == 0
    assert "10 simulator calls, 0 of them at infeasible designs" in capsys.readouterr().out
    assert calls(study / "run.db") == reference()
    assert command("status") == 0
    assert "calls: 10 of 10 (10 ok)" in capsys.readouterr().out
    assert command("resume", "--quiet", "--max-evaluations", 15) == 0
    assert calls(study / "run.db") == reference(max_evaluations=15)
    capsys.readouterr()
    assert command("export") == 0
    assert len(list(csv.DictReader(capsys.readouterr().out.splitlines()))) == 15
    assert command("check") == 0
    assert "journal: run.db, exists" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["folder", "toml"])
def test_from_another_folder(
    how: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = "plate" if how == "folder" else "plate/study.toml"
    assert command("check", target) == 0
    assert command("run", target, "--quiet") == 0
    assert command("status", target) == 0
    assert command("resume", target, "--quiet", "--max-evaluations", 13) == 0
    assert command("export", target, "--output", "calls.csv") == 0
    assert len(calls(study / "run.db")) == 13


def test_a_journal_finds_the_study_beside_it(study: Path, tmp_path: Path) -> None:
    command("run", "--quiet")
    os.chdir(tmp_path)
    assert command("resume", "plate/run.db", "--quiet", "--max-evaluations", 13) == 0
    assert calls(study / "run.db") == reference(max_evaluations=13)
    assert command("check", "plate/run.db") == 0
    other = study / "other.db"
    (study / "run.db").rename(other)
    assert command("resume", other, "--quiet") == 2  # it is not this study's
    assert command("resume", other, study, "--quiet", "--max-evaluations", 14) == 0
    assert calls(other) == reference(max_evaluations=14)
    assert command("resume", study, study) == 2


def test_changed_limits_of_the_study_count_when_it_goes_on(study: Path) -> None:
    command("run", "--quiet")
    (study / "study.toml").write_text(TOML.replace("10", "14"))
    assert command("resume", "--quiet") == 0
    assert calls(study / "run.db") == reference(max_evaluations=14)


@pytest.mark.parametrize(
    "more", ["[simulated]\nstress = { upper = 1 }\n", "[settings]\nproposals = 2\n"]
)
def test_a_study_that_changed_is_not_gone_on_with(
    more: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("run", "--quiet")
    before = calls(study / "run.db")
    (study / "study.toml").write_text(TOML + more)
    assert command("resume", "--quiet", "--max-evaluations", 15) == 2
    assert more.split("\n")[0] in capsys.readouterr().err
    assert calls(study / "run.db") == before


def test_a_seed_that_changed_is_noted(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("run", "--quiet", "--seed", 5)
    capsys.readouterr()
    assert command("resume", "--quiet", "--max-evaluations", 12) == 0
    assert "seed = 5 of its journal, not with 1" in capsys.readouterr().err
    assert calls(study / "run.db") == reference(seed=5, max_evaluations=12)


def test_nothing_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("check", "run", "resume", "status", "export"):
        assert command(name) == 2
        assert "archeng new" in capsys.readouterr().err
    write_study(tmp_path)
    for name in ("resume", "status", "export", "report", "dashboard"):
        assert command(name) == 2
        assert "has no journal yet" in capsys.readouterr().err
    (tmp_path / "study.toml").rename(tmp_path / "old")
    (tmp_path / "first.db").write_text("")
    assert command("status") == 2
    assert "archeng status first.db" in capsys.readouterr().err


# -- journals are not lost -------------------------------------------------------------------


def test_a_journal_is_not_overwritten(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("run", "--quiet")
    first = calls(study / "run.db")
    capsys.readouterr()
    assert command("run", "--quiet") == 2
    shown = capsys.readouterr().err
    assert "with 10 calls" in shown
    assert "`archeng resume`" in shown
    assert "--force" in shown
    assert calls(study / "run.db") == first
    single = study / "single.py"
    single.write_text(MODEL + (study / "simulator.py").read_text())
    assert command("run", single, "--quiet", "--journal", "run.db") == 2
    assert f"`archeng resume run.db {single}`" in capsys.readouterr().err
    assert command("run", "--quiet", "--force", "--seed", 2) == 0
    assert "run.1.db" in capsys.readouterr().err
    assert command("run", "--quiet", "--force", "--seed", 3) == 0
    assert calls(study / "run.1.db") == first
    assert calls(study / "run.2.db") == reference(seed=2)
    assert calls(study / "run.db") == reference(seed=3)


def test_what_is_no_journal_is_never_moved(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "run.db").write_text("my thesis")
    assert command("run", "--quiet", "--force") == 2
    assert "not overwritten" in capsys.readouterr().err
    assert (study / "run.db").read_text() == "my thesis"
    assert command("run", "--quiet", "--force", "--journal", "model.py") == 2
    assert (study / "model.py").read_text() == MODEL


def test_export_does_not_write_over_a_journal(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("run", "--quiet")
    for option in ("--output", "--csv"):
        assert command("export", option, "run.db") == 2
        assert "not overwritten" in capsys.readouterr().err
    assert calls(study / "run.db") == reference()


@pytest.mark.slow
def test_a_run_that_goes_on_is_not_moved(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = (
        "import time\ndef simulator(design):\n    time.sleep(0.3)\n    return 1.0 * design.x[0]\n"
    )
    (study / "simulator.py").write_text(slow)
    with started(study, "run", "--quiet") as running:
        try:
            wait_for_calls(study / "run.db", 2)
            assert command("run", "--quiet", "--force") == 2
            assert "another process" in capsys.readouterr().err
            assert command("status", "--json") == 0
            assert json.loads(capsys.readouterr().out)["state"] == "running"
        finally:
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "interrupted by the user" in out
    assert "Traceback" not in err


def started(study: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "archeng", *arguments],
        cwd=study,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def wait_for_calls(journal: Path, number: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if len(calls(journal)) >= number:
                return
        except JournalError:  # it is just being made
            pass
        time.sleep(0.02)
    raise AssertionError("there were no calls")


# -- JSON and exit codes ---------------------------------------------------------------------


def test_json_of_run_and_resume(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "study.toml").write_text(TOML + "[simulated]\nsum = { lower = 1.5 }\n")
    (study / "simulator.py").write_text(
        "def simulator(design):\n"
        "    return {'objective': float(design.x @ design.x), 'constraints': "
        "{'sum': float(design.x.sum())}, 'outputs': {'note': 'a', 'bad': [1.0]}}\n"
    )
    assert command("run", "--json", "--quiet", "--max-evaluations", 25) == 0
    data = json.loads(capsys.readouterr().out)
    assert 8 < data["calls"] <= 25
    assert data["infeasible_calls"] == data["failed_calls"] == 0
    assert data["objective"] == pytest.approx(1.125, rel=0.01)
    assert set(data["design"]) == {"x[0]", "x[1]"}
    assert data["simulated"]["sum"]["holds"] is True
    assert data["simulated"]["sum"]["upper"] is None
    assert data["outputs"] == {"note": "a", "bad": [1.0]}
    assert data["seed"] == 1
    assert command("resume", "--json", "--quiet", "--max-evaluations", 25) == 0
    assert json.loads(capsys.readouterr().out) == data
    assert command("status", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert status["best"]["objective"] == data["objective"]
    assert status["best"]["design"] == data["design"]
    assert status["simulated"] == ["sum"]


def test_json_of_check(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("check", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["study"]["max_evaluations"] == 10
    assert data["name"] == "plate"
    (study / "model.py").write_text(MODEL + "model.subject_to(x[0] + x[1] <= 0, name='no')\n")
    assert command("check", "--json") == 1
    assert "no" in json.dumps(json.loads(capsys.readouterr().out)["conflicts"])


def test_json_of_export(study: Path) -> None:
    (study / "simulator.py").write_text(
        "def simulator(design):\n"
        "    if design.x[0] > 1:\n        raise ValueError('mesh')\n"
        "    return float(design.x @ design.x)\n"
    )
    command("run", "--quiet")
    assert command("export", "--json", "--output", "calls.json") == 0
    data = json.loads((study / "calls.json").read_text())
    assert len(data) == 10
    failed = [d for d in data if d["status"] == "failed"]
    assert failed
    assert failed[0]["objective"] is None
    assert "mesh" in failed[0]["message"]
    for d, (x, objective, status) in zip(data, calls(study / "run.db"), strict=True):
        assert d["status"] == status
        assert [d["design"]["x[0]"], d["design"]["x[1]"]] == _floats(x)
        assert status != "ok" or d["objective"] == objective
    assert command("export", "--json", "--csv", "calls.csv") == 2


def _floats(text: str) -> list[float]:
    import numpy as np

    return [float(v) for v in np.frombuffer(bytes.fromhex(text))]


def test_no_design_is_exit_code_1(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "study.toml").write_text(TOML + "[simulated]\nsum = { lower = 100.0 }\n")
    (study / "simulator.py").write_text(
        "import archeng\ndef simulator(design):\n"
        "    return archeng.Evaluation(1.0 * design.x[0], {'sum': float(design.x.sum())})\n"
    )
    assert command("run", "--quiet") == 1
    assert "none satisfies all simulated constraints" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("simulator.py", "answer = 42\n", "no 'simulator' in it"),
        ("simulator.py", "simulator = 42\n", "callable"),
        ("simulator.py", "import nonsense\n", "No module named"),
        ("simulator.py", "def simulator(design):\n    raise ValueError('mesh')\n", "mesh"),
        ("model.py", "model = 3\n", "archeng.Model"),
        ("model.py", "x = 1\n", "no model in it"),
        ("study.toml", '[run]\nworkers = "model.py:x"\n', "must be a function"),
        ("study.toml", '[run]\nworkers = "model.py:absent"\n', "no 'absent' in it"),
        ("study.toml", '[run]\nworkers = "simulator.py:simulator"\n', "TypeError"),
        ("study.toml", '[study]\nmodel = "model.py:y"\n', "no 'y' in it"),
    ],
)
def test_wrong_studies_are_exit_code_2(
    file: str, text: str, said: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / file).write_text(text)
    assert command("run", "--quiet") == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.startswith("archeng: error: ")
    assert "Traceback (" not in shown.err or "mesh" in said


def test_a_study_without_a_simulator_uses_the_models_objective(study: Path) -> None:
    (study / "simulator.py").unlink()
    assert command("check") == 2
    assert command("run", "--quiet") == 2
    text = MODEL + "model.set_objective(x[0]**2 + x[1]**2 + x[0])\n"
    (study / "model.py").write_text(text)
    assert command("check") == 0
    assert command("run", "--quiet", "--force") == 0


def test_the_models_are_sent_to_workers_by_value(study: Path, tmp_path: Path) -> None:
    """Helper modules of the study too; the workers' own path does not matter."""
    (study / "physics.py").write_text("def f(x):\n    return float(x @ x + x[0])\n")
    (study / "simulator.py").write_text(
        "import model\nfrom physics import f\n\n"
        "def simulator(design):\n    assert model.__name__ == 'model'\n    return f(design.x)\n"
    )
    ended = process(tmp_path, "run", "plate", "--workers", 2, "--parallel", 1, "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert calls(study / "run.db") == reference()


def test_output_that_nobody_reads_any_more(study: Path) -> None:
    command("run", "--quiet")
    ended = subprocess.run(
        f"{sys.executable} -m archeng export | head -n 1",
        shell=True,
        cwd=study,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stdout.startswith("index,")
    assert ended.stderr == ""


# -- help ------------------------------------------------------------------------------------


def test_help_teaches(tmp_path: Path) -> None:
    code, shown = typed(tmp_path, "--help")
    assert code == 0
    for word in ("archeng new my_study", "archeng check", "archeng run", "exit codes:", "130"):
        assert word in shown


@pytest.mark.parametrize("name", commands.commands)
def test_examples_in_the_help_are_commands_that_exist(name: str) -> None:
    lines = re.findall(
        r"^  archeng (.*?)(?:  .*|\s[|>].*)?$", commands.commands[name].epilog or "", re.MULTILINE
    )
    assert lines
    for line in lines:
        first, *words = line.split()
        assert first == name
        commands.commands[name].make_context(name, words)


@pytest.mark.parametrize("name", commands.commands)
def test_help_of_each_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(name, "--help") == 0
    shown = capsys.readouterr().out
    assert "examples:\n    archeng" in shown
    assert "exit codes:\n" in shown
