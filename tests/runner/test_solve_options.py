"""Options of `solve`: budgets, targets, senses, starts, step sizes, seeds, and bad values."""

from __future__ import annotations

import time
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Result, Run, Settings, Status, StopReason
from archeng.errors import SettingsError, SimulatorError
from archeng.settings import SurrogateName

either = pytest.mark.parametrize("surrogate", ["auto", "none"])


def make() -> Model:
    model = Model("m")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] >= 1, name="line")
    return model


def sphere(design: Design) -> float:
    return float(design.x @ design.x)


def run(**options: Any) -> Result:
    return archeng.solve(make(), sphere, **{"seed": 1, **options})


# -- budgets -----------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 7, 17, 60])
@pytest.mark.parametrize("population_size", [None, 10])
@either
def test_max_evaluations_is_a_hard_cap(
    limit: int, population_size: int | None, surrogate: SurrogateName
) -> None:
    calls: list[Design] = []
    result = archeng.solve(
        make(),
        lambda d: calls.append(d) or sphere(d),
        seed=1,
        max_evaluations=limit,
        population_size=population_size,
        settings=Settings(surrogate=surrogate, stop_tests=False),
    )
    assert len(calls) == result.nfev == limit
    assert result.stop_reason is StopReason.MAX_EVALUATIONS
    assert result.status is Status.STOPPED
    assert not result.success
    assert result.fun == min(sphere(d) for d in calls)
    assert result.history[-1].evaluations == limit


@either
def test_a_shorter_run_is_the_beginning_of_a_longer_one(surrogate: SurrogateName) -> None:
    settings = Settings(surrogate=surrogate, stop_tests=False)
    short, long = (run(max_evaluations=k, settings=settings) for k in (23, 61))
    assert (short.nfev, long.nfev) == (23, 61)
    for a, b in zip(short.evaluations, long.evaluations[:23], strict=True):
        assert a.x.tobytes() == b.x.tobytes()


@pytest.mark.parametrize(("surrogate", "limit"), [("auto", 250), ("none", 700)])
def test_max_evaluations_caps_restarts_too(surrogate: SurrogateName, limit: int) -> None:
    settings = Settings(surrogate=surrogate, tol_objective=1e-2)
    result = run(max_evaluations=limit, restarts=9, settings=settings)
    assert result.nfev == limit
    assert result.provenance["restarts_used"] >= 1
    assert result.stop_reason is StopReason.MAX_EVALUATIONS


def test_max_time() -> None:
    begin = time.monotonic()

    def slow(design: Design) -> float:
        time.sleep(0.02)
        return sphere(design)

    result = archeng.solve(make(), slow, seed=1, max_time=0.3)
    assert result.stop_reason is StopReason.MAX_TIME
    assert result.status is Status.STOPPED
    assert 1 <= result.nfev <= 15
    assert time.monotonic() - begin < 10


# -- target and sense -----------------------------------------


def test_target_ends_the_run_at_the_very_call_that_reaches_it() -> None:
    result = run(target=1.0)
    assert result.stop_reason is StopReason.TARGET
    assert result.status is Status.TARGET
    assert result.success
    *before, last = result.evaluations
    assert last.objective == result.fun <= 1.0
    assert all(e.objective > 1.0 for e in before)


def test_a_target_that_is_met_exactly_counts() -> None:
    result = archeng.solve(make(), lambda d: 3.0, target=3.0, seed=1)
    assert result.nfev == 1
    assert result.status is Status.TARGET


def test_a_target_out_of_reach_is_no_success() -> None:
    result = run(target=0.1)
    assert result.stop_reason is not StopReason.TARGET
    assert result.status is Status.STOPPED
    assert not result.success
    assert result.fun == pytest.approx(0.5, abs=1e-6)


def test_maximize_is_minimize_of_the_negative() -> None:
    low = run(max_evaluations=200)
    high = archeng.solve(
        make(), lambda d: -sphere(d), seed=1, sense="maximize", max_evaluations=200
    )
    assert high.maximize
    assert not low.maximize
    assert high.fun == -low.fun
    assert high.fun == max(e.objective for e in high.evaluations)
    assert [e.x.tolist() for e in high.evaluations] == [e.x.tolist() for e in low.evaluations]
    best = [g.best for g in high.history]
    assert best == sorted(best)


def test_target_of_a_maximisation() -> None:
    result = archeng.solve(make(), lambda d: -sphere(d), seed=1, sense="maximize", target=-1.0)
    assert result.status is Status.TARGET
    assert result.fun >= -1.0
    assert all(e.objective < -1.0 for e in result.evaluations[:-1])


# -- callback -----------------------------------------


@either
def test_callback_sees_the_run_after_every_generation_and_can_stop_it(
    surrogate: SurrogateName,
) -> None:
    seen: list[tuple[int, int]] = []

    def callback(run: Run) -> None:
        seen.append((len(run.history), run.n_evaluations))
        if len(seen) == 3:
            raise StopIteration

    result = run(callback=callback, settings=Settings(surrogate=surrogate))
    if surrogate == "none":
        assert seen == [(1, 6), (2, 12), (3, 18)]
    else:  # proposals are generations, too
        assert seen[0] == (1, 3)  # what a linear model of two variables takes
        assert seen == [(g.generation + 1, g.evaluations) for g in result.history]
        assert [set(g.repairs) for g in result.history] == [{"proposed"}] * 3
    assert result.stop_reason is StopReason.CALLBACK
    assert result.status is Status.STOPPED
    assert result.nfev == seen[-1][1]


def test_callback_does_not_change_the_run() -> None:
    quiet, watched = run(max_evaluations=60), run(max_evaluations=60, callback=lambda r: None)
    assert quiet.nfev >= 15
    assert [e.x.tolist() for e in quiet.evaluations] == [e.x.tolist() for e in watched.evaluations]


def test_errors_of_the_callback_are_not_hidden() -> None:
    def callback(run: Run) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run(callback=callback)


# -- restarts and population -----------------------------------------


def rastrigin(design: Design) -> float:
    x = design.x
    return float(np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x))))


def test_restarts_use_other_populations_and_do_not_lose_the_best() -> None:
    model = Model()
    model.variable("x", shape=2, lower=-5, upper=5)
    alone = archeng.solve(model, rastrigin, seed=3)
    again = archeng.solve(model, rastrigin, seed=3, restarts=2)
    assert again.provenance["restarts_used"] == 2
    assert {g.restart for g in again.history} == {0, 1, 2}
    sizes = {g.restart: g.population_size for g in again.history}
    assert sizes[0] == 6
    assert sizes[1] == 12
    assert again.nfev > alone.nfev
    assert again.fun == min(e.objective for e in again.evaluations) <= alone.fun
    assert again.n_infeasible_calls == 0


def test_a_run_with_restarts_that_found_the_optimum_is_a_success() -> None:
    """Also if the last restart happened to end by its own share of the calls.

    Rounding decides whether one of them can show it: three of four do, on any processor.
    """
    settings = Settings(tol_objective=1e-8)
    results = [run(restarts=2, seed=seed, settings=settings) for seed in (2, 4, 5, 6)]
    assert [r.fun for r in results] == pytest.approx([0.5] * 4, abs=1e-6)
    assert sum(r.success for r in results) >= 3


def test_no_restart_without_asking() -> None:
    result = run()
    assert result.provenance["restarts_used"] == 0
    assert {g.restart for g in result.history} == {0}


@pytest.mark.parametrize("size", [4, 13, np.int64(8)])
def test_population_size(size: Any) -> None:
    result = run(population_size=size, max_evaluations=40)
    assert {g.population_size for g in result.history} == {size}


def test_default_population_size_depends_on_the_free_variables_only() -> None:
    model = Model()
    model.variable("x", shape=10, lower=[0] * 8 + [-1] * 2, upper=[0] * 8 + [1] * 2)
    result = archeng.solve(model, lambda d: float(d.x.sum()), seed=1, max_evaluations=6)
    assert result.history[0].population_size == 4 + int(3 * np.log(2))


# -- start -----------------------------------------


@pytest.mark.parametrize("start", [{"x": [1.0, 2.0]}, [1.0, 2.0], (1, 2), np.array([1.0, 2.0])])
def test_start_by_name_or_position(start: Any) -> None:
    result = run(start=start, sigma=1e-6, max_evaluations=12)
    assert result.evaluations[0].x.tolist() == [1.0, 2.0]
    for e in result.evaluations[:4]:  # then models may look elsewhere
        np.testing.assert_allclose(e.x, [1, 2], atol=1e-3)


def test_declared_start_is_used_and_the_option_wins() -> None:
    model = Model()
    model.variable("x", shape=2, lower=-5, upper=5, start=[3, 4], scale=1e-6)
    declared = archeng.solve(model, sphere, seed=1, max_evaluations=4)
    np.testing.assert_allclose(declared.x, [3, 4], atol=1e-4)
    given = archeng.solve(model, sphere, seed=1, max_evaluations=4, start=[-1, 1])
    np.testing.assert_allclose(given.x, [-1, 1], atol=1e-4)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([1, 2, 3], r"start: .*2 variables.*\(3,\)"),
        (3, "start: "),
        ([], "start: "),
        ({"y": 1}, r"start: .*missing \['x'\], unknown \['y'\]"),
        ({"x": [1, 2, 3]}, "start: .*shape"),
        ({}, "start: .*missing"),
        ("abc", "start: "),
        ({"x": "abc"}, "start: "),
        ([np.nan, 1], "start must be finite"),
        ([np.inf, 1], "start must be finite"),
    ],
)
def test_bad_start(start: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        run(start=start)


# -- sigma -----------------------------------------


def spread(sigma: Any) -> np.ndarray[Any, Any]:
    """Covariance of the first generation, sampled around a point far inside."""
    model = Model()
    model.variable("a", lower=-500, upper=500)
    model.variable("c", lower=7, upper=7)
    model.variable("b", lower=-500, upper=500)
    run = Run(model, seed=1, start=[0, 7, 0], sigma=sigma, population_size=500)
    sampled = np.array([c.sampled for c in run.ask()])
    assert sampled.shape == (500, 3)
    assert np.all(sampled[:, 1] == 7)
    return np.cov(sampled[:, [0, 2]].T)


@pytest.mark.parametrize(
    ("sigma", "covariance"),
    [
        (2.0, [[4, 0], [0, 4]]),
        ([1.0, 99.0, 3.0], [[1, 0], [0, 9]]),
        ({"a": 1.0, "b": 3.0, "c": 99.0}, [[1, 0], [0, 9]]),
        ([[4.0, 0, 3.0], [0, 1.0, 0], [3.0, 0, 9.0]], [[4, 3], [3, 9]]),
        (None, [[200**2, 0], [0, 200**2]]),
    ],
)
def test_sigma_is_the_initial_standard_deviation(sigma: Any, covariance: Any) -> None:
    expected = np.array(covariance, dtype=float)
    np.testing.assert_allclose(spread(sigma), expected, rtol=0.2, atol=0.15 * expected.max())


@pytest.mark.parametrize(
    "sigma",
    [
        0,
        -1,
        np.nan,
        np.inf,
        [1, -1],
        [1, 2, 3],
        "a",
        {"x": "a"},
        {"x": [1, 2, 3]},
        {"x": -1},
        np.eye(3),
        np.zeros((2, 2)),
        [[1, 2], [2, 1]],
        np.full((2, 2), np.nan),
        [[np.inf, 0], [0, 1]],
    ],
)
def test_bad_sigma(sigma: Any) -> None:
    with pytest.raises(SettingsError, match="sigma"):
        run(sigma=sigma, max_evaluations=10)


def test_a_misspelt_name_in_sigma_is_refused() -> None:
    with pytest.raises(SettingsError, match="y"):
        run(sigma={"x": 1, "y": 1}, max_evaluations=10)


def test_a_covariance_matrix_must_be_symmetric() -> None:
    with pytest.raises(SettingsError, match="sigma"):
        run(sigma=[[1, 0.5], [0, 1]], max_evaluations=10)


def test_sigma_replaces_missing_bounds() -> None:
    model = Model()
    x = model.variable("x", shape=2)
    model.subject_to(x[0] + x[1] >= 1)
    result = archeng.solve(model, sphere, seed=1, start=[3, 3], sigma=1)
    assert result.fun == pytest.approx(0.5, abs=1e-6)


# -- seeds -----------------------------------------


def fingerprint(result: Result) -> list[tuple[bytes, float, bytes]]:
    return [(e.x.tobytes(), e.objective, e.sampled.tobytes()) for e in result.evaluations]


def curved() -> Model:
    model = make()
    model.subject_to(ca.sumsqr(model.symbols) <= 9, name="disc")
    return model


@pytest.mark.parametrize("model", [make, curved])
def test_same_seed_same_run_bit_for_bit(model: Any) -> None:
    first, second = (archeng.solve(model(), sphere, seed=7, max_evaluations=150) for _ in range(2))
    assert fingerprint(first) == fingerprint(second)
    assert first.provenance["seed"] == 7


def test_different_seeds_differ() -> None:
    runs = [run(seed=seed, max_evaluations=12) for seed in (1, 2, None, None)]
    prints = [tuple(fingerprint(r)) for r in runs]
    assert len(set(prints)) == 4


def test_a_run_without_seed_can_be_repeated_from_its_provenance() -> None:
    first = run(seed=None, max_evaluations=30)
    again = run(seed=first.provenance["seed"], max_evaluations=30)
    assert fingerprint(first) == fingerprint(again)


def test_numpys_global_generator_does_not_matter() -> None:
    np.random.seed(1)  # noqa: NPY002
    first = run(max_evaluations=30)
    np.random.seed(2)  # noqa: NPY002
    assert fingerprint(first) == fingerprint(run(max_evaluations=30))


# -- bad options -----------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_evaluations", 0),
        ("max_evaluations", -1),
        ("max_evaluations", 2.5),
        ("max_evaluations", True),
        ("max_evaluations", "10"),
        ("max_time", 0),
        ("max_time", -1.0),
        ("max_time", np.nan),
        ("max_time", "a"),
        ("target", np.nan),
        ("target", np.inf),
        ("target", "a"),
        ("target", True),
        ("sense", "max"),
        ("restarts", -1),
        ("restarts", 1.5),
        ("restarts", None),
        ("population_size", 0),
        ("population_size", 3),
        ("population_size", 6.0),
        ("callback", 3),
        ("settings", 3),
        ("settings", {}),
        ("settings", Settings),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", "a"),
    ],
)
def test_bad_options_are_refused_by_name_before_any_call(option: str, value: Any) -> None:
    calls: list[Design] = []
    with pytest.raises(SettingsError, match=option):
        archeng.solve(make(), lambda d: calls.append(d) or 0.0, **{option: value})
    assert calls == []


def test_unknown_option() -> None:
    with pytest.raises(SettingsError, match="no option max_iterations"):
        run(max_iterations=3)
    with pytest.raises(SettingsError, match=r"no option max_evaluation\. Did you mean max_eval"):
        run(max_evaluation=3)


@pytest.mark.parametrize("simulator", [3, "f", {}])
def test_a_simulator_that_is_not_callable(simulator: Any) -> None:
    with pytest.raises(SimulatorError, match="callable"):
        archeng.solve(make(), simulator)


def test_no_simulator_and_no_objective() -> None:
    with pytest.raises(SettingsError, match="no simulator"):
        archeng.solve(make())


def test_a_model_with_an_objective_needs_no_simulator() -> None:
    model = make()
    model.set_objective(ca.sumsqr(model.symbols))
    assert archeng.solve(model, seed=1).fun == pytest.approx(0.5, abs=1e-6)
