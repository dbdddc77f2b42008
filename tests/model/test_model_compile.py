"""`compile_model`: kinds of rows, elimination, merging, derivatives, exact feasibility."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from archeng.errors import InfeasibleModelError, ModelError
from archeng.model import FeasibleSet, Model, RowKind, compile_model

KINDS = ["SX", "MX"]
INF = np.inf


def kinds(fs: FeasibleSet) -> dict[str, str]:
    return {r.name: r.kind.value for r in fs.rows}


def limits(fs: FeasibleSet, name: str) -> tuple[float, float]:
    (j,) = [j for j, r in enumerate(fs.rows) if r.name == name]
    return float(fs.lower[j]), float(fs.upper[j])


def single(kind: str, relation: Callable[[Any], Any], **options: Any) -> FeasibleSet:
    """One free variable x in [0, 5] and one constraint `con`."""
    model = Model("single", symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(relation(x), name="con", source="a.py:1", **options)
    return compile_model(model)


def with_fixed(kind: str, relation: Callable[[Any, Any], Any], **options: Any) -> FeasibleSet:
    """Free x in [0, 5], fixed c = 2, and one constraint `con`."""
    model = Model("fixed", symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    c = model.variable("c", lower=2, upper=2)
    model.subject_to(relation(x, c), name="con", source="a.py:1", **options)
    return compile_model(model)


# -- what a row is -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_sorted_into_bounds_linear_and_nonlinear(kind: str) -> None:
    model = Model(symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    y = model.variable("y", upper=3)
    z = model.variable("z")
    model.subject_to(x * y <= 1, name="product")
    model.subject_to(x + 2 * y <= 1, name="sum")
    model.subject_to(x**2 + z == 1, name="square")
    model.subject_to(x - z == 1, name="difference")
    fs = compile_model(model)
    assert list(kinds(fs).items()) == [
        ("bounds of x", "bound"),
        ("bounds of y", "bound"),
        ("sum", "linear"),
        ("difference", "linear"),
        ("product", "nonlinear"),
        ("square", "nonlinear"),
    ]
    assert fs.equality.tolist() == [False, False, False, True, False, True]
    assert (fs.n, fs.m, fs.n_linear, fs.n_nonlinear) == (3, 6, 2, 2)
    assert fs.bounded.tolist() == [0, 1]
    assert not fs.is_linear
    low, high = fs.box()
    assert low.tolist() == [0, -INF, -INF]
    assert high.tolist() == [5, 3, INF]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (lambda x: 2 * x + 1 <= 3, RowKind.LINEAR),
        (lambda x: x / 3 <= 1, RowKind.LINEAR),
        (lambda x: (x + 1) * 2 - x <= 3, RowKind.LINEAR),
        (lambda x: x * x <= 3, RowKind.NONLINEAR),
        (lambda x: 1 / x <= 3, RowKind.NONLINEAR),
        (lambda x: ca.sin(x) <= 0.5, RowKind.NONLINEAR),
        (lambda x: ca.fabs(x - 1) <= 3, RowKind.NONLINEAR),
        (lambda x: ca.fmax(x, 2) <= 3, RowKind.NONLINEAR),
        (lambda x: ca.if_else(x > 1, x, 2 * x) <= 3, RowKind.NONLINEAR),
    ],
)
def test_kind_is_detected_symbolically(
    kind: str, relation: Callable[[Any], Any], expected: RowKind
) -> None:
    assert kinds(single(kind, relation))["con"] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_with_a_fixed_variable_is_linear(kind: str) -> None:
    model = Model(symbols=kind)
    x, y = (model.variable(name, lower=0, upper=5) for name in "xy")
    c = model.variable("c", lower=3, upper=3)
    model.subject_to(x * c + c**2 * y <= 7, name="row")
    fs = compile_model(model)
    assert kinds(fs)["row"] == "linear"
    np.testing.assert_array_equal(fs.constant_jacobian[-1], [3, 9])


def test_default_scale_is_a_fifth_of_the_width_and_declared_scale_wins() -> None:
    model = Model()
    model.variable("a", lower=0, upper=10)
    model.variable("b", lower=0, upper=10, scale=7)
    model.variable("c", lower=0)
    model.variable("d", start=3, scale=2)
    fs = compile_model(model)
    np.testing.assert_array_equal(fs.scale, [2, 7, np.nan, 2])
    np.testing.assert_array_equal(fs.start, [np.nan, np.nan, np.nan, 3])


# -- fixed variables -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_variables_are_eliminated(kind: str) -> None:
    model = Model(symbols=kind)
    a = model.variable("a", shape=3, lower=[0, 7, 0], upper=[1, 7, 1])
    b = model.variable("b", lower=-2, upper=-2)
    c = model.variable("c", lower=0, upper=9)
    model.subject_to(a[0] * a[1] + b * c <= 4, name="row")
    model.subject_to(a[2] ** 2 + c**2 <= 50, name="curve")
    fs = compile_model(model)
    assert fs.free.tolist() == [0, 2, 4]
    assert fs.free_names == ("a[0]", "a[2]", "c")
    assert kinds(fs)["row"] == "linear"
    assert "variable a[1] is fixed at 7" in fs.notes
    assert "variable b is fixed at -2" in fs.notes
    x = np.array([0.25, 0.5, 6.0])
    full = fs.expand(x)
    assert full.tolist() == [0.25, 7, 0.5, -2, 6]
    np.testing.assert_array_equal(fs.reduce(full), x)
    table = model.violations(full)
    values = dict(zip(kinds(fs), fs.values(x), strict=True))
    for name in ("row", "curve"):
        assert values[name] == table[name].value


def test_expand_and_reduce_return_fresh_arrays() -> None:
    model = Model()
    model.variable("x", lower=0, upper=1)
    model.variable("c", lower=2, upper=2)
    fs = compile_model(model)
    full = fs.expand(np.array([0.5]))
    full[1] = 99
    assert fs.expand(np.array([0.5])).tolist() == [0.5, 2]
    reduced = fs.reduce(full)
    reduced[0] = -1
    assert full[0] == 0.5


def test_no_variables_and_no_free_variables() -> None:
    with pytest.raises(ModelError, match="'m' has no variables"):
        compile_model(Model("m"))
    model = Model("m")
    model.variable("x", lower=1, upper=1)
    with pytest.raises(ModelError, match="no free variable"):
        compile_model(model)


# -- constant rows and rows without limits -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation",
    [lambda x, c: c <= 2, lambda x, c: c**2 >= 4, lambda x, c: (c - 2) * x <= 0.5],
)
def test_constant_rows_that_hold_are_dropped(kind: str, relation: Any) -> None:
    fs = with_fixed(kind, relation)
    assert kinds(fs) == {"bounds of x": "bound"}
    assert "row con is constant, holds, and was dropped" in fs.notes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "value"),
    [
        (lambda x, c: c >= 3, "2"),
        (lambda x, c: c**2 <= np.nextafter(4, 0), "4"),
        (lambda x, c: (c - 2) * x <= -1, "0"),
        (lambda x, c: ca.log(-c) <= 1, "nan"),
        (lambda x, c: c == 2.5, "2"),
    ],
)
def test_constant_rows_that_cannot_hold_are_reported(kind: str, relation: Any, value: str) -> None:
    with pytest.raises(InfeasibleModelError, match=f"value {value} is outside") as caught:
        with_fixed(kind, relation)
    assert "con (a.py:1)" in str(caught.value)
    assert caught.value.conflicts == ("con (a.py:1)",)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fixed_value_may_use_the_tolerance_of_an_equality(kind: str) -> None:
    fs = with_fixed(kind, lambda x, c: c == 2 + 1e-7)
    assert kinds(fs) == {"bounds of x": "bound"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("lower", "upper"), [(-INF, INF), (None, INF), (-INF, None)])
def test_rows_without_limits_are_dropped(kind: str, lower: Any, upper: Any) -> None:
    fs = single(kind, lambda x: x**2, lower=lower, upper=upper)
    assert kinds(fs) == {"bounds of x": "bound"}
    assert "row con has no limit and was dropped" in fs.notes


# -- bounds written as constraints -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bare_variables_become_bounds_and_keep_their_source(kind: str) -> None:
    model = Model(symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    y = model.variable("y")
    model.subject_to(x <= 4, name="cap", source="a.py:1")
    model.subject_to(x >= -1, name="loose", source="a.py:2")
    model.subject_to(-x <= -1, name="floor", source="a.py:3")
    model.subject_to(y, lower=-2, upper=8, name="range", source="a.py:4")
    fs = compile_model(model)
    assert kinds(fs) == {"bounds of x": "bound", "bounds of y": "bound"}
    assert limits(fs, "bounds of x") == (1, 4)
    assert limits(fs, "bounds of y") == (-2, 8)
    assert fs.rows[0].source == "cap (a.py:1), loose (a.py:2), floor (a.py:3)"
    assert str(fs.rows[1]) == "bounds of y (range (a.py:4))"
    assert fs.scale.tolist() == [3 / 5, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation",
    [lambda x: x <= 4, lambda x: x <= [4, 4], lambda x: ca.DM([4, 4]) >= x, lambda x: -x >= -4],
)
def test_bounds_on_a_whole_vector_are_merged_too(kind: str, relation: Any) -> None:
    model = Model(symbols=kind)
    x = model.variable("x", shape=2, lower=0, upper=5)
    model.subject_to(relation(x), name="cap")
    fs = compile_model(model)
    assert kinds(fs) == {"bounds of x[0]": "bound", "bounds of x[1]": "bound"}
    assert fs.upper.tolist() == [4, 4]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation", [lambda x: 2 * x <= 4, lambda x: x + 1 <= 3, lambda x: x == 2, lambda x: 1 - x <= 3]
)
def test_what_is_not_exactly_a_variable_stays_a_row(kind: str, relation: Any) -> None:
    """Rewriting it would change where it holds by rounding (or lose the equality)."""
    fs = single(kind, relation)
    assert kinds(fs) == {"bounds of x": "bound", "con": "linear"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "message"),
    [(lambda x: x >= 6, "at least 6 and at most 5"), (lambda x: -x >= 1, "at least 0.*most -1")],
)
def test_contradictory_bounds_are_reported(kind: str, relation: Any, message: str) -> None:
    with pytest.raises(InfeasibleModelError, match=message) as caught:
        single(kind, relation)
    assert caught.value.conflicts == ("con (a.py:1)", "bounds of x")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation",
    [
        lambda x: x + ca.floor(x) <= 3,
        lambda x: x + 5 * (x > 2) <= 3,
        lambda x: x + ca.sign(x - 2) + 1 <= 3,
        lambda x: x - ca.ceil(x - 4) - 4 <= 0.5,
        lambda x: ca.fmod(x, 1) <= 0.5,
        lambda x: ca.floor(x) <= 3,
    ],
)
def test_piecewise_rows_are_never_mistaken_for_bounds(kind: str, relation: Any) -> None:
    """Their derivative is that of a bare variable, their value is not."""
    model = Model(symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(relation(x), name="con")
    fs = compile_model(model)
    for value in np.linspace(0, 5, 41):
        point = np.array([value])
        assert fs.is_feasible(point) == (model.violations(point).maximum == 0), value


def test_a_step_of_one_variable_beside_another_is_no_bound() -> None:
    model = Model()
    x, y = (model.variable(name, lower=0, upper=5) for name in "xy")
    model.subject_to(ca.floor(x) + y <= 3, name="con")
    fs = compile_model(model)
    assert fs.is_feasible(np.array([2.5, 1.0]))
    assert not fs.is_feasible(np.array([4.5, 1.0]))


# -- values and derivatives -----------------------------------------


def hand_model(kind: str) -> Model:
    model = Model("hand", symbols=kind)
    x = model.variable("x", lower=-3, upper=3)
    c = model.variable("c", lower=2, upper=2)
    y = model.variable("y", lower=-3, upper=3)
    model.subject_to(x**2 * y + ca.sin(y) <= 2, name="curve")
    model.subject_to(c * x - y <= 1, name="line")
    model.subject_to(ca.exp(x * y), lower=-1, upper=5, name="exponential")
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_jacobian_by_hand(kind: str) -> None:
    fs = compile_model(hand_model(kind))
    x, y = point = np.array([0.7, -1.3])
    values, jacobian = fs.values_and_jacobian(point)
    e = np.exp(x * y)
    np.testing.assert_allclose(values, [x, y, 2 * x - y, x**2 * y + np.sin(y), e], rtol=1e-14)
    np.testing.assert_allclose(
        jacobian,
        [[1, 0], [0, 1], [2, -1], [2 * x * y, x**2 + np.cos(y)], [y * e, x * e]],
        rtol=1e-14,
    )
    np.testing.assert_array_equal(values, fs.values(point))


@pytest.mark.parametrize("kind", KINDS)
def test_hessian_by_hand(kind: str) -> None:
    fs = compile_model(hand_model(kind))
    x, y = point = np.array([0.7, -1.3])
    e = np.exp(x * y)
    curve = np.array([[2 * y, 2 * x], [2 * x, -np.sin(y)]])
    exponential = e * np.array([[y * y, 1 + x * y], [1 + x * y, x * x]])
    weights = np.array([100.0, 100.0, 100.0, 0.5, -2.0])  # bounds and lines do not bend
    np.testing.assert_allclose(
        fs.hessian(point, weights), 0.5 * curve - 2 * exponential, rtol=1e-13
    )


TABLE = ([0.0, 1.0, 2.5, 4.0], [0.0, 1.0, 0.5, 2.0])


def lookup_model() -> Model:
    """A row with a lookup table."""
    model = Model("table", symbols="MX")
    x = model.variable("x", lower=0, upper=4)
    y = model.variable("y", lower=0, upper=4)
    table = ca.interpolant("table", "linear", [TABLE[0]], TABLE[1])
    model.subject_to(table(x) + y**2 <= 3, name="lookup")
    model.subject_to(x + 2 * y <= 6, name="line")
    return model


def test_lookup_table_inside_a_row() -> None:
    fs = compile_model(lookup_model())
    assert kinds(fs)["lookup"] == "nonlinear"
    for x, y in np.random.default_rng(0).uniform(0, 4, (20, 2)):
        expected = [x, y, x + 2 * y, np.interp(x, *TABLE) + y**2]
        np.testing.assert_allclose(fs.values(np.array([x, y])), expected, rtol=1e-13)


def frame_model() -> Model:
    """Displacements of two springs: the linear solver inside cannot become scalar operations."""
    model = Model("frame", symbols="MX")
    x = model.variable("x", lower=1, upper=4)
    y = model.variable("y", lower=1, upper=4)
    c = model.variable("c", lower=2.5, upper=2.5)
    matrix = ca.vertcat(ca.horzcat(x + y, -y), ca.horzcat(-y, y + c))
    u = ca.solve(matrix, ca.DM([1, 2]), "csparse")
    model.subject_to(u[0] + y**2 <= 3, name="displacement")
    model.subject_to(x + 2 * y <= 6, name="line")
    model.subject_to(x <= 3.5, name="cap")
    return model


def displacement(x: float, y: float) -> float:
    return float(np.linalg.solve([[x + y, -y], [-y, y + 2.5]], [1, 2])[0])


def test_model_that_cannot_be_expanded_to_scalars() -> None:
    model = frame_model()
    row = model.constraints[0].rows[0].expression
    with pytest.raises(RuntimeError):
        ca.Function("f", [model.symbols], [row]).expand()
    fs = compile_model(model)
    assert kinds(fs) == {
        "bounds of x": "bound",
        "bounds of y": "bound",
        "line": "linear",
        "displacement": "nonlinear",
    }
    assert limits(fs, "bounds of x") == (1, 3.5)
    h = 1e-6
    for x, y in np.random.default_rng(0).uniform(1, 4, (20, 2)):
        point = np.array([x, y])
        values, jacobian = fs.values_and_jacobian(point)
        np.testing.assert_allclose(values, [x, y, x + 2 * y, displacement(x, y) + y**2], rtol=1e-13)
        slope = (displacement(x + h, y) - displacement(x - h, y)) / (2 * h)
        assert jacobian[-1, 0] == pytest.approx(slope, rel=1e-6)


def constant_displacement(model: Model) -> Any:
    c = model.symbols[2]
    return ca.solve(ca.diag(ca.vertcat(c, c)), ca.DM([1, 2]), "csparse")[1]


@pytest.mark.parametrize("expression", [constant_displacement, lambda model: model.symbols[2]])
def test_constant_row_of_an_unexpandable_model_is_dropped(expression: Any) -> None:
    model = frame_model()
    model.subject_to(expression(model) <= 3, name="constant")
    fs = compile_model(model)
    assert "constant" not in kinds(fs)
    assert "row constant is constant, holds, and was dropped" in fs.notes


def test_constant_row_of_an_unexpandable_model_is_checked() -> None:
    model = frame_model()
    model.subject_to(constant_displacement(model) >= 1, name="impossible")
    with pytest.raises(InfeasibleModelError, match=r"impossible.*value 0.8"):
        compile_model(model)


class Cube(ca.Callback):
    """A user's CasADi callback with derivatives by finite differences."""

    def __init__(self) -> None:
        ca.Callback.__init__(self)
        self.construct("cube", {"enable_fd": True})

    def eval(self, arguments: list[Any]) -> list[Any]:
        return [arguments[0] ** 3]


def test_callback_inside_a_row() -> None:
    cube = Cube()
    model = Model(symbols="MX")
    x = model.variable("x", lower=0, upper=2)
    y = model.variable("y", lower=0, upper=2)
    model.subject_to(cube(x) + y <= 3, name="cube")
    fs = compile_model(model)
    values, jacobian = fs.values_and_jacobian(np.array([1.5, 0.25]))
    assert values[-1] == 1.5**3 + 0.25
    np.testing.assert_allclose(jacobian[-1], [3 * 1.5**2, 1], rtol=1e-5)


def big_model(kind: str) -> Model:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((4, 5))
    model = Model("big", symbols=kind)
    x = model.variable("x", shape=(2, 2), lower=-2, upper=2)
    c = model.variable("c", lower=0.7, upper=0.7)
    y = model.variable("y", lower=-2, upper=2)
    v = ca.vertcat(ca.vec(x), y)
    model.subject_to(a @ v <= 1, name="linear")
    model.subject_to(ca.tanh(a @ v) * c + ca.cos(y * x[0, 1]) <= 1, name="vector")
    model.subject_to(ca.det(x) == y, name="determinant")
    model.subject_to(ca.sumsqr(v) / (2 + ca.sin(c * y)), lower=0.1, upper=5, name="quotient")
    return model


@pytest.mark.parametrize("make", [big_model, hand_model])
@pytest.mark.parametrize("kind", KINDS)
def test_jacobian_and_hessian_against_finite_differences(kind: str, make: Any) -> None:
    fs = compile_model(make(kind))
    rng = np.random.default_rng(2)
    h = 1e-5
    for _ in range(5):
        x, weights = rng.uniform(-1.5, 1.5, fs.n), rng.standard_normal(fs.m)
        _, jacobian = fs.values_and_jacobian(x)
        assert jacobian.shape == (fs.m, fs.n)
        steps = h * np.eye(fs.n)
        slopes = [(fs.values(x + s) - fs.values(x - s)) / (2 * h) for s in steps]
        np.testing.assert_allclose(jacobian, np.transpose(slopes), rtol=1e-6, atol=1e-8)
        curvature = [
            weights @ (fs.values_and_jacobian(x + s)[1] - fs.values_and_jacobian(x - s)[1])
            for s in steps
        ]
        hessian = fs.hessian(x, weights)
        np.testing.assert_allclose(hessian, np.array(curvature) / (2 * h), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12, atol=1e-14)


def test_sx_and_mx_models_compile_to_the_same_rows() -> None:
    first, second = (compile_model(big_model(kind)) for kind in KINDS)
    assert kinds(first) == kinds(second)
    # a default tolerance is that of the formula: MX writes the determinant in another way
    np.testing.assert_allclose(first.lower, second.lower, rtol=0.1)
    np.testing.assert_allclose(first.upper, second.upper, rtol=0.1)
    for x in np.random.default_rng(0).uniform(-2, 2, (10, first.n)):
        np.testing.assert_allclose(first.values(x), second.values(x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_one_variable_with_nonlinear_rows(kind: str) -> None:
    model = Model(symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(x**3 <= 8, name="cube")
    model.subject_to(ca.sin(x) >= 0, name="sine")
    fs = compile_model(model)
    point = np.array([1.5])
    values, jacobian = fs.values_and_jacobian(point)
    np.testing.assert_allclose(values, [1.5, 1.5**3, np.sin(1.5)], rtol=1e-15)
    np.testing.assert_allclose(jacobian, [[1], [3 * 1.5**2], [np.cos(1.5)]], rtol=1e-15)
    hessian = fs.hessian(point, np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(hessian, [[6 * 1.5 - 2 * np.sin(1.5)]], rtol=1e-15)


def test_model_without_any_row() -> None:
    model = Model()
    model.variable("x", shape=2, start=1, scale=1)
    fs = compile_model(model)
    assert (fs.n, fs.m) == (2, 0)
    point = np.array([3.0, 4.0])
    values, jacobian = fs.values_and_jacobian(point)
    assert values.shape == (0,)
    assert jacobian.shape == (0, 2)
    assert fs.violations(point).shape == (0,)
    assert fs.is_feasible(point)
    np.testing.assert_array_equal(fs.hessian(point, np.zeros(0)), np.zeros((2, 2)))


def test_results_of_calls_are_independent_arrays() -> None:
    fs = compile_model(hand_model("SX"))
    first, first_jacobian = fs.values_and_jacobian(np.array([0.5, 0.5]))
    kept, kept_jacobian = first.copy(), first_jacobian.copy()
    fs.values_and_jacobian(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(first_jacobian, kept_jacobian)


@pytest.mark.parametrize("make", [lambda: hand_model("SX"), lookup_model, frame_model])
def test_feasible_set_can_be_pickled(make: Any) -> None:
    fs = compile_model(make())
    copy = pickle.loads(pickle.dumps(fs))
    point = np.array([1.4, 1.1])
    np.testing.assert_array_equal(copy.values(point), fs.values(point))
    assert copy.rows == fs.rows


# -- feasibility is exact -----------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("relation", "edge"),
    [
        (lambda x: x <= 2, 2.0),
        (lambda x: -x >= -2, 2.0),
        (lambda x: 2 * x <= 4, 2.0),
        (lambda x: x * x <= 4, 2.0),
        (lambda x: x + x**2 <= 6, 2.0),
        (lambda x: x <= 0.1, 0.1),
    ],
)
def test_is_feasible_has_no_tolerance(kind: str, relation: Any, edge: float) -> None:
    fs = single(kind, relation)
    assert fs.is_feasible(np.array([edge]))
    assert fs.violations(np.array([edge])).max() == 0
    outside = np.array([np.nextafter(edge, 9)])
    assert not fs.is_feasible(outside)
    assert fs.violations(outside).max() > 0


def test_equality_holds_within_its_tolerance_and_not_beyond() -> None:
    fs = single("SX", lambda x: x == 2, tolerance=0.25)
    for value, expected in [(1.75, True), (2.25, True), (1.7499999, False), (2.2500001, False)]:
        assert fs.is_feasible(np.array([value])) is expected
    assert limits(fs, "con") == (1.75, 2.25)


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_rows_are_infeasible(kind: str) -> None:
    fs = single(kind, lambda x: ca.sqrt(x - 2) <= 1)
    assert not fs.is_feasible(np.array([1.0]))
    assert fs.violations(np.array([1.0])).max() == INF
    assert fs.is_feasible(np.array([2.5]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "relation",
    [
        lambda x: ca.log(x) <= 1,
        lambda x: ca.log(x) >= 1,
        lambda x: 1 / x >= 1,
        lambda x: 1 / x <= 1,
        lambda x: ca.log(x) == 1,
    ],
)
def test_all_judgements_agree_where_a_row_is_infinite(kind: str, relation: Any) -> None:
    """Without a warning; otherwise the repair accepts what the gate refuses."""
    model = Model(symbols=kind)
    x = model.variable("x", lower=0, upper=5)
    model.subject_to(relation(x), name="con")
    fs = compile_model(model)
    origin = np.array([0.0])
    feasible = fs.is_feasible(origin)
    assert bool(fs.violations(origin).max() == 0) is feasible
    assert bool(model.violations(origin).maximum == 0) is feasible


@pytest.mark.parametrize("kind", KINDS)
def test_is_feasible_agrees_with_violations_and_with_the_model(kind: str) -> None:
    model = hand_model(kind)
    fs = compile_model(model)
    seen = []
    for x in np.random.default_rng(5).uniform(-3.5, 3.5, (100, fs.n)):
        violations = fs.violations(x)
        seen.append(fs.is_feasible(x))
        assert seen[-1] == (violations.max() == 0)
        assert model.violations(fs.expand(x)).maximum == violations.max()
    assert 10 < sum(seen) < 90
