"""`Noise`: how much a simulator's values differ if a design is simulated again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from archeng.checks import shown
from archeng.distribution import Floats
from archeng.errors import SettingsError

OBJECTIVE = "objective"
"""Name of the objective among what may be noisy."""

_PERCENT = re.compile(r"\s*([0-9.eE+-]+)\s*%\s*")
_LEAST_VALUE = 1e-3  # of relative noise: values count as at least so large, relative to the largest


@dataclass(frozen=True)
class Noise:
    """Standard deviation of repeated values: a number of its own, or relative to the value."""

    size: float
    relative: bool = False

    def weights(self, values: Floats) -> Floats:
        """Return variances (p,) at values (p,), relative to each other."""
        return weights_of(self.relative, values)

    def at(self, value: float) -> float:
        """Return the standard deviation at a value."""
        return self.size * abs(value) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:.2g} % of its value" if self.relative else f"{self.size:.2g}"


def weights_of(relative: bool, values: Floats) -> Floats:
    """Return variances (p,) of noise at values (p,), relative to each other."""
    if not relative:
        return np.ones(len(values))
    sizes = np.abs(values)
    return np.asarray(np.maximum(sizes, _LEAST_VALUE * float(sizes.max(initial=0.0))) ** 2)


def checked_noise(name: str, value: Any) -> dict[str, Noise] | None:
    """Return noise by the name of a quantity; None if it is to be found out.

    A number is the standard deviation of the objective, ``"5%"`` one relative to its value, 0 says
    that there is none; a mapping gives it by name, ``"objective"`` and simulated constraints.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {str(key): _one(f"{name}[{key!r}]", each) for key, each in value.items()}
    return {OBJECTIVE: _one(name, value)}


def _one(name: str, value: Any) -> Noise:
    if isinstance(value, Noise):
        return value
    if isinstance(value, Mapping) and set(value) == {"size", "relative"}:  # as journals store it
        return Noise(float(value["size"]), bool(value["relative"]))
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value)
        if match is not None:
            return Noise(_finite(name, value, match[1]) / 100, relative=True)
        return Noise(_finite(name, value, value))
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return Noise(_finite(name, value, value))
    raise _refused(name, value)


def _finite(name: str, value: Any, number: Any) -> float:
    try:
        size = float(number)
    except (ValueError, OverflowError):
        raise _refused(name, value) from None
    if not (math.isfinite(size) and size >= 0):
        raise _refused(name, value)
    return size


def _refused(name: str, value: Any) -> SettingsError:
    return SettingsError(
        f'{name} must be a standard deviation, such as 0.3, or one relative to the value, "5%", or '
        f"0 for a simulator that always says the same of a design; got {shown(value)}."
    )
