"""Discrete models and designs as data: stored, compared, pickled, reused after a table changed."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from discrete_models import MATERIALS, SECTIONS, design, frame, table_rows

from archeng import Design, Model
from archeng.codec import decode, encode, loads
from archeng.errors import ArchengError, ModelError
from archeng.model import Variable, compile_model, differences, from_data, to_data, translation
from archeng.model.parts_table import Item


def data_of(model: Model) -> dict[str, Any]:
    data = to_data(model)
    assert data is not None
    return json.loads(json.dumps(data))  # type: ignore[no-any-return]


# -- a model as data -----------------------------------------------------------------------------


def test_a_stored_model_is_the_same() -> None:
    model = frame()
    again = from_data(data_of(model))
    assert data_of(again) == data_of(model)
    assert str(again) == str(model)
    assert differences(data_of(model), data_of(again)) == []
    made = design(model)
    assert Design(again.variables, made.x) == made
    assert compile_model(again).is_feasible(made.x)
    off = np.array(made.x)
    off[0] = 8.5
    assert not compile_model(again).is_feasible(off)


@pytest.mark.parametrize("variable", frame().variables, ids=lambda v: v.name)
def test_a_variable_of_a_journal_is_the_same(variable: Variable) -> None:
    again = decode(Variable, loads(json.dumps(encode(variable))))
    assert again.domain == variable.domain
    assert again.to_data() == variable.to_data()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (SECTIONS.replace("10.3", "10.4"), ["row 'IPE 100' of sections: area 10.3 became 10.4"]),
        (SECTIONS + "IPE 160,20.1,15.8\n", ["row 'IPE 160' of sections is new"]),
        (SECTIONS.replace("IPE 80,7.64,6.0\n", ""), ["row 'IPE 80' of sections is gone"]),
        (
            SECTIONS.replace("mass", "weight"),
            ["column 'mass' of sections is gone", "column 'weight' of sections is new"],
        ),
        (SECTIONS.replace("7.64", "99"), ["the order of the rows of sections"]),
    ],
)
def test_a_changed_catalogue_is_named(table: str, words: list[str]) -> None:
    found = differences(data_of(frame()), data_of(frame(table_rows(table))))
    assert set(words) <= set(found)


def test_many_changes_of_a_catalogue_are_counted() -> None:
    rows = [{"name": f"P{k}", "d": float(k)} for k in range(50)]
    other = [{**row, "d": row["d"] + 0.5} for row in rows]  # type: ignore[operator]
    models = []
    for table in (rows, other):
        model = Model("pipes")
        model.catalogue("pipe", table)
        models.append(data_of(model))
    found = differences(*models)
    assert found[0] == "row 'P0' of pipe: d 0.0 became 0.5"
    assert found[-1] == "42 more changes of pipe"
    assert len(found) == 9


def kinds() -> dict[str, Model]:
    models = {kind: Model("m") for kind in ("real", "integer", "choice", "other choice")}
    models["real"].variable("x", lower=0, upper=4)
    models["integer"].integer("x", lower=0, upper=4)
    models["choice"].choice("x", [0, 2, 4])
    models["other choice"].choice("x", [0, 3, 4])
    return models


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("real", "integer", "variable 'x', kind: real became integer"),
        ("integer", "real", "variable 'x', kind: integer became real"),
        ("choice", "other choice", "variable 'x', choices: [0, 2, 4] became [0, 3, 4]"),
    ],
)
def test_a_changed_kind_is_named(old: str, new: str, said: str) -> None:
    assert differences(data_of(kinds()[old]), data_of(kinds()[new])) == [said]


def test_the_same_category_has_no_differences() -> None:
    nan = {"S355": {"E": float("nan")}, "AlMg3": {"E": 70.0}}
    models = []
    for _ in range(2):
        model = Model("m")
        model.category("material", copy.deepcopy(nan))
        models.append(data_of(model))
    assert differences(*models) == []


# -- designs of an earlier table --------------------------------------------------------------


def translated(old: Model, new: Model, **values: Any) -> Design | None:
    x = translation(old.variables, new.variables)(design(old, **values).x)
    return None if x is None else Design(new.variables, x)


def test_designs_are_found_by_the_names_of_their_rows() -> None:
    more = frame(table_rows(SECTIONS + "IPE 90,9.0,7.0\n"))  # between the first two
    found = translated(frame(), more)
    assert found is not None
    assert found.x.tolist() != design(frame()).x.tolist()
    assert found["sections"].tolist() == ["IPE 100", "IPE 120"]
    assert found == design(more)


def test_a_row_with_other_attributes_is_another_row() -> None:
    other = frame(table_rows(SECTIONS.replace("10.4", "10.5")))  # the mass of IPE 120
    assert translated(frame(), other) is None
    found = translated(frame(), other, sections=["IPE 100", "IPE 140"])
    assert found is not None


def test_a_row_that_is_gone_is_none() -> None:
    fewer = frame(table_rows(SECTIONS.replace("IPE 100,10.3,8.1\n", "")).copy(), start=None)
    assert translated(frame(), fewer) is None
    assert translated(frame(), fewer, sections=["IPE 80", "IPE 140"]) is not None


def test_a_new_column_changes_no_row_and_a_missing_one_does() -> None:
    richer = {name: {**row, "price": 1.0} for name, row in MATERIALS.items()}
    assert translated(frame(), frame(materials=richer)) == design(frame(materials=richer))
    assert translated(frame(materials=richer), frame()) is None


def test_a_category_in_another_order() -> None:
    other = frame(materials=dict(reversed(MATERIALS.items())))
    found = translated(frame(), other)
    assert found is not None
    assert found["material"] == "AlMg3"
    assert found.x[3] == 0.0


def test_a_variable_that_became_something_else_is_refused() -> None:
    model = Model("frame")
    for v in frame().variables:
        if v.name == "material":
            model.integer("material", lower=0, upper=1)
        else:
            model.variable(v.name, lower=0, upper=20, shape=v.shape)
    with pytest.raises(ModelError, match=r"'material' was category of 2 rows and is integer now"):
        translation(frame().variables[:4], model.variables[:4])


# -- designs in other processes, and as keys ------------------------------------------------------


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_designs_are_copied_whole(again: Any) -> None:
    made = design(frame())
    other = again(made)
    assert other == made
    assert hash(other) == hash(made)
    assert other["sections"][1]["mass"] == 10.4
    assert type(other["bolts"]) is int
    item = again(made["material"])
    assert type(item) is Item
    assert item["E"] == 70.0


def test_the_same_number_of_another_table_is_another_design() -> None:
    made = design(frame())
    other = Design(frame(materials=dict(reversed(MATERIALS.items()))).variables, made.x)
    assert other["material"] != made["material"]
    assert other != made
    assert len({made, other, design(frame())}) == 2


def test_variables_are_pickled() -> None:
    for variable in frame().variables:
        again = pickle.loads(pickle.dumps(variable))
        assert again.domain == variable.domain
        assert replace(again, name="other").domain == variable.domain


# -- damaged data ---------------------------------------------------------------------------------

INSIDE: list[Any] = [None, -1, 2**70, 1e308, float("nan"), "x", "S355", [], {}, [None], True, 0.5]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of everything inside of nested lists and dictionaries."""
    inner = data.items() if isinstance(data, dict) else []
    inner = enumerate(data) if isinstance(data, list) else inner
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def damaged(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return value
    new = data.copy()
    new[place[0]] = damaged(data[place[0]], place[1:], value)
    return new


@pytest.mark.parametrize("number", [2, 3, 4], ids=["choice", "category", "catalogue"])
def test_whatever_stands_in_a_stored_table_ends_in_a_model_or_an_error(number: int) -> None:
    data = data_of(frame())
    record = data["variables"][number]
    refused = 0
    for place in places(record):
        if not place or place[0] not in ("domain", "choices", "table"):
            continue
        for value in INSIDE:
            variables = damaged(data["variables"], (number, *place), value)
            try:
                model = from_data({**data, "variables": variables})
                fs = compile_model(model)
                text = str(model) + str(Design(model.variables, design(frame()).x))
            except ArchengError:
                refused += 1
                continue
            assert fs.lattice is not None
            assert text
    assert refused > 20
