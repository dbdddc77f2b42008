"""Items that are alike: their model, and the search that moves one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Model, Settings, StopReason
from archeng.distribution import initial_distribution
from archeng.errors import SettingsError
from archeng.handlers import HandlerParts, Population, as_it_is
from archeng.model import compile_model
from archeng.outcomes import Limits, Outcomes, PastCalls
from archeng.repair import Repairer
from archeng.surrogate import Relocation
from archeng.surrogate import constants as c
from archeng.surrogate.alike import Learner, items_of

COUNT, APART = 5, 0.5
ALIKE = Settings(handler_options={"alike": "x, y"})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def discs(count: int = COUNT) -> Model:
    """Points in a ring, apart from each other."""
    model = Model("discs")
    x, y = (model.variable(name, lower=-2, upper=2, shape=count) for name in "xy")
    model.subject_to(x**2 + y**2 <= 4, name="inside")
    model.subject_to(x**2 + y**2 >= 0.25, name="outside")
    gaps = [
        (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 for i in range(count) for j in range(i + 1, count)
    ]
    model.subject_to(ca.vertcat(*gaps) >= APART**2, name="apart")
    return model


def waves(design: Any) -> float:
    """Pairs that disturb each other along one direction, and places that differ."""
    dx = design["x"][:, None] - design["x"]
    dy = design["y"][:, None] - design["y"]
    pairs = np.exp(-((dx / 2) ** 2) - (dy / 0.4) ** 2)
    return float(np.triu(pairs, 1).sum() + 0.1 * np.sum(np.cos(3 * design["x"])))


def solved(calls: int = 420, **options: Any) -> archeng.Result:
    options = {"settings": ALIKE, "restarts": 5, "seed": 3} | options
    return archeng.solve(discs(), waves, max_evaluations=calls, **options)


def calls_of(result: archeng.Result) -> list[tuple[Any, ...]]:
    return [(*e.x.tolist(), e.objective) for e in result.evaluations]


# -- which variables are items ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("x", ["leaves out", "y[0]"]),
        ("x, z", ["'z'", "same indices"]),
        ("x,, y", ["names of vectors"]),
        ("x, x", ["different names"]),
    ],
)
def test_wrong_names_are_refused_before_any_call(names: str, words: list[str]) -> None:
    calls: list[Any] = []
    with pytest.raises(SettingsError) as refused:
        archeng.solve(discs(), calls.append, settings=Settings(handler_options={"alike": names}))
    assert not calls
    assert all(word in str(refused.value) for word in words)


def test_equalities_are_refused() -> None:
    model = Model("line")
    x, y = (model.variable(name, lower=-2, upper=2, shape=3) for name in "xy")
    model.subject_to(ca.sum1(x) + ca.sum1(y) == 0)
    with pytest.raises(SettingsError, match="breaks equality"):
        archeng.solve(model, waves, settings=ALIKE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"simulated": {"stress": (None, 1.0)}}, "simulated constraints"),
        ({"asynchronous": True}, "asynchronous"),
    ],
)
def test_what_it_cannot_do_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        archeng.solve(discs(), waves, settings=ALIKE, max_evaluations=5, **options)


def test_discrete_variables_and_several_simulators_are_refused() -> None:
    model = Model("grid")
    model.integer("x", lower=0, upper=9, shape=3)
    settings = Settings(handler_options={"alike": "x"})
    with pytest.raises(SettingsError, match="discrete"):
        archeng.solve(model, lambda design: 0.0, settings=settings, max_evaluations=5)
    with pytest.raises(SettingsError, match="several simulators"):
        archeng.solve(discs(), [waves, waves], cost=[0.1, 1.0], max_cost=3, settings=ALIKE)


def test_items_of_a_pyomo_model() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    pm = pyo.ConcreteModel()
    pm.x = pyo.Var(["a", "b", "c"], bounds=(0, 4))
    pm.y = pyo.Var(["a", "b", "c"], bounds=(0, 2))
    pm.far = pyo.Constraint(expr=(pm.x["a"] - pm.x["b"]) ** 2 + (pm.y["a"] - pm.y["b"]) ** 2 >= 1)
    fs = compile_model(archeng.from_pyomo(pm))
    items = items_of(fs, ("x", "y"))
    assert [[fs.free_names[k] for k in item] for item in items.index] == [
        [f"{v}[{i}]" for v in "xy"] for i in "abc"
    ]
    assert np.all(items.width == [[4, 2]] * 3)


# -- the model --------------------------------------------------------------------------------


def test_the_model_predicts_moves_and_knows_no_order(rng: np.random.Generator) -> None:
    fs = compile_model(discs())
    items, learner = items_of(fs, ("x", "y")), Learner(items_of(fs, ("x", "y")))
    points = rng.uniform(-2, 2, (2 * c.ALIKE_BLOCK, 2 * COUNT))
    objectives = np.array([waves({"x": p[:COUNT], "y": p[COUNT:]}) for p in points])
    objectives[7] = np.nan  # a call that failed
    past = PastCalls(points, objectives, np.zeros((len(points), 0)), np.zeros((len(points), 0)))
    assert learner.model(past.taken(slice(0, 500)), first=300) is None
    model = learner.model(past, first=300)
    assert model is not None
    x = points[0]
    places = rng.random((60, 2))
    gains = model.gains(items.places(x), places)[2]
    moved = items.moved(x, 2, places)
    true = [objectives[0] - waves({"x": p[:COUNT], "y": p[COUNT:]}) for p in moved]
    assert np.corrcoef(gains, true)[0, 1] > 0.8
    order = np.array([2, 0, 1, 4, 3])
    again = model.gains(items.places(x)[order], places)[0]
    np.testing.assert_allclose(again, gains, atol=1e-4 * np.ptp(gains))


def test_what_is_kept_follows_from_the_calls(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner that sees all at once, as after a resume, has the same model."""
    for name, value in (("BLOCK", 40), ("PAIRS", 30), ("SINGLES", 10)):
        monkeypatch.setattr(c, f"ALIKE_{name}", value)
    items = items_of(compile_model(discs()), ("x", "y"))
    k = 5 * c.ALIKE_BLOCK
    past = PastCalls(
        rng.uniform(-2, 2, (k, 2 * COUNT)), rng.random(k), np.zeros((k, 0)), np.zeros((k, 0))
    )
    step, once = Learner(items), Learner(items)
    for blocks in range(1, 6):
        followed = step.model(past.taken(slice(0, blocks * c.ALIKE_BLOCK)), first=10)
    other = once.model(past, first=10)
    assert followed is not None
    assert other is not None
    assert followed.length == other.length
    assert np.array_equal(followed.coefficients, other.coefficients)


# -- the search -------------------------------------------------------------------------------


def test_moves_that_were_gains_are_made_together() -> None:
    fs = compile_model(discs())
    angles = 2 * np.pi * np.arange(COUNT) / COUNT
    x = np.concatenate((np.cos(angles), np.sin(angles)))
    wide = initial_distribution(x, np.full(2 * COUNT, 0.3))
    repairer = Repairer(fs)
    handler = Relocation(HandlerParts(repairer, repairer, ALIKE, wide, Limits()))
    search = replace(handler.init(wide, x, 4), value=1.0, best=0.0)
    items = items_of(fs, ("x", "y"))
    places = items.places(1.5 * x)
    near = items.places(x)[[1]] + 0.01  # another move of the same item: one of them only
    moves = [items.moved(x, i, p)[0] for i, p in ((0, places[[0]]), (1, places[[1]]), (1, near))]
    population = Population(np.array(moves), tuple(map(as_it_is, moves)))
    past = PastCalls(np.zeros((0, 10)), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
    told = handler.tell(
        search, population, Outcomes(np.array([0.9, 0.8, 0.95])), past, np.random.default_rng(1)
    )
    assert told.value == 0.8
    assert np.array_equal(told.place, moves[1])
    _, generation = handler.ask(told, np.random.default_rng(1), past)
    both = items.moved(moves[0], 1, places[[1]])[0]
    assert np.array_equal(generation.repairs[0].x, both)
    assert all(fs.is_feasible(repair.x) for repair in generation.repairs)
    worse = handler.tell(told, generation, Outcomes(np.ones(4)), past, np.random.default_rng(1))
    assert worse.together is None
    assert np.array_equal(worse.place, moves[1])


def test_all_points_of_a_set_at_once(rng: np.random.Generator) -> None:
    fs = compile_model(discs())
    points = rng.uniform(-2, 2, (300, 2 * COUNT))
    one_by_one = [fs.is_feasible(x) for x in points]
    assert fs.holds_at(points).tolist() == one_by_one
    assert 0 < sum(one_by_one) < 300
    assert fs.holds_at(points[:0]).tolist() == []


@pytest.mark.slow
def test_relocation_beats_arch_on_a_function_with_many_valleys() -> None:
    fs = compile_model(discs())
    found, alone = [], []
    for seed in (1, 2):
        result = solved(700, seed=seed)
        found.append(result.fun)
        assert result.nfev == 700
        assert result.n_infeasible_calls == 0
        assert all(fs.is_feasible(e.x) for e in result.evaluations)
        assert result.fun == min(e.objective for e in result.evaluations)
        alone.append(solved(700, seed=seed, settings=Settings(surrogate="none")).fun)
    assert np.median(found) <= np.median(alone)
    assert max(found) < -0.2


@pytest.mark.slow
def test_same_run_in_threads_and_after_a_stop(tmp_path: Path) -> None:
    whole = solved(parallel=2)
    assert calls_of(solved(workers="threads:2", parallel=2)) == calls_of(whole)
    journal = tmp_path / "run.db"
    solved(300, parallel=2, journal=journal)
    resumed = archeng.resume(journal, waves, max_evaluations=420)
    assert calls_of(resumed) == calls_of(whole)
    assert resumed.nfev == 420


@pytest.mark.slow
def test_calls_may_fail_and_restarts_end_after_hops_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(c, "RELOCATION_HOPS", 2)

    def fragile(design: Any) -> float:
        if design["x"][0] > 1:
            raise ArithmeticError
        return waves(design)

    result = archeng.solve(
        discs(), fragile, settings=ALIKE, max_evaluations=2000, restarts=1, seed=1
    )
    assert result.nfev < 2000
    assert result.stop_reason is StopReason.MODEL_EXHAUSTED
    assert result.n_infeasible_calls == 0
    assert np.isfinite(result.fun)
