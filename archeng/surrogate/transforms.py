r"""Transforms of an output, and back: the output itself, its logarithm, its reciprocal.

Back from a model, which may say anything, the inverse goes on as a straight line where it would
become too steep.

==============  =======================================  ============================
name            T(z), with the sign s of all values      goes on as a straight line
==============  =======================================  ============================
same            z                                        -
logarithm       ln(s z)                                  above twice the range's end
reciprocal      1 / (s z)                                below half of the least value
==============  =======================================  ============================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats
from archeng.surrogate import constants as c


@dataclass(frozen=True)
class OutputTransform:
    """One transform; ``edge`` is where its inverse becomes a straight line."""

    name: str = "same"
    sign: float = 1.0
    edge: float = np.inf

    def forward(self, z: Floats) -> Floats:
        """T(z)."""
        if self.name == "logarithm":
            return np.log(self.sign * z)
        return 1.0 / (self.sign * z) if self.name == "reciprocal" else z

    def back(self, t: Floats | float, order: int) -> Floats:
        """Inverse at t (order 0), or its first or second derivative."""
        t = np.asarray(t, dtype=float)
        if self.name == "same":
            return t if order == 0 else np.full_like(t, float(order == 1))
        log = self.name == "logarithm"
        beyond = t > self.edge if log else t < self.edge
        inside = np.where(beyond, self.edge, t)
        hyperbola = 1 / inside
        curved = [np.exp(inside)] * 3 if log else [hyperbola, -(hyperbola**2), 2 * hyperbola**3]
        line = [curved[0] + curved[1] * (t - inside), curved[1], np.zeros_like(t)]
        return self.sign * np.where(beyond, line[order], curved[order])


SAME = OutputTransform()


def transforms_of(Z: Floats) -> Iterator[tuple[OutputTransform, ...]]:
    """Yield what is tried for outputs Z (p, q): for each of them one transform.

    Logarithm and reciprocal only where all values have one sign and differ by enough.
    """
    q = Z.shape[1]
    yield (SAME,) * q
    least, most = np.abs(Z).min(axis=0), np.abs(Z).max(axis=0)
    one_sign = np.all(Z > 0, axis=0) | np.all(Z < 0, axis=0)
    varied = one_sign & (most > c.TRANSFORM_RANGE * least) & (most < least / np.finfo(float).eps)
    if not varied.any():
        return
    signs = np.sign(Z[0])
    with np.errstate(all="ignore"):
        logarithms = np.log(most) + np.log(most / least)
        reciprocals = 0.5 / most
    yield tuple(
        OutputTransform("logarithm", float(signs[k]), float(logarithms[k])) if varied[k] else SAME
        for k in range(q)
    )
    yield tuple(
        OutputTransform("reciprocal", float(signs[k]), float(reciprocals[k])) if varied[k] else SAME
        for k in range(q)
    )
