r"""Models of functions of things of one kind: exchanging two of them changes nothing.

The g items of a layout have coordinates :math:`p_i` in widths of their bounds. A function that
does not know which item is which, and to which only pairs and single items matter, is

.. math:: f = \sum_{i<j} b(p_i - p_j) + \sum_i a(p_i), \qquad b(d) = b(-d)

With b and a as random Fourier sums (Rahimi and Recht 2007, Random features for large-scale kernel
machines, algorithm 1), here with the frequencies of a Sobol sequence, the sum over pairs needs no
pairs: it is linear in :math:`|S_k|^2` with :math:`S_k = \sum_i \exp(i w_k p_i)`. So one call
teaches about all pairs at once, and a ridge regression learns b from fewer calls than it has
coefficients. Nothing else is known of f.

Notation: g items with q coordinates, P (g, q); W (q, K) frequencies; G, r weighted sums of
products of features with features, and with objectives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from archeng.blas import one_thread, scipy_linalg
from archeng.distribution import Floats, Integers
from archeng.errors import SettingsError
from archeng.model import FeasibleSet
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Items:
    """Which coordinates of a design belong to which item."""

    index: Integers  # (g, q), of the free variables
    low: Floats  # (g, q)
    width: Floats  # (g, q)

    def __len__(self) -> int:
        return len(self.index)

    def places(self, x: Floats) -> Floats:
        """Places (..., g, q) of the items of designs (..., n), in widths."""
        return np.asarray((x[..., self.index] - self.low) / self.width)

    def moved(self, x: Floats, item: int, places: Floats) -> Floats:
        """Return designs (k, n): x with an item at each of the places (k, q)."""
        designs = np.repeat(x[None], len(places), axis=0)
        designs[:, self.index[item]] = self.low[item] + self.width[item] * places
        return designs


def items_of(fs: FeasibleSet, names: tuple[str, ...]) -> Items:
    """Find the items whose coordinates are the vectors of these names.

    Raises
    ------
    SettingsError
        If there is no such vector, one has other indices, a variable belongs to no item, or has no
        bounds.
    """
    by_name: list[dict[str, int]] = []
    for name in names:
        found = {
            text[len(name) :]: k
            for k, text in enumerate(fs.free_names)
            if text.startswith(f"{name}[")
        }
        if len(found) < 2 or (by_name and found.keys() != by_name[0].keys()):
            raise SettingsError(
                f"alike={list(names)!r} needs vectors of free variables with the same indices, "
                f"at least two each; {name!r} has {len(found)}."
            )
        by_name.append(found)
    index = np.array([[found[key] for found in by_name] for key in by_name[0]], dtype=np.intp)
    low, high = fs.bounds
    others = sorted(set(range(fs.n)) - set(index.ravel().tolist()))
    if others:
        raise SettingsError(
            f"alike={list(names)!r} leaves out {fs.free_names[others[0]]!r}; every free variable "
            "has to belong to an item."
        )
    if not np.all(np.isfinite(high - low)):
        raise SettingsError(f"alike={list(names)!r} needs variables with two finite bounds.")
    return Items(index, low[index], (high - low)[index])


@lru_cache(maxsize=16)
def frequencies(q: int, count: int, length: float) -> Singles:
    """Return W (q, count) for a Gaussian kernel of this length."""
    from scipy.stats import norm, qmc  # here, because it takes longer to import than archeng

    one_thread.look_again()  # it brings a BLAS of its own
    points = qmc.Sobol(q, scramble=False).random(2 ** int(np.ceil(np.log2(count + 1))))
    return np.asarray(norm.ppf(points[1 : count + 1]).T / length, dtype=np.float32)


def waves(P: Floats, W: Singles) -> tuple[Singles, Singles]:
    """Cosines and sines (..., K) of places (..., q)."""
    phases = np.asarray(P, dtype=np.float32) @ W
    return np.cos(phases), np.sin(phases)


@dataclass(frozen=True, eq=False)
class AlikeModel:
    """Objectives of layouts, but for a constant; ``coefficients`` (K,) of the features."""

    length: float
    coefficients: Singles

    @one_thread
    def gains(self, P: Floats, places: Floats) -> Floats:
        """Return by how much f falls (g, k) if an item goes to one of the places (k, q)."""
        pairs, cosines, sines = np.split(
            self.coefficients, [c.ALIKE_PAIRS, c.ALIKE_PAIRS + c.ALIKE_SINGLES]
        )
        W, V = _both(P.shape[1], self.length)
        cos, sin = waves(P, W)
        a, b = 2 * (cos.sum(axis=0) - cos) * pairs, 2 * (sin.sum(axis=0) - sin) * pairs
        new, own, single = waves(places, W), waves(P, V), waves(places, V)
        before = (cos * a + sin * b).sum(axis=1) + own[0] @ cosines + own[1] @ sines
        after = a @ new[0].T + b @ new[1].T + single[0] @ cosines + single[1] @ sines
        return np.asarray(before[:, None] - after, dtype=float)


def features(places: Floats, length: float) -> Floats:
    """Features (p, K) of layouts (p, g, q), of the size of one all together."""
    _, g, q = places.shape
    W, V = _both(q, length)
    rows = []
    for P in places:
        cos, sin = waves(P, W)
        pairs = (cos.sum(axis=0) ** 2 + sin.sum(axis=0) ** 2 - g) / (g * np.sqrt(W.shape[1]))
        cos, sin = waves(P, V)
        singles = np.concatenate((cos.sum(axis=0), sin.sum(axis=0)))
        rows.append(np.concatenate((pairs, singles / np.sqrt(g * V.shape[1]))))
    return np.array(rows, dtype=float)


class Learner:
    """Fits the model again after every block of calls; what it keeps follows from the calls."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._sums: Sums | None = None
        self._model: AlikeModel | None = None

    @one_thread
    def model(self, past: PastCalls, first: int) -> AlikeModel | None:
        """Return the model after the calls so far; None before there are ``first``."""
        blocks, least = len(past) // c.ALIKE_BLOCK, -(-first // c.ALIKE_BLOCK)
        if blocks < least:
            return None
        sums = self._sums
        if sums is not None and sums.blocks == blocks:
            return self._model
        turn = least
        while turn * c.ALIKE_CHOSEN_AGAIN <= blocks:
            turn *= c.ALIKE_CHOSEN_AGAIN
        if sums is None or sums.turn != turn or sums.blocks > blocks:
            sums = Sums(turn, self._chosen(past, turn))
        for block in range(sums.blocks, blocks):
            start = block * c.ALIKE_BLOCK
            sums.add(*self._told(past, start, start + c.ALIKE_BLOCK))
        self._sums, self._model = sums, sums.model(len(self._items), self._items.index.shape[1])
        return self._model

    def _chosen(self, past: PastCalls, turn: int) -> float:
        """Return the length by which the latest of so many blocks are predicted best."""
        end = turn * c.ALIKE_BLOCK
        places, y = self._told(past, max(0, end - c.ALIKE_WINDOW), end)
        split = len(y) - int(c.ALIKE_JUDGED * len(y))
        if split < 2:
            return c.ALIKE_LENGTHS[0]
        errors = []
        for length in c.ALIKE_LENGTHS:
            A = features(places, length)
            A -= A[:split].mean(axis=0)
            G = A[:split] @ A[:split].T + c.ALIKE_RIDGE * np.eye(split)
            z = y[:split] - y[:split].mean()
            w = A[:split].T @ _solved(G, z)
            errors.append(float(np.var(y[split:] - A[split:] @ w)))
        return c.ALIKE_LENGTHS[int(np.argmin(errors))]

    def _told(self, past: PastCalls, start: int, end: int) -> tuple[Floats, Floats]:
        """Places and objectives of the calls between two numbers that ended well."""
        y = past.objectives[start:end]
        good = np.isfinite(y)
        return self._items.places(past.points[start:end][good]), y[good]


class Sums:
    """Weighted sums over blocks of calls, from which a ridge regression follows."""

    def __init__(self, turn: int, length: float) -> None:
        self.turn, self.length, self.blocks = turn, length, 0
        size = c.ALIKE_PAIRS + 2 * c.ALIKE_SINGLES
        self._G, self._r, self._m = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        self._count, self._y, self._origin = 0.0, 0.0, 0.0

    def add(self, places: Floats, y: Floats) -> None:
        """Add a block of layouts (p, g, q) with objectives (p,)."""
        self.blocks += 1
        if len(y) == 0:
            return
        if self._count == 0:
            self._origin = float(np.median(y))
        A, z, k = features(places, self.length), y - self._origin, c.ALIKE_FORGET
        self._G = k * self._G + A.T @ A
        self._r, self._m = k * self._r + A.T @ z, k * self._m + A.sum(axis=0)
        self._count, self._y = k * self._count + len(y), k * self._y + float(z.sum())

    def model(self, g: int, q: int) -> AlikeModel | None:
        """Return the model of g items with q coordinates; None if nothing is known."""
        if self._count == 0:
            return None
        mean = self._m / self._count
        G = self._G - np.outer(self._m, mean) + c.ALIKE_RIDGE * np.eye(len(mean))
        w = _solved(G, self._r - self._y * mean)
        pairs = w[: c.ALIKE_PAIRS] / (g * np.sqrt(c.ALIKE_PAIRS))
        singles = w[c.ALIKE_PAIRS :] / np.sqrt(g * c.ALIKE_SINGLES)
        return AlikeModel(self.length, np.concatenate((pairs, singles)).astype(np.float32))


def _solved(G: Floats, b: Floats) -> Floats:
    """Return G^-1 b for a positive matrix."""
    linalg = scipy_linalg()
    return np.asarray(linalg.cho_solve(linalg.cho_factor(G, lower=True), b))


def _both(q: int, length: float) -> tuple[Singles, Singles]:
    """Frequencies of pairs, and of single items."""
    pairs = frequencies(q, c.ALIKE_PAIRS, length)
    return pairs, frequencies(q, c.ALIKE_SINGLES, length * c.ALIKE_SMOOTHER)
