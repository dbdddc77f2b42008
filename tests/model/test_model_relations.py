"""`subject_to`: relations become rows with the engineer's side as value and a number as limit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng.errors import ModelError
from archeng.model import Constraint, Model

KINDS = ["SX", "MX"]
INF = np.inf
BELOW_3, ABOVE_3 = 2.9999999999999996, 3.0000000000000004  # the floats next to 3
Relation = Callable[[Any, Any], Any]


def pair(kind: str, shape: Any = ()) -> tuple[Model, Any, Any]:
    model = Model("pair", symbols=kind)
    x = model.variable("x", lower=-9, upper=9, shape=shape)
    y = model.variable("y", lower=-9, upper=9, shape=shape)
    return model, x, y


def constrain(kind: str, relation: Relation, shape: Any = (), **options: Any) -> Model:
    model, x, y = pair(kind, shape)
    model.subject_to(relation(x, y), name="con", **options)
    return model


def rows_at(model: Model, point: Any) -> list[tuple[float, float, float]]:
    """Value and declared limits (not widened) of every row."""
    rows = [r for c in model.constraints for r in c.rows]
    function = ca.Function("f", [model.symbols], [ca.vertcat(*(r.expression for r in rows))])
    values = np.asarray(function(np.asarray(point, dtype=float))).reshape(-1)
    return [(float(v), r.lower, r.upper) for v, r in zip(values, rows, strict=True)]


# -- scalars -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (lambda x, y: x <= 3, (2.0, -INF, 3.0)),
        (lambda x, y: x < 3, (2.0, -INF, BELOW_3)),
        (lambda x, y: x >= 3, (2.0, 3.0, INF)),
        (lambda x, y: x > 3, (2.0, ABOVE_3, INF)),
        (lambda x, y: x == 3, (2.0, 3.0, 3.0)),
        (lambda x, y: 3 <= x, (2.0, 3.0, INF)),  # noqa: SIM300
        (lambda x, y: 3 < x, (2.0, ABOVE_3, INF)),  # noqa: SIM300
        (lambda x, y: 3 >= x, (2.0, -INF, 3.0)),  # noqa: SIM300
        (lambda x, y: 3 > x, (2.0, -INF, BELOW_3)),  # noqa: SIM300
        (lambda x, y: 3 == x, (2.0, 3.0, 3.0)),  # noqa: SIM300
        (lambda x, y: x**2 + 1 <= 3, (5.0, -INF, 3.0)),
        (lambda x, y: x**2 <= y, (-1.0, -INF, 0.0)),
        (lambda x, y: x**2 < y, (-1.0, -INF, -5e-324)),
        (lambda x, y: x**2 >= y, (1.0, -INF, 0.0)),
        (lambda x, y: x**2 == y, (-1.0, 0.0, 0.0)),
        (lambda x, y: x <= INF, (2.0, -INF, INF)),
        (lambda x, y: x <= np.float64(3), (2.0, -INF, 3.0)),
        (lambda x, y: ca.DM(3) >= x, (2.0, -INF, 3.0)),
    ],
)
def test_scalar_relation(
    kind: str, relation: Relation, expected: tuple[float, float, float]
) -> None:
    (row,) = rows_at(constrain(kind, relation), [2.0, 5.0])
    assert row == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"lower": 1, "upper": 2}, (1.0, 2.0)),
        ({"lower": 1}, (1.0, INF)),
        ({"upper": 1}, (-INF, 1.0)),
        ({"lower": 1, "upper": 1}, (1.0, 1.0)),
        ({"lower": -INF, "upper": INF}, (-INF, INF)),
        ({"lower": -INF, "upper": 3}, (-INF, 3.0)),
    ],
)
def test_two_sided_limits(kind: str, limits: dict[str, float], expected: Any) -> None:
    (row,) = rows_at(constrain(kind, lambda x, y: x * y, **limits), [2.0, 5.0])
    assert row == (10.0, *expected)


# -- vectors and matrices -----------------------------------------

POINT = [1.0, 2.0, 5.0, 7.0]  # x = (1, 2), y = (5, 7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (lambda x, y: x <= 3, [(1, -INF, 3), (2, -INF, 3)]),
        (lambda x, y: x <= [3, 4], [(1, -INF, 3), (2, -INF, 4)]),
        (lambda x, y: x <= np.array([3.0, 4.0]), [(1, -INF, 3), (2, -INF, 4)]),
        (lambda x, y: ca.DM([3, 4]) >= x, [(1, -INF, 3), (2, -INF, 4)]),
        (lambda x, y: np.array([3.0, 4.0]) <= x, [(1, 3, INF), (2, 4, INF)]),
        (lambda x, y: x >= ca.vertcat(3, 4), [(1, 3, INF), (2, 4, INF)]),
        (lambda x, y: x == [3, 4], [(1, 3, 3), (2, 4, 4)]),
        (lambda x, y: x <= [3, INF], [(1, -INF, 3), (2, -INF, INF)]),
        (lambda x, y: x <= y, [(-4, -INF, 0), (-5, -INF, 0)]),
        (lambda x, y: x == y, [(-4, 0, 0), (-5, 0, 0)]),
        (lambda x, y: x[0] <= y, [(-4, -INF, 0), (-6, -INF, 0)]),
        (lambda x, y: y <= x[0], [(4, -INF, 0), (6, -INF, 0)]),
        (lambda x, y: ca.vertcat(x[0] <= 3, y[1] >= 4), [(1, -INF, 3), (7, 4, INF)]),
        (lambda x, y: ca.sum1(x) <= 3, [(3, -INF, 3)]),
    ],
)
def test_vector_relation_is_read_element_by_element(
    kind: str, relation: Relation, expected: list[tuple[float, float, float]]
) -> None:
    assert rows_at(constrain(kind, relation, 2), POINT) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "excess"),
    [
        (lambda x, y: x <= y, lambda x, y: x - y),
        (lambda x, y: y >= x, lambda x, y: x - y),
        (lambda x, y: x < y, lambda x, y: x - y),
        (lambda x, y: x <= 3, lambda x, y: x - 3),
        (lambda x, y: [1, 2] <= x, lambda x, y: np.array([1, 2]) - x),  # noqa: SIM300
        (lambda x, y: x * y >= y, lambda x, y: y - x * y),
    ],
)
def test_violations_of_a_vector_relation_are_those_of_its_elements(
    kind: str, relation: Relation, excess: Relation
) -> None:
    """Whatever form the rows take."""
    model = constrain(kind, relation, 2)
    for point in np.random.default_rng(3).uniform(-9, 9, (20, 4)):
        expected = np.maximum(excess(point[:2], point[2:]), 0.0)
        got = [v.violation for v in model.violations(point) if v.name.startswith("con")]
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_matrix_relation_goes_column_by_column(kind: str) -> None:
    model = constrain(kind, lambda x, y: x <= np.array([[1.0, 2.0], [3.0, 4.0]]), (2, 2))
    rows = rows_at(model, [10, 20, 30, 40, 0, 0, 0, 0])
    assert rows == [(10, -INF, 1), (20, -INF, 3), (30, -INF, 2), (40, -INF, 4)]


@pytest.mark.parametrize("kind", KINDS)
def test_matrix_product_relation(kind: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 2)), rng.random((2, 2))
    model = constrain(kind, lambda x, y: x @ y <= 1, (2, 2))
    point = np.concatenate((a.reshape(-1, order="F"), b.reshape(-1, order="F")))
    got = [v - upper for v, _, upper in rows_at(model, point)]
    np.testing.assert_allclose(got, (a @ b - 1).reshape(-1, order="F"), rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "lower", "expected"),
    [
        (2, [1, 2], [1, 2]),
        (2, 3, [3, 3]),
        (2, [[1], [2]], [1, 2]),
        ((2, 2), [[1, 2], [3, 4]], [1, 3, 2, 4]),
        ((2, 2), [1, 2, 3, 4], [1, 2, 3, 4]),
        ((2, 3), [[1], [2]], [1, 2, 1, 2, 1, 2]),
    ],
)
def test_array_limits_of_a_plain_expression(
    kind: str, shape: Any, lower: Any, expected: list[float]
) -> None:
    model = constrain(kind, lambda x, y: x, shape, lower=lower, upper=99)
    assert [r.lower for r in model.constraints[0].rows] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_equal_limits_in_one_element_make_that_row_an_equality(kind: str) -> None:
    model = constrain(kind, lambda x, y: x, 2, lower=[1, 2], upper=[3, 2])
    assert model.constraints[0].equalities() == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_structural_zeros_of_a_sparse_expression_count_as_zero(kind: str) -> None:
    model = constrain(kind, lambda x, y: ca.diag(x), 2, lower=-1, upper=1)
    rows = rows_at(model, POINT)
    assert [v for v, _, _ in rows] == [1, 0, 0, 2]


# -- tolerance -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_equality_is_widened_on_both_sides(kind: str) -> None:
    model = constrain(kind, lambda x, y: x * y == 3, tolerance=0.25)
    (constraint,) = model.constraints
    lower, upper = constraint.limits()
    assert (lower.tolist(), upper.tolist()) == ([2.75], [3.25])
    assert constraint.tolerance == 0.25


def test_only_the_equalities_of_a_vector_are_widened() -> None:
    model = constrain("SX", lambda x, y: x, 2, lower=[1, 2], upper=[3, 2], tolerance=0.5)
    lower, upper = model.constraints[0].limits()
    assert lower.tolist() == [1, 1.5]
    assert upper.tolist() == [3, 2.5]


@pytest.mark.parametrize("tolerance", [0, -1, np.nan, np.inf, "a"])
def test_bad_tolerance(tolerance: Any) -> None:
    with pytest.raises(ModelError, match=r"'con'.*tolerance"):
        constrain("SX", lambda x, y: x == y, tolerance=tolerance)


def test_tolerance_of_an_inequality_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'con'.*tolerance= is for equalities"):
        constrain("SX", lambda x, y: x <= y, tolerance=1e-3)


# -- names and source lines -----------------------------------------


def test_default_names_count_the_constraints() -> None:
    model, x, y = pair("SX")
    model.subject_to(x <= 1)
    model.subject_to(y <= 1, name="mine")
    model.subject_to(x + y <= 1)
    assert [c.name for c in model.constraints] == ["c1", "mine", "c3"]


def test_a_default_name_never_collides_with_a_given_one() -> None:
    model, x, y = pair("SX")
    model.subject_to(x <= 1, name="c2")
    model.subject_to(y <= 1)
    names = [c.name for c in model.constraints]
    assert len(set(names)) == 2
    assert names[0] == "c2"


def test_duplicate_name_is_refused_and_leaves_no_trace() -> None:
    model, x, y = pair("SX")
    model.subject_to(x <= 1, name="stress")
    with pytest.raises(ModelError, match=r"'stress'.*exists already"):
        model.subject_to(y <= 1, name="stress")
    assert len(model.constraints) == 1


def test_row_names_have_an_index_only_if_there_are_several() -> None:
    model, x, _ = pair("SX", 2)
    model.subject_to(x <= 1, name="v")
    model.subject_to(x[0] + x[1] <= 1, name="s")
    assert [c.row_names() for c in model.constraints] == [["v[0]", "v[1]"], ["s"]]


def test_source_is_the_line_of_the_caller() -> None:
    model, x, y = pair("SX")
    line = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    model.subject_to(x <= 1)
    model.subject_to(
        x + y,
        lower=0,
    )
    file = Path(__file__).name
    first, second = (c.source for c in model.constraints)
    assert first == f"{file}:{line + 1}"
    assert second.startswith(f"{file}:")
    assert line + 2 <= int(second.split(":")[1]) <= line + 5


def test_given_source_is_kept() -> None:
    model, x, _ = pair("SX")
    model.subject_to(x <= 1, source="handbook p. 7")
    assert model.constraints[0].source == "handbook p. 7"


def test_constraint_is_immutable() -> None:
    model, x, _ = pair("SX")
    model.subject_to(x <= 1)
    constraint = model.constraints[0]
    assert isinstance(constraint, Constraint)
    with pytest.raises(AttributeError):
        constraint.name = "other"  # type: ignore[misc]


# -- everything that is not a relation -----------------------------------------


def other_kind(x: Any) -> Any:
    return (ca.MX if isinstance(x, ca.SX) else ca.SX).sym("z")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (lambda x, y: x + y, "is not a relation"),
        (lambda x, y: True, "expected a CasADi relation"),
        (lambda x, y: False, "expected a CasADi relation"),
        (lambda x, y: np.bool_(True), "expected a CasADi relation"),
        (lambda x, y: None, "expected a CasADi relation"),
        (lambda x, y: 3.0, "expected a CasADi relation"),
        (lambda x, y: "x <= 3", "expected a CasADi relation"),
        (lambda x, y: ca.DM(3) <= 2, "expected a CasADi relation"),
        (lambda x, y: x != 3, "is not a relation"),
        (lambda x, y: ca.logic_and(x <= 1, y <= 1), "is not a relation"),
        (lambda x, y: ca.logic_not(x <= 1), "is not a relation"),
        (lambda x, y: ca.vertcat(x <= 1, y), "is not a relation"),
        (lambda x, y: x <= np.nan, "limit is NaN"),
        (lambda x, y: x == np.nan, "limit is NaN"),
        (lambda x, y: np.nan * x <= 1, "coefficient is nan"),
        (lambda x, y: x + np.inf * y <= 1, "coefficient is inf"),
        (lambda x, y: ca.sin(x) + y * np.nan >= y, "coefficient is nan"),
        (lambda x, y: x <= -INF, "no design can satisfy"),
        (lambda x, y: x >= INF, "no design can satisfy"),
        (lambda x, y: x == INF, "no design can satisfy"),
        (lambda x, y: x + type(x).sym("alien") <= 1, "unknown variable alien"),
        (lambda x, y: other_kind(x) <= 1, "symbols but the expression is"),
        (lambda x, y: x - x <= -1, "never hold|not a relation"),
        (lambda x, y: type(x)(3) <= 2, "never hold|not a relation"),
    ],
)
def test_bad_relation_is_refused_by_name(kind: str, relation: Relation, message: str) -> None:
    model, x, y = pair(kind)
    with pytest.raises(ModelError, match=message) as caught:
        model.subject_to(relation(x, y), name="stress")
    assert "'stress'" in str(caught.value)
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert model.constraints == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("expression", "limits", "message"),
    [
        (lambda x, y: x, {"lower": 2, "upper": 1}, "lower limit 2 is above upper limit 1"),
        (lambda x, y: x, {"lower": np.nan}, "limit is NaN"),
        (lambda x, y: x, {"lower": 0, "upper": np.nan}, "limit is NaN"),
        (lambda x, y: x, {"lower": INF}, "no design can satisfy"),
        (lambda x, y: x, {"upper": -INF}, "no design can satisfy"),
        (lambda x, y: x <= y, {"lower": 1}, "a relation"),
        (lambda x, y: x == y, {"upper": 1}, "a relation"),
        (lambda x, y: 3, {"lower": 1}, "expected a CasADi expression"),
        (lambda x, y: True, {"upper": 1}, "expected a CasADi expression"),
        (lambda x, y: x, {"lower": "a"}, "lower='a'"),
        (lambda x, y: x, {"lower": [1, 2]}, "one entry for each"),
        (lambda x, y: ca.vertcat(x, y), {"upper": [1, 2, 3]}, "one entry for each"),
        (lambda x, y: np.nan * x, {"upper": 1}, "coefficient is nan"),
        (lambda x, y: x + type(x).sym("alien"), {"upper": 1}, "unknown variable alien"),
        (lambda x, y: other_kind(x), {"upper": 1}, "symbols but the expression is"),
    ],
)
def test_bad_two_sided_constraint_is_refused_by_name(
    kind: str, expression: Relation, limits: dict[str, Any], message: str
) -> None:
    model, x, y = pair(kind)
    with pytest.raises(ModelError, match=message) as caught:
        model.subject_to(expression(x, y), name="stress", **limits)
    assert "'stress'" in str(caught.value)
    assert model.constraints == ()


@pytest.mark.parametrize("kind", KINDS)
def test_nan_in_one_element_of_a_vector_limit(kind: str) -> None:
    with pytest.raises(ModelError, match=r"'con'.*nan|'con'.*NaN"):
        constrain(kind, lambda x, y: x <= [1, np.nan], 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation",
    [lambda x, y: x <= x, lambda x, y: x - x <= 1, lambda x, y: 0 * x <= 1, lambda x, y: x == x],
)
def test_a_relation_that_always_holds_restricts_nothing(kind: str, relation: Relation) -> None:
    model = constrain(kind, relation)
    assert model.violations([7.0, -7.0]).maximum == 0


def test_variables_of_another_model_are_foreign() -> None:
    model, x, _ = pair("SX")
    stranger = Model().variable("x")
    with pytest.raises(ModelError, match="unknown variable x"):
        model.subject_to(x + stranger <= 1)


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_a_comparison_of_a_comparison_is_refused(symbols: str) -> None:
    """CasADi reads ``-1 <= (x <= 3)`` as a number between 0 and 1, which is always above -1."""
    model = Model("m", symbols=symbols)
    x = model.variable("x", lower=0, upper=5)
    for relation in ((x <= 3) >= -1, (x >= 1) <= 3, (x == 2) == (x == 1)):
        with pytest.raises(ModelError, match="compares a comparison"):
            model.subject_to(relation)
    assert model.constraints == ()
