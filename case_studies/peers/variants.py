"""What the simulator says instead of the true objective: noise, few digits, failures.

A variant is deterministic: the seed of the run gives the noise of the first, second, ... call,
and seed and design together decide whether a design fails.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from case_studies.peers.recorder import Floats

Seen = Callable[[float, Floats], float]

FAILING_SHARE = 0.05
DIGITS = 3


@dataclass(frozen=True)
class Variant:
    """A kind of simulator.

    Attributes
    ----------
    help : str
        One line for tables.
    accuracy : float
        Relative distance to the best known value that counts as success.
    seen : callable
        Takes a seed; returns what to tell from the true value and the design.
    """

    help: str
    accuracy: float
    seen: Callable[[int], Seen]


def _plain(seed: int) -> Seen:
    return lambda value, x: value


def _noisy(size: float) -> Callable[[int], Seen]:
    def make(seed: int) -> Seen:
        rng = np.random.default_rng([seed, 1])
        return lambda value, x: value * (1.0 + size * rng.standard_normal())

    return make


def _rounded(seed: int) -> Seen:
    return lambda value, x: round_digits(value, DIGITS)


def _failing(seed: int) -> Seen:
    return lambda value, x: math.nan if fails(x, seed) else value


def round_digits(value: float, digits: int) -> float:
    """Round to significant digits."""
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


def fails(x: Floats, seed: int) -> bool:
    """Whether a design fails: decided by a hash of its bits and the seed."""
    content = np.asarray(x, dtype=float).tobytes() + int(seed).to_bytes(8, "little")
    number = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    return number < FAILING_SHARE * 2**64


VARIANTS: dict[str, Variant] = {
    "plain": Variant("the true objective", 1e-4, _plain),
    "noise-1e-3": Variant("f (1 + 0.001 N(0, 1))", 1e-2, _noisy(1e-3)),
    "noise-1e-2": Variant("f (1 + 0.01 N(0, 1))", 5e-2, _noisy(1e-2)),
    "rounded": Variant("f rounded to 3 significant digits", 1e-2, _rounded),
    "failing": Variant("5 % of the designs give NaN", 1e-4, _failing),
}
