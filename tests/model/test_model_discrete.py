"""Declaring integers, binaries, choices, categories and catalogues: what comes out, what fails."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pandas as pd
import pytest

from archeng import Model
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import compile_model, differences, from_data, to_data
from archeng.model.domain import INTEGER, Domain, Kind, choice_domain
from archeng.model.parts_table import Item, read_table

STEELS = {"S355": {"E": 210e9, "rho": 7850}, "AlMg3": {"E": 70e9, "rho": 2660}}
PARTS = [
    {"name": "IPE 200", "area": 28.5, "note": "usual"},
    {"name": "IPE 80", "area": 7.64, "note": "thin"},
    {"name": "IPE 120", "area": 13.2, "note": ""},
]


def levels(model: Model) -> list[list[float]]:
    lattice = compile_model(model).lattice
    return [] if lattice is None else [each.tolist() for each in lattice.levels]


# -- values ---------------------------------------------------------------------------------------


def every_kind() -> Model:
    model = Model("all")
    model.variable("x", lower=0, upper=1)
    model.integer("bolts", lower=4, upper=16, start=8)
    model.binary("stiffener", start=1)
    model.choice("plate", [12, 4, 6.5], unit="mm", start=6.5)
    model.category("material", STEELS, start="AlMg3")
    model.catalogue("section", PARTS, start="IPE 200")
    model.integer("rows", lower=[0, 1], upper=[2, 1], shape=2)
    return model


def test_designs_have_what_the_engineer_wrote() -> None:
    model = every_kind()
    flat = np.array([0.5, 8, 1, 6.5, 1, 2, 2, 1])
    values = {}
    first = 0
    for v in model.variables:
        values[v.name] = v.reshape(flat[first : first + v.size])
        first += v.size
    assert values["bolts"] == 8
    assert type(values["bolts"]) is int
    assert values["plate"] == 6.5
    assert values["material"] == "AlMg3"
    assert values["material"]["rho"] == 2660
    assert values["section"] == "IPE 200"  # rows are ordered by the area
    assert values["section"]["area"] == 28.5
    assert values["section"]["note"] == "usual"
    assert values["rows"].dtype.kind == "i"
    np.testing.assert_array_equal(model.flat(values), flat)
    assert model.violations(values).maximum == 0


def test_names_are_found_in_designs_and_unknown_ones_are_told() -> None:
    model = every_kind()
    design = {"x": 0, "bolts": 4, "stiffener": 0, "plate": 4, "rows": [0, 1]}
    flat = model.flat({**design, "material": "S355", "section": "IPE 120"})
    assert flat.tolist() == [0, 4, 0, 4, 0, 1, 0, 1]
    with pytest.raises(ModelError, match=r"'section'.*no row is called 'IPE 100'.*'IPE 80'"):
        model.flat({**design, "material": "S355", "section": "IPE 100"})
    with pytest.raises(ModelError, match=r"'bolts': expected a whole number, got 'four'"):
        model.flat({**design, "material": "S355", "section": "IPE 80", "bolts": "four"})
    with pytest.raises(ModelError, match=r"'rows': expected shape \(2,\), got \(\)"):
        model.flat({**design, "material": "S355", "section": "IPE 80", "rows": 1})


@pytest.mark.parametrize(
    ("change", "apart"),
    [({"bolts": 4.5}, 0.5), ({"bolts": 17}, 1), ({"plate": 6}, 0.5), ({"stiffener": 0.25}, 0.25)],
)
def test_violations_name_what_is_not_a_value(change: dict[str, float], apart: float) -> None:
    model = every_kind()
    good = {"x": 0, "bolts": 4, "stiffener": 0, "plate": 4, "rows": [0, 1]}
    good |= {"material": "S355", "section": "IPE 80"}
    table = model.violations({**good, **change})
    (violated,) = table.violated()
    assert violated.name == f"bounds of {next(iter(change))}"
    assert violated.violation == pytest.approx(apart)
    x = model.flat({**good, **change})
    fs = compile_model(model)
    assert not fs.is_feasible(fs.reduce(x))
    assert fs.is_feasible(fs.reduce(model.flat(good)))


def test_tables_show_names() -> None:
    model = every_kind()
    text = str(model)
    assert "IPE 200" in text
    assert "AlMg3" in text
    good = {"x": 0, "bolts": 4, "stiffener": 0, "plate": 4, "rows": [0, 1]}
    table = str(model.violations({**good, "material": "S355", "section": "IPE 120"}))
    assert "IPE 120" in table


def test_attributes_are_exact_at_the_rows_and_linear_between() -> None:
    for symbols in ("SX", "MX"):
        model = Model(symbols=symbols)
        section = model.catalogue("section", PARTS, shape=2)
        area, chosen = section["area"], section.is_("IPE 120")
        at = ca.Function("f", [section.number], [area, chosen])
        assert at([0, 2])[0].full().reshape(-1).tolist() == [7.64, 28.5]
        assert at([1, 2])[1].full().reshape(-1).tolist() == [1, 0]
        assert at([0.5, 1])[0].full()[0, 0] == pytest.approx((7.64 + 13.2) / 2)
        assert float(ca.Function("g", [section.number], [section[1]["area"]])([0, 1])) == 13.2
        assert len(section) == len(list(section)) == 2


def test_a_row_is_no_number_in_formulas() -> None:
    model = Model()
    material = model.category("material", STEELS)
    for use in (
        lambda: 2 * material,
        lambda: material <= 1,
        lambda: -material,
        lambda: material**2,
    ):
        with pytest.raises(ModelError, match=r"'material' is a row of a table.*material\['E'\]"):
            use()
    assert ca.is_equal(material == "S355", material.is_("S355"), 10)
    with pytest.raises(ModelError, match=r"no attribute 'G'; there are \['E', 'rho'\]"):
        material["G"]
    with pytest.raises(ModelError, match=r"no row is called 'S235'"):
        material.is_("S235")
    with pytest.raises(ModelError, match=r"'note' of 'IPE 80' is 'thin', no finite number"):
        model.catalogue("section", PARTS)["note"]


def test_items_are_texts_that_can_be_sent_and_sliced() -> None:
    item = Item("IPE 80", {"area": 7.64})
    again = pickle.loads(pickle.dumps(item))
    assert again == "IPE 80"
    assert again["area"] == 7.64
    assert item[:3] == "IPE"
    with pytest.raises(KeyError, match="has no attribute 'mass'"):
        item["mass"]


# -- starts and bounds --------------------------------------------------------------------------


def test_a_start_must_be_one_of_the_values() -> None:
    model = Model()
    with pytest.raises(
        ModelError, match=r"'plate': start=5.* none of its values.*nearest one is 4"
    ):
        model.choice("plate", [4, 6.5, 12], start=5)
    with pytest.raises(ModelError, match=r"'n\[1\]': start=2.5 is none of its values"):
        model.integer("n", lower=0, upper=5, shape=2, start=[1, 2.5])
    with pytest.raises(ModelError, match=r"'n': start=7 is none of its values.*is 5"):
        model.integer("n", lower=0, upper=5, start=7)
    with pytest.raises(ModelError, match="no row is called 'S235'"):
        model.category("material", STEELS, start="S235")
    with pytest.raises(ModelError, match="expected one of 'S355', 'AlMg3', got None"):
        model.category("material", STEELS, start=[None, "S355"], shape=2)
    assert model.variables == ()


@pytest.mark.parametrize(
    ("lower", "upper", "match"),
    [
        (0.5, 3, "whole numbers"),
        (0, np.inf, "needs a lower and an upper bound"),
        (3, 1, "above upper bound"),
        (0, 1e7, "at most 100000"),
        (np.nan, 1, "must be numbers"),
        ([0, 1], 3, "shape"),
    ],
)
def test_bounds_of_integers(lower: Any, upper: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Model().integer("n", lower=lower, upper=upper)


def test_bounds_of_rows_are_merged_with_levels() -> None:
    model = Model()
    t = model.choice("plate", [4, 5, 6, 8, 10])
    n = model.integer("n", lower=0, upper=9)
    model.subject_to(t >= 4.5)
    model.subject_to(t <= 9)
    model.subject_to(n <= 3.7)
    assert levels(model) == [[5, 6, 8], [0, 1, 2, 3]]


def test_a_list_of_one_value_and_rows_that_leave_one_fix_a_variable() -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    model.choice("plate", [6])
    n = model.integer("n", lower=0, upper=9)
    model.subject_to(n >= 3.5)
    model.subject_to(n <= 4.5)
    fs = compile_model(model)
    assert fs.lattice is None
    assert fs.template.tolist() == [0, 6, 4]
    assert fs.free_names == ("x",)


def test_rows_between_two_levels_are_infeasible_at_once() -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    t = model.choice("plate", [4, 6, 8])
    model.subject_to(t >= 6.5)
    model.subject_to(t <= 7.5)
    with pytest.raises(InfeasibleModelError, match=r"'plate': none of its values.*6.5 and 7.5"):
        compile_model(model)
    model = Model()
    model.variable("x", lower=0, upper=1)
    n = model.integer("n", lower=0, upper=5)
    model.subject_to(2 * n == 3)
    with pytest.raises(InfeasibleModelError, match="'n': none of its values"):
        compile_model(model)


def test_rows_of_one_variable_narrow_its_levels() -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    n, t = model.integer("n", lower=0, upper=9), model.choice("t", [0.1, 0.2, 0.3, 0.4])
    model.subject_to(2 * n + 1 <= 12)
    model.subject_to(3 - n <= 1)
    model.subject_to(10 * t >= 2)
    assert levels(model) == [[2, 3, 4, 5], [0.2, 0.3, 0.4]]


def test_integers_get_bounds_from_linear_rows_or_are_named() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=2.5)
    n, _ = model.declare("n", domain=INTEGER, start=0, scale=1)
    m, _ = model.declare("m", domain=INTEGER, lower=0, start=0, scale=1)
    model.subject_to(2 * n + x <= 9)
    model.subject_to(n - 3 * x >= -7.5 - 0.1)
    model.subject_to(m + n <= 6)
    assert levels(model) == [list(range(-7, 5)), list(range(14))]
    model = Model()
    model.variable("x", lower=0, upper=1)
    n, _ = model.declare("n", domain=INTEGER, start=0, scale=1)
    model.subject_to(n**2 <= 10)
    with pytest.raises(ModelError, match=r"Integer 'n': needs a lower and an upper bound"):
        compile_model(model)


# -- tables -------------------------------------------------------------------------------------


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "parts.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_files_with_a_mark_comments_and_other_alphabets(tmp_path: Path, delimiter: str) -> None:
    lines = ["# паспорт", "name,площадь,kg/m", "Балка 20,28.5,22", "梁,7.64,6", "", "ä b,13.2,10"]
    text = "\r\n".join(lines).replace(",", delimiter)
    table = read_table("section", write(tmp_path, text, "utf-8-sig"))
    assert table.names == ("Балка 20", "梁", "ä b")
    assert table.columns["площадь"] == (28.5, 7.64, 13.2)
    assert table.columns["kg/m"] == (22, 6, 10)
    model = Model()
    section = model.catalogue("section", str(tmp_path / "parts.csv"), start="梁")
    assert model.variables[0].domain.table is not None
    assert model.variables[0].domain.table.names == ("梁", "ä b", "Балка 20")
    assert model.variables[0].start.tolist() == [0]
    assert section["kg/m"].numel() == 1


def test_data_frames_with_and_without_an_index() -> None:
    frame = pd.DataFrame({"part": ["b", "a"], "area": [2, 1.5]})
    for table in (frame, frame.set_index("part")):
        found = read_table("section", table)
        assert found.names == ("b", "a")
        assert found.columns == {"area": (2, 1.5)}
        assert all(type(v) is float for v in found.columns["area"])


def test_orders_and_keys() -> None:
    rows = [{"id": 3, "d": 8, "price": 1.5}, {"id": 1, "d": 10, "price": 1.0}]
    model = Model()
    model.catalogue("a", rows)
    model.catalogue("b", rows, order="price", key="d")
    a, b = (v.domain.table for v in model.variables)
    assert a is not None
    assert b is not None
    assert a.names == ("1", "3")
    assert a.columns["id"] == (1, 3)
    assert b.names == ("10", "8")
    assert list(b.columns) == ["id", "price"]
    with pytest.raises(ModelError, match=r"no attribute 'mass'; there are"):
        model.catalogue("c", rows, order="mass")
    with pytest.raises(ModelError, match=r"no column 'mass'; there are \['id', 'd', 'price'\]"):
        model.catalogue("c", rows, key="mass")


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ([], "has no rows"),
        ({}, "has no rows"),
        ([{}], "has no rows"),
        (3, "expected the path of a CSV file"),
        ([1, 2], "each row must be a dictionary"),
        ({"a": 1}, "each row must be a dictionary"),
        ("nowhere.csv", "cannot be read"),
        ([{"name": "a", "d": 1}, {"name": "a", "d": 2}], "row 2 is called 'a' like another one"),
        ([{"name": "", "d": 1}], "row 1 has no name"),
        ([{"name": "a", "d": 1}, {"name": "b"}], r"row 'b' and row 'a' differ.*\['d'\]"),
        ([{"name": "a", "d": "thick"}], r"no column has a number.*model.category\(\)"),
        ([{"name": "a", "d": np.nan}], "no column has a number"),
    ],
)
def test_tables_that_cannot_be_used(table: Any, match: str) -> None:
    model = Model()
    with pytest.raises(ModelError, match=match):
        model.catalogue("section", table)
    assert model.variables == ()


@pytest.mark.parametrize(
    ("text", "encoding", "match"),
    [
        ("name,d\n", "utf-8", "needs a header and at least one row"),
        ("name,d\na,1,2\n", "utf-8", "row 1 has another number of cells"),
        ("name,d\na,1\nb\n", "utf-8", "row 2 has another number of cells"),
        ("name,d\nB\u00e4,1\n", "latin-1", "Expected a CSV file in UTF-8"),
    ],
)
def test_damaged_files(tmp_path: Path, text: str, encoding: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Model().catalogue("section", write(tmp_path, text, encoding))


def test_categories_may_have_no_attributes() -> None:
    model = Model()
    colour = model.category("colour", ["red", "green", "blue"])
    assert float(ca.Function("f", [colour.number], [colour.is_("blue")])(2)) == 1
    with pytest.raises(ModelError, match=r"as is_\(\)"):
        _ = colour + 1
    with pytest.raises(ModelError, match="row 2 is called 'red' like"):
        model.category("other", [{"name": "red"}, {"name": "red"}])


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([], "finite numbers"),
        ([1, 2, 1], "1 is there twice"),
        (["a", "b"], r"Names with attributes are model\.category"),
        (3, "expected a list of numbers"),
        ([1, np.inf], "finite numbers"),
        ([[1, 2]], "expected a list of numbers"),
    ],
)
def test_choices_that_cannot_be_used(values: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        Model().choice("plate", values)


# -- stored -------------------------------------------------------------------------------------


def test_models_with_all_kinds_are_stored_and_read_again() -> None:
    model = every_kind()
    data = json.loads(json.dumps(to_data(model)))
    again = from_data(data)
    assert to_data(again) == to_data(model)
    assert [v.domain for v in again.variables] == [v.domain for v in model.variables]
    assert str(again) == str(model)
    assert differences(data, data) == []
    data["variables"][3]["choices"][0] = 3
    (change,) = differences(json.loads(json.dumps(to_data(model))), data)
    assert "'plate', choices" in change


@pytest.mark.parametrize(
    "damage",
    [
        {"domain": "choice", "choices": []},
        {"domain": "choice", "choices": ["a"]},
        {"domain": "category"},
        {"domain": "integer", "table": {"names": ["a"], "columns": {}}},
        {"domain": "category", "table": {"names": ["a"]}},
    ],
)
def test_damaged_domains_are_told(damage: dict[str, Any]) -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    data: Any = to_data(model)
    data["variables"][0] |= damage
    with pytest.raises(ModelError):
        from_data(data)


def test_nearest_values() -> None:
    assert INTEGER.nearest(2.6, 0, 2) == 2
    assert INTEGER.nearest(-7.2, -np.inf, np.inf) == -7
    choice = choice_domain("t", [1, 4, 9])
    assert choice.nearest(7, 0, 20) == 9
    assert choice.nearest(7, 0, 8) == 4
    assert np.isnan(choice.nearest(7, 5, 8))
    assert choice.violation(7, 5, 8) == np.inf
    assert Domain(Kind.BINARY).violation(2, 0, 1) == 1
    assert INTEGER.inward(0.2, 3.9) == (1, 3)
    assert INTEGER.inward(1 - 1e-12, 3 + 1e-12) == (1, 3)
