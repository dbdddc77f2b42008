"""The two random generators that fix the instances of the suite, written from their definitions.

BBOB's is the multiplicative congruential generator with a = 16807, m = 2^31 - 1 and a shuffle of 32
numbers [1]_; COCO's own is additive lagged Fibonacci with lags 607 and 273 [2]_.

=============  ==========================================
code           meaning
=============  ==========================================
``seed``       of a BBOB stream, a positive whole number
``state``      the last number of the stream
``shelf``      the 32 numbers that are shuffled
=============  ==========================================

References
----------
.. [1] N. Hansen, S. Finck, R. Ros, A. Auger. Real-Parameter Black-Box Optimization Benchmarking
   2009: Noiseless Functions Definitions. INRIA RR-6829, 2009.
.. [2] N. Hansen, A. Auger, R. Ros, O. Mersmann, T. Tušar, D. Brockhoff. COCO: A Platform for
   Comparing Continuous Optimizers in a Black-Box Setting. Optimization Methods and Software
   36(1):114-144, 2021. arXiv:1603.08785.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MULTIPLIER, MODULUS = 16807, 2**31 - 1
SHELF, WARM_UP = 32, 40
SHELF_STEP = 67108865
"""Numbers of the stream divided by this are places on the shelf."""

TINY = 1e-99
"""Stands for a random number that is exactly zero."""

LONG_LAG, SHORT_LAG = 607, 273
SEED_MULTIPLIER, WORD, SEED_SHIFT = 1812433253, 2**32, 30
FIRST_USED = 12
"""The first numbers of COCO's generator depend too simply on the seed and are left out."""


def uniform(count: int, seed: int) -> Floats:
    """Return numbers (count,) between 0 and 1 of BBOB's generator."""
    state = max(abs(seed), 1)
    shelf = [0] * SHELF
    for i in reversed(range(WARM_UP)):
        state = MULTIPLIER * state % MODULUS
        if i < SHELF:
            shelf[i] = state
    given, numbers = shelf[0], np.empty(count)
    for i in range(count):
        state = MULTIPLIER * state % MODULUS
        place = given // SHELF_STEP
        given, shelf[place] = shelf[place], state
        numbers[i] = given / MODULUS or TINY
    return numbers


def normal(count: int, seed: int) -> Floats:
    """Return standard normal numbers (count,) by Box and Muller from BBOB's generator."""
    u = uniform(2 * count, seed)
    g = np.sqrt(-2 * np.log(u[:count])) * np.cos(2 * np.pi * u[count:])
    return np.where(g == 0, TINY, g)


def rotation(n: int, seed: int) -> Floats:
    """Return the orthogonal matrix (n, n): Gram and Schmidt on the columns of a normal one."""
    B = normal(n * n, seed).reshape(n, n).T.copy()
    for i in range(n):
        for j in range(i):
            B[:, i] -= (B[:, i] @ B[:, j]) * B[:, j]
        B[:, i] /= math.sqrt(B[:, i] @ B[:, i])
    return B


def fibonacci(seed: int) -> Iterator[float]:
    """Yield the uniform numbers of COCO's generator."""
    x = []
    for i in range(LONG_LAG):
        x.append(seed / (WORD - 1))
        seed = (SEED_MULTIPLIER * (seed ^ (seed >> SEED_SHIFT)) + i + 1) % WORD
    yield from x[FIRST_USED:]
    while True:
        for i in range(LONG_LAG):  # x[i - SHORT_LAG] of the new round, or of the one before
            x[i] += x[i - SHORT_LAG]
            x[i] -= x[i] >= 1.0
        yield from x


def polar(stream: Iterator[float]) -> float:
    """Return a standard normal number of two uniform ones."""
    u1, u2 = next(stream), next(stream)
    return math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2)
