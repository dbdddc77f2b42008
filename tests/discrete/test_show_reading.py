"""Discrete values that are read: starts, study files, designs of earlier runs, damaged journals."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from discrete_models import (
    DESIGNS,
    MATERIALS,
    SECTIONS,
    design,
    frame,
    simulated_frame,
    swinging,
    table_rows,
    weight,
    write_sections,
)

import archeng
from archeng import Design, Model, Settings
from archeng.cli import main
from archeng.errors import JournalError, SettingsError
from archeng.model import compile_model
from archeng.outcomes import Limits
from archeng.runner import read_journal
from archeng.runner.lessons import learn
from archeng.runner.stored import check_designs

PLAIN = Settings(surrogate="none")
START = {**DESIGNS[0], "stiffener": 1, "height": 1.25}


def run(model: Model, **options: Any) -> archeng.Result:
    return archeng.solve(model, weight, **{"seed": 3, **options})


# -- starts ------------------------------------------------------------------------------------


def test_a_start_by_names_is_the_first_design() -> None:
    result = run(frame(), start=START, max_evaluations=1)
    first = Design(result.variables, result.evaluations[0].x)
    assert first.x.tolist() == design(frame()).x.tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"plate": 7}, r"plate.*one of 4, 5, 6.5, 8, got 7\. The nearest: 6.5 and 8\."),
        ({"plate": 3}, r"The nearest: 4\."),
        ({"bolts": 8.5}, r"bolts.*a whole number, got 8.5"),
        ({"bolts": "eight"}, r"bolts.*a whole number, got 'eight'"),
        ({"stiffener": 2}, r"stiffener.*0 or 1, got 2"),
        ({"material": "S356"}, r"no row is called 'S356'.*mean 'S355'"),
        ({"sections": ["IPE 100", 7]}, r"sections\[1\].*one of 'IPE 80'.*got 7"),
        ({"sections": "IPE 100"}, r"shape \(2,\)"),
    ],
)
def test_a_wrong_start_is_refused_with_what_is_allowed(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=f"start: .*{words}"):
        run(frame(), start={**START, **wrong}, max_evaluations=1)


# -- studies -----------------------------------------------------------------------------------

MODEL = """\
from pathlib import Path

import archeng

model = archeng.Model("frame")
bolts = model.integer("bolts", lower=4, upper=16)
material = model.category("material", {"S355": {"rho": 7.85}, "AlMg3": {"rho": 2.66}})
section = model.catalogue("section", Path(__file__).parent / "sections.csv")
model.subject_to(section["area"] * bolts >= 100, name="strength")
"""
SIMULATOR = """\
def simulator(design):
    return design["section"]["mass"] * design["material"]["rho"] + 0.3 * design["bolts"]
"""
TOML = """\
[run]
max_evaluations = 8
seed = 1

[start]
bolts = 12
material = "S355"
section = "IPE 120"
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose catalogue is a file, in the present folder."""
    write_sections(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "simulator.py").write_text(SIMULATOR)
    (tmp_path / "study.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_study_from_the_command_line(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--quiet", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    names = result["design"]
    assert type(names["bolts"]) is int
    assert names["material"] in MATERIALS
    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert f"  section = {names['section']}\n" in shown
    assert f"  bolts = {names['bolts']}\n" in shown
    assert main(["export", "--output", "calls.csv"]) == 0
    with open("calls.csv", newline="") as stream:
        calls = list(csv.DictReader(stream))
    assert [calls[0][name] for name in ("bolts", "material", "section")] == [
        "12", "S355", "IPE 120",
    ]  # fmt: skip
    assert {row["section"] for row in calls} <= {"IPE 80", "IPE 100", "IPE 120", "IPE 140"}
    capsys.readouterr()
    assert main(["export", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["design"] == {
        "bolts": 12, "material": "S355", "section": "IPE 120",
    }  # fmt: skip
    assert main(["compare", ".", "."]) == 0
    table = capsys.readouterr().out.split("best design")[-1]
    assert names["section"] in table
    assert main(["report"]) == 0
    assert "catalogue of 4 rows" in (study / "run.html").read_text(encoding="utf-8")


def test_a_changed_catalogue_is_refused_by_name(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--quiet"]) == 0
    write_sections(study, SECTIONS.replace("10.4", "10.5"))
    assert main(["resume", "--quiet", "--max-evaluations", "12"]) == 2
    said = capsys.readouterr().err
    assert "row 'IPE 120' of section: mass 10.4 became 10.5" in said


def test_compare_names_what_changed_in_the_catalogue(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--quiet"]) == 0
    write_sections(study, SECTIONS + "IPE 160,20.1,15.8\n")
    assert main(["run", "--quiet", "--journal", "more.db"]) == 0
    capsys.readouterr()
    assert main(["compare", "run.db", "more.db"]) == 0
    assert "model: row 'IPE 160' of section is new" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"IPE 120"', '"IPE 121"', "Did you mean 'IPE 120'?"),
        ("bolts = 12", "bolts = 12.5", "a whole number, got 12.5"),
        ("bolts = 12\n", "", "missing ['bolts']"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_wrong_start_in_a_study_file(
    old: str, new: str, words: str, verb: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "study.toml").write_text(TOML.replace(old, new))
    assert main([verb]) == 2
    said = capsys.readouterr().err
    assert "start: " in said
    assert words in said
    assert not (study / "run.db").exists()


# -- calls of earlier runs ---------------------------------------------------------------------


class Counting:
    """A simulator that knows its designs."""

    def __init__(self) -> None:
        self.designs: list[Design] = []

    def __call__(self, design: Design) -> float:
        self.designs.append(design)
        return weight(design)


def again(model: Model, journal: Path, **options: Any) -> tuple[archeng.Result, Counting]:
    simulator = Counting()
    result = archeng.solve(model, simulator, seed=3, start=START, reuse=[journal], **options)
    return result, simulator


def test_calls_are_reused_by_the_names_of_their_rows(tmp_path: Path) -> None:
    run(frame(), start=START, max_evaluations=1, journal=tmp_path / "old.db")
    for table in (SECTIONS, SECTIONS + "IPE 90,9.0,7.0\n"):
        result, simulator = again(frame(table_rows(table)), tmp_path / "old.db", max_evaluations=2)
        first = result.evaluations[0]
        assert first.status == "reused"
        assert Design(result.variables, first.x)["sections"].tolist() == ["IPE 100", "IPE 120"]
        assert len(simulator.designs) == 2


def test_a_call_with_a_changed_row_is_made_again(tmp_path: Path) -> None:
    run(frame(), start=START, max_evaluations=1, journal=tmp_path / "old.db")
    changed = frame(table_rows(SECTIONS.replace("10.4", "10.5")))
    result, simulator = again(changed, tmp_path / "old.db", max_evaluations=2)
    assert {e.status for e in result.evaluations} == {"ok"}
    assert simulator.designs[0]["sections"][1]["mass"] == 10.5


def test_a_row_number_is_never_taken_for_another_row(tmp_path: Path) -> None:
    """The first row is gone: the old vector stands for other sections now."""
    first = run(frame(), start=START, max_evaluations=1, journal=tmp_path / "old.db")
    fewer = frame(table_rows(SECTIONS.replace("IPE 80,7.64,6.0\n", "")))
    start = {**START, "sections": ["IPE 120", "IPE 140"]}
    assert fewer.flat(start).tobytes() == first.evaluations[0].x.tobytes()
    result = run(fewer, start=start, max_evaluations=2, reuse=[tmp_path / "old.db"])
    assert result.evaluations[0].x.tobytes() == first.evaluations[0].x.tobytes()
    assert result.evaluations[0].status == "ok"
    assert result.evaluations[0].objective > first.evaluations[0].objective


def test_another_kind_of_variable_is_refused(tmp_path: Path) -> None:
    run(frame(), max_evaluations=2, journal=tmp_path / "old.db")
    other = Model("frame")
    for v in frame().variables:
        other.variable(v.name, lower=0, upper=20, shape=v.shape)
    with pytest.raises(JournalError, match=r"'material' was category of 2 rows and is real now"):
        archeng.solve(other, bowl, seed=1, reuse=[tmp_path / "old.db"], max_evaluations=2)


def bowl(design: Design) -> float:
    return float(design.x @ design.x)


def test_outputs_of_a_run_with_another_table_teach_by_names(tmp_path: Path) -> None:
    first = archeng.solve(
        simulated_frame(), swinging, seed=1, max_evaluations=12, settings=PLAIN,
        journal=tmp_path / "old.db",
    )  # fmt: skip
    other = Model("simulated frame")
    bolts = other.integer("bolts", lower=4, upper=16)
    other.category("material", dict(reversed(MATERIALS.items())))
    section = other.catalogue("section", table_rows(SECTIONS + "IPE 90,9.0,7.0\n"))
    other.variable("height", lower=0.5, upper=2.0)
    frequency = other.output("frequency")
    other.subject_to(frequency >= 4.0, name="frequency")
    other.minimize(section["mass"] + bolts, name="weight")
    for source in (tmp_path / "old.db", first):
        fs = compile_model(other)
        lessons = learn(
            [source], {}, fs, Limits(("frequency",), np.array([4.0]), np.array([np.inf])), 1.0
        ).lessons
        assert lessons is not None
        assert len(lessons.points) == 12
        for point, outputs in zip(lessons.points, lessons.outputs, strict=True):
            assert swinging(Design(other.variables, point))["frequency"] == outputs[0]


# -- journals ----------------------------------------------------------------------------------


def test_a_journal_tells_the_same_result(tmp_path: Path) -> None:
    result = run(frame(), max_evaluations=20, journal=tmp_path / "run.db")
    read = read_journal(tmp_path / "run.db")
    assert read.design == result.design
    assert str(read) == str(result)
    assert read.to_pandas()["material"].tolist() == result.to_pandas()["material"].tolist()


def test_a_stored_design_that_is_none_of_the_values_is_refused(tmp_path: Path) -> None:
    run(frame(), max_evaluations=5, journal=tmp_path / "run.db")
    call = read_journal(tmp_path / "run.db").evaluations[0]
    check_designs(tmp_path / "run.db", compile_model(frame()), [call])
    off = np.array(call.x)
    off[0] += 0.5
    with pytest.raises(JournalError, match="a design that the model does not allow"):
        check_designs(tmp_path / "run.db", compile_model(frame()), [replace(call, x=off)])


# -- asked and told, and swept -----------------------------------------------------------------


def test_candidates_are_asked_for_by_names() -> None:
    with_names = archeng.Run(frame(), seed=1, max_evaluations=6, settings=PLAIN)
    while not with_names.stopped:
        candidates = with_names.ask()
        designs = [c.design for c in candidates if c.design is not None]
        assert all(d["material"] in MATERIALS and type(d["bolts"]) is int for d in designs)
        with_names.tell([None if c.design is None else weight(c.design) for c in candidates])
    assert with_names.result().fun == run(frame(), seed=1, max_evaluations=6, settings=PLAIN).fun


def test_a_sweep_as_a_table_has_names() -> None:
    model = Model("m")
    material = model.category("material", MATERIALS)
    bolts = model.integer("bolts", lower=4, upper=8)
    price = model.parameter("price", 1.0)
    model.minimize(material["rho"] * price + bolts)
    table = archeng.sweep(
        model, parameters={"price": [1.0, 2.0]}, seed=1, max_evaluations=6
    ).to_pandas()
    assert table["material"].tolist() == ["AlMg3", "AlMg3"]
    assert table["bolts"].tolist() == [4, 4]
    assert table["bolts"].dtype.kind == "i"
