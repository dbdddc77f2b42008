"""Jumps of the objective: models of the better side, and minima that stay there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from surrogate_helpers import data_of, normalised

import archeng
from archeng.distribution import Floats
from archeng.model import Model
from archeng.surrogate import constants as c
from archeng.surrogate.fence import fence_between, jump_in
from archeng.surrogate.trust import ProposalKind, Trust, at_jump

N = 3
NORMAL = np.array([0.6, 0.8, 0.0])
WALL = 0.5  # the jump is where NORMAL @ v is this


def towards_the_wall(k: int = 30) -> Floats:
    """The centre, designs around it, and some that come nearer and nearer to a wall."""
    A = np.random.default_rng(4).uniform(-1.5, 1.5, (k, N))
    A[0] = 0.0
    A[1:7] = np.outer([0.3, 0.55, 0.49, 0.51, 0.499, 0.501], NORMAL)
    return A


def smooth(A: Floats) -> Floats:
    return np.sum((A - 0.3) ** 2, axis=1)


def test_a_jump_is_seen_and_its_middle_is_between_both_sides() -> None:
    A = towards_the_wall()
    above = A @ NORMAL > WALL
    data = data_of(A, normalised(smooth(A) + np.where(above, 30.0, 0.0)))
    height = jump_in(data)
    assert height is not None
    np.testing.assert_array_equal(data.y >= height, above)


@pytest.mark.parametrize(
    "rise",
    [
        lambda d: 0.0 * d,
        lambda d: 1e3 * np.maximum(d, 0),  # a kink
        lambda d: 1e4 * d**2,  # a narrow valley
        lambda d: np.exp(8 * d),  # a cliff without a jump
    ],
)
def test_what_rises_without_a_jump_is_none(rise: np.ufunc) -> None:
    A = towards_the_wall()
    assert jump_in(data_of(A, normalised(smooth(A) + rise(A @ NORMAL - WALL)))) is None


def test_one_design_above_is_no_jump() -> None:
    A = towards_the_wall()
    f = smooth(A)
    f[6] += 30.0
    assert jump_in(data_of(A, normalised(f))) is None


def test_the_fence_is_between_the_nearest_designs_of_both_sides() -> None:
    A = towards_the_wall()
    above = A @ NORMAL > WALL
    fence = fence_between(A[~above], A[above])
    assert fence is not None
    assert np.linalg.norm(fence.normal) == pytest.approx(1.0)
    assert all(fence.holds(v) for v in A[~above])
    assert not any(fence.holds(v) for v in A[above])
    inner, outer = (A[~above] @ fence.normal).max(), (A[above] @ fence.normal).min()
    assert fence.level == pytest.approx(inner + c.FENCE_SHARE * (outer - inner))
    row = fence.row()
    for v in A:
        assert row.value(v) == pytest.approx(fence.normal @ v - fence.level)


def test_where_no_plane_separates_all_the_nearest_ones_count() -> None:
    """Bad designs on both sides: the fence is before the nearer one."""
    good = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [-0.5, 0.0]])
    bad = np.array([[-2.0, 0.0], [0.4, 0.0]])
    fence = fence_between(good, bad)
    assert fence is not None
    assert fence.holds(good[0])
    assert not fence.holds(bad[1])
    assert fence_between(good, np.zeros((1, 2))) is None


def test_designs_beyond_a_jump_shrink_the_region_every_other_time() -> None:
    first = at_jump(Trust())
    second = at_jump(first)
    assert (first.radius, first.kind) == (c.TRUST_FIRST, ProposalKind.EXPLOIT)
    assert (second.radius, second.kind) == (
        c.TRUST_FIRST * c.TRUST_SHRINK_MISSED,
        ProposalKind.EXPLOIT,
    )
    assert at_jump(Trust(radius=c.TRUST_COLLAPSED, failures=1)).kind is ProposalKind.LEAP
    assert replace(first, failures=0) == Trust()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 6, 7])
def test_an_optimum_at_a_jump_is_reached(seed: int) -> None:
    """Without a fence these runs are 0.1 to 0.4 above it after 300 calls, or end there."""
    rng = np.random.default_rng(100 + seed)
    turned = np.linalg.qr(rng.standard_normal((N, N)))[0]
    bend = turned @ np.diag(np.geomspace(1, 10, N)) @ turned.T
    lowest, w = rng.uniform(-1, 1, N), rng.standard_normal(N)
    w = w / np.linalg.norm(w)
    model = Model("wall")
    x = [model.variable(f"x{i}", lower=-4, upper=4) for i in range(N)]
    model.subject_to(x[0] + x[1] + x[2] <= float(lowest.sum()) + 2, name="sum")

    def f(design: archeng.Design) -> float:
        step = np.asarray(design.x) - lowest
        return float(step @ bend @ step / 2 + (8.0 if w @ step > -1.0 else 0.0))

    best = 0.5 / float(w @ np.linalg.solve(bend, w))  # on the jump, where the sum holds
    start = np.clip(lowest - 3 * w, -4, 4)
    result = archeng.solve(
        model, f, start=start, seed=seed, target=best + 1e-2, max_evaluations=150
    )
    assert result.status is archeng.Status.TARGET
    assert result.n_infeasible_calls == 0
