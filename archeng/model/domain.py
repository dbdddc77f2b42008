"""`Domain`: which numbers between its bounds a variable may take.

**A new kind of variable begins here**, as a member of :class:`Kind` with the answers that
:class:`Domain` gives for it. Whoever declares, imports, checks, stores or shows a variable asks
them, and decides nothing about kinds of variables by itself.

In flat vectors every variable is a number: integers and choices are themselves, a row of a table is
its position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.parts_table import PartsTable

Floats = NDArray[np.float64]

DIGITS = 8
"""Digits of values and of their limits, the same for both: a value within its limit looks so."""

_MANY = 12  # numbers of a list that a message names
_SAME = 1e-12  # numbers of a list that differ less, relatively, are one: 0.1 + 0.2 and 0.3
_ROUNDING = 1e-9  # of imported bounds of integers, which may have been computed
MOST_LEVELS = 100_000
"""Values that a discrete variable may have: they are listed one by one."""


class Kind(StrEnum):
    """A kind of variable; the value is its name in files and tables."""

    REAL = "real"
    INTEGER = "integer"
    BINARY = "binary"
    CHOICE = "choice"  # one of a list of numbers
    CATEGORY = "category"  # a row of a table, in no order
    CATALOGUE = "catalogue"  # a row of a table that is ordered by a column


@dataclass(frozen=True)
class Domain:
    """A kind of variable, with the list or the table of its values."""

    kind: Kind = Kind.REAL
    choices: tuple[int | float, ...] = ()  # ascending numbers of a CHOICE, as they were written
    table: PartsTable | None = None  # of a CATEGORY or CATALOGUE

    @property
    def is_discrete(self) -> bool:
        """Whether there are numbers between its bounds that it may not take."""
        return self.kind is not Kind.REAL

    @property
    def is_ordered(self) -> bool:
        """Whether values that are near to each other are alike."""
        return self.kind is not Kind.CATEGORY

    @property
    def natural_bounds(self) -> tuple[float, float]:
        """The bounds of a variable for which none are given."""
        if self.kind is Kind.REAL or self.kind is Kind.INTEGER:
            return -np.inf, np.inf
        return float(self._listed[0]), float(self._listed[-1])

    @cached_property
    def _listed(self) -> Floats:
        """All flat numbers of a kind that is a list."""
        if self.kind is Kind.BINARY:
            return np.array([0.0, 1.0])
        if self.table is not None:
            return np.arange(len(self.table.names), dtype=float)
        return np.array(self.choices, dtype=float)

    def levels_between(self, lower: float, upper: float) -> Floats | None:
        """Return the numbers that it may take between bounds, ascending; None: all of them."""
        if self.kind is Kind.REAL:
            return None
        if self.kind is Kind.INTEGER:
            self.check_levels("of unknown name", lower, upper)
            return np.arange(np.ceil(lower), np.floor(upper) + 1.0)
        return self._listed[(self._listed >= lower) & (self._listed <= upper)]

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
        if self.kind is Kind.INTEGER and not (_is_whole(lower) and _is_whole(upper)):
            raise ModelError(
                f"Integer {label!r}: bounds must be whole numbers, got lower={lower:g}, "
                f"upper={upper:g}."
            )

    def check_levels(self, label: str, lower: float, upper: float) -> None:
        """Raise if the values of an integer between these bounds cannot be listed."""
        if not (np.isfinite(lower) and np.isfinite(upper)):
            raise ModelError(
                f"Integer {label!r}: needs a lower and an upper bound, got lower={lower:g}, "
                f"upper={upper:g}. Give bounds that hold for every sensible design."
            )
        if upper - lower >= MOST_LEVELS:
            raise ModelError(
                f"Integer {label!r}: {upper - lower + 1:g} values between {lower:g} and {upper:g}; "
                f"at most {MOST_LEVELS} are possible. Use narrower bounds, or a real variable."
            )

    def violation(self, value: float, lower: float, upper: float) -> float:
        """Return how far a value is from the nearest one that the variable may take."""
        if not np.isfinite(value):
            return np.inf
        apart = abs(value - self.nearest(value, lower, upper))
        return np.inf if np.isnan(apart) else float(apart)

    def nearest(self, value: float, lower: float, upper: float) -> float:
        """Return the nearest number between bounds that the variable may take; NaN if none."""
        if self.kind is Kind.INTEGER:
            lower, upper, value = np.ceil(lower), np.floor(upper), round(value)
        if self.kind is Kind.REAL or self.kind is Kind.INTEGER:
            return float(min(max(value, lower), upper)) if lower <= upper else np.nan
        levels = self._listed[(self._listed >= lower) & (self._listed <= upper)]
        return float(levels[np.argmin(np.abs(levels - value))]) if len(levels) else np.nan

    def inward(self, lower: float, upper: float) -> tuple[float, float]:
        """Return imported bounds: of integers the next whole numbers inside."""
        if self.kind is not Kind.INTEGER:
            return lower, upper
        return float(np.ceil(lower - _ROUNDING)), float(np.floor(upper + _ROUNDING))

    def check_start(self, label: str, start: float, lower: float, upper: float) -> None:
        """Raise if a start is none of the values of a discrete variable."""
        if not self.is_discrete or not np.isfinite(start):
            return
        if self.violation(start, lower, upper) == 0.0:
            return
        nearest = self.nearest(start, lower, upper)
        hint = "" if np.isnan(nearest) else f"; the nearest one is {self.shown(nearest)}"
        raise ModelError(f"Variable {label!r}: start={start:g} is none of its values{hint}.")

    def value(self, number: float) -> Any:
        """Return what the engineer wrote: a number, or an `Item` of a table.

        A number that the variable may not take is returned as it is.
        """
        if self.kind is Kind.REAL:
            return float(number)
        if not self.contains(number):
            return float(number)
        if self.kind in (Kind.INTEGER, Kind.BINARY):
            return int(number)
        position = int(np.searchsorted(self._listed, number))
        return self.choices[position] if self.table is None else self.table.items[position]

    def plain(self, number: float) -> Any:
        """Return the same for tables and files: rows by their names alone."""
        value = self.value(number)
        return str(value) if isinstance(value, str) else value

    def contains(self, number: float) -> bool:
        """Whether the variable may take a number, whatever its bounds are."""
        if self.kind is Kind.INTEGER:
            return float(number).is_integer()
        return self.kind is Kind.REAL or bool(np.any(self._listed == number))

    def number(self, label: str, value: Any) -> float:
        """Return the flat number of what an engineer wrote; rows of tables by their names."""
        name = None if self.table is None else self.table.named(value)
        if self.table is not None and name is not None:
            return float(self.table.position(label, name))
        try:
            if isinstance(value, str | bytes):
                raise ValueError("a text")
            return float(value)
        except Exception as error:  # an object may raise anything
            raise ModelError(
                f"Variable {label!r}: expected {self.expected}, got {shown(value)}."
            ) from error

    @property
    def expected(self) -> str:
        """What a value of the variable is, for messages."""
        if self.table is not None:
            return f"one of {self.table.some_names()}"
        if self.kind is Kind.CHOICE:
            more = ", ..." if len(self.choices) > _MANY else ""
            return f"one of {', '.join(map(str, self.choices[:_MANY]))}{more}"
        names = {Kind.REAL: "a number", Kind.INTEGER: "a whole number", Kind.BINARY: "0 or 1"}
        return names[self.kind]

    def check_value(self, label: str, number: float) -> None:
        """Raise if a number, or the number of a row, is no value of the variable."""
        if self.contains(number):
            return
        near = ""
        if self.choices and np.isfinite(number):
            levels = self._listed
            around = (*levels[levels < number][-1:], *levels[levels > number][:1])
            near = f" The nearest: {' and '.join(map(self.shown, around))}."
        raise ModelError(f"Variable {label!r}: expected {self.expected}, got {number:g}.{near}")

    def shown(self, number: float) -> str:
        """Return a value or a bound as tables show it, infinities and unset ones as a dash.

        The bound next to zero that stands for an open interval is shown as 0. Values of discrete
        variables are shown as they were written.
        """
        if not np.isfinite(number):
            return "-"
        if self.is_discrete and self.contains(number):
            return str(self.value(number))
        return "0" if abs(number) < np.finfo(float).tiny else f"{number:.{DIGITS}g}"

    def value_shown(self, number: float, digits: int = DIGITS) -> str:
        """Return what was computed, with so many digits if it is a real number."""
        return self.shown(number) if self.is_discrete else f"{number:.{digits}g}"

    def bound_shown(self, number: float) -> str:
        """Return a bound as tables show it; without an order there is none."""
        return self.shown(number) if self.is_ordered else "-"

    @property
    def summary(self) -> str:
        """The kind and how many values there are, for tables."""
        if self.table is not None:
            return f"{self.kind.value} of {len(self.table.names)} rows"
        return f"choice of {len(self.choices)}" if self.choices else self.kind.value

    def to_data(self) -> dict[str, Any]:
        """Return what a stored model says of it: nothing of real numbers, as it always was."""
        if self.kind is Kind.REAL:
            return {}
        data: dict[str, Any] = {"domain": self.kind.value}
        if self.choices:
            data["choices"] = list(self.choices)
        if self.table is not None:
            data["table"] = self.table.to_data()
        return data

    def to_stored(self) -> Any:
        """Return what a file says of it beside the other fields of its variable.

        A real one is the text that it always was.
        """
        return self.to_data() if self.is_discrete else self.kind.name

    @classmethod
    def from_stored(cls, data: Any) -> Domain:
        """Return the domain of :meth:`to_stored`."""
        return cls(Kind[data]) if isinstance(data, str) else cls.from_data(dict(data))

    @classmethod
    def from_data(cls, record: Mapping[str, Any]) -> Domain:
        """Return the domain of a stored variable."""
        kind, table = Kind(record.get("domain", Kind.REAL)), record.get("table")
        choices = tuple(record.get("choices", ()))
        steps = np.diff(np.array(choices, dtype=float))
        has_table = kind in (Kind.CATEGORY, Kind.CATALOGUE)
        if has_table != (table is not None) or (kind is Kind.CHOICE) != bool(choices):
            raise ValueError(f"a {kind.value} with the wrong list or table of values")
        if not np.all(steps > 0) or not np.all(np.isfinite(choices)):
            raise ValueError(f"the numbers {choices} are not ascending")
        return cls(kind, choices, None if table is None else PartsTable.from_data(table))


REAL = Domain()
INTEGER = Domain(Kind.INTEGER)
BINARY = Domain(Kind.BINARY)


def choice_domain(label: str, values: Any) -> Domain:
    """Return the domain of a list of numbers, in any order.

    Raises
    ------
    ModelError
        For something that is no number, or a number that is there twice.
    """
    try:
        if isinstance(values, str | bytes | Mapping):
            raise TypeError("no list")
        numbers = [_as_written(v) for v in values]
        levels = np.array([float(v) for v in numbers])
    except Exception as error:  # an object may raise anything
        raise ModelError(
            f"Choice {label!r}: expected a list of numbers, got {shown(values)}. Names with "
            "attributes are model.category() or model.catalogue()."
        ) from error
    if levels.ndim != 1 or not len(levels) or not np.all(np.isfinite(levels)):
        raise ModelError(f"Choice {label!r}: expected finite numbers, got {shown(values)}.")
    if len(levels) > MOST_LEVELS:
        raise ModelError(f"Choice {label!r}: {len(levels)} values; at most {MOST_LEVELS}.")
    order = np.argsort(levels, kind="stable")
    steps = np.diff(levels[order])
    same = steps <= _SAME * np.abs(levels[order])[1:]
    if np.any(same):
        twice = levels[order][1:][same][0]
        raise ModelError(f"Choice {label!r}: {twice:g} is there twice; list each number once.")
    return Domain(Kind.CHOICE, tuple(numbers[i] for i in order))


def _as_written(value: Any) -> int | float:
    """Return a number of a list as Python's own, whole ones as int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bytes):
        raise TypeError("a text")
    return int(value) if isinstance(value, int) else float(value)


def whole_number(lower: float, upper: float) -> Domain:
    """Return the domain of an imported integer: a binary, if it is between 0 and 1."""
    return BINARY if INTEGER.inward(lower, upper) == BINARY.natural_bounds else INTEGER


def whole(values: Any) -> bool:
    """Whether numbers are consecutive whole ones: an integer between its bounds."""
    steps = np.diff(np.asarray(values, dtype=float))
    return bool(np.all(steps == 1.0)) and _is_whole(float(values[0]))


def _is_whole(number: float) -> bool:
    return bool(np.isinf(number)) or number == round(number)


DECLARED_BY = {
    **dict.fromkeys(("integer", "integrality"), "Use model.integer() for whole numbers."),
    **dict.fromkeys(("binary", "boolean"), "Use model.binary() for yes or no, 1 or 0."),
    **dict.fromkeys(
        ("choices", "values", "levels", "discrete"),
        "Use model.choice() for one of a list of numbers, model.integer() for whole numbers.",
    ),
    **dict.fromkeys(
        ("domain", "type", "within"),
        "Use model.integer(), binary(), choice(), category() or catalogue() for variables that are "
        "not real numbers.",
    ),
}
"""What to write instead of the keywords by which other packages say the kind of a variable."""
