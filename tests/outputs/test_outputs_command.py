"""`CommandSimulator` with parameters in its templates, and readers of declared outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outputs_helpers import NONE, beam, bend

import archeng
from archeng import CommandSimulator, Model, read_json, read_regex
from archeng.errors import SettingsError
from archeng.model import compile_model
from archeng.simulator import CallStatus, Design, call

PROGRAM = """
import json, sys
given = dict(line.split(" = ") for line in open(sys.argv[1]))
width, height, first, second = (float(given[name]) for name in ("b", "h", "F1", "F2"))
stress = [6 * load * 2.0 / (width * height**2) for load in (first, second)]
json.dump({"stress": stress, "share": 0.5}, open("out.json", "w"))
print("deflection =", repr(4 * second * 8.0 / (210e9 * width * height**3)))
"""
INPUT = "b = {{width}}\nh = {{Höhe}}\nF1 = {{loads[0]}}\nF2 = {{loads[1]}}\n"
OUTPUTS = {
    "stress": read_json("stress", "out.json"),
    "deflection": read_regex(r"deflection = (\S+)"),
}


def program(folder: Path, template: str = INPUT, **options: Any) -> CommandSimulator:
    (folder / "program.py").write_text(PROGRAM)
    return CommandSimulator(
        [sys.executable, "-S", "-E", folder / "program.py", "{input}"],
        templates={"beam.inp": template},
        directory=folder / "calls",
        **{"outputs": OUTPUTS, **options},
    )


def design(**values: Any) -> Design:
    fs = compile_model(beam(**values))
    return Design(fs.variables, np.array([0.1, 0.2]), fs.parameters)


def test_parameters_stand_in_templates_like_variables(tmp_path: Path) -> None:
    for values in ({}, {"loads": [1e3, 2e3]}):
        outcome = call(program(tmp_path), design(**values))
        assert outcome.status is CallStatus.OK, outcome.message
        expected = bend(design(**values))
        assert outcome.outputs["stress"] == pytest.approx(expected["stress"].tolist(), rel=1e-14)
        assert outcome.outputs["deflection"] == pytest.approx(expected["deflection"], rel=1e-14)
        assert np.isnan(outcome.objective)


@pytest.mark.parametrize(
    ("template", "read"),
    [
        (INPUT, ("loads",)),
        (INPUT + "R = {{strength:.3e}}\n", ("loads", "strength")),
        (INPUT.replace("{{loads[0]}}", "1").replace("{{loads[1]}}", "2"), ()),
    ],
)
def test_only_parameters_that_a_template_names_count_as_read(
    template: str, read: tuple[str, ...], tmp_path: Path
) -> None:
    assert call(program(tmp_path, template), design()).parameters_read == read


def test_a_parameter_stands_in_the_command(tmp_path: Path) -> None:
    words = CommandSimulator(
        [sys.executable, "-c", "print({{strength:.1f}} / 4)"],
        outputs={"z": read_regex(r"(\S+)")},
    )
    outcome = call(words, design())
    assert (outcome.outputs, outcome.parameters_read) == ({"z": 40e6}, ("strength",))


def test_a_run_is_that_of_the_same_function(tmp_path: Path) -> None:
    options: Any = {"settings": NONE, "seed": 2, "max_evaluations": 12}
    one = archeng.solve(beam(), bend, **options)
    two = archeng.solve(beam(), program(tmp_path), **options)
    assert {e.status for e in two.evaluations} == {"ok"}
    assert two.fun == pytest.approx(one.fun, rel=1e-9)
    assert two.n_infeasible_calls == 0


def plain() -> Model:
    model = Model("plain")
    model.variable("width", lower=0, upper=1)
    return model


REFUSED = [
    (beam, {"template": "{{width}} {{lods[0]}}"}, r"beam.inp: unknown variables or parameters"),
    (beam, {"template": "{{loads}}"}, r"unknown .* \['loads'\]; there are .*loads\[0\]"),
    (beam, {"outputs": {"stress": read_json()}}, r"no readers of \['deflection'\]"),
    (beam, {"read": read_json()}, r"read: the objective of model 'beam' is a formula"),
    (plain, {"template": "{{width}}"}, r"read is missing: the objective of model 'plain'"),
]


@pytest.mark.parametrize(("model", "options", "message"), REFUSED)
def test_what_does_not_fit_the_model_is_refused_before_any_call(
    model: Any, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=message):
        archeng.solve(model(), program(tmp_path, **options), max_evaluations=3)
    assert not (tmp_path / "calls").exists()


def test_without_any_reader_there_is_nothing_to_learn() -> None:
    with pytest.raises(SettingsError, match=r"read, which gets the objective .* is missing"):
        CommandSimulator(["true"])
