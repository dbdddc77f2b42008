"""Composite problems: every one is stated twice, and its optimum is found by a referee."""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import archeng
import case_studies.greybox
from archeng.model import compile_model
from case_studies import cec2006, engineering
from case_studies.greybox import Problem, cec, machines, names, problem, suite
from case_studies.greybox.methods import METHODS, applies
from case_studies.greybox.referee import optimum
from case_studies.peers.constraints import SLACK
from case_studies.shared.referee import exceeded

POINTS = 8  # random designs at which two statements are compared
FOLDER = Path(case_studies.greybox.__file__).parent


def _feasible(p: Problem, n: int = POINTS) -> np.ndarray:
    return archeng.sample_feasible(p.black, n, seed=7).x


@pytest.mark.parametrize("name", names())
def test_the_referee_finds_the_known_optimum(name: str) -> None:
    p, found = problem(name), optimum(name, starts=8, seed=2)
    assert abs(found.f - p.optimum) <= 2e-6 * max(abs(p.optimum), 1e-6)
    assert p.x_opt is not None
    _, plain = p.at(p.x_opt)
    assert plain.objective == pytest.approx(p.optimum, rel=1e-6, abs=1e-12)
    assert plain.objective <= p.target
    assert not exceeded(p.box(p.x_opt) | plain.explicit, SLACK)
    assert not exceeded(plain.simulated, 1e-6)


@pytest.mark.parametrize("name", names())
def test_formulas_of_the_model_agree_with_plain_numpy(name: str) -> None:
    p = problem(name)
    fs = compile_model(p.model)
    assert fs.formulas is not None
    for x in _feasible(p):
        outputs, plain = p.at(x)
        z = np.concatenate([np.ravel(outputs[o.name]) for o in p.model.outputs])
        objective, rows = fs.formulas.at(fs.reduce(x), z)
        assert objective == pytest.approx(plain.objective, rel=1e-10, abs=1e-12)
        assert list(fs.formulas.row_names) == list(plain.simulated)
        values = [value for value, _, _ in plain.simulated.values()]
        assert rows == pytest.approx(np.array(values), rel=1e-9, abs=1e-9)
        for row in fs.formulas.rows:
            assert plain.simulated[row.name][1:] == (row.lower, row.upper)
        if p.residuals is not None:
            assert float(np.sum(p.residuals(outputs) ** 2)) == pytest.approx(plain.objective)


@pytest.mark.parametrize("name", names())
def test_plain_numpy_agrees_about_what_is_explicit(name: str) -> None:
    p = problem(name)
    fs, rng = compile_model(p.black), np.random.default_rng(5)
    verdicts = []
    for x in [*rng.uniform(*p.bounds, (60, p.n)), *_feasible(p)]:
        _, plain = p.at(x)
        verdicts.append(not exceeded(p.box(x) | plain.explicit))
        assert verdicts[-1] == fs.is_feasible(fs.reduce(x))
    assert all(verdicts[-POINTS:])
    if plain.explicit:
        outside = np.nextafter(p.bounds[1], np.inf) + 1.0
        assert exceeded(p.box(outside))


@pytest.mark.parametrize("name", list(suite.definitions()))
def test_the_simulator_is_what_the_referee_takes_for_it(name: str) -> None:
    source, p = suite.definition(name), problem(name)
    x = ca.SX.sym("x", p.n)
    symbolic = source.outputs(ca.vertsplit(x), ca)
    for output in p.model.outputs:
        value = symbolic[output.name]
        column = ca.vertcat(*value) if isinstance(value, list | tuple) else value
        function = ca.Function("output", [x], [column])
        for point in _feasible(p, 3):
            simulated = np.ravel(p.simulate(p.design(point))[output.name])
            assert simulated == pytest.approx(function(point).full().ravel(), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", [*cec.DEFINITIONS, *machines.DEFINITIONS])
def test_composite_forms_are_the_problems_of_their_suites(name: str) -> None:
    whole = (cec2006 if name in cec.DEFINITIONS else engineering).problem(name)
    fs, p = compile_model(whole.model), problem(name)
    rng, width = np.random.default_rng(3), whole.upper - whole.lower
    near = whole.x_opt + 1e-3 * width * rng.standard_normal((300, p.n))  # some legal, most not
    for x in [*rng.uniform(whole.lower, whole.upper, (40, p.n)), *near, *_feasible(p)]:
        _, plain = p.at(x)
        assert plain.objective == pytest.approx(whole.objective(x), rel=1e-9, abs=1e-9)
        legal = not exceeded(p.box(x) | plain.explicit | plain.simulated)
        assert legal == fs.is_feasible(fs.reduce(x))


def test_published_optima_are_those_of_the_file() -> None:
    known = json.loads((FOLDER / "known_optima.json").read_text("utf-8"))["problems"]
    published = {k: v for k, v in known.items() if v["published"] is not None}
    assert len(published) == 7
    for name, entry in published.items():
        assert entry["f_opt"] == pytest.approx(entry["published"], rel=2e-6), name


def test_sizes_families_and_what_is_held_out() -> None:
    every = [problem(name) for name in names()]
    assert len(every) >= 20
    assert {p.family for p in every} == {
        "cec2006", "engineering", "least squares", "maximum", "ratio", "product", "sum",
    }  # fmt: skip
    assert {5, 12, 20, 50} <= {p.q for p in every if p.least_squares}
    assert len(names(held_out=True)) >= 4
    assert sorted(names(held_out=True) + names(held_out=False)) == sorted(names())
    assert [p.name for p in every if p.held_out] == names(held_out=True)


def test_targets() -> None:
    assert problem("box_exponentials").target == 1e-6  # least squares without a residual
    assert problem("g10").target == pytest.approx(7049.248 * 1.0001)
    assert problem("mad1").target == pytest.approx(-0.3896595 * 0.9999)


def test_which_methods_apply() -> None:
    def asked(name: str) -> set[str]:
        return {m for m in METHODS if applies(m, problem(name))} - {"archeng-grey", "archeng-black"}

    totals = {"cobyqa", "trust-constr", "slsqp"}
    assert asked("welded_beam") == totals
    assert asked("brown_dennis") == totals | {"least_squares", "dfo-ls"}
    assert asked("kinetics") == totals | {"dfo-ls"}  # an active linear row
    assert asked("two_peaks") == totals  # an active nonlinear row


def test_another_module_may_register_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_REGISTERED", {})
    suite.register("my beam", lambda: problem("welded_beam"))
    assert "my beam" in names()
    assert "my beam" in names(held_out=False)
    assert problem("my beam").n == 4
    with pytest.raises(ValueError, match="is a problem already"):
        suite.register("g04", lambda: problem("g04"))
    with pytest.raises(KeyError, match="No composite problem is named 'g99'"):
        problem("g99")
