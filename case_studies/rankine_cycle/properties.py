"""Cheap formulas for the properties of the working fluid and of the brine.

Polynomials that were fitted to CoolProp (``fit.py``); their coefficients are data in
``fits.json``. They work on CasADi symbols as well as on numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("fits.json")

Exponents = tuple[tuple[int, ...], ...]


def fitted(name: str, *arguments: Any) -> Any:
    """Value of the formula ``name``. Pressures come as ln(bar), the rest in K and kJ/kg."""
    fit = _fits()[name]
    scaled = [
        (2 * x - low - high) / (high - low)
        for x, low, high in zip(arguments, fit["low"], fit["high"], strict=True)
    ]
    exponents = powers(len(arguments), fit["degree"], fit["through_zero"])
    return sum(c * t for c, t in zip(fit["coefficients"], terms(scaled, exponents), strict=True))


def largest_error(name: str) -> float:
    """Largest error of the formula in its range, as recorded with the fit."""
    return float(_fits()[name]["error"])


@cache
def powers(n: int, degree: int, through_zero: bool) -> Exponents:
    """Exponents of all terms up to a total degree.

    ``through_zero``: only terms with the first variable, so that the formula is 0 where it is.
    """
    return tuple(
        e
        for e in product(range(degree + 1), repeat=n)
        if sum(e) <= degree and (e[0] > 0 or not through_zero)
    )


def terms(scaled: Sequence[Any], exponents: Exponents) -> list[Any]:
    """Value of each term: a product of powers of the scaled variables."""
    found = []
    for exponent in exponents:
        value: Any = 1.0
        for x, k in zip(scaled, exponent, strict=True):
            for _ in range(k):
                value = value * x
        found.append(value + 0 * scaled[0])
    return found


@cache
def _fits() -> dict[str, Any]:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    found: dict[str, Any] = data["fits"]
    return found
