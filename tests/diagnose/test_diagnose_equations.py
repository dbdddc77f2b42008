"""What the structure of the equations says: too many, missing, loops, dependent ones."""

from __future__ import annotations

import json
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import archeng
from archeng.diagnose.equations import equations_of
from archeng.diagnose.rank import dependent_rows
from archeng.diagnose.structure import Structure
from archeng.model import Model
from case_studies import cec2006, engineering
from case_studies.broken_models import MODELS, STRUCTURAL, judge_structure
from case_studies.broken_models.__main__ import main

QUICK = ("mixer", "reactor", "recycle", "condenser", "cable", "pump")
ALL = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in STRUCTURAL]


def structure(model: Model, **options: Any) -> Structure:
    found = archeng.diagnose(model, **options).structure
    assert found is not None
    return found


def tanks(n: int, *, named: bool = True) -> Model:
    """A chain of tanks with three equations each; level, flow and evaporation."""
    model = Model("tanks")
    feed = model.variable("feed", lower=0.5, upper=2, start=1)
    before = feed
    for k in range(n):
        level = model.variable(f"level {k}", lower=0.01, upper=50, start=1)
        flow = model.variable(f"flow {k}", lower=0.01, upper=20, start=1)
        loss = model.variable(f"loss {k}", lower=0, upper=5, start=1e-4)
        model.subject_to(before == flow + loss, name=f"balance {k}")
        model.subject_to(flow == ca.sqrt(level), name=f"valve {k}")
        model.subject_to(loss == 1e-5 * level, name=f"evaporation {k}")
        before = flow
    if named:
        model.independent(feed)
    return model


# -- the suite ------------------------------------------------------------------------------------


def test_there_are_twenty_of_all_kinds() -> None:
    kinds = [b.kind for b in STRUCTURAL.values()]
    assert {k: kinds.count(k) for k in set(kinds)} == {"missing": 7, "too many": 7, "loop": 6}
    assert sum(b.pyomo for b in STRUCTURAL.values()) >= 9


@pytest.mark.parametrize("name", ALL)
def test_what_is_broken_is_named_and_called_what_it_is(name: str) -> None:
    broken = STRUCTURAL[name]
    verdict = judge_structure(broken, archeng.diagnose(broken.build(True)))
    assert (verdict.missing, verdict.innocent, verdict.right) == ((), (), True)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_said_of_the_healthy_twin(name: str) -> None:
    diagnosis = archeng.diagnose(STRUCTURAL[name].build(False))
    assert diagnosis.feasible
    assert diagnosis.dependent == ()
    assert diagnosis.structure is not None
    assert diagnosis.structure.mismatches == ()


def test_the_judge_is_not_content_with_anything() -> None:
    """A diagnosis of another model, or of the twin, is wrong."""
    broken = STRUCTURAL["mixer"]
    assert not judge_structure(broken, archeng.diagnose(broken.build(False))).right
    assert not judge_structure(broken, archeng.diagnose(STRUCTURAL["reactor"].build(True))).right
    assert not judge_structure(broken, archeng.diagnose(MODELS["network"].build(True))).right


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--structure", "mixer", "pump"]) == 0
    out = capsys.readouterr().out
    assert "called what it is, in 2 of 2; nothing said of the healthy twin in 2 of 2" in out


@pytest.mark.parametrize("suite", [cec2006, engineering])
def test_no_false_alarm_in_other_suites(suite: Any) -> None:
    for name in suite.names():
        equations = equations_of(suite.problem(name).model)
        assert equations.surplus() == []


# -- counting -------------------------------------------------------------------------------------


def test_counts_blocks_and_the_largest() -> None:
    found = structure(tanks(12))
    assert (found.variables, found.equations, found.degrees_of_freedom) == (37, 36, 1)
    assert (found.named, found.chosen) == (("feed",), ())
    assert (found.blocks, found.loops) == (12, 12)
    assert found.largest is not None
    assert set(found.largest.equations) == {"balance 0", "valve 0", "evaporation 0"}


def test_chosen_ones_are_shown() -> None:
    diagnosis = archeng.diagnose(tanks(12, named=False))
    found = diagnosis.structure
    assert found is not None
    assert (len(found.chosen), found.named, found.mismatches) == (1, (), ())
    text = str(diagnosis)
    assert f"independent, chosen by archeng: {found.chosen[0]}" in text
    assert "largest block: 3 equations" in text


def test_long_lists_are_cut() -> None:
    model = Model("sum")
    x = model.variable("x", shape=45, lower=0, upper=1, start=0.5)
    for k in range(44):
        model.subject_to(x[k] + x[(k + 1) % 44] * x[44] == 0.7, name=f"e{k}")
    model.independent(x[44])
    text = str(archeng.diagnose(model))
    assert "largest block: 44 equations" in text
    assert "and 36 more" in text
    assert "and 44 variables that follow from these" in text


def test_a_few_equations_are_not_worth_a_word() -> None:
    model = Model("pair")
    x, y = (model.variable(n, lower=0, upper=9) for n in "xy")
    model.subject_to(x + y == 3, name="sum")
    diagnosis = archeng.diagnose(model)
    assert diagnosis.structure is not None
    assert "independent" not in str(diagnosis)
    assert archeng.diagnose(STRUCTURAL["pump"].build(False)).structure is not None


def test_a_model_without_equations_has_no_structure() -> None:
    model = Model("free")
    x = model.variable("x", lower=0, upper=9)
    model.subject_to(x**2 <= 3)
    assert archeng.diagnose(model).structure is None


def test_json() -> None:
    data = archeng.diagnose(STRUCTURAL["reactor"].build(True)).to_dict()
    found = json.loads(json.dumps(data))["structure"]
    (mismatch,) = found["mismatches"]
    assert mismatch["kind"] == "not determined"
    assert "F[purge]" in mismatch["variables"]
    assert mismatch["text"].startswith("an equation is missing")
    conflict = archeng.diagnose(STRUCTURAL["cable"].build(True)).to_dict()["conflicts"][0]
    assert set(conflict["loop"]["equations"]) == {"drop", "consumer"}
    assert "belong to a loop" in conflict["note"] or "they are a loop" in conflict["note"]


# -- what counts as an equation -------------------------------------------------------------------


def test_constants_conditions_and_discrete_variables() -> None:
    model = Model("mixed")
    x, y, z = (model.variable(n, lower=0, upper=9, start=1) for n in "xyz")
    fixed = model.variable("fixed", lower=2, upper=2)
    n = model.integer("n", lower=1, upper=4)
    yes = model.binary("yes")
    model.subject_to(2 * fixed == 4, name="constant")
    model.subject_to(x == 3, name="conditional", when=yes)
    model.subject_to(x + n == 4, name="with an integer")
    model.subject_to(y + z <= 8, name="inequality")
    equations = equations_of(model)
    assert equations.names == ("with an integer",)
    known = [v for v, k in zip(equations.variables, equations.known, strict=True) if k]
    assert known == ["n", "yes"]


def test_an_integer_is_given() -> None:
    """The number of plates is not a variable that an equation can determine."""
    model = Model("plates")
    n = model.integer("plates", lower=1, upper=9)
    x = model.variable("height", lower=0, upper=99, start=3)
    model.subject_to(x == 0.5 * n, name="height of all")
    model.subject_to(n == 4, name="plates")
    found = structure(model)
    assert [m.kind for m in found.mismatches] == ["too many equations"]
    assert found.mismatches[0].equations == ("plates",)


def reactor_in_a_recycle(named: bool) -> Model:
    model = Model("recycle")
    feed = model.variable("feed", lower=1, upper=9, start=5)
    inlet, out, back = (
        model.variable(n, lower=0, upper=50, start=6) for n in ("in", "out", "back")
    )
    conversion = model.output("conversion")
    model.subject_to(inlet == feed + back, name="mixer")
    model.subject_to(back == 0.9 * out, name="splitter")
    model.subject_to(out == (1 - conversion) * inlet, name="reactor", tolerance=1e-3)
    if named:
        model.independent(feed)
    return model


@pytest.mark.parametrize("named", [True, False])
def test_what_a_simulation_determines_is_not_missing(named: bool) -> None:
    assert structure(reactor_in_a_recycle(named)).mismatches == ()


def test_but_only_one_variable_for_each_simulated_equality() -> None:
    model = reactor_in_a_recycle(True)
    a, b = (model.variable(n, lower=0, upper=9, start=1) for n in "ab")
    model.subject_to(a + b == 4, name="alone")
    (mismatch,) = structure(model).mismatches
    assert (mismatch.variables, mismatch.equations) == (("a", "b"), ("alone",))


# -- named variables that cannot all be ------------------------------------------------------------


def too_many_named() -> Model:
    model = tanks(3)
    model.independent("level 1")
    return model


def test_named_variables_that_determine_each_other() -> None:
    (mismatch,) = structure(too_many_named()).mismatches
    assert mismatch.kind == "too many equations"
    assert mismatch.named
    assert "do not name all of feed, level 1" in mismatch.text
    assert "balance 1" in mismatch.equations
    assert "balance 2" not in mismatch.equations


def test_pieces_that_are_apart_are_told_apart() -> None:
    model = Model("two pieces")
    a, b, c, d, e, f = (model.variable(n, lower=0, upper=9, start=1) for n in "abcdef")
    model.subject_to(a + b == 3, name="first")
    model.subject_to(c * d * e == 3, name="second")
    model.independent(f)
    found = structure(model).mismatches
    assert [(m.variables, m.equations) for m in found] == [
        (("a", "b"), ("first",)),
        (("c", "d", "e"), ("second",)),
    ]
    assert "2 equations are missing" in found[1].text
    assert found[0].text == "an equation is missing, or name one of these variables as independent, too"  # fmt: skip  # noqa: E501


def test_a_variable_in_no_equation() -> None:
    model = tanks(2)
    model.variable("paint", lower=0, upper=1)
    (mismatch,) = structure(model).mismatches
    assert (mismatch.variables, mismatch.equations) == (("paint",), ())
    assert "name this variable as independent" in mismatch.text
    assert "not determined: 1 unknown in 0 equations" in str(archeng.diagnose(model))


# -- dependent equations --------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 3))
def test_dependent_rows_and_their_partners(seed: int, rank: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((rank, rank + 2))
    weights = rng.standard_normal((more, rank)) * (rng.random((more, rank)) < 0.6)
    found = dependent_rows(np.vstack((base, 1e3 * weights @ base)))
    assert list(found) == list(range(rank, rank + more))
    for k, partners in enumerate(found.values()):
        assert partners == tuple(np.flatnonzero(weights[k]).tolist())


def test_no_rows_and_more_rows_than_columns() -> None:
    assert dependent_rows(np.zeros((0, 3))) == {}
    assert list(dependent_rows(np.vstack((np.eye(2), np.ones((2, 2)))))) == [2, 3]
    assert dependent_rows(np.array([[np.nan, 1.0], [0.0, 2.0]])) == {1: (0,)}


def test_gradients_that_depend_at_one_design_only_are_not_told() -> None:
    """On the way from x = 0 to others the two curves are not parallel."""
    model = Model("curves")
    x, y, z = (model.variable(n, lower=-2, upper=2, start=0.0) for n in "xyz")
    model.subject_to(y == x**2, name="parabola")
    model.subject_to(z == y + x**3, name="cubic")
    assert archeng.diagnose(model).dependent == ()


def test_a_variable_that_an_equation_sets_is_no_dependent_equation() -> None:
    model = Model("set")
    x, y, z = (model.variable(n, lower=0, upper=9, start=1) for n in "xyz")
    model.subject_to(x == 3, name="x")
    model.subject_to(y + z == 4, name="sum")
    assert archeng.diagnose(model).dependent == ()


# -- large models ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_large_model_is_examined_in_short() -> None:
    diagnosis = archeng.diagnose(tanks(400))
    assert diagnosis.feasible
    assert diagnosis.degrees_of_freedom == 1
    assert diagnosis.design is not None
    assert len(diagnosis.design) == 1201
    assert "not looked for in a model of this size: redundant rows" in str(diagnosis)


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_the_conflict_of_a_large_model_is_named(named: bool) -> None:
    model = tanks(400, named=named)
    a, b = (model.variable(n, lower=-5, upper=5, start=1) for n in "ab")
    model.subject_to(a**2 + b**2 == 1, name="circle")
    model.subject_to(a + b == 3, name="line")
    diagnosis = archeng.diagnose(model)
    assert not diagnosis.feasible
    (conflict,) = diagnosis.conflicts
    assert set(conflict.rows) == {"circle", "line"}
    assert conflict.loop is not None
    assert set(conflict.loop.variables) == {"a", "b"}
    assert all(m.change is None or not m.change.whole for m in conflict.members)
