"""What a stranger may write: messages that name the value and what to do, and no raw exceptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pandas as pd
import pytest

from archeng import Model
from archeng.errors import ModelError
from archeng.model import compile_model

PARTS = [
    {"name": "a", "area": 1.0, "cost": 5.0},
    {"name": "b", "area": 2.0, "cost": 7.0},
    {"name": "c", "area": 3.0, "cost": 6.0},
]


def table_of(model: Model) -> Any:
    return model.variables[0].domain.table


def csv_table(folder: Path, text: str, **options: Any) -> Any:
    """Return the table that a catalogue reads from a file with this text."""
    file = folder / "parts.csv"
    file.write_text(text, encoding="utf-8")
    model = Model()
    model.catalogue("part", file, **options)
    return table_of(model)


WRONG: list[tuple[str, Callable[[Any], Any], str]] = [
    ("no bounds", lambda m: m.integer("n"), "needs a lower and an upper bound"),
    ("one bound", lambda m: m.integer("n", upper=4), "needs a lower and an upper bound"),
    ("bounds between", lambda m: m.integer("n", lower=1.5, upper=4), "must be whole numbers"),
    ("no end", lambda m: m.integer("n", lower=0, upper=np.inf), "needs a lower and an upper bound"),
    ("a billion", lambda m: m.integer("n", lower=0, upper=10**9), "at most 100000"),
    ("swapped", lambda m: m.integer("n", lower=5, upper=1), "Swap them"),
    ("texts", lambda m: m.integer("n", lower="1", upper="4"), "is not a number"),
    ("by place", lambda m: m.integer("n", 1, 4), r"Model\.integer\(\) got 1 without the name"),
    ("bounds of a binary", lambda m: m.binary("b", upper=1), r"Model\.binary\(\) has no option"),
    ("a yes", lambda m: m.binary("b", start="yes"), "start='yes' is not a number"),
    ("names", lambda m: m.choice("t", ["a", "b"]), r"model\.category\(\)"),
    ("numbers as texts", lambda m: m.choice("t", ["4", "5"]), "expected a list of numbers"),
    ("one text", lambda m: m.choice("t", "456"), "expected a list of numbers"),
    ("a dictionary", lambda m: m.choice("t", {4: 1, 5: 2}), "expected a list of numbers"),
    ("nothing", lambda m: m.choice("t", []), "expected finite numbers"),
    ("not a number", lambda m: m.choice("t", [1, np.nan]), "expected finite numbers"),
    ("too large", lambda m: m.choice("t", [1, 10**400]), "expected a list of numbers"),
    ("twice", lambda m: m.choice("t", [1, 2, 2.0]), "2 is there twice"),
    ("twice by rounding", lambda m: m.choice("t", [0.3, 0.1 + 0.2]), "0.3 is there twice"),
    ("a matrix", lambda m: m.choice("t", np.ones((2, 2))), "expected a list of numbers"),
    ("numbers", lambda m: m.category("s", [1, 2]), r"model\.choice\(\)"),
    ("columns", lambda m: m.catalogue("s", {"name": ["a"], "area": [1]}), r"pandas\.DataFrame"),
    ("a set", lambda m: m.category("s", {"a", "b"}), "expected the path"),
    ("same name", lambda m: m.category("s", ["a", "b", "a"]), "is called 'a' like another"),
    ("no rows", lambda m: m.catalogue("s", []), "it has no rows"),
    ("no row of it", lambda m: m.category("s", ["a", "b"], start="z"), "no row is called 'z'"),
    ("no file", lambda m: m.catalogue("s", "none.csv"), "none.csv cannot be read"),
    ("no column", lambda m: m.catalogue("s", PARTS, order="mass"), "no attribute 'mass'"),
    ("no attribute", lambda m: m.catalogue("s", PARTS)["mass"], "no attribute 'mass'"),
    ("no such name", lambda m: m.catalogue("s", PARTS).is_("z"), "no row is called 'z'"),
    ("no number", lambda m: m.catalogue("s", PARTS) + 1, r"as s\['area'\]"),
    ("in NumPy", lambda m: np.sqrt(m.catalogue("s", PARTS)), r"as s\['area'\]"),
    ("a limit", lambda m: m.subject_to(m.catalogue("s", PARTS) <= 3), r"as s\['area'\]"),
    ("if it", lambda m: bool(m.catalogue("s", PARTS)), r"as s\['area'\]"),
    ("if its area", lambda m: bool(m.catalogue("s", PARTS)["area"] > 1), "a formula is true"),
    ("a name alone", lambda m: m.subject_to(m.catalogue("s", PARTS) == "a"), "write `== 1`"),
    ("no entry", lambda m: m.catalogue("s", PARTS, shape=2)[5], "has no entry 5"),
]


@pytest.mark.parametrize(("declare", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_wrong_is_refused_with_what_to_do(
    declare: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        declare(Model("strange"))


def test_lists_of_different_lengths_are_no_design() -> None:
    model = Model()
    model.integer("n", lower=1, upper=4, shape=2)
    with pytest.raises(ModelError, match=r"expected shape \(2,\), got \[1, \[2, 3\]\]"):
        model.flat({"n": [1, [2, 3]]})  # type: ignore[dict-item]


def test_choices_are_numbers_that_json_can_hold() -> None:
    model = Model()
    values = [np.int32(4), Decimal("1.5"), Fraction(1, 4), True, np.float64(2.5)]
    model.choice("t", values)
    (variable,) = model.variables
    assert variable.domain.choices == (0.25, 1, 1.5, 2.5, 4)
    assert {type(v) for v in variable.domain.choices} == {int, float}
    assert json.loads(json.dumps(variable.to_data()))["choices"] == [0.25, 1, 1.5, 2.5, 4]


@pytest.mark.parametrize("values", [range(4, 10, 2), (k for k in (8, 6, 4)), {4, 6, 8}])
def test_a_list_of_numbers_may_be_anything_to_go_through(values: Any) -> None:
    model = Model()
    model.choice("t", values)
    assert model.variables[0].domain.choices == (4, 6, 8)


@pytest.mark.parametrize("names", [["x", "y"], ("x", "y"), np.array(["x", "y"]), iter("xy")])
def test_names_of_a_category_may_come_in_many_forms(names: Any) -> None:
    model = Model()
    model.category("s", names)
    assert table_of(model).names == ("x", "y")


def test_a_generator_of_rows_is_a_table() -> None:
    model = Model()
    model.catalogue("s", (dict(row) for row in PARTS))
    assert table_of(model).names == ("a", "b", "c")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(PARTS),
        pd.DataFrame(PARTS).set_index("name"),
        pd.DataFrame({"area": [1.0, 2.0, 3.0]}, index=["a", "b", "c"]),  # no name of the index
        pd.DataFrame(PARTS).set_index(["name", "cost"]),
    ],
)
def test_rows_of_a_frame_are_called_as_its_column_or_index_says(frame: Any) -> None:
    model = Model()
    model.catalogue("s", frame, order="area")
    assert table_of(model).names == ("a", "b", "c")
    assert table_of(model).columns["area"] == (1.0, 2.0, 3.0)


def test_numbers_of_rows_in_a_frame_are_no_attribute() -> None:
    frame = pd.DataFrame(PARTS)
    model = Model()
    model.catalogue("s", frame[frame["area"] > 1])  # its index is 1, 2
    assert set(table_of(model).columns) == {"area", "cost"}


def test_decimal_commas_are_read_where_they_do_not_part_cells(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "name;area;note\n8,5;1,5;a,b\n9,5;-2,5e1;c\n", key="name")
    assert table.columns == {"area": (-25.0, 1.5), "note": ("c", "a,b")}
    assert table.names == ("9,5", "8,5")  # names stay as they are written


def test_numbers_that_are_names_stay_as_they_are_written(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "part,area\n0010,1\n4_5,2\n1e3,3\n", key="part")
    assert table.names == ("0010", "4_5", "1e3")


def test_rows_that_are_called_by_numbers_are_found_by_them() -> None:
    """Not by their positions: pipe 1 of the pipes 1, 2, 5 is not the second one."""
    model = Model()
    model.catalogue("pipe", [{"DN": 1, "cost": 3.0}, {"DN": 2, "cost": 4.0}, {"DN": 5, "cost": 6}])
    assert [model.flat({"pipe": v}).tolist() for v in (1, 2.0, "5", 5)] == [[0], [1], [2], [2]]
    with pytest.raises(ModelError, match="no row is called '0'"):
        model.flat({"pipe": 0})


def test_rows_that_are_called_by_texts_are_also_found_by_their_positions() -> None:
    model = Model()
    model.catalogue("part", PARTS, start=1)
    assert model.flat({"part": 2}).tolist() == [2.0]
    assert model.variables[0].start.tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,area,area\nx,1,2\ny,2,3\n", r"columns \['area'\] are there twice"),
        ("name,area\n-,mm2\nx,1\n", "'area' of '-' is 'mm2'"),  # a row of units
        ('name,area\nx,"1,000"\ny,"2,000"\n', "'area' of 'x' is '1,000'"),
        ("name,area\nx,nan\ny,2\n", "'area' of 'x' is nan"),
        ("name,area\nx,1,2\n", "another number of cells"),
        ("name,area\n", "at least one row"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        csv_table(tmp_path, text)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "parts.csv"
    file.write_bytes("name,area\nStärke,1\n".encode("latin-1"))
    with pytest.raises(ModelError, match="Expected a CSV file in UTF-8"):
        Model().catalogue("part", file)


def test_names_in_other_alphabets_are_kept() -> None:
    model = Model()
    steel = model.category("Güte σ", {"Сталь 3": {"σ": 235}, "鋼": {"σ": 355}})
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(100 * x <= steel["σ"], name="Spannung")
    assert model.flat({"Güte σ": "鋼", "x": 1.0}).tolist() == [1.0, 1.0]
    assert "Сталь 3" in str(table_of(model).names)
    assert compile_model(model).is_feasible(np.array([1.0, 3.55]))
    assert not compile_model(model).is_feasible(np.array([0.0, 3.55]))


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_matrices_of_rows_in_both_kinds_of_symbols(kind: str) -> None:
    model = Model(symbols=kind)
    part = model.catalogue("part", PARTS, shape=(2, 3))
    count = model.integer("n", lower=1, upper=3, shape=(2, 3))
    model.subject_to(ca.sum1(ca.sum2(part["area"] * count)) <= 14, name="area")
    model.subject_to(part[0, 1]["cost"] <= 6, name="one of them")
    feasible = compile_model(model)
    names = np.array([["a", "c", "a"], ["b", "a", "a"]], dtype=object)
    counts = np.array([[1, 2, 3], [1, 1, 1]])
    design = {"part": names, "n": counts}
    assert 1 + 3 * 2 + 1 * 3 + 2 + 1 + 1 == 14  # the limit
    assert feasible.is_feasible(model.flat(design))
    assert not feasible.is_feasible(model.flat({"part": names, "n": counts + np.eye(2, 3)}))
    names[0, 1] = "b"  # less area, but it costs 7
    assert not feasible.is_feasible(model.flat(design))


@pytest.mark.parametrize("declare", ["choice", "catalogue"])
def test_a_list_with_one_entry_is_a_fixed_variable(declare: str) -> None:
    model = Model()
    getattr(model, declare)("s", [3] if declare == "choice" else PARTS[:1])
    model.variable("x", lower=0, upper=1)
    assert compile_model(model).lattice is None


def test_not_this_row_is_a_number_too() -> None:
    model = Model()
    part = model.catalogue("part", PARTS)
    function = ca.Function("f", [part.number], [part != "b", part == "b"])
    assert [[float(v) for v in function(k)] for k in range(3)] == [[1, 0], [0, 1], [1, 0]]
