"""Outputs, parameters and formulas on the command line and in ``study.toml``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import archeng
from archeng.cli import main

MODEL = """\
import archeng

model = archeng.Model("bracket")
t = model.variable("t", lower=1, upper=20, unit="mm")
load = model.parameter("load", 12e3, unit="N")
angles = model.parameter("angles", [0.0, 30.0], unit="deg")
stress = model.output("stress", unit="MPa", shape=2)
model.subject_to(t <= 19, name="room")
model.subject_to(1.5 * stress <= 240, name="strength")
model.minimize(7.85 * t + 0.0001 * load, name="mass")
"""
SIMULATOR = """\
import archeng

def simulator(design):
    load, angles = design.parameters["load"], design.parameters["angles"]
    stress = [load / 20 / design["t"] * (1 + angle / 90) for angle in angles]
    return archeng.Evaluation(outputs={"stress": stress, "mesh": "fine"})
"""
TOML = """\
[study]
name = "bracket"

[run]
max_evaluations = 8
seed = 1
"""
PARAMETERS = "\n[parameters]\nload = 9000\nangles = [0, 45.0]\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write(tmp_path)


def write(folder: Path, toml: str = TOML, model: str = MODEL, simulator: str = SIMULATOR) -> Path:
    for name, text in (("model.py", model), ("simulator.py", simulator), ("study.toml", toml)):
        (folder / name).write_text(text)
    return folder


def command(*words: Any) -> int:
    return main([str(word) for word in words])


def values(path: Path) -> dict[str, Any]:
    return {p.name: p.value for p in archeng.read_journal(path).parameters}


# -- parameters ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_values_of_the_model_of_the_study_and_typed_ones(study: Path) -> None:
    run = ("run", study, "--quiet", "--journal")
    assert command(*run, study / "a.db") == 0
    (study / "study.toml").write_text(TOML + PARAMETERS)
    assert command(*run, study / "b.db") == 0
    assert command(*run, study / "c.db", "--parameter", "load=7e3") == 0
    typed = ("--parameter", "load=7e3", "--parameter", "angles=-10,1e1")
    assert command(*run, study / "d.db", *typed) == 0
    found = [values(study / f"{name}.db") for name in "abcd"]
    assert [v["load"] for v in found] == [12e3, 9e3, 7e3, 7e3]
    assert [v["angles"].tolist() for v in found] == [[0, 30], [0, 45], [0, 45], [-10, 10]]
    first = [archeng.read_journal(study / f"{name}.db").evaluations[0] for name in "ac"]
    assert first[0].objective - first[1].objective == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("lod = 3\n", "study.toml:9: parameters.lod: unknown parameter. Did you mean load?"),
        ("x = 3\n", "study.toml:9: parameters.x: unknown parameter. In the model there are load, "),
        ("angles = 3\n", "study.toml:9: parameters.angles: Parameter 'angles': expected shape"),
        ("load = true\n", "study.toml:9: parameters.load: must be a finite number"),
        ("load = nan\n", "study.toml:9: parameters.load: must be a finite number"),
        ('load = "big"\n', "study.toml:9: parameters.load: must be a finite number"),
        ("load = { a = 1 }\n", "study.toml:9: parameters.load: must be a finite number"),
        ("angles = [1, [2]]\n", "study.toml:9: parameters.angles: must be a finite number"),
        ("angles = []\n", "study.toml:9: parameters.angles: must be a finite number"),
    ],
)
@pytest.mark.parametrize("word", ["run", "check"])
def test_wrong_parameters_of_a_study(
    word: str, section: str, said: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "study.toml").write_text(f"{TOML}\n[parameters]\n{section}")
    assert command(word, study) == 2
    assert said in capsys.readouterr().err
    assert not (study / "run.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["load"], "expected NAME=NUMBER"),
        (["load=big"], "expected NAME=NUMBER"),
        (["=3"], "expected NAME=NUMBER"),
        (["load=1,"], "expected NAME=NUMBER"),
        (["load=1", "load=2"], "load: typed twice"),
        (["lod=1"], "has no parameters ['lod']; it has load, angles"),
        (["load=nan"], "'load' needs a finite number"),
        (["load=1,2"], "'load': expected shape (), got (2,)"),
    ],
)
def test_wrong_typed_parameters(
    words: list[str], said: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused before an old journal is moved aside."""
    assert command("run", study, "--quiet") == 0
    typed = [part for word in words for part in ("--parameter", word)]
    assert command("run", study, "--force", *typed) == 2
    assert said in capsys.readouterr().err
    assert sorted(p.name for p in study.glob("*.db")) == ["run.db"]


def test_resume_keeps_the_parameters_of_the_journal(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ("--parameter", "load=7e3")
    assert command("run", study, "--quiet", "--max-evaluations", 3, *typed) == 0
    assert command("resume", study, *typed) == 2
    assert "--parameter" in capsys.readouterr().err
    assert command("resume", study, "--quiet") == 0
    assert values(study / "run.db")["load"] == 7e3
    result = archeng.read_journal(study / "run.db")
    assert result.nfev > 3
    assert {e.parameters_read for e in result.evaluations} == {("angles", "load")}


# -- check --------------------------------------------------------------------------------------


def test_check_shows_parameters_outputs_and_formulas(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("check", study, "--parameter", "load=5e3") == 0
    shown = capsys.readouterr().out.splitlines()
    rows = [" ".join(line.split()) for line in shown]
    assert "load 5000 N" in rows
    assert "angles[1] 30 deg" in rows
    assert "stress[0] MPa" in rows
    assert "strength[1] - 240 1.5*stress[1] model.py:9" in rows
    assert "minimize mass = (7.85*t)+(0.0001*load)" in rows
    assert command("check", study, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["parameters"]["load"] == {"value": 12e3, "unit": "N"}
    assert data["outputs"] == {"stress": {"shape": [2], "unit": "MPa"}}
    assert data["objective"]["formula"] == "(7.85*t)+(0.0001*load)"
    assert data["simulated_formulas"]["strength[0]"] == "1.5*stress[0]"


def test_check_simulates_and_shows_what_follows(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("check", study, "--simulate", "--json", "--parameter", "load=6e3") == 0
    call = json.loads(capsys.readouterr().out)["first_call"]
    t, stress = call["design"]["t"], call["outputs"]["stress"]
    assert stress[0] == pytest.approx(300 / t)
    assert call["objective"] == pytest.approx(7.85 * t + 0.6)
    assert call["constraints"]["strength[1]"] == pytest.approx(1.5 * stress[1])
    assert command("check", study, "--simulate", "--parameter", "load=6e3") == 0
    shown = capsys.readouterr().out
    assert f"objective (mass) = {call['objective']:.10g}" in shown
    assert f"  stress = {stress} MPa (output)" in shown
    assert "here: 1.5*stress[1])" in shown


@pytest.mark.parametrize(
    ("toml", "simulator", "said"),
    [
        (TOML + '\n[simulated]\n"strength[0]" = { upper = 1 }\n', SIMULATOR, "constraints of the"),
        (TOML + "\n[simulated]\nroom = { upper = 1 }\n", SIMULATOR, "constraints of the model"),
        (TOML.replace("[run]", 'sense = "maximize"\n[run]'), SIMULATOR, "formula to minimize"),
        (TOML, "simulator = None\n", "model has the outputs ['stress']"),
        (
            TOML,
            "import archeng\nsimulator = archeng.CommandSimulator(['true', '{{lod}}'], "
            "outputs={'stress': archeng.read_json()})\n",
            "unknown variables or parameters ['lod']",
        ),
    ],
)
def test_check_finds_what_a_run_would_refuse(
    toml: str, simulator: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tmp_path, toml, simulator=simulator)
    assert command("check", study) == 2
    assert said in capsys.readouterr().err


# -- looking at a run ---------------------------------------------------------------------------


@pytest.fixture
def run(study: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert command("run", study, "--quiet") == 0
    capsys.readouterr()
    return study / "run.db"


def test_the_table_has_a_column_for_each_entry(run: Path) -> None:
    assert command("export", run, "--output", run.with_suffix(".csv")) == 0
    with run.with_suffix(".csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    calls = archeng.read_journal(run).evaluations
    assert len(rows) == len(calls)
    for row, e in zip(rows, calls, strict=True):
        assert [float(row[f"outputs.stress[{k}]"]) for k in range(2)] == e.outputs["stress"]
        assert float(row["constraints.strength[1]"]) == e.constraints["strength[1]"]
        assert float(row["objective"]) == e.objective
        assert row["outputs.mesh"] == "fine"
    assert "outputs.stress" not in rows[0]


def test_failed_calls_have_empty_cells() -> None:
    model = archeng.Model("z")
    model.variable("x", lower=-1, upper=1)
    z = model.output("z", shape=2)
    model.minimize(z[0] + z[1])
    result = archeng.solve(
        model, lambda d: {"z": [d["x"], 1.0 if d["x"] > 0 else float("nan")]},
        max_evaluations=8, seed=1,
    )  # fmt: skip
    table = result.to_pandas()
    assert {"outputs.z[0]", "outputs.z[1]"} <= set(table.columns)
    assert table["outputs.z[1]"].isna().tolist() == [not e.good for e in result.evaluations]


def test_data_for_scripts(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("export", run, "--json") == 0
    calls = json.loads(capsys.readouterr().out)
    assert calls[0]["parameters"] == {"load": 12e3, "angles": [0.0, 30.0]}
    assert len(calls[0]["outputs"]["stress"]) == 2
    assert command("status", run, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["parameters"] == {"load": 12e3, "angles": [0.0, 30.0]}
    assert data["objective_name"] == "mass"
    assert set(data["best"]["declared_outputs"]) == {"stress[0]", "stress[1]"}
    assert set(data["violated_calls"]) == {"strength[0]", "strength[1]"}
    assert data["violated_calls"]["strength[1]"] > 0


def test_status_in_words(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("status", run) == 0
    shown = capsys.readouterr().out
    assert "parameter load = 12000.0\n" in shown
    assert "best objective (mass): " in shown
    assert " (output)\n" in shown


def test_compare_tells_parameters_outputs_and_rows(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run.with_name("heavy.db")
    typed = ("--parameter", "load=15e3", "--journal", other)
    assert command("run", run.parent, "--quiet", *typed) == 0
    capsys.readouterr()
    assert command("compare", run, other) == 0
    shown = capsys.readouterr().out
    assert "model: parameter 'load', values: [12000.0] became [15000.0]" in shown
    assert "simulated: strength[1] <= 240" in shown
    outputs = shown[shown.index("\noutput ") :]
    best = archeng.read_journal(run).outputs["stress"]
    assert f"{best[0]:.8g}" in outputs
