"""`Domain`: which numbers between its bounds a variable may take. So far: all real ones.

**A new kind of variable begins here**, as a member of :class:`Domain` with its answers to the
questions that its methods ask. Whoever declares, imports, checks, stores or shows a variable asks
them, and decides nothing about kinds of variables by itself. What other packages have and archeng
has not, such as integers, is refused here, too, in the same words for all importers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from archeng.errors import ModelError

DIGITS = 8
"""Digits of values and of their limits, the same for both: a value within its limit looks so."""

_REAL_ONLY = "archeng searches over continuous variables only"
_KEYWORDS = ("binary", "boolean", "discrete", "domain", "integer", "integrality", "type")


class Domain(StrEnum):
    """A kind of variable; the value is its name in files and tables."""

    REAL = "real"

    def check_bounds(self, label: str, lower: float, upper: float) -> None:
        """Raise if these are no bounds of a variable of this kind; equal ones fix it."""
        if np.isnan(lower) or np.isnan(upper) or lower == np.inf or upper == -np.inf:
            raise ModelError(
                f"Variable {label!r}: bounds must be numbers with lower < +inf and "
                f"upper > -inf, got lower={lower}, upper={upper}."
            )
        if lower > upper:
            raise ModelError(
                f"Variable {label!r}: lower bound {lower:g} is above upper bound {upper:g}. "
                "Swap them, or use lower == upper to fix the variable."
            )

    def violation(self, value: float, lower: float, upper: float) -> float:
        """Return how far a value is from the nearest one that the variable may take."""
        return max(0.0, lower - value, value - upper) if np.isfinite(value) else np.inf

    def shown(self, value: float) -> str:
        """Return a value or a bound as tables show it, infinities and unset ones as a dash.

        The bound next to zero that stands for an open interval is shown as 0.
        """
        if not np.isfinite(value):
            return "-"
        return "0" if abs(value) < np.finfo(float).tiny else f"{value:.{DIGITS}g}"

    def to_data(self) -> dict[str, str]:
        """Return what a stored model says of it: nothing of real numbers, as it always was."""
        return {} if self is Domain.REAL else {"domain": self.value}

    @classmethod
    def from_data(cls, record: Mapping[str, Any]) -> Domain:
        """Return the domain of a stored variable."""
        return cls(record.get("domain", Domain.REAL))


def refusal(kind: str, declared: str) -> str:
    """Say why an imported variable of another kind is not supported; for all importers.

    ``declared`` is how the other package says it.
    """
    return f"{kind} variable ({declared}); {_REAL_ONLY}: fix it or relax its domain"


def refused_keywords(advice: str) -> dict[str, str]:
    """Hints for keywords by which other packages declare kinds of variables, and what to do."""
    return dict.fromkeys(_KEYWORDS, f"{_REAL_ONLY}: {advice}")
