"""How two models differ, in words: exactly what changed, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import casadi as ca
import pytest

from archeng import Model
from archeng.model import differences, to_data


def make(**changes: Any) -> Model:
    """A model of everything, with something changed."""
    c: dict[str, Any] = {
        "name": "plate", "lower": 1.0, "upper": 10.0, "start": 2.0, "scale": 0.5, "unit": "mm",
        "shape": (), "factor": 2.0, "limit": 60.0, "power": 2, "tolerance": 1e-6, "w": [0.0, 0.0],
        "variables": "tw", "constraints": ("section", "balance", "slope"), "sense": "minimize",
        "objective": 1.0, **changes,
    }  # fmt: skip
    model = Model(c["name"])
    symbols: dict[str, Any] = {}
    for letter in c["variables"]:
        if letter == "t":
            symbols["t"] = model.variable(
                "t", lower=c["lower"], upper=c["upper"], start=c["start"], scale=c["scale"],
                unit=c["unit"], shape=c["shape"],
            )  # fmt: skip
        elif letter == "w":
            symbols["w"] = model.variable("w", shape=2, lower=c["w"], upper=1)
        else:
            model.variable(letter, lower=0, upper=1)
    t, w = ca.sum1(symbols["t"]), symbols["w"]
    rows = {
        "section": lambda: model.subject_to(
            c["factor"] * t * w[0] + ca.sin(w[1]) <= c["limit"], name="section"
        ),
        "balance": lambda: model.subject_to(
            w[0] + w[1] == 1, name="balance", tolerance=c["tolerance"]
        ),
        "slope": lambda: model.subject_to(
            ca.vertcat(t ** c["power"], w[1]), lower=[0, -1], upper=[400, 1], name="slope"
        ),
        "new": lambda: model.subject_to(w[0] >= 0.1, name="new"),
    }
    for name in c["constraints"]:
        rows[name]()
    if c["objective"] is not None:
        model.set_objective(c["objective"] * t + w[0], c["sense"])
    return model


def stored(model: Model) -> Any:
    return json.loads(json.dumps(to_data(model)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "sheet"}, ["name", "'plate'", "'sheet'"]),
        ({"lower": 1.5}, ["variable 't'", "lower", "1.0", "1.5"]),
        ({"lower": None}, ["variable 't'", "lower", "1.0", "None"]),
        ({"upper": 11}, ["variable 't'", "upper", "10.0", "11.0"]),
        ({"start": 3}, ["variable 't'", "start", "2.0", "3.0"]),
        ({"start": None}, ["variable 't'", "start", "2.0", "None"]),
        ({"scale": 0.25}, ["variable 't'", "scale", "0.5", "0.25"]),
        ({"unit": "m"}, ["variable 't'", "unit", "mm", "m"]),
        ({"w": [0.0, 0.5]}, ["variable 'w'", "lower", "[0.0, 0.0]", "[0.0, 0.5]"]),
        ({"w": [0.0, 1e-300]}, ["variable 'w'", "lower", "1e-300"]),
        ({"variables": "twz"}, ["variable 'z' is new"]),
        ({"factor": 2.0000000000000004}, ["constraint 'section'", "formula"]),
        ({"power": 3}, ["constraint 'slope'", "formula"]),
        ({"limit": 61}, ["constraint 'section'", "limits", "60.0", "61.0"]),
        ({"tolerance": 1e-7}, ["constraint 'balance'", "tolerance", "1e-06", "1e-07"]),
        ({"constraints": ("section", "balance")}, ["constraint 'slope' is gone"]),
        ({"constraints": ("balance", "slope")}, ["constraint 'section' is gone"]),
        ({"constraints": ("new", "section", "balance", "slope")}, ["constraint 'new' is new"]),
        ({"objective": 3.0}, ["objective"]),
        ({"objective": None}, ["objective"]),
        ({"sense": "maximize"}, ["objective"]),
    ],
)
def test_one_change_is_one_difference(changes: dict[str, Any], words: list[str]) -> None:
    found = differences(stored(make()), stored(make(**changes)))
    assert len(found) == 1, found
    for word in words:
        assert word in found[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variables": "ztw"}, "variable 'z' is new"),
        ({"variables": "wt"}, "order of the variables"),
    ],
)
def test_formulas_do_not_change_with_the_place_of_their_variables(
    changes: dict[str, Any], words: str
) -> None:
    found = differences(stored(make()), stored(make(**changes)))
    assert len(found) == 1, found
    assert words in found[0]


def test_the_same_model_has_no_difference() -> None:
    assert differences(stored(make()), stored(make())) == []
    # The line of the script on which a constraint stands does not matter.
    first, second = stored(make()), stored(make())
    for constraint in second["constraints"]:
        constraint["source"] = "elsewhere.py:1"
    assert differences(first, second) == []


def test_several_changes_are_all_named() -> None:
    found = differences(stored(make()), stored(make(lower=2, factor=3, tolerance=1e-3)))
    assert len(found) == 3
    text = "; ".join(found)
    assert all(name in text for name in ("'t'", "'section'", "'balance'"))


def test_shapes() -> None:
    found = differences(stored(make()), stored(make(shape=2)))
    assert any("variable 't', shape" in f for f in found)
