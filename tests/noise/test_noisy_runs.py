"""Whole runs with noise: the design, its interval, repeats, resume, and nothing for the others."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import archeng


def model() -> archeng.Model:
    m = archeng.Model("bowl")
    x, y = m.variable("x", lower=-4, upper=4), m.variable("y", lower=-4, upper=4)
    m.variable("z", lower=-4, upper=4)
    m.subject_to(x + 2 * y <= 1)
    m.subject_to(ca.sumsqr(ca.vertcat(x, y)) <= 9)
    return m


def true(design: archeng.Design) -> float:
    """Return a bowl: its value at the optimum is 10 + 0.8."""
    x, y, z = design.x
    return float(10 + (x - 1) ** 2 + (y - 1) ** 2 + 0.5 * (z - 0.3) ** 2 + 0.05 * (z - 0.3) ** 4)


def noisy(design: archeng.Design, size: float = 0.3) -> float:
    """Return the bowl with noise that the call's own seed gives."""
    return true(design) + size * float(np.random.default_rng(design.seed).standard_normal())


BEST = 10.8


def test_the_best_estimate_is_returned_with_a_true_interval() -> None:
    inside, gaps = 0, []
    for seed in range(6):
        result = archeng.solve(model(), noisy, max_evaluations=200, seed=seed)
        e = result.estimate
        assert e is not None
        assert result.fun == e.value
        assert result.n_infeasible_calls == 0
        gaps.append(true(result.design) - BEST)
        inside += e.lower <= true(result.design) <= e.upper
        assert e.noise == pytest.approx(0.3 / (BEST if e.relative else 1.0), rel=0.6)
    assert np.median(gaps) < 0.05  # a sixth of the noise of one call
    assert inside >= 5


def test_it_ends_where_noise_hides_the_rest() -> None:
    result = archeng.solve(model(), noisy, max_evaluations=500, seed=2)
    assert result.stop_reason is archeng.StopReason.NOISE
    assert result.success
    assert "the simulator is noisy" in str(result)
    assert result.nfev < 300


def test_repeats_are_calls_with_their_own_records_and_seeds() -> None:
    seeds: dict[bytes, list[int | None]] = {}

    def simulator(design: archeng.Design) -> float:
        seeds.setdefault(design.x.tobytes(), []).append(design.seed)
        return noisy(design)

    result = archeng.solve(model(), simulator, max_evaluations=300, seed=1)
    repeated = [e for e in result.evaluations if e.repair_kind == "repeated"]
    assert repeated
    assert result.nfev == len(result.evaluations) == sum(map(len, seeds.values()))
    several = max(seeds.values(), key=len)
    assert len(several) > 1
    assert len(set(several)) == len(several)


def test_resume_and_workers_are_exact(tmp_path: Path) -> None:
    whole = archeng.solve(model(), noisy, max_evaluations=80, seed=5, journal=tmp_path / "a.db")
    assert whole.estimate is not None
    archeng.solve(model(), noisy, max_evaluations=47, seed=5, journal=tmp_path / "b.db")
    resumed = archeng.resume(tmp_path / "b.db", noisy, max_evaluations=80)
    threads = archeng.solve(
        model(), noisy, max_evaluations=80, seed=5, workers="threads:2", parallel=1
    )
    for other in (resumed, threads, archeng.read_journal(tmp_path / "a.db")):
        assert np.array_equal(other.x, whole.x)
        assert other.estimate == whole.estimate
        assert [e.objective for e in other.evaluations] == [e.objective for e in whole.evaluations]


def test_a_simulator_that_says_the_same_twice_is_believed() -> None:
    result = archeng.solve(model(), true, max_evaluations=100, seed=0)
    assert result.estimate is None
    assert result.status is archeng.Status.CONVERGED
    assert not any(e.repair_kind == "repeated" for e in result.evaluations)


def test_noise_zero_asks_for_no_repeats() -> None:
    result = archeng.solve(model(), noisy, max_evaluations=80, seed=0, noise=0)
    assert result.estimate is None
    assert not any(e.repair_kind == "repeated" for e in result.evaluations)


def test_noisy_constraints_hold_with_confidence() -> None:
    def simulator(design: archeng.Design) -> archeng.Evaluation:
        rng = np.random.default_rng(design.seed)
        row = design.x[0] + design.x[2] + 0.1 * rng.standard_normal()
        return archeng.Evaluation(noisy(design, 0.1), {"row": row})

    holding = 0
    for seed in range(5):
        result = archeng.solve(
            model(), simulator, simulated={"row": (None, 0.2)}, max_evaluations=150, seed=seed
        )
        assert result.estimate is not None
        assert result.simulated[0].deviation > 0
        holding += result.x[0] + result.x[2] <= 0.2
        if result.status is not archeng.Status.VIOLATING:
            assert result.simulated[0].value <= 0.2
    assert holding >= 4


def test_a_lucky_value_does_not_reach_the_target() -> None:
    result = archeng.solve(
        model(), noisy, max_evaluations=150, seed=3, noise=0.3, target=BEST - 0.3
    )
    assert result.status is not archeng.Status.TARGET
    reached = archeng.solve(model(), noisy, max_evaluations=300, seed=3, noise=0.3, target=11.2)
    assert reached.stop_reason is archeng.StopReason.TARGET
    assert true(reached.design) < 11.2


def test_maximising_is_the_mirror_image() -> None:
    low = archeng.solve(model(), noisy, max_evaluations=80, seed=4)
    high = archeng.solve(model(), lambda d: -noisy(d), max_evaluations=80, seed=4, sense="maximize")
    assert np.array_equal(low.x, high.x)
    assert low.estimate is not None
    assert high.estimate is not None
    assert high.estimate.lower == pytest.approx(-low.estimate.upper)
