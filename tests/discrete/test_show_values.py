"""Discrete values wherever a model, a design or a run is shown: as the engineer wrote them."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.text
import numpy as np
import pytest
from discrete_models import DESIGNS, design, frame, hand_made, without_design

from archeng import Design, Model, Result
from archeng.cli.output import by_name, plain, result_data
from archeng.errors import GateError, ModelError, ResultFileError
from archeng.model import compile_model
from archeng.sampling.designs import Designs
from archeng.simulator.design import Gate

BY_NAME = {
    "bolts": 12,
    "stiffener": 1,
    "plate": 8,
    "material": "AlMg3",
    "sections[0]": "IPE 100",
    "sections[1]": "IPE 120",
    "height": 1.25,
}


def cells(text: str, first: str) -> list[str]:
    """Words of the line of a table that begins with a word; names of sections as one word."""
    (line,) = [t for t in text.replace("IPE ", "IPE_").splitlines() if t.startswith(first + " ")]
    return line.replace(" rows", "_rows").replace(" of ", "_of_").split()


# -- the model ---------------------------------------------------------------------------------


def test_the_table_of_a_model_has_kinds_and_names() -> None:
    text = str(frame())
    assert cells(text, "variable") == ["variable", "kind", "lower", "upper", "start", "unit"]
    assert cells(text, "bolts") == ["bolts", "integer", "4", "16", "-", "-"]
    assert cells(text, "stiffener")[1:5] == ["binary", "0", "1", "1"]
    assert cells(text, "plate") == ["plate", "choice_of_4", "4", "8", "-", "mm"]
    assert cells(text, "material")[1:5] == ["category_of_2_rows", "-", "-", "-"]
    assert cells(text, "sections[1]")[1:5] == [
        "catalogue_of_4_rows",
        "IPE_80",
        "IPE_140",
        "IPE_140",
    ]
    assert cells(text, "height") == ["height", "real", "0.5", "2", "-", "m"]


def test_the_table_of_a_real_model_has_no_kinds() -> None:
    model = Model("plain")
    model.variable("x", lower=0, upper=1, unit="m")
    assert str(model).splitlines()[2].split() == ["variable", "lower", "upper", "start", "unit"]


# -- violations, and the gate ------------------------------------------------------------------


def test_violations_show_names_and_say_what_is_no_value() -> None:
    model = frame()
    text = str(model.violations({**design(model), "bolts": 8.5, "plate": 7}))
    said = {line.split("  ")[0].strip(): line for line in text.splitlines()[2:]}
    assert "AlMg3" in said["bounds of material"]
    assert "IPE 120" in said["bounds of sections[1]"]
    assert said["bounds of bolts"].endswith("not a value of this variable")
    assert said["bounds of plate"].endswith("not a value of this variable")
    assert said["bounds of sections[0]"].endswith("ok")


def test_a_value_outside_its_bounds_says_how_far() -> None:
    table = frame().violations({**design(frame()), "bolts": 20})
    assert table["bounds of bolts"].violation == 4
    assert "not a value" not in str(table)


@pytest.mark.parametrize(
    ("position", "value", "words"),
    [
        (0, 8.5, ["bolts = 8.5", "a whole number"]),
        (1, 0.5, ["stiffener = 0.5", "0 or 1"]),
        (2, 7.0, ["plate = 7.0", "one of 4, 5, 6.5, 8"]),
        (3, 0.2, ["material = 0.2", "'S355', 'AlMg3'"]),
        (5, 1.5, ["sections[1] = 1.5", "'IPE 80', 'IPE 100'"]),
    ],
)
@pytest.mark.parametrize("open_to_all", [False, True])
def test_the_gate_keeps_out_what_is_no_value_for_every_handler(
    position: int, value: float, words: list[str], open_to_all: bool
) -> None:
    model = frame()
    gate, x = Gate(compile_model(model), open_to_all), np.array(design(model).x)
    assert gate.check(x) == 0
    x[position] = value
    with pytest.raises(GateError) as caught:
        gate.check(x)
    assert all(word in str(caught.value) for word in words)


def test_the_gate_names_the_rows_of_a_design_that_violates_a_constraint() -> None:
    model = frame()
    with pytest.raises(GateError, match=r"bolts=4.*'AlMg3'.*'IPE 80'.*violates strength"):
        Gate(compile_model(model)).check(design(model, bolts=4, sections=["IPE 80", "IPE 120"]).x)


def test_names_that_are_wrong_get_the_nearest_ones() -> None:
    model = frame()
    with pytest.raises(ModelError, match=r"no row is called 'ipe120'.*Did you mean 'IPE 120'\?"):
        model.flat({**design(model), "sections": ["ipe120", "IPE 80"]})
    with pytest.raises(ModelError, match=r"'material'.*'S356'.*'S355', 'AlMg3'.*mean 'S355'\?"):
        model.flat({**design(model), "material": "S356"})
    with pytest.raises(ModelError, match=r"'bolts': expected a whole number, got 'many'"):
        model.flat({**design(model), "bolts": "many"})


# -- the result --------------------------------------------------------------------------------


def test_print_of_a_result() -> None:
    text = str(hand_made())
    assert cells(text, "bolts") == ["bolts", "12", "-", "4", "16"]
    assert cells(text, "plate") == ["plate", "8", "mm", "4", "8"]
    assert cells(text, "material") == ["material", "AlMg3", "-", "-", "-"]
    assert cells(text, "sections[0]") == ["sections[0]", "IPE_100", "-", "IPE_80", "IPE_140"]
    assert "12.0" not in text


def test_the_last_of_things_without_an_order_blocks_nothing() -> None:
    result = hand_made()
    assert result.design["material"] == "AlMg3"  # the last row
    assert "bounds of plate" in result.active
    assert "bounds of material" not in result.active


def test_an_active_bound_is_shown_by_its_name() -> None:
    best = {**DESIGNS[0], "sections": ["IPE 140", "IPE 120"]}
    (line,) = [t for t in str(hand_made(given=[best])).splitlines() if "of sections[0]" in t]
    assert re.split(r"  +", line)[:4] == ["bounds of sections[0]", "IPE 140", "<= IPE 140", "bound"]


def test_a_result_without_a_design_is_shown() -> None:
    result = without_design(frame())
    assert cells(str(result), "material") == ["material", "-", "-", "-", "-"]
    assert np.isnan(result.design["bolts"])


def test_x_is_flat_and_the_design_has_names() -> None:
    result = hand_made()
    assert result.x.tolist() == [12.0, 1.0, 8.0, 1.0, 1.0, 2.0, 1.25]
    assert result.design["bolts"] == 12
    assert type(result.design["bolts"]) is int
    assert result.design["sections"][1]["area"] == 13.2
    assert [v.written for v in result.variables_at_best] == list(BY_NAME.values())


def test_a_frame_of_calls_has_names_and_whole_numbers() -> None:
    table = hand_made().to_pandas()
    assert table["bolts"].tolist() == [12, 8, 9]
    assert table["bolts"].dtype.kind == "i"
    assert table["plate"].tolist() == [8, 5, 6.5]
    assert table["material"].tolist() == ["AlMg3", "S355", "S355"]
    assert (table["sections[0]"] == "IPE 140").tolist() == [False, True, True]
    assert {type(v) for v in table["sections[0]"]} == {str}


def test_a_result_file_keeps_tables_and_is_readable_by_others(tmp_path: Path) -> None:
    result = hand_made()
    result.save(tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text())
    assert data["design"] == BY_NAME
    again = Result.load(tmp_path / "result.json")
    assert again.design == result.design
    assert again.design["sections"][0].attributes == {"area": 10.3, "mass": 8.1}
    assert type(again.design["plate"]) is int
    assert str(again) == str(result)


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        (2, {"domain": "choice", "choices": [8, 5]}),
        (2, {"domain": "choice"}),
        (3, {"domain": "category", "table": {"names": ["a", "a"], "columns": {}}}),
        (3, {"domain": "category", "table": {"names": ["a"], "columns": {"E": [1, 2]}}}),
        (3, {"domain": "category", "table": {"names": ["a"], "columns": None}}),
        (3, {"domain": "category", "table": ["a"]}),
        (3, {"domain": "nonsense"}),
        (3, "NONSENSE"),
        (3, ["REAL"]),
        (3, None),
        (3, {"domain": "catalogue"}),
    ],
)
def test_a_damaged_table_in_a_result_file_is_refused(
    variable: int, wrong: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    hand_made().save(path)
    data = json.loads(path.read_text())
    data["variables"][variable]["domain"] = wrong
    path.write_text(json.dumps(data))
    with pytest.raises(ResultFileError, match="damaged"):
        Result.load(path)


def test_files_of_real_models_are_as_they_were(tmp_path: Path) -> None:
    real = tuple(v for v in frame().variables if v.name == "height")
    other = {"variables": real, "x": np.array([1.25]), "evaluations": (), "rows": ()}
    replace(hand_made(), **other).save(tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text())
    assert data["variables"][0]["domain"] == "REAL"
    assert "design" not in data


def test_json_of_commands() -> None:
    result = hand_made()
    data = json.loads(json.dumps(plain(result_data(result))))
    assert data["design"] == BY_NAME
    assert type(data["design"]["bolts"]) is int
    assert by_name(result, result.evaluations[1].x)["sections[0]"] == "IPE 140"


# -- samples -----------------------------------------------------------------------------------


def test_tables_of_designs(tmp_path: Path) -> None:
    model = frame()
    designs = Designs([design(model, **values) for values in DESIGNS])
    designs.to_csv(tmp_path / "designs.csv")
    with (tmp_path / "designs.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert written[0] == {
        "bolts": "12", "stiffener": "1", "plate": "8", "material": "AlMg3",
        "sections[0]": "IPE 100", "sections[1]": "IPE 120", "height": "1.25",
    }  # fmt: skip
    table = designs.to_pandas()
    assert table["sections[1]"].tolist() == ["IPE 120", "IPE 80", "IPE 120"]
    assert table["bolts"].dtype.kind == "i"
    rows = table.to_dict("records")
    for row in rows:
        row["sections"] = [row.pop("sections[0]"), row.pop("sections[1]")]
    assert [model.flat(row).tolist() for row in rows] == designs.x.tolist()


def test_a_name_that_spreadsheets_take_for_a_formula(tmp_path: Path) -> None:
    model = Model("pumps")
    model.category("pump", ["=1+1", "B2"])
    Designs([Design(model.variables, np.zeros(1))]).to_csv(tmp_path / "designs.csv")
    assert (tmp_path / "designs.csv").read_text().splitlines()[1] == "'=1+1"


# -- reports and figures -----------------------------------------------------------------------


def test_a_report_has_names(tmp_path: Path) -> None:
    hand_made().report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "catalogue of 4 rows" in page
    assert "IPE 140" in page
    best = page.split("best designs")[-1].split("</table>")[0]
    assert "AlMg3" in best
    assert "IPE 100" in best
    assert "6.5" in best


def drawn(figure: Any) -> list[str]:
    """All texts of a figure."""
    figure.canvas.draw()
    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


@pytest.mark.filterwarnings("ignore:Attempting to set identical")
def test_figures_name_the_rows() -> None:
    result = hand_made()
    variables = drawn(result.plot("variables"))
    assert {"AlMg3", "S355", "IPE 80", "IPE 140", "6.5"} <= set(variables)
    parallel = [text.strip() for text in drawn(result.plot("parallel"))]
    assert {"AlMg3", "S355", "IPE 80", "IPE 120", "IPE 140"} <= set(parallel)


def test_of_a_long_catalogue_some_rows_are_named() -> None:
    model = Model("long")
    model.catalogue("pipe", [{"name": f"P{k:03d}", "d": float(k)} for k in range(200)])
    made = hand_made()
    calls = tuple(
        replace(e, x=np.array([x]))
        for e, x in zip(made.evaluations, (0.0, 60.0, 199.0), strict=True)
    )
    other = {"variables": model.variables, "x": calls[0].x, "evaluations": calls, "rows": ()}
    shown = drawn(replace(made, **other).plot("variables"))
    ticks = {text for text in shown if text.startswith("P")}
    assert 2 <= len(ticks) <= 9
    assert "P000" in ticks
