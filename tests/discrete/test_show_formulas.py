"""Formulas show attributes of rows by their names, not the sums that they are inside."""

from __future__ import annotations

import pytest
from discrete_models import MATERIALS, SECTIONS, simulated_frame, swinging, table_rows

import archeng
from archeng import Model
from archeng.model import formulas_of, from_data, to_data


def objective(model: Model) -> str:
    return formulas_of(model)[0]


def test_attributes_have_their_names() -> None:
    text = objective(simulated_frame())
    assert text == "((material[rho]*section[mass])*height)+(0.3*bolts)"
    assert text in str(simulated_frame())


def test_a_stored_model_shows_the_same() -> None:
    data = to_data(simulated_frame())
    assert data is not None
    assert objective(from_data(data)) == objective(simulated_frame())


def test_entries_of_vectors_indicators_and_what_occurs_twice() -> None:
    model = Model("m")
    section = model.catalogue("section", table_rows(SECTIONS), shape=2)
    material = model.category("material", MATERIALS)
    first = section["area"][0]
    model.minimize(first**2 + first * section["mass"][1] + 5 * material.is_("AlMg3"))
    text = objective(model)
    assert "section[0][area]" in text
    assert "section[1][mass]" in text
    assert "(material is 'AlMg3')" in text
    assert "fmax" not in text
    assert "@" not in text


def test_a_long_catalogue_in_a_long_formula() -> None:
    model = Model("m")
    rows = [{"name": f"P{k}", "d": 0.1 + k / 7, "price": k**1.5} for k in range(300)]
    pipe = model.catalogue("pipe", rows)
    model.minimize(pipe["price"] * pipe["d"] / (1 + pipe["d"]))
    assert objective(model) == "(pipe[price]*pipe[d])/(1+pipe[d])"


def test_a_constant_attribute_is_its_number() -> None:
    model = Model("m")
    pump = model.category("pump", {"A": {"speed": 3.0}, "B": {"speed": 3.0}})
    x = model.variable("x", lower=0, upper=1)
    model.minimize(pump["speed"] * x)
    assert objective(model) == "3*x"


@pytest.mark.slow
def test_a_result_and_its_journal_show_the_formula(tmp_path: object) -> None:
    journal = f"{tmp_path}/run.db"
    result = archeng.solve(simulated_frame(), swinging, seed=1, max_evaluations=4, journal=journal)
    assert "weight = ((material[rho]*section[mass])*height)+(0.3*bolts)" in str(result)
    assert archeng.read_journal(journal).objective_formula == result.objective_formula
