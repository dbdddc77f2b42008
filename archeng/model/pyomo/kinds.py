"""Kinds of Pyomo variables: which numbers a domain of Pyomo allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from archeng.errors import ModelError
from archeng.model.domain import MOST_LEVELS, REAL, Domain, choice_domain, whole, whole_number

_Bounds = tuple[float, float]


def kind_of(var: Any, bounds: _Bounds) -> tuple[Domain, _Bounds]:
    """Return the domain of a variable, and its bounds (lower, upper) with those of its domain.

    Open ends of intervals are stepped inside.

    Raises
    ------
    ModelError
        For a domain that archeng does not have; the message is the reason.
    """
    ranges = list(var.domain.ranges())
    if not all(hasattr(r, "closed") for r in ranges):
        raise ModelError(f"domain {var.domain.name} is not one of numbers")
    if any(r.isdiscrete() for r in ranges):
        return _discrete(var.domain.name, ranges, bounds)
    if len(ranges) != 1:
        raise ModelError(f"domain {var.domain.name} is not one interval")
    return REAL, _interval(ranges[0], bounds)


def _interval(domain: Any, bounds: _Bounds) -> _Bounds:
    lower = max(-np.inf if domain.start is None else domain.start, bounds[0])
    upper = min(np.inf if domain.end is None else domain.end, bounds[1])
    if not domain.closed[0] and domain.start == lower:
        lower = float(np.nextafter(lower, np.inf))
    if not domain.closed[1] and domain.end == upper:
        upper = float(np.nextafter(upper, -np.inf))
    return lower, upper


def _discrete(name: str, ranges: list[Any], bounds: _Bounds) -> tuple[Domain, _Bounds]:
    """Return an integer, or a choice of the numbers that there are between the bounds."""
    if not all(r.isdiscrete() for r in ranges):
        raise ModelError(
            f"domain {name} has intervals and single numbers; use a binary variable and two bounds"
        )
    ends = [sorted((float(r.start), float(r.end))) for r in ranges]
    low, high = min(a for a, _ in ends), max(b for _, b in ends)
    steps = all(abs(r.step) == 1 and float(r.start).is_integer() for r in ranges)
    if steps and (len(ranges) == 1 or (low, high) == (-math.inf, math.inf)):
        both = max(low, bounds[0]), min(high, bounds[1])
        return whole_number(*both), both
    lower, upper = max(low, bounds[0]), min(high, bounds[1])
    values = sorted({v for r in ranges for v in _values(name, r, lower, upper)})
    if not values:
        raise ModelError(f"no number of its domain {name} is between {lower:g} and {upper:g}")
    both = values[0], values[-1]
    return (whole_number(*both) if whole(values) else choice_domain(name, values)), both


def _values(name: str, numbers: Any, lower: float, upper: float) -> list[float]:
    """Numbers of a range with equal steps between bounds."""
    start, step = float(numbers.start), float(numbers.step)
    if step == 0:
        return [start] if lower <= start <= upper else []
    least, most = sorted((start, float(numbers.end)))
    least, most = max(least, lower), min(most, upper)
    if not math.isfinite(most - least) or (most - least) / abs(step) > MOST_LEVELS:
        raise ModelError(f"domain {name} has too many numbers; give the variable bounds")
    first, last = sorted(((least - start) / step, (most - start) / step))
    return [start + k * step for k in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]
