"""Programs get discrete values as the engineer wrote them, and attributes of rows."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from discrete_models import design, frame

from archeng import CommandSimulator, Model, read_json, read_regex
from archeng.errors import SettingsError
from archeng.simulator import CallStatus, call

ECHO = {"read": read_regex(r"(\S+)"), "keep": "none"}
WRITE_BACK = "import sys; print(open(sys.argv[1]).read() + '|'.join(sys.argv[2:]))"


def answered(field: str, **values: Any) -> Any:
    """What a program finds in its input file and in its argument."""
    simulator = CommandSimulator(
        [sys.executable, "-S", "-c", WRITE_BACK, "{input}", field],
        templates={"in.txt": f"{field}\n"},
        read=lambda folder, text: 1.0,
        outputs={"said": lambda folder, text: text.splitlines()},
    )
    made = design(frame(), **values)
    simulator.check_variables(made.variables)
    return simulator(made).outputs["said"]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("{{bolts}}", "12"),
        ("{{bolts:05d}}", "00012"),
        ("{{bolts:.1f}}", "12.0"),
        ("{{stiffener}}", "1"),
        ("{{plate}}", "8"),
        ("{{plate:.2f}}", "8.00"),
        ("{{material}}", "AlMg3"),
        ("{{material[E]}}", "70.0"),
        ("{{ material[rho]:.1f}}", "2.7"),
        ("{{sections[0]}}", "IPE 100"),
        ("{{sections[1]:>9}}", "  IPE 120"),
        ("{{sections[1][area]}}", "13.2"),
        ("{{height}}", "1.25"),
    ],
)
def test_fields(field: str, text: str) -> None:
    assert answered(field) == [text, text]


def test_numbers_of_a_list_are_as_they_were_written() -> None:
    assert answered("{{plate}}", plate=6.5) == ["6.5", "6.5"]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{sections}}", "unknown variables"),
        ("{{sections[2]}}", "unknown variables"),
        ("{{sections[0][colour]}}", r"'sections\[0\]\[area\]'"),
        ("{{material:.3f}}", "wrong format"),
        ("{{bolts:s}}", "wrong format"),
    ],
)
def test_mistakes_are_found_before_any_call(template: str, words: str) -> None:
    simulator = CommandSimulator(["solver", "{input}"], templates={"in": template + "\n"}, **ECHO)
    with pytest.raises(SettingsError, match=words):
        simulator.check_variables(frame().variables)


def test_an_empty_cell_in_a_later_row_is_found_before_any_call() -> None:
    model = Model("m")
    model.category("pump", {"A": {"power": 3.5}, "B": {"power": "on request"}})
    simulator = CommandSimulator(
        ["solver", "{input}"], templates={"in": "{{pump[power]:.1f}}"}, **ECHO
    )
    with pytest.raises(SettingsError, match="wrong format"):
        simulator.check_variables(model.variables)


def test_json_input_through_the_design() -> None:
    """A Python simulator that writes JSON: values are plain numbers and texts."""
    made = design(frame())
    text = json.dumps({name: list(v) if hasattr(v, "tolist") else v for name, v in made.items()})
    assert json.loads(text) == {
        "bolts": 12,
        "stiffener": 1,
        "plate": 8,
        "material": "AlMg3",
        "sections": ["IPE 100", "IPE 120"],
        "height": 1.25,
    }


def test_a_call_with_names_ends_well() -> None:
    simulator = CommandSimulator(
        [sys.executable, "-S", "-c", "import shutil; shutil.copy('in.json', 'out.json')"],
        templates={"in.json": '{"f": {{sections[0][mass]}}, "section": "{{sections[0]}}"}'},
        read=read_json("f", file="out.json"),
        outputs={"section": lambda folder, text: (folder / "out.json").read_text()},
    )
    outcome = call(simulator, design(frame()))
    assert outcome.status is CallStatus.OK, outcome.message
    assert outcome.objective == 8.1
    assert "IPE 100" in outcome.outputs["section"]
