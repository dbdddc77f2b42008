"""Inequalities that together are equalities, strict relations, and symbols without bad names."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import ArchengError, ModelError
from archeng.model import Model, compile_model, to_data

NAMES = [
    "[]",
    "[ ]",
    "[,]",
    "[;]",
    "[x]",
    "[a b]",
    "[bar] pressure",
    "[1] ratio",
    "größe",
    "a\x00b",
]


def implied(model: Model) -> list[str]:
    return [row.name for row in compile_model(model).rows if row.implied]


def cycle(n: int, spare: float = 0.0) -> Model:
    """Return differences around a circle whose limits add up to zero, or to ``spare``."""
    model = Model("cycle")
    x = model.variable("x", shape=n, start=0, scale=1)
    limits = np.random.default_rng(n).uniform(-3, 3, n)
    limits[-1] = -limits[:-1].sum() - spare
    for i in range(n):
        model.subject_to(x[(i + 1) % n] - x[i] >= limits[i], name=f"c{i}")
    model.set_objective(ca.sumsqr(x))
    return model


# -- implied equalities ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 10, 40])
def test_rows_that_leave_no_room_are_equalities(n: int) -> None:
    assert implied(cycle(n)) == [f"c{i}" for i in range(n)]


@pytest.mark.parametrize("spare", [1e-3, 1.0, -1e-3])
def test_rows_with_room_or_in_conflict_are_not(spare: float) -> None:
    assert implied(cycle(10, spare)) == []


def test_powells_twentieth_problem(caplog: pytest.LogCaptureFixture) -> None:
    """Powell (1985): ten linear inequalities, all active at every design; optimum 57.8125."""
    model = Model("powell20")
    x = model.variable("x", shape=10, scale=1, start=[-0.5 - i if i % 2 == 0 else 0
                                                      for i in range(1, 11)])  # fmt: skip
    for k in range(1, 10):
        model.subject_to(x[k] - x[k - 1] >= -0.5 + (-1) ** k * k)
    model.subject_to(x[0] - x[9] >= 9.5)
    model.set_objective(0.5 * ca.sumsqr(x))
    result = archeng.solve(model, seed=0, max_evaluations=200)
    assert result.fun == pytest.approx(57.8125, rel=1e-5)
    assert model.violations(result.design).maximum == 0
    assert "can only hold at their limits" in caplog.text
    text = str(archeng.diagnose(model))
    assert "a run takes it for one" in text
    assert "in conflict" not in text


def test_only_the_rows_without_slack_are_equalities() -> None:
    model = Model()
    x, y, z = (model.variable(n, lower=-9, upper=9) for n in "xyz")
    model.subject_to(x + y <= 1, name="most")
    model.subject_to(2 * x + 2 * y >= 2, name="least")
    model.subject_to(x - y <= 3, name="idle")
    model.subject_to(x + z <= 2, name="other")
    assert implied(model) == ["most", "least"]


def test_equalities_may_take_the_room_of_inequalities() -> None:
    model = Model()
    x, y, z = (model.variable(n, lower=0, upper=9) for n in "xyz")
    model.subject_to(x + y + z == 6, name="sum")
    model.subject_to(x + y <= 2, name="two")
    model.subject_to(z <= 4, name="four")
    assert implied(model) == ["two"]
    assert any("z" in note and "fixed" in note for note in compile_model(model).notes)


def test_bounds_without_room_fix_their_variables() -> None:
    model = Model()
    x, y, z = (model.variable(n, lower=0, upper=1) for n in "xyz")
    model.subject_to(0.1 * x + 0.2 * y <= 0)
    model.subject_to(z >= 0.25)
    fs = compile_model(model)
    assert fs.free_names == ("z",)
    result = archeng.solve(model, lambda d: d["z"] - d["x"], seed=1, max_evaluations=20)
    np.testing.assert_array_equal(result.x, [0, 0, 0.25])


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_a_nonlinear_row_given_from_both_sides_is_an_equality(symbols: str) -> None:
    model = Model(symbols=symbols)
    x, y = model.variable("x", lower=0.1, upper=3), model.variable("y", lower=0, upper=3)
    model.subject_to(x * y <= 2, name="at most")
    model.subject_to(x * y >= 2, name="at least")
    model.subject_to(ca.sin(x) - y <= 2, name="free")
    assert implied(model) == ["at most", "at least"]
    result = archeng.solve(model, lambda d: d["x"] ** 2 + d["y"] ** 2, seed=1, max_evaluations=60)
    assert result.fun == pytest.approx(4, rel=1e-5)


def test_two_sides_may_change_places() -> None:
    model = Model()
    x, y = model.variable("x", lower=0, upper=3), model.variable("y", lower=0, upper=3)
    model.subject_to(ca.exp(-x) <= y, name="below")
    model.subject_to(y <= ca.exp(-x), name="above")
    assert implied(model) == ["below", "above"]


@pytest.mark.parametrize("other", [2.1, 1.9])
def test_other_limits_are_no_pair(other: float) -> None:
    model = Model()
    x, y = model.variable("x", lower=0.1, upper=3), model.variable("y", lower=0, upper=3)
    model.subject_to(x * y <= other)
    model.subject_to(x * y >= 2)
    assert implied(model) == []


def test_expressions_that_agree_in_places_only_are_no_pair() -> None:
    model = Model()
    x, y = model.variable("x", lower=0, upper=1), model.variable("y", lower=0, upper=1)
    model.subject_to(x * y <= 0.2)
    model.subject_to(ca.fmax(x * y, -5) >= 0.2)
    assert implied(model) == []


# -- strict relations -----------------------------------------------------------------------------


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_no_call_is_at_the_limit_of_a_strict_relation(symbols: str) -> None:
    model = Model(symbols=symbols)
    x, y = model.variable("x", lower=-5, upper=5), model.variable("y", lower=-5, upper=5)
    model.subject_to(x > 0, name="positive")
    model.subject_to(x + y > 1, name="sum")
    model.subject_to(y - x < 3, name="gap")
    seen = []

    def simulator(design: archeng.Design) -> float:
        seen.append((design["x"], design["y"]))
        return float(design["x"] ** 2 + (design["y"] - 2) ** 2 + design["x"])

    archeng.solve(model, simulator, seed=1, max_evaluations=60)
    assert min(a for a, _ in seen) < 1e-6  # the optimum is at the limit
    assert all(a > 0 and a + b > 1 and b - a < 3 for a, b in seen)


def test_strict_relations_of_an_opti() -> None:
    opti = ca.Opti()
    x, y = opti.variable(2), opti.variable()
    opti.subject_to(x > 0)
    opti.subject_to(opti.bounded(-1, y, 1))
    opti.subject_to(ca.sin(y) < x[0])
    limits = [(c.limits()[0][0], c.limits()[1][0]) for c in archeng.from_opti(opti).constraints]
    assert limits == [(5e-324, np.inf), (5e-324, np.inf), (-1, 1), (-np.inf, -5e-324)]


def test_a_strict_relation_with_infinity_is_no_limit() -> None:
    model = Model()
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(x < np.inf)
    assert compile_model(model).upper.tolist() == [1]


# -- names and shapes ---------------------------------------------------------------------------


@pytest.mark.parametrize("symbols", ["SX", "MX"])
@pytest.mark.parametrize("name", NAMES)
def test_constraints_hold_whatever_variables_are_called(name: str, symbols: str) -> None:
    model = Model(symbols=symbols)
    x, y = model.variable(name, lower=0, upper=1), model.variable("y", lower=0, upper=1)
    assert x.shape == (1, 1)
    model.subject_to(x >= 0.5, name="own")
    model.subject_to(x + y >= 0.8, name="sum")
    seen = []

    def simulator(design: archeng.Design) -> float:
        seen.append(design.x.copy())
        return float(design.x.sum())

    archeng.solve(model, simulator, seed=1, max_evaluations=12)
    assert all(v[0] >= 0.5 and v[0] + v[1] >= 0.8 for v in seen)
    data = to_data(model)
    assert data is not None
    assert data["variables"][0]["name"] == name


@pytest.mark.parametrize(("name", "shape"), [("[a b c]", 2), ("[a]", 3), ("[]", (2, 2))])
def test_a_name_says_nothing_about_the_shape(name: str, shape: Any) -> None:
    model = Model()
    x = model.variable(name, lower=0, upper=1, shape=shape)
    model.subject_to(ca.sum1(ca.vec(x)) >= 0.5)
    result = archeng.solve(model, lambda d: float(d.x.sum()), seed=1, max_evaluations=12)
    assert result.x.sum() >= 0.5


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_an_empty_expression_is_an_error(symbols: str) -> None:
    model = Model(symbols=symbols)
    x = model.variable("x", lower=0, upper=1, shape=3)
    with pytest.raises(ModelError, match=r"'tail'.*empty"):
        model.subject_to(x[3:] >= 0.5, name="tail")
    with pytest.raises(ModelError, match=r"'tail'.*empty"):
        model.subject_to(x[3:], lower=0.5, name="tail")


# -- what is not supported ------------------------------------------------------------------------


def test_integers_of_an_opti_have_the_bounds_of_rows() -> None:
    opti = ca.Opti()
    opti.subject_to(opti.variable() >= 1)
    n = opti.variable()
    opti.subject_to(opti.bounded(1, n, 9))
    opti.set_domain(n, "integer")
    fs = compile_model(archeng.from_opti(opti, names=["width", "bolts"]))
    assert fs.lattice is not None
    assert fs.lattice.positions.tolist() == [1]
    assert fs.lattice.levels[0].tolist() == list(range(1, 10))


def test_discrete_variables_of_an_nlp() -> None:
    nlp = {"x": ca.SX.sym("x", 2)}
    model = archeng.from_nlp(nlp, lbx=0, ubx=[1, 2.5], x0=[0.4, 1.7], discrete=[False, True])
    assert [v.domain.kind for v in model.variables] == ["real", "integer"]
    assert model.variables[1].upper.tolist() == [2.0]
    assert model.variables[1].start.tolist() == [2.0]
    for wrong in ([True], [True, 2], 1, [True, None]):
        with pytest.raises(ArchengError, match="one True or False for each of the 2 variables"):
            archeng.from_nlp(nlp, lbx=0, ubx=1, discrete=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("symbols", ["SX", "MX"])
def test_a_model_without_rows_has_a_journal_and_violations(symbols: str, tmp_path: Any) -> None:
    model = Model(symbols=symbols)
    for name in "xy":
        model.variable(name, lower=0, upper=1)
    journal = tmp_path / "run.db"
    options = {"seed": 1, "max_evaluations": 8, "journal": journal}
    result = archeng.solve(model, lambda d: float(d["x"] + d["y"]), **options)
    assert result.nfev == 8
    assert model.violations([0.5, 0.5]).maximum == 0
