"""Choosing the designs to keep from many: far apart, or spread like all of them.

Two greedy choices, both with a cost of (points kept) x (points there are):

- :func:`farthest`: each time the point that is farthest from those chosen [G85]. The distances
  between the points are the largest that are easily had, but in many variables most of the
  chosen points lie at the edge of the set.
- :func:`representative`: each time the point that brings the sample nearest to the whole in
  energy distance (herding [CWS10] with the kernel of support points [MJ18]), among those that
  are farther from the chosen ones than eight tenths of the least distance that
  :func:`farthest` reaches.

[CWS10] Y. Chen, M. Welling, A. Smola, Super-samples from kernel herding, UAI 2010,
arXiv:1203.3472.
[G85] T. Gonzalez, Clustering to minimize the maximum intercluster distance, Theoretical
Computer Science 38, 1985, doi:10.1016/0304-3975(85)90224-5.
[MJ18] S. Mak, V. R. Joseph, Support points, Annals of Statistics 46, 2018,
doi:10.1214/17-AOS1629.
"""

from __future__ import annotations

import numpy as np

from archeng.distribution import Floats

_APART = 0.8  # share of the least distance of the farthest-point choice that is kept
_LESS = 0.95  # factor of the least distance when no point is left
_REFERENCE = 5000  # points that stand for the whole
_BLOCK = 500  # points whose distances from all others are computed at once


def farthest(z: Floats, k: int, first: int, same: float = 1e-10) -> tuple[list[int], float]:
    """Greedy maximin choice of k of the points z (N, n), beginning with the point ``first``.

    Points no farther apart than ``same`` count as one. Returns the points, fewer than k if there
    are no more different ones, and the least distance between two of them.
    """
    chosen, least, work = [first], np.inf, np.empty_like(z)
    distance = _squared_distances(z, first, work)
    while len(chosen) < min(k, len(z)):
        i = int(np.argmax(distance))
        if distance[i] <= same**2:
            break
        least = float(distance[i])
        chosen.append(i)
        np.minimum(distance, _squared_distances(z, i, work), out=distance)
    return chosen, float(np.sqrt(least))


def representative(z: Floats, k: int, same: float, rng: np.random.Generator) -> list[int]:
    """Choose k of the points z (N, n), spread like all of them and far apart.

    Points no farther apart than ``same`` count as one; fewer than k come back if there are no
    more different ones.
    """
    first = int(rng.integers(len(z)))
    chosen, least = farthest(z, k, first, same)
    if len(chosen) < k or k == 1:
        return chosen
    whole = z if len(z) <= _REFERENCE else z[rng.permutation(len(z))[:_REFERENCE]]
    mean = mean_distances(z, whole)
    apart = _APART * least
    sums, nearest = np.zeros(len(z)), np.full(len(z), np.inf)
    work = np.empty_like(z)
    picked: list[int] = []
    while len(picked) < k:
        score = np.where(nearest >= apart, mean - sums / (len(picked) + 1), np.inf)
        i = int(np.argmin(score))
        if not np.isfinite(score[i]):
            apart *= _LESS
            continue
        picked.append(i)
        distance = np.sqrt(_squared_distances(z, i, work))
        sums += distance
        np.minimum(nearest, distance, out=nearest)
        nearest[i] = -1.0
    return picked


def _squared_distances(z: Floats, i: int, work: Floats) -> Floats:
    """Squared distances (N,) of points (N, n) from one of them; ``work`` (N, n) is overwritten."""
    np.subtract(z, z[i], out=work)
    np.square(work, out=work)
    return np.asarray(work.sum(axis=1))


def mean_distances(a: Floats, b: Floats) -> Floats:
    """Mean distance (N,) of each of the points a (N, n) from the points b (M, n)."""
    squares = np.sum(b**2, axis=1)
    result = np.empty(len(a))
    for i in range(0, len(a), _BLOCK):
        block = a[i : i + _BLOCK]
        product = block @ b.T
        squared = np.sum(block**2, axis=1)[:, None] + squares - 2 * product
        result[i : i + _BLOCK] = np.sqrt(np.maximum(squared, 0.0)).mean(axis=1)
    return result
