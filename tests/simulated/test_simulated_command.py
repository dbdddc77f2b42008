"""`CommandSimulator` with readers of constraints and outputs, and a real program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_helpers import DISC, NONE, disc, plane

import archeng
from archeng import CommandSimulator, Design, Evaluation, read_json, read_regex
from archeng.errors import SettingsError
from archeng.model import compile_model
from archeng.simulator import CallStatus, call

PROGRAM = """
import json, sys
x, y = (float(line.split("=")[1]) for line in open(sys.argv[1]))
print("size =", repr(x * x + y * y))
if x > 0 and "--quiet" in sys.argv:
    raise SystemExit
json.dump({"objective": (x - 3) ** 2 + (y - 2) ** 2, "loads": [x, y]}, open("out.json", "w"))
open("log.txt", "w").write("converged")
"""


def word(folder: Path, output: str) -> str:
    return (folder / "log.txt").read_text()


def loads(folder: Path, output: str) -> Any:
    return json.loads((folder / "out.json").read_text())["loads"]


def program(folder: Path, *options: str, **readers: Any) -> CommandSimulator:
    (folder / "program.py").write_text(PROGRAM)
    chosen = {
        "read": read_json("objective", "out.json"),
        "constraints": {"size": read_regex(r"size = (\S+)")},
        "outputs": {"first": read_json("loads.0", "out.json"), "log": word, "loads": loads},
        **readers,
    }
    return CommandSimulator(
        [sys.executable, "-S", "-E", folder / "program.py", "{input}", *options],
        templates={"in.txt": "x = {{x[0]}}\ny = {{x[1]}}\n"},
        directory=folder / "calls",
        **chosen,
    )


def design_of(*x: float) -> Design:
    return Design(compile_model(plane()).variables, np.array(x))


def test_readers_make_an_evaluation(tmp_path: Path) -> None:
    answer = program(tmp_path)(design_of(0.5, -1.25))
    expected = disc(design_of(0.5, -1.25))
    outputs = {"first": 0.5, "log": "converged", "loads": [0.5, -1.25]}
    assert answer == Evaluation(expected.objective, expected.constraints, outputs)
    assert list((tmp_path / "calls").iterdir()) == []


def test_without_such_readers_it_is_a_number(tmp_path: Path) -> None:
    answer = program(tmp_path, constraints=None, outputs={})(design_of(0.5, -1.25))
    assert answer == disc(design_of(0.5, -1.25)).objective
    assert isinstance(answer, float)


def test_a_run_is_that_of_the_same_function(tmp_path: Path) -> None:
    options: Any = {"simulated": DISC, "settings": NONE, "seed": 2, "max_evaluations": 12}
    one = archeng.solve(plane(), disc, **options)
    two = archeng.solve(plane(), program(tmp_path), **options)
    for a, b in zip(one.evaluations, two.evaluations, strict=True):
        assert a.x.tobytes() == b.x.tobytes()
        assert b.constraints == pytest.approx(a.constraints, rel=1e-15)
        assert b.outputs["loads"] == b.x.tolist()
    assert two.outputs["log"] == "converged"


def test_an_answer_that_cannot_be_read_is_a_failed_call(tmp_path: Path) -> None:
    outcome = call(program(tmp_path, "--quiet"), design_of(0.5, 1.0))
    assert outcome.status is CallStatus.FAILED
    assert "out.json" in outcome.message
    strange = program(tmp_path, constraints={"size": read_regex(r"weight = (\S+)")})
    outcome = call(strange, design_of(0.5, 1.0))
    assert outcome.status is CallStatus.FAILED
    assert "weight" in outcome.message


@pytest.mark.parametrize("option", ["constraints", "outputs"])
@pytest.mark.parametrize("readers", [3, ["size"], {"size": "size = (.*)"}, read_json()])
def test_what_is_no_reader_is_refused(option: str, readers: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=option):
        program(tmp_path, **{option: readers})
