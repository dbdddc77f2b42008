"""`print(model)` and `model.violations(x)`."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng.errors import ModelError
from archeng.model import Model


@pytest.fixture
def model() -> Model:
    m = Model("beam")
    t = m.variable("t", lower=0, upper=5, start=2, unit="mm")
    w = m.variable("w", shape=2, lower=-1)
    m.subject_to(ca.log(t - 1) <= 0.5, name="logarithm", source="a.py:1")
    m.subject_to(w[0] == w[1], name="equal", source="a.py:2")
    m.subject_to(w, lower=[-1, 2], upper=[3, 2], name="band", tolerance=0.25, source="a.py:3")
    return m


def line_of(text: str, start: str) -> list[str]:
    (found,) = [row for row in text.splitlines() if row.split()[:1] == [start]]
    return found.split()


def test_print_shows_variables_with_bounds_start_and_unit(model: Model) -> None:
    text = str(model)
    assert text.startswith("model beam: 3 variables, 4 rows")
    assert line_of(text, "t") == ["t", "0", "5", "2", "mm"]
    assert line_of(text, "w[1]") == ["w[1]", "-1", "-", "-", "-"]


def test_print_shows_constraints_with_limits_kind_and_source(model: Model) -> None:
    text = str(model)
    width = f"{model.constraints[1].half_widths[0]:.3g}"
    assert line_of(text, "logarithm") == ["logarithm", "-", "0.5", "inequality", "a.py:1"]
    assert line_of(text, "equal") == ["equal", "0", "+-", width, "0", "equality", "a.py:2"]
    assert line_of(text, "band[0]") == ["band[0]", "-1", "3", "inequality", "a.py:3"]
    assert line_of(text, "band[1]") == ["band[1]", "2", "+-", "0.25", "2", "equality", "a.py:3"]


def test_columns_are_aligned(model: Model) -> None:
    first, second = str(model).split("\n\n")[1:]
    for table in (first, second):
        assert len({len(row) for row in table.splitlines()}) == 1


def test_repr_counts(model: Model) -> None:
    assert repr(model) == "<archeng.Model 'beam': 3 variables, 4 rows>"


def test_empty_model_prints() -> None:
    assert "0 variables, 0 rows" in str(Model())
    assert len(Model().violations([])) == 0


def test_violations_list_bounds_then_rows_with_widened_equalities(model: Model) -> None:
    table = model.violations([2.0, 1.0, 1.5])
    assert [v.name for v in table] == [
        "bounds of t",
        "bounds of w[0]",
        "bounds of w[1]",
        "logarithm",
        "equal",
        "band[0]",
        "band[1]",
    ]
    assert table["logarithm"].value == 0.0
    assert table["equal"].value == -0.5
    (width,) = model.constraints[1].half_widths
    assert (table["equal"].lower, table["equal"].upper) == (-width, width)
    assert table["equal"].violation == pytest.approx(0.5 - width, abs=1e-15)
    assert (table["band[1]"].lower, table["band[1]"].upper) == (1.75, 2.25)
    assert table["band[1]"].violation == 0.25
    assert table["band[1]"].source == "a.py:3"
    assert table["bounds of t"].violation == 0.0
    assert table.maximum == table["equal"].violation


def test_violated_is_sorted_worst_first(model: Model) -> None:
    table = model.violations([7.0, -3.0, 1.5])
    worst = table.violated()
    assert [v.violation for v in worst] == sorted((v.violation for v in worst), reverse=True)
    assert worst[0].name == "equal"
    assert {v.name for v in worst} == {
        "bounds of t",
        "bounds of w[0]",
        "logarithm",
        "equal",
        "band[0]",
        "band[1]",
    }
    assert table["bounds of t"].violation == 2.0
    assert table["bounds of w[0]"].violation == 2.0
    assert table["band[0]"].violation == 2.0


def test_feasible_design_has_no_violation(model: Model) -> None:
    table = model.violations({"t": 2.0, "w": [2.0, 2.0]})
    assert table.maximum == 0.0
    assert table.violated() == []
    assert str(table).count("ok") == len(table) == 7


def test_undefined_row_is_infinitely_violated_and_shown_as_undefined(model: Model) -> None:
    table = model.violations([0.5, 2.0, 2.0])
    entry = table["logarithm"]
    assert np.isnan(entry.value)
    assert entry.violation == np.inf
    assert table.maximum == np.inf
    assert line_of(str(table), "logarithm") == ["logarithm", "undefined", "-", "0.5", "inf"]


@pytest.mark.parametrize("limits", [{"upper": 1.0}, {"lower": 1.0}, {"lower": 0, "upper": 1.0}])
def test_row_at_minus_infinity(limits: dict[str, float]) -> None:
    m = Model()
    x = m.variable("x", lower=0, upper=1)
    m.subject_to(ca.log(x), name="log", **limits)
    violation = m.violations([0.0])["log"].violation
    assert violation == np.inf or (violation == 0 and "lower" not in limits)


def test_mapping_and_vector_say_the_same(model: Model) -> None:
    by_name = model.violations({"w": np.array([1.0, 4.0]), "t": 3})
    by_position = model.violations((3.0, 1.0, 4.0))
    assert list(by_name) == list(by_position)


def test_matrix_by_name_is_column_major() -> None:
    m = Model()
    w = m.variable("W", shape=(2, 2))
    m.subject_to(w[1, 0] <= 0, name="corner")
    assert m.violations({"W": [[1, 2], [3, 4]]})["corner"].value == 3


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ([1.0], r"3 variables; got a vector of shape \(1,\)"),
        (np.zeros(4), r"shape \(4,\).*Order: t, w\[0\], w\[1\]"),
        (np.zeros((3, 1)), r"shape \(3, 1\)"),
        (1.0, r"shape \(\)"),
        ({"t": 1}, r"missing \['w'\]"),
        ({"t": 1, "w": [1, 2], "z": 3}, r"unknown \['z'\]"),
        ({"t": 1, "w": [1, 2, 3]}, r"'w': expected shape \(2,\), got \(3,\)"),
        ({"t": [1], "w": [1, 2]}, r"'t': expected shape \(\), got \(1,\)"),
    ],
)
def test_wrong_designs(model: Model, design: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        model.violations(design)


def test_unknown_name_in_the_table(model: Model) -> None:
    with pytest.raises(KeyError, match="nonsense"):
        model.violations([2.0, 2.0, 2.0])["nonsense"]


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_vector_relations_show_the_engineers_value_and_limit(kind: str) -> None:
    """`x <= [3, 4]` is a row with value x and limit 3, not a row x - 3 with limit 0."""
    m = Model(symbols=kind)
    x = m.variable("x", shape=2)
    m.subject_to(x <= [3, 4], name="cap")
    table = m.violations([5.0, 1.0])
    assert (table["cap[0]"].value, table["cap[0]"].upper) == (5.0, 3.0)
    assert (table["cap[1]"].value, table["cap[1]"].upper) == (1.0, 4.0)
    assert line_of(str(m), "cap[1]")[:3] == ["cap[1]", "-", "4"]
