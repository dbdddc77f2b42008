"""Counting calls, judging designs, noise: the parts that every method of the comparison shares."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import archeng
from case_studies.cec2006 import problem as cec2006_problem
from case_studies.peers import suites
from case_studies.peers.constraints import (
    SLACK,
    Constraints,
    compiled,
    exactly,
    strict_model,
    within_slack,
)
from case_studies.peers.recorder import NEVER_SEEN, Finished, Recorder
from case_studies.peers.variants import VARIANTS, fails, round_digits


def recorder(**changes: Any) -> Recorder:
    """Minimise x over x >= 0."""
    options: dict[str, Any] = {"target": 0.5, "budget": 100, **changes}
    return Recorder(lambda x: float(x[0]), lambda x: bool(x[0] >= 0), **options)


def test_calls_infeasible_share_and_best() -> None:
    f = recorder()
    assert f.infeasible_share is None
    assert [f([v]) for v in (3.0, -1.0, 2.0, -2.0)] == [3.0, -1.0, 2.0, -2.0]
    assert (f.calls, f.infeasible_calls, f.infeasible_share, f.best) == (4, 2, 0.5, 2.0)
    assert (f.calls_to_target, f.stop, f.calls_left) == (None, "ended", 96)


def test_only_a_feasible_design_reaches_the_target() -> None:
    f = recorder()
    f([-7.0])
    f([0.6])
    with pytest.raises(Finished):
        f([0.5])
    assert (f.calls_to_target, f.calls, f.stop, f.best) == (3, 3, "target", 0.5)
    with pytest.raises(Finished):  # a method that goes on is not counted any more
        f([0.1])
    assert (f.calls, f.best) == (3, 0.5)


def test_the_last_call_of_the_budget_counts() -> None:
    f = recorder(budget=2)
    f([1.0])
    with pytest.raises(Finished):
        f([0.9])
    assert (f.calls, f.stop, f.best, f.calls_to_target) == (2, "budget", 0.9, None)
    f = recorder(budget=1)
    with pytest.raises(Finished):
        f([0.4])
    assert (f.calls_to_target, f.stop) == (1, "target")


def test_time_limit_holds_between_calls() -> None:
    f = recorder(seconds=0.02)
    end = _cpu() + 0.05
    while _cpu() < end:
        pass
    with pytest.raises(Finished):
        f.tick()
    assert (f.stop, f.calls) == ("time", 0)


def test_finished_passes_what_survives_exceptions() -> None:
    assert not issubclass(Finished, Exception)


def test_failed_calls_never_succeed_and_give_the_worst_value_seen() -> None:
    f = recorder(seen=lambda value, x: math.nan if x[0] < 1 else value)
    assert f.finite([0.1]) == NEVER_SEEN
    f.finite([2.0])
    f.finite([4.0])
    assert f.finite([0.2]) == 4.0
    assert math.isnan(f([0.3]))
    assert (f.calls, f.best, f.calls_to_target) == (5, 2.0, None)


def test_an_objective_that_raises_is_a_failed_call() -> None:
    f = Recorder(lambda x: 1 / 0, lambda x: True, target=0.0, budget=5)
    assert math.isnan(f([0.0]))
    assert f.calls == 1


def test_time_in_the_objective_is_not_overhead() -> None:
    def slow(x: Any) -> float:
        end = _cpu() + 0.03
        while _cpu() < end:
            pass
        return 1.0

    f = Recorder(slow, lambda x: True, target=0.0, budget=5)
    f([0.0])
    f([0.0])
    overhead = f.overhead_ms()
    assert overhead is not None
    assert overhead < 15  # a call takes 30


def _cpu() -> float:
    return time.process_time()


def test_noise_is_judged_on_the_true_objective() -> None:
    f = recorder(seen=lambda value, x: value - 10)
    assert f([3.0]) == -7.0
    assert f.best == 3.0


@pytest.mark.parametrize("name", [v for v in VARIANTS if v != "plain"])
def test_variants_depend_on_the_seed_only(name: str) -> None:
    x = np.array([0.3, 0.7])

    def first_calls(seed: int) -> list[float]:
        seen = VARIANTS[name].seen(seed)
        return [seen(1.23456, x + i) for i in range(200)]

    assert np.array_equal(first_calls(1), first_calls(1), equal_nan=True)
    same = np.array_equal(first_calls(1), first_calls(2), equal_nan=True)
    assert same == (name == "rounded")


def test_size_of_noise_digits_and_share_of_failures() -> None:
    x = np.zeros(1)
    for name, size in (("noise-1e-3", 1e-3), ("noise-1e-2", 1e-2)):
        seen = VARIANTS[name].seen(0)
        values = [seen(50.0, x) for _ in range(4000)]
        assert np.std(values) == pytest.approx(50 * size, rel=0.1)
        assert np.mean(values) == pytest.approx(50, rel=size)
    assert [round_digits(v, 3) for v in (1234.5, -0.0012345, 0.0)] == [1230.0, -0.00123, 0.0]
    rng = np.random.default_rng(0)
    share = np.mean([fails(rng.uniform(size=3), 4) for _ in range(4000)])
    assert share == pytest.approx(0.05, abs=0.015)


def test_targets_are_relative_unless_the_optimum_is_zero() -> None:
    assert suites.target(200.0, 1e-4) == pytest.approx(200.02)
    assert suites.target(-200.0, 1e-4) == pytest.approx(-199.98)
    assert suites.target(0.0, 1e-4) == pytest.approx(1e-4)


def test_best_known_value_with_and_without_exact_equalities() -> None:
    g03, g22 = cec2006_problem("g03"), cec2006_problem("g22")
    assert suites.best_known(g03, strict=True) == g03.f_strict
    assert suites.best_known(g03, strict=False) == g03.f_strict > g03.f_opt
    assert suites.best_known(g22, strict=True) == g22.f_strict < g22.f_opt
    assert suites.best_known(g22, strict=False) == g22.f_opt
    bare: Any = SimpleNamespace(f_opt=7.0)
    assert suites.best_known(bare, strict=True) == suites.best_known(bare, strict=False) == 7.0


def toy_model() -> archeng.Model:
    model = archeng.Model("toy")
    a = model.variable("a", lower=0, upper=2)
    b = model.variable("b", lower=-1, upper=1, shape=2)
    model.subject_to(a + b[0] == 1, name="sum", tolerance=1e-4)
    model.subject_to(a**2 + b[1] ** 2 <= 2, name="disc")
    return model


def test_feasibility_of_peers_and_of_archeng() -> None:
    loose = compiled(toy_model())
    strict = compiled(strict_model(toy_model()))
    peer, own = within_slack(loose), exactly(strict)

    def off(sum_: float = 0.0, bound: float = 0.0) -> np.ndarray:
        return np.array([1.0 + sum_, 0.0, 1.0 + bound]) if bound else np.array([1 + sum_, 0, 0.5])

    assert peer(off())
    assert own(off())
    assert peer(off(sum_=0.9e-4))
    assert not own(off(sum_=0.9e-4))
    assert own(off(sum_=0.9e-6))
    assert not peer(off(sum_=1.2e-4))
    slightly = np.array([1.0, 0.0, 1.0 + SLACK / 4])  # disc and bound, both by less than the slack
    assert peer(slightly)
    assert not own(slightly)
    assert not peer(np.array([1.0, 0.0, 1.0 + 2 * SLACK]))


def test_strict_model_changes_nothing_but_the_tolerance() -> None:
    loose, strict = compiled(toy_model()), compiled(strict_model(toy_model()))
    x = np.array([0.4, 0.3, -0.2])
    assert np.array_equal(loose.values(x), strict.values(x))
    wide, narrow = (fs.upper[fs.equality] - fs.lower[fs.equality] for fs in (loose, strict))
    assert wide == pytest.approx([2e-4])
    assert narrow == pytest.approx([2e-6])
    rest = ~loose.equality
    assert np.array_equal(loose.upper[rest], strict.upper[rest])
    assert loose.free_names == strict.free_names


def test_constraints_as_the_peers_get_them() -> None:
    ticks = []
    rows = Constraints(compiled(toy_model()), lambda: ticks.append(1))
    x = np.array([0.4, 0.3, -0.2])
    assert rows.values(x) == pytest.approx([0.7, 0.2])
    assert rows.n_linear == 1
    assert rows.equalities
    assert rows.n_excess == 3
    assert sorted(rows.excess(x)) == pytest.approx([0.2 - 2, 0.7 - 1.0001, 0.9999 - 0.7])
    assert rows.exact_lower[0] == rows.exact_upper[0]
    assert rows.exact_upper[1] == 2
    matrix, constant = rows.linear_part()
    assert matrix @ x + constant == pytest.approx(rows.values(x)[:1])
    step = 1e-6 * np.array([1.0, -2.0, 0.5])
    difference = rows.values(x + step) - rows.values(x)
    assert rows.jacobian(x) @ step == pytest.approx(difference, rel=1e-4)
    assert rows.hessian(x, np.array([3.0, 1.0])) == pytest.approx(np.diag([2.0, 0.0, 2.0]))
    assert len(ticks) >= 6


def test_large_rows_are_scaled_for_the_peers_only() -> None:
    model = archeng.Model("units")
    a = model.variable("a", lower=0, upper=2)
    model.subject_to(1e6 * a <= 1.5e6, name="large")
    model.subject_to(a**2 >= 0.1, name="small")
    fs = compiled(model)
    rows = Constraints(fs)
    assert rows.scale == pytest.approx([2e4, 1.0])  # 1e6 times the width 2, brought to 100
    assert rows.values(np.array([0.5])) == pytest.approx([25.0, 0.25])
    assert rows.row_upper[0] == pytest.approx(75.0)
    assert rows.jacobian(np.array([0.5])) == pytest.approx(np.array([[50.0], [1.0]]))
    judge = within_slack(fs)
    assert judge(np.array([1.5 * (1 + SLACK / 2)]))  # relative to the limit 1.5e6
    assert not judge(np.array([1.5 * (1 + 2 * SLACK)]))
    assert not judge(np.array([np.sqrt(0.1 - 2 * SLACK)]))  # absolute, the limit is below 1


def test_an_undefined_row_counts_as_violated() -> None:
    model = archeng.Model("root")
    a = model.variable("a", lower=-1, upper=1)
    model.subject_to(a**0.5 >= 0.1, name="root")
    rows = Constraints(compiled(model))
    assert rows.excess(np.array([-0.5])).max() > 1e6
    assert np.isfinite(rows.values(np.array([-0.5]))).all()
    assert np.isfinite(rows.jacobian(np.array([-0.5]))).all()


def test_variables_without_bounds_are_refused() -> None:
    model = archeng.Model("open")
    model.variable("a", lower=0, start=1, scale=1)
    with pytest.raises(ValueError, match="finite bounds"):
        compiled(model)


def test_starts_are_the_same_for_all_methods_and_differ_between_seeds() -> None:
    draws = [
        suites.start_generator("cec2006", n, s).uniform() for n in ("g01", "g10") for s in (0, 1)
    ]
    again = suites.start_generator("cec2006", "g01", 0).uniform()
    assert draws[0] == again
    assert len(set(draws)) == 4


def test_problems_and_budgets() -> None:
    assert suites.names("cec2006") == [f"g{i:02d}" for i in range(1, 25) if i != 20]
    assert suites.budget("cec2006", "g02") == 1000
    assert suites.budget("cec2006", "g02", 300) == 300
    assert suites.budget("cec2006", "g03") == 5000
    assert "cec2006" in suites.suites()
