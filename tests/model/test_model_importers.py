"""`from_opti`, `from_nlp`, `as_model`: the same model, whichever way it is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng.errors import ModelError
from archeng.model import FeasibleSet, Model, as_model, compile_model, from_nlp, from_opti

INF = np.inf
TYPES = [ca.SX, ca.MX]


# -- one model, three ways of writing it -----------------------------------------

A = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0]])


def by_hand(kind: str) -> Model:
    model = Model("hand", symbols=kind)
    x = model.variable("x", shape=3, lower=[-2, -1, 0], upper=[4, 3, 2.5])
    model.subject_to(A @ x, upper=[3, 4], lower=[-INF, -1])
    model.subject_to(ca.sumsqr(x) <= 6)
    model.subject_to(x[0] * x[1] == 0.5, tolerance=WIDTH)
    model.subject_to(ca.exp(x[2]) + x[0], lower=-1, upper=9)
    return model


def rows_of(x: Any) -> Any:
    return ca.vertcat(A @ x, ca.sumsqr(x), x[0] * x[1], ca.exp(x[2]) + x[0])


WIDTH = 1e-6  # the default depends on the start, and an Opti always has one
LBG = [-INF, -1, -INF, 0.5, -1]
UBG = [3, 4, 6, 0.5, 9]


def by_nlp(kind: Any, **options: Any) -> Model:
    x = kind.sym("x", 3)
    return from_nlp(
        {"x": x, "g": rows_of(x)},
        lbx=[-2, -1, 0],
        ubx=[4, 3, 2.5],
        lbg=LBG,
        ubg=UBG,
        tolerance=WIDTH,
        **options,
    )


def by_opti() -> Model:
    opti = ca.Opti()
    x = opti.variable(3)
    limit = opti.parameter()
    opti.set_value(limit, 6)
    opti.subject_to(opti.bounded([-2, -1, 0], x, [4, 3, 2.5]))
    opti.subject_to(A[:1] @ x <= 3)
    opti.subject_to(opti.bounded(-1, A[1:] @ x, 4))
    opti.subject_to(ca.sumsqr(x) <= limit)
    opti.subject_to(x[0] * x[1] == 0.5)
    opti.subject_to(opti.bounded(-1, ca.exp(x[2]) + x[0], 9))
    return from_opti(opti, tolerance=WIDTH)


def describe(fs: FeasibleSet) -> Any:
    return [
        (r.kind, r.equality, low, high)
        for r, low, high in zip(fs.rows, fs.lower.tolist(), fs.upper.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    "other",
    [
        lambda: by_hand("MX"),
        lambda: by_nlp(ca.SX),
        lambda: by_nlp(ca.MX),
        by_opti,
    ],
)
def test_the_same_model_has_the_same_rows_however_it_is_written(other: Any) -> None:
    first, second = compile_model(by_hand("SX")), compile_model(other())
    assert describe(first) == describe(second)
    for x in np.random.default_rng(0).uniform(-3, 3, (50, 3)):
        np.testing.assert_allclose(first.values(x), second.values(x), rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(
            first.violations(x), second.violations(x), rtol=1e-13, atol=1e-13
        )


# -- Opti -----------------------------------------


def test_opti_variables_of_all_shapes_with_initial_guesses() -> None:
    opti = ca.Opti()
    a, b, c = opti.variable(), opti.variable(2), opti.variable(2, 2)
    opti.subject_to(a + ca.sum1(b) + ca.sum1(ca.vec(c)) <= 1)
    opti.set_initial(a, 7)
    opti.set_initial(c, ca.DM([[1, 2], [3, 4]]))
    model = from_opti(opti)
    assert [v.shape for v in model.variables] == [(), (2,), (2, 2)]
    assert [v.start.tolist() for v in model.variables] == [[7], [0, 0], [1, 3, 2, 4]]
    assert all(np.isnan(v.scale).all() for v in model.variables)
    assert not any(v.name.startswith("opti") for v in model.variables)
    assert len({v.name for v in model.variables}) == 3


def test_opti_names_and_scale() -> None:
    opti = ca.Opti()
    a, b = opti.variable(), opti.variable(2, 2)
    opti.subject_to(a + b[1, 0] <= 1)
    model = from_opti(opti, names=["t", "W"], scale=[1, 2, 3, 4, 5], name="frame")
    assert model.name == "frame"
    assert model.element_names() == ["t", "W[0,0]", "W[1,0]", "W[0,1]", "W[1,1]"]
    assert [v.scale.tolist() for v in model.variables] == [[1], [2, 3, 4, 5]]
    assert model.violations({"t": 5, "W": [[0, 0], [-2, 0]]})["g[0]"].value == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a", "b"]}, "one text for each of the"),
        ({"names": []}, "one text for each of the"),
        ({"scale": [1, 2]}, "scale must be a number or have 3 entries"),
        ({"scale": -1}, "scale must be positive"),
    ],
)
def test_opti_wrong_lengths(options: dict[str, Any], message: str) -> None:
    opti = ca.Opti()
    x = opti.variable(3)
    opti.subject_to(x >= 0)
    with pytest.raises(ModelError, match=message):
        from_opti(opti, **options)


def test_opti_variable_that_only_the_simulator_uses_is_kept() -> None:
    """`names` has one entry per opti.variable() call; a variable must not vanish silently."""
    opti = ca.Opti()
    opti.variable()
    b = opti.variable()
    opti.subject_to(b >= 1)
    model = from_opti(opti, names=["a", "b"], scale=1.0)
    assert model.element_names() == ["a", "b"]
    assert model.violations([5.0, 0.0])["g[0]"].violation == 1.0


def test_opti_parameters_are_replaced_by_their_values() -> None:
    opti = ca.Opti()
    x, p = opti.variable(2), opti.parameter(2)
    opti.subject_to(opti.bounded(p[0], x, 2 * p[1]))
    opti.subject_to(p[1] * x[0] + x[1] <= p[0] ** 2)
    opti.set_value(p, [1, 4])
    fs = compile_model(from_opti(opti))
    low, high = fs.box()
    assert low.tolist() == [1, 1]
    assert high.tolist() == [8, 8]
    opti.set_value(p, [0, 0])  # later changes do not reach the imported model
    assert fs.values(np.array([2.0, 3.0]))[-1] - fs.upper[-1] == pytest.approx(4 * 2 + 3 - 1)


def test_opti_unset_parameter() -> None:
    opti = ca.Opti()
    x, p = opti.variable(), opti.parameter()
    opti.subject_to(x * p <= 1)
    with pytest.raises(ModelError, match=r"parameter.*set_value"):
        from_opti(opti)


def test_opti_equality_tolerance_is_given_to_equalities_only() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(x[0] + x[1] == 3)
    opti.subject_to(x[0] - x[1] <= 3)
    fs = compile_model(from_opti(opti, tolerance=0.5))
    assert sorted(zip(fs.lower.tolist(), fs.upper.tolist(), strict=True)) == [
        (-INF, 3.0),
        (2.5, 3.5),
    ]
    default = compile_model(from_opti(opti)).upper.max() - 3
    assert default == pytest.approx(1e-7 * np.sqrt(2), rel=0.01)  # deviations of 1


def test_opti_rows_know_their_source_lines() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    line = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    opti.subject_to(x >= 0)
    opti.subject_to(x[0] ** 2 <= 4)
    sources = [c.source for c in from_opti(opti).constraints]
    file = Path(__file__).name
    assert sources == [f"{file}:{line + 1}", f"{file}:{line + 1}", f"{file}:{line + 2}"]


def test_opti_bounds_become_bounds_and_infinite_sides_are_none() -> None:
    opti = ca.Opti()
    x = opti.variable(2)
    opti.subject_to(x >= [0, 1])
    opti.subject_to(x <= [2, INF])
    fs = compile_model(from_opti(opti))
    low, high = fs.box()
    assert low.tolist() == [0, 1]
    assert high.tolist() == [2, INF]
    assert fs.m == 2


def test_opti_is_not_changed() -> None:
    opti = ca.Opti()
    x = opti.variable()
    opti.subject_to(x >= 1)
    opti.minimize(x**2)
    from_opti(opti, objective=True)
    assert (opti.nx, opti.ng, opti.np) == (1, 1, 0)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    assert opti.solve().value(x) == pytest.approx(1, abs=1e-6)


def test_opti_objective_is_kept_on_request_only() -> None:
    opti = ca.Opti()
    x, p = opti.variable(2), opti.parameter()
    opti.subject_to(x >= 1)
    opti.minimize(p * x[0] + x[1] ** 2)
    opti.set_value(p, 10)
    assert not from_opti(opti).has_objective
    model = from_opti(opti, objective=True)
    assert model.objective_function()([3.0, 4.0]) == 46.0


def test_opti_nan_limit() -> None:
    opti = ca.Opti()
    x = opti.variable()
    opti.subject_to(x <= np.nan)
    with pytest.raises(ModelError, match="NaN"):
        from_opti(opti)


# -- nlp dictionaries -----------------------------------------


@pytest.fixture(params=TYPES)
def nlp(request: Any) -> dict[str, Any]:
    kind = request.param
    x, p = kind.sym("x", 3), kind.sym("p", 2)
    g = ca.vertcat(x[0] + p[0] * x[1], x[2] ** 2, p[1] * x[0])
    return {"x": x, "p": p, "g": g, "f": ca.sumsqr(x) + p[0]}


def test_nlp_bounds_start_scale_parameters_and_objective(nlp: dict[str, Any]) -> None:
    model = from_nlp(
        nlp,
        lbx=0,
        ubx=[1, 2, 3],
        lbg=[-INF, 1, 0],
        ubg=[3, 1, INF],
        p=[2, 3],
        x0=[0.1, 0.2, 0.3],
        scale=0.5,
        tolerance=1e-3,
        objective=True,
        name="mine",
    )
    assert model.name == "mine"
    assert [v.lower.item() for v in model.variables] == [0, 0, 0]
    assert [v.upper.item() for v in model.variables] == [1, 2, 3]
    assert [v.start.item() for v in model.variables] == [0.1, 0.2, 0.3]
    assert [v.scale.item() for v in model.variables] == [0.5] * 3
    table = model.violations([1.0, 2.0, 3.0])
    assert [table[f"g[{i}]"].value for i in range(3)] == [5, 9, 3]
    assert (table["g[1]"].lower, table["g[1]"].upper) == (0.999, 1.001)
    assert (table["g[0]"].lower, table["g[0]"].upper) == (-INF, 3)
    assert model.objective_function()([1.0, 2.0, 3.0]) == 16.0


def test_nlp_without_rows() -> None:
    model = from_nlp({"x": ca.SX.sym("x", 2)}, lbx=-1, ubx=[1, 2])
    assert model.n_variables == 2
    assert model.constraints == ()
    assert not model.has_objective


@pytest.mark.parametrize("kind", TYPES)
def test_nlp_takes_the_names_of_the_symbols_in_their_order(kind: Any) -> None:
    a, b = kind.sym("a"), kind.sym("b")
    model = from_nlp({"x": ca.vertcat(b, a), "g": a - 2 * b}, lbx=[1, 2], ubg=0)
    assert model.element_names() == ["b", "a"]
    assert [v.lower.item() for v in model.variables] == [1, 2]
    assert model.violations({"a": 7, "b": 1})["g[0]"].value == 5


@pytest.mark.parametrize("kind", TYPES)
def test_nlp_symbols_of_the_same_name_get_numbers(kind: Any) -> None:
    model = from_nlp({"x": ca.vertcat(kind.sym("a"), kind.sym("a"))})
    assert model.element_names() == ["x[0]", "x[1]"]


def test_nlp_names_and_row_names(nlp: dict[str, Any]) -> None:
    model = from_nlp(nlp, p=1, names=["a", "b", "c"], row_names=["r", "s", "t"], ubg=5)
    assert model.element_names() == ["a", "b", "c"]
    assert [c.name for c in model.constraints] == ["r", "s", "t"]


@pytest.mark.parametrize("kind", TYPES)
def test_nlp_matrices_are_read_column_by_column(kind: Any) -> None:
    x = kind.sym("x", 2, 2)
    model = from_nlp({"x": x, "g": 2 * x}, lbx=[1, 2, 3, 4], ubg=[10, 20, 30, 40])
    table = model.violations([1.0, 2.0, 3.0, 4.0])
    assert [table[f"g[{i}]"].value for i in range(4)] == [2, 4, 6, 8]
    assert [table[f"g[{i}]"].upper for i in range(4)] == [10, 20, 30, 40]


@pytest.mark.parametrize("as_array", [np.array, ca.DM, list, tuple, lambda v: np.array(v)[:, None]])
def test_nlp_numbers_may_come_as_any_array(nlp: dict[str, Any], as_array: Any) -> None:
    model = from_nlp(nlp, lbx=as_array([1, 2, 3]), p=as_array([2, 3]), ubg=as_array([7, 8, 9]))
    assert [v.lower.item() for v in model.variables] == [1, 2, 3]
    assert [c.rows[0].upper for c in model.constraints] == [7, 8, 9]
    assert model.violations([1.0, 1.0, 1.0])["g[0]"].value == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "2 parameters"),
        ({"p": [1, 2, 3]}, "p must be a number or have 2 entries"),
        ({"p": "a"}, "p must be a number or have 2 entries"),
        ({"p": np.nan}, "p must be finite"),
        ({"p": 1, "lbx": [1, 2]}, "lbx must be a number or have 3 entries"),
        ({"p": 1, "ubx": [1, 2]}, "ubx must be a number or have 3 entries"),
        ({"p": 1, "lbg": [1, 2]}, "lbg must be a number or have 3 entries"),
        ({"p": 1, "ubg": [1, 2, 3, 4]}, "ubg must be a number or have 3 entries"),
        ({"p": 1, "x0": [1, 2]}, "x0 must be a number or have 3 entries"),
        ({"p": 1, "scale": [1, 2]}, "scale must be a number or have 3 entries"),
        ({"p": 1, "names": ["a"]}, "names must have one text for each of the 3"),
        ({"p": 1, "row_names": ["a"]}, "row_names must have one text for each of the 3"),
        ({"p": 1, "names": ["a", "a", "b"]}, "'a' exists already"),
        ({"p": 1, "row_names": ["a", "a", "b"]}, "'a'.*exists already"),
        ({"p": 1, "lbx": 2, "ubx": 1}, "lower bound 2 is above"),
        ({"p": 1, "lbg": 2, "ubg": 1}, "lower limit 2 is above"),
        ({"p": 1, "lbg": np.nan}, "NaN"),
        ({"p": 1, "x0": np.nan}, "start must be finite"),
    ],
)
def test_nlp_wrong_numbers(nlp: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        from_nlp(nlp, **options)


def test_nlp_missing_and_unknown_keys(nlp: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"no 'x'; its keys are \['g'\]"):
        from_nlp({"g": nlp["g"]})
    with pytest.raises(ModelError, match=r"unknown keys \['h'\]"):
        from_nlp({"x": nlp["x"], "h": nlp["g"]})
    with pytest.raises(ModelError, match=r"objective|'f'"):
        from_nlp({"x": nlp["x"]}, objective=True)
    with pytest.raises(ModelError, match="neither in x nor in p"):
        from_nlp({"x": nlp["x"], "g": nlp["g"]})


def test_nlp_values_for_parameters_that_do_not_exist() -> None:
    with pytest.raises(ModelError, match="p must be"):
        from_nlp({"x": ca.SX.sym("x")}, p=[1, 2])


# -- as_model -----------------------------------------


def test_as_model_passes_models_and_imports_the_others(nlp: dict[str, Any]) -> None:
    model = Model()
    assert as_model(model, objective=True) is model
    imported = as_model(nlp, objective=True, p=1, lbx=0)
    assert imported.has_objective
    assert not as_model(nlp, objective=False, p=1).has_objective
    opti = ca.Opti()
    x = opti.variable()
    opti.minimize(x**2)
    assert as_model(opti, objective=True).has_objective
    assert not as_model(opti, objective=False).has_objective


@pytest.mark.parametrize("thing", [None, 3, "model", Model, ca.SX.sym("x"), [1, 2]])
def test_as_model_refuses_everything_else(thing: Any) -> None:
    with pytest.raises(ModelError, match="must be an archeng"):
        as_model(thing, objective=False)


@pytest.mark.parametrize("thing", [Model(), ca.Opti()])
def test_bounds_belong_to_nlp_dictionaries_only(thing: Any) -> None:
    with pytest.raises(ModelError, match="no option lbx"):
        as_model(thing, objective=False, lbx=0)


def test_unknown_options_of_an_nlp(nlp: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"no option wrong.*lbx, ubx"):
        as_model(nlp, objective=False, p=1, wrong=3)
