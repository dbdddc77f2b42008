"""Choosing few of many points: far apart, or spread like all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from archeng.sampling.spread import farthest, mean_distances, representative


def energy(a, b) -> float:
    return 2 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean()


def test_farthest_takes_the_ends_then_the_middle() -> None:
    z = np.linspace(0, 1, 101)[:, None]
    chosen, least = farthest(z, 3, 0)
    assert chosen == [0, 100, 50]
    assert least == 0.5


def test_least_distance_is_that_of_the_chosen_points() -> None:
    z = np.random.default_rng(1).random((300, 3))
    chosen, least = farthest(z, 40, 7)
    assert len(set(chosen)) == 40
    assert least == pytest.approx(pdist(z[chosen]).min())


def test_points_that_are_the_same_count_once() -> None:
    z = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1e-7]], 5, axis=0)
    assert len(farthest(z, 10, 0)[0]) == 3
    assert len(farthest(z, 10, 0, same=1e-6)[0]) == 2
    assert len(representative(z, 10, 1e-6, np.random.default_rng(1))) == 2


@pytest.mark.parametrize("n", [1, 2, 8])
def test_representative_is_nearer_to_the_whole_than_random_choices(n: int) -> None:
    rng = np.random.default_rng(2)
    z = rng.random((600, n))
    chosen = representative(z, 60, 1e-9, rng)
    assert len(set(chosen)) == 60
    random = [energy(z[rng.permutation(600)[:60]], z) for _ in range(20)]
    assert energy(z[chosen], z) < 0.5 * min(random)


def test_representative_keeps_its_distance() -> None:
    rng = np.random.default_rng(3)
    z = rng.random((1000, 2))
    chosen = representative(z, 100, 1e-9, rng)
    _, least = farthest(z, 100, 0)
    assert pdist(z[chosen]).min() > 0.6 * least
    assert pdist(z[:100]).min() < 0.3 * least  # which is not so by itself


def test_all_points_if_all_are_asked_for() -> None:
    z = np.random.default_rng(4).random((30, 2))
    assert sorted(representative(z, 30, 1e-9, np.random.default_rng(1))) == list(range(30))


def test_mean_distances() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random((701, 4)), rng.random((33, 4))
    np.testing.assert_allclose(mean_distances(a, b), cdist(a, b).mean(axis=1), rtol=1e-12)
