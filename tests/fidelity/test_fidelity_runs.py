"""Runs with a cheap and a dear simulator."""

from __future__ import annotations

import numpy as np
import pairs
import pytest

import archeng
from archeng import Settings
from archeng.errors import ArchengError, SimulatorError

ALONE = Settings(surrogate="none")


def solve(cheap: object, **options: object) -> archeng.Result:
    options = {"seed": 3, "max_evaluations": 300, **options}
    return archeng.solve(pairs.make_model(), [cheap, pairs.fine], cost=pairs.COSTS, **options)


@pytest.mark.parametrize("settings", [Settings(), ALONE])
def test_a_cheap_simulator_saves_cost_and_the_answer_is_about_the_dear_one(
    settings: Settings,
) -> None:
    target = pairs.BEST + 1e-4
    fine = archeng.solve(pairs.make_model(), pairs.fine, seed=3, target=target, settings=settings)
    both = solve(pairs.coarse, target=target, settings=settings)
    assert fine.success
    assert both.success
    assert both.fun == pairs.fine(both.design)
    assert both.cost < fine.nfev
    assert both.calls_by_level[1] == both.nfev == len(both.evaluations)
    assert both.cost == pytest.approx(0.05 * both.calls_by_level[0] + both.nfev)
    assert {call.level for call in both.evaluations} == {1}
    assert {call.level for call in both.cheaper} == {0}
    assert [call.index for call in both.all_calls] == list(range(sum(both.calls_by_level)))


def test_a_useless_one_is_left_alone_and_the_run_is_that_of_the_other() -> None:
    ratios = []
    for seed in range(1, 6):  # four designs agree by chance in one of five runs
        fine = archeng.solve(pairs.make_model(), pairs.fine, seed=seed)
        both = solve(pairs.useless, seed=seed)
        assert both.fun == pytest.approx(fine.fun, rel=1e-8)
        ratios.append(both.cost / fine.nfev)
        designs = {call.x.tobytes() for call in both.evaluations}
        first = [call for call in fine.evaluations if call.generation == 0]
        assert all(call.x.tobytes() in designs for call in first)
    assert np.median(ratios) <= 1.15
    assert max(ratios) <= 1.5


@pytest.mark.parametrize("settings", [Settings(), ALONE])
def test_one_that_fails_always_does_not_hurt(settings: Settings) -> None:
    both = solve(pairs.broken, settings=settings, max_failures=0, on_failure="raise")
    assert both.fun == pytest.approx(pairs.BEST, abs=1e-3)
    assert not both.failures
    assert "did not end well" in str(both)


def test_constraints_that_the_cheap_one_leaves_out() -> None:
    both = archeng.solve(
        pairs.make_model(),
        [pairs.coarse, pairs.with_stress],
        cost=pairs.COSTS,
        simulated={"stress": (None, 0.9)},
        seed=1,
        max_evaluations=25,
    )
    assert both.simulated[0].value < 0.93
    assert both.fun == pytest.approx(4.1, abs=1.0)


def test_three_levels() -> None:
    both = archeng.solve(
        pairs.make_model(),
        [pairs.coarse, lambda d: pairs.fine(d) + 0.1 * d["x"][0], pairs.fine],
        cost=[0.02, 0.2, 1.0],
        seed=1,
        target=pairs.BEST + 1e-4,
        max_evaluations=100,
    )
    assert both.success
    assert len(both.calls_by_level) == 3
    assert min(both.calls_by_level) > 0


def test_a_budget_of_cost() -> None:
    both = solve(pairs.coarse, max_cost=6.0)
    assert both.cost <= 6.0 + 1e-9
    assert both.nfev > 0
    assert both.stop_reason is archeng.StopReason.MAX_COST
    one = archeng.solve(pairs.make_model(), pairs.fine, max_cost=5, seed=0)
    assert one.nfev == one.cost == 5


@pytest.mark.parametrize("settings", [Settings(), ALONE])
@pytest.mark.parametrize("calls", [7])
def test_a_resumed_run_is_the_same(tmp_path: object, settings: Settings, calls: int) -> None:
    whole = solve(pairs.coarse, settings=settings, max_evaluations=10)
    path = tmp_path / "run.db"  # type: ignore[operator]
    solve(pairs.coarse, settings=settings, max_evaluations=calls, journal=path)
    again = archeng.resume(path, [pairs.coarse, pairs.fine], max_evaluations=10)
    read = archeng.read_journal(path)
    for result in (again, read):
        assert len(result.all_calls) == len(whole.all_calls)
        for a, b in zip(result.all_calls, whole.all_calls, strict=True):
            assert (a.level, a.objective, a.x.tobytes()) == (b.level, b.objective, b.x.tobytes())
        assert result.cost == whole.cost


@pytest.mark.parametrize("settings", [Settings(), ALONE])
def test_cut_off_within_any_generation(tmp_path: object, settings: Settings) -> None:
    """Wherever the process dies, what goes on is the run that would have been."""
    whole = solve(pairs.coarse, settings=settings, max_evaluations=6)
    for calls in (3, 14):
        path = tmp_path / f"{calls}.db"  # type: ignore[operator]
        made = 0

        def counted(design: archeng.Design, stop: int = calls) -> float:
            nonlocal made
            made += 1
            if made > stop:
                raise KeyboardInterrupt
            return pairs.coarse(design)

        run = archeng.Run(
            pairs.make_model(),
            [counted, pairs.fine],
            cost=pairs.COSTS,
            seed=3,
            settings=settings,
            max_evaluations=6,
            journal=path,
        )
        run.run()
        again = archeng.resume(path, [pairs.coarse, pairs.fine])
        assert [c.x.tobytes() for c in again.all_calls] == [c.x.tobytes() for c in whole.all_calls]


@pytest.mark.parametrize("workers", ["threads:3", 1])
def test_workers_change_nothing(workers: object) -> None:
    alone = solve(pairs.coarse, max_evaluations=5, parallel=1)
    many = solve(pairs.coarse, max_evaluations=5, workers=workers, parallel=1)
    assert [c.x.tobytes() for c in many.all_calls] == [c.x.tobytes() for c in alone.all_calls]


def test_ask_and_tell_name_the_level() -> None:
    whole = solve(pairs.coarse, max_evaluations=8)
    run = archeng.Run(pairs.make_model(), cost=pairs.COSTS, seed=3, max_evaluations=8)
    while not run.stopped:
        asked = run.ask()
        assert {c.level for c in asked} == {c.design.level for c in asked}
        simulators = (pairs.coarse, pairs.fine)
        run.tell([simulators[c.level](c.design) for c in asked])
    result = run.result()
    assert result.calls_by_level == whole.calls_by_level
    assert result.fun == whole.fun


def test_a_saved_result_and_its_table(tmp_path: object) -> None:
    result = solve(pairs.coarse, max_evaluations=6)
    path = tmp_path / "result.json"  # type: ignore[operator]
    result.save(path)
    again = archeng.Result.load(path)
    assert again.cost == result.cost
    assert again.calls_by_level == result.calls_by_level
    text = str(again)
    assert f"{result.calls_by_level[0]} at 0.05, 6 at 1" in text


def test_mistakes_in_the_cheap_simulator_are_told_at_once() -> None:
    with pytest.raises(SimulatorError, match="mistake"):
        solve(lambda design: design["y"])


@pytest.mark.parametrize(
    ("simulator", "cost", "said"),
    [
        ([pairs.coarse, pairs.fine], None, "say what a call of each costs"),
        ([pairs.coarse, pairs.fine], [1.0], "for each of several simulators"),
        ([pairs.coarse, pairs.fine], [0.1, 0.5, 1.0], "2 simulators and 3 costs"),
        ([pairs.coarse, pairs.fine], [1.0, 0.1], "must increase"),
        ([pairs.coarse, pairs.fine], [0.0, 1.0], "positive"),
        ([pairs.coarse, pairs.fine], "cheap", "for each of several simulators"),
        ([pairs.coarse, 3], [0.1, 1.0], "callable"),
        (pairs.fine, [0.1, 1.0], "there is one"),
    ],
)
def test_errors(simulator: object, cost: object, said: str) -> None:
    with pytest.raises(ArchengError, match=said):
        archeng.solve(pairs.make_model(), simulator, cost=cost)
