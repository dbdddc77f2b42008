"""How long calls take, and how long generations of them take on so many workers."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

import archeng

SPREAD = 1.0
"""Of the log-normal durations: the slowest tenth takes ten times as long as the fastest."""


def duration(kind: str, x: np.ndarray, seed: int) -> float:
    """Return the seconds of a call at a design, with a mean of one: ``fixed`` or ``lognormal``."""
    if kind == "fixed":
        return 1.0
    rng = np.random.default_rng((seed, zlib.crc32(x.tobytes())))
    return float(np.exp(SPREAD * rng.standard_normal() - SPREAD**2 / 2))


def makespan(seconds: Iterable[float], width: int) -> float:
    """Return how long calls take on so many workers that take them in their order."""
    free = [0.0] * width
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def counted_seconds(
    calls: Sequence[archeng.CallRecord], kind: str, seed: int, width: int
) -> tuple[float, float]:
    """Return how long all generations take one after the other, and the time that calls take.

    The first call of a run is made alone.
    """
    generations: dict[int, list[float]] = {}
    for call in calls:
        generations.setdefault(call.generation, []).append(duration(kind, call.x, seed))
    total = 0.0
    for k, each in enumerate(generations.values()):
        alone = each[0] if k == 0 else 0.0
        total += alone + makespan(each[1:] if k == 0 else each, width)
    return total, sum(sum(each) for each in generations.values())
