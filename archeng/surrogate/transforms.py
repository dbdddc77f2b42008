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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archeng.distribution import Floats, Integers
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
        curved = _exponential(inside) if log else _hyperbola(inside)
        line = (curved[0] + curved[1] * (t - inside), curved[1], np.zeros_like(t))
        return np.asarray(self.sign * np.where(beyond, line[order], curved[order]))


def _exponential(t: Floats) -> tuple[Floats, Floats, Floats]:
    value = np.exp(t)
    return value, value, value


def _hyperbola(t: Floats) -> tuple[Floats, Floats, Floats]:
    value = 1 / t
    return value, -(value**2), 2 * value**3


SAME = OutputTransform()


def back_all(transforms: Sequence[OutputTransform], T: Floats, order: int = 0) -> Floats:
    """Return outputs (..., q) of transformed ones, or derivatives of the inverses there."""
    if all(transform is SAME for transform in transforms):
        return SAME.back(T, order)
    columns = [t.back(T[..., k], order) for k, t in enumerate(transforms)]
    return np.stack(columns, axis=-1)


def candidates(Z: Floats) -> tuple[Integers, list[OutputTransform]]:
    """Return what is tried for outputs Z (p, q): positions of outputs, and a transform for each.

    Logarithm and reciprocal only where all values have one sign and differ by enough.
    """
    q = Z.shape[1]
    least, most = np.abs(Z).min(axis=0), np.abs(Z).max(axis=0)
    one_sign = np.all(Z > 0, axis=0) | np.all(Z < 0, axis=0)
    varied = one_sign & (most > c.TRANSFORM_RANGE * least) & (most < least / np.finfo(float).eps)
    which, transforms = list(range(q)), [SAME] * q
    for k in np.flatnonzero(varied).tolist():
        sign = float(np.sign(Z[0, k]))
        which += [k, k]
        transforms.append(
            OutputTransform("logarithm", sign, float(np.log(most[k] ** 2 / least[k])))
        )
        transforms.append(OutputTransform("reciprocal", sign, float(0.5 / most[k])))
    return np.array(which, dtype=np.intp), transforms
