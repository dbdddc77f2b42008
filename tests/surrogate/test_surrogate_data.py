"""Which designs a model is fitted to, and in which coordinates and units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import coefficients, few, moderate, plain_frame, random_frame, seeds

from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.surrogate import Frame
from archeng.surrogate.data import Data, most_designs, select
from archeng.surrogate.priors import QUADRATIC


def selected(frame: Frame, known: PastCalls) -> Data:
    data = select(frame, known)
    assert data is not None
    return data


def random_known(rng: np.random.Generator, k: int, n: int) -> PastCalls:
    points = rng.standard_normal((k, n)) * 10 ** rng.uniform(-2, 2)
    return PastCalls(points, rng.standard_normal(k))


def at_the_best(rng: np.random.Generator, known: PastCalls) -> Frame:
    return random_frame(rng, known.points[int(np.nanargmin(known.objectives))])


def original(data: Data, frame: Frame) -> Floats:
    """The designs as they were."""
    return frame.centre + data.scale * data.A @ frame.factor.T


# -- frame --------------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_coordinates_of_a_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    frame = random_frame(rng, rng.standard_normal(n))
    u, more = rng.standard_normal(n), rng.standard_normal((4, n))
    np.testing.assert_allclose(frame.coordinates(frame.design(u)), u, atol=1e-9)
    np.testing.assert_allclose(frame.coordinates(more)[2], frame.coordinates(more[2]), atol=1e-12)
    assert frame.distance(frame.design(u)) == pytest.approx(np.linalg.norm(u))
    assert frame.distance(frame.centre) == 0


# -- which designs ------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_the_nearest_designs_are_taken_the_centre_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    known = random_known(rng, most_designs(n) + 40, n)
    frame = at_the_best(rng, known)
    data = selected(frame, known)
    np.testing.assert_allclose(data.A[0], 0, atol=1e-12)
    lengths = np.linalg.norm(data.A, axis=1) * data.scale
    assert np.all(np.diff(lengths) >= -1e-9 * lengths[1:])
    taken = {x.round(6).tobytes() for x in original(data, frame)}
    assert len(taken) == len(data.A) <= most_designs(n)
    assert taken <= {x.round(6).tobytes() for x in known.points}
    # What was left out is farther away, or close to a design that is there.
    gaps = np.linalg.norm(
        frame.coordinates(known.points)[:, None] - frame.coordinates(original(data, frame))[None],
        axis=2,
    )
    distances = np.linalg.norm(frame.coordinates(known.points), axis=1)
    left_out = gaps.min(axis=1) > 1e-6 * (1 + distances)
    near = distances < lengths[-1] * (1 - 1e-9)
    assert np.all(gaps.min(axis=1)[left_out & near] < 0.1 * distances[left_out & near])


@moderate
@given(seed=seeds)
def test_designs_keep_a_distance(seed: int) -> None:
    """Of two designs close to each other only one is taken."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    sites = rng.permutation(12)[:, None] * np.ones(n) + rng.uniform(-0.2, 0.2, (12, n))
    points = np.repeat(sites, 2, axis=0) + 1e-6 * rng.standard_normal((24, n))
    points = np.concatenate((np.zeros((1, n)), 3 + points))
    known = PastCalls(points, rng.standard_normal(25))
    data = selected(plain_frame(np.zeros(n)), known)
    assert len(data.A) <= 13
    assert len(data.A) == min(13, most_designs(n))
    gaps = np.linalg.norm(data.A[:, None] - data.A[None], axis=2) + np.eye(len(data.A))
    assert gaps.min() > 1e-3


def test_designs_near_the_centre_are_all_there() -> None:
    """The distance that designs keep shrinks towards the centre: a search converges."""
    lengths = 10.0 ** -np.arange(9)
    points = np.concatenate((np.zeros((1, 2)), np.outer(lengths, [1.0, 0.0])))
    data = selected(plain_frame(np.zeros(2)), PastCalls(points, np.append(0.0, lengths)))
    assert len(data.A) == min(len(points), most_designs(2))


@few
@given(seed=seeds)
def test_failed_simulations_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = random_known(rng, 20, 3)
    objectives = known.objectives.copy()
    bad = rng.permutation(20)[:6]
    objectives[bad] = rng.choice([np.nan, np.inf, -np.inf], 6)
    good = np.setdiff1d(np.arange(20), bad)
    frame = at_the_best(rng, PastCalls(known.points[good], objectives[good]))
    one = selected(frame, PastCalls(known.points, objectives))
    two = selected(frame, PastCalls(known.points[good], objectives[good]))
    np.testing.assert_array_equal(one.A, two.A)
    np.testing.assert_array_equal(one.y, two.y)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 30, 100])
def test_the_number_of_designs(n: int) -> None:
    """Enough for a quadratic while that is cheap, always enough for a linear function."""
    assert most_designs(n) >= 2 * n + 2
    if n <= 10:
        assert most_designs(n) > coefficients(n)
    assert most_designs(n) <= most_designs(n + 1)
    assert most_designs(n) < 1000


# -- units --------------------------------------------------------------------------------------


@moderate
@given(seed=seeds)
def test_objectives_are_normalised_and_belong_to_their_designs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = random_known(rng, 12, 2)
    frame = at_the_best(rng, known)
    data = selected(frame, known)
    assert data.y.min() == 0
    assert np.median(data.y) == pytest.approx(1)
    assert data.y[0] == 0  # the frame is centred at the best
    assert np.median(np.linalg.norm(data.A, axis=1)) == pytest.approx(1)
    for x, y in zip(original(data, frame), data.y, strict=True):
        k = int(np.argmin(np.linalg.norm(known.points - x, axis=1)))
        assert data.best + data.spread * y == pytest.approx(known.objectives[k], abs=1e-9)


def test_more_than_half_equal_objectives() -> None:
    """The median says nothing then; the worst design is the unit."""
    points = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [2, 1]])
    data = selected(plain_frame(np.zeros(2)), PastCalls(points, np.array([3.0, 3, 3, 3, 7])))
    assert sorted(data.y) == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("k", [1, 2, 9])
def test_nothing_to_learn_from_equal_objectives(k: int) -> None:
    points = np.random.default_rng(0).standard_normal((k, 2))
    assert select(plain_frame(points[0]), PastCalls(points, np.full(k, 5.0))) is None


def test_nothing_to_learn_in_one_point() -> None:
    known = PastCalls(np.ones((3, 2)), np.array([1.0, 2.0, 3.0]))
    assert select(plain_frame(np.ones(2)), known) is None


def test_kernels_are_those_of_the_designs() -> None:
    rng = np.random.default_rng(1)
    known = random_known(rng, 8, 2)
    data = selected(at_the_best(rng, known), known)
    np.testing.assert_allclose(data.kernels.even(QUADRATIC), 0.5 * (data.A @ data.A.T) ** 2)


# -- invariance ---------------------------------------------------------------------------------


@moderate
@given(seed=seeds, condition=st.sampled_from([1.0, 30.0, 1e3]))
def test_affine_maps_of_the_design_space(seed: int, condition: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    known = random_known(rng, most_designs(n) + 10, n)
    frame = at_the_best(rng, known)
    M, t = random_frame(rng, np.zeros(n), condition).factor, rng.standard_normal(n)
    mapped = Frame(M @ frame.centre + t, M @ frame.factor, frame.inverse @ np.linalg.inv(M))
    one = selected(frame, known)
    two = selected(mapped, PastCalls(known.points @ M.T + t, known.objectives))
    np.testing.assert_allclose(two.A, one.A, atol=1e-8)
    np.testing.assert_allclose(two.y, one.y, atol=1e-12)
    assert two.scale == pytest.approx(one.scale)


@moderate
@given(seed=seeds, factor=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3))
def test_units_of_the_objective(seed: int, factor: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    known = random_known(rng, 15, 3)
    frame = at_the_best(rng, known)
    one = selected(frame, known)
    two = selected(frame, PastCalls(known.points, factor * (known.objectives + shift)))
    np.testing.assert_array_equal(two.A, one.A)
    np.testing.assert_allclose(two.y, one.y, atol=1e-7)
    assert two.spread == pytest.approx(factor * one.spread, rel=1e-6)


# -- what the simulator has said ----------------------------------------------------------------


def test_the_last_calls() -> None:
    known = PastCalls(np.arange(10.0).reshape(5, 2), np.arange(5.0))
    assert len(known) == 5
    last = known.last(2)
    np.testing.assert_array_equal(last.points, [[6, 7], [8, 9]])
    np.testing.assert_array_equal(last.objectives, [3, 4])
    assert len(known.last(99)) == 5
