"""``archeng check --simulate``, broken simulators, texts about resuming, and odd consoles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import MODEL, SIMULATOR, TOML, calls, command, environment, process, write_study

import archeng

pytestmark = pytest.mark.slow

BROKEN = "def simulator(design):\n    return design['depth']\n"
DIVERGING = "def simulator(design):\n    raise RuntimeError('diverged')\n"
LIMITS = TOML + "\n[simulated]\nstress = { upper = 1.0e9 }\n"
STRESS = """\
import archeng

def simulator(design):
    return archeng.Evaluation(1.5, constraints={"stress": 2.0e9}, outputs={"mass": 7.0})
"""


def test_check_simulates_once_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path / "study", LIMITS, simulator=STRESS)
    before = {p.name for p in study.iterdir()}
    assert command("check", study, "--simulate") == 0
    shown = capsys.readouterr().out
    assert "one call of the simulator" in shown
    assert "objective = 1.5" in shown
    assert "stress = 2000000000 (simulated constraint, does not hold here)" in shown
    assert "mass = 7.0 (output)" in shown
    assert "all 10 calls of the budget would take" in shown
    assert {p.name for p in study.iterdir()} - {"__pycache__"} == before
    assert command("check", study) == 0
    assert "one call" not in capsys.readouterr().out


def test_the_call_is_the_first_one_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path / "study")
    assert command("check", study, "--simulate", "--json") == 0
    found = json.loads(capsys.readouterr().out)["first_call"]
    assert command("run", study, "--quiet") == 0
    design, objective, _ = calls(study / "run.db")[0]
    assert found["objective"] == objective
    x = np.frombuffer(bytes.fromhex(design)).tolist()
    assert [found["design"][f"x[{k}]"] for k in range(2)] == x
    assert found["max_evaluations"] == 10
    assert found["seconds_for_the_budget"] == pytest.approx(10 * found["seconds"])


def test_check_simulate_of_a_python_file_and_of_what_has_no_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.py"
    file.write_text(MODEL + SIMULATOR + "options = {'max_evaluations': 3}\n")
    assert command("check", file, "--simulate") == 0
    assert "one call of the simulator" in capsys.readouterr().out
    assert command("run", file, "--journal", tmp_path / "run.db", "--quiet") == 0
    assert command("check", tmp_path / "run.db", "--simulate") == 2
    assert "has no simulator" in capsys.readouterr().err


def test_a_mistake_in_the_simulator_is_found_by_check_and_by_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path / "study", simulator=BROKEN)
    assert command("check", study, "--simulate") == 2
    shown = capsys.readouterr()
    assert "line" in shown.out  # the model comes first
    assert "'depth' is not a variable" in shown.err
    assert command("run", study, "--quiet") == 2
    error = capsys.readouterr().err
    assert "'depth' is not a variable" in error
    assert f"`archeng resume {study}` goes on" in error
    (study / "simulator.py").write_text(SIMULATOR)
    assert command("resume", study, "--quiet") == 0
    assert len(calls(study / "run.db")) == 10


def test_resume_tries_a_failed_first_generation_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write_study(tmp_path / "study", simulator=DIVERGING)
    assert command("run", study, "--quiet") == 2
    assert "diverged" in capsys.readouterr().err
    assert command("resume", study, "--quiet") == 2
    assert "the same command goes on" in capsys.readouterr().err
    (study / "simulator.py").write_text(SIMULATOR)
    assert command("resume", study, "--quiet") == 0
    statuses = [status for _, _, status in calls(study / "run.db")]
    first = statuses.index("ok")
    assert first <= 4  # the first designs, which a generation of ARCH followed
    assert set(statuses[first:]) == {"ok"}


def test_failures_are_shown_as_they_happen(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", simulator=DIVERGING)
    shown = process(study, "run").stderr
    assert shown.count("RuntimeError: diverged") >= 6
    assert "call failed after" in shown


def test_status_names_what_goes_on_with_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverging(design: Any) -> float:
        raise RuntimeError("diverged")

    study = write_study(tmp_path / "study", simulator=DIVERGING)
    assert command("run", study, "--quiet") == 2
    command("status", study)
    assert f"`archeng resume {study / 'run.db'}` goes on" in capsys.readouterr().out
    script = tmp_path / "script.db"
    model = archeng.Model("m")
    model.variable("x", lower=0, upper=1)
    with pytest.raises(archeng.errors.SimulatorError):
        archeng.solve(model, diverging, seed=1, max_evaluations=9, journal=script)
    command("status", script)
    assert f"archeng.resume({str(script)!r}, simulator)" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16"])
def test_consoles_that_do_not_know_all_characters(encoding: str, tmp_path: Path) -> None:
    model = MODEL.replace('"line"', '"σ ≤ zulässig"').replace('unit="mm"', 'unit="µm"')
    (tmp_path / "study.py").write_text(
        model + SIMULATOR + "options = {'seed': 1, 'max_evaluations': 8}\n", encoding="utf-8"
    )
    env = {**environment(), "PYTHONIOENCODING": encoding}
    commands = (
        ("check", "study.py"),
        ("run", "study.py", "--journal", "run.db"),
        ("status", "run.db"),
        ("export", "run.db"),
        ("compare", "run.db", "run.db"),
    )
    for arguments in commands if encoding == "ascii" else commands[:2]:
        ended = process(tmp_path, *arguments, env=env, text=False)
        assert ended.returncode == 0, ended.stderr
        assert b"Traceback" not in ended.stderr.replace(b"\0", b"")
