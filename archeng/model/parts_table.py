"""`PartsTable`: named rows with attributes, such as materials, sections or bolts; and its `Item`.

Read from a CSV file, a DataFrame, a list of dictionaries, or a dictionary of dictionaries by name.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import did_you_mean, shown
from archeng.errors import ModelError

_NAME_COLUMN = "name"  # the column of names if there is one of that name
_MANY = 6  # names that a message lists
_ALIKE = 0.6  # ratio of difflib from which on a name may be meant
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?$")
MOST_ROWS = 10_000
"""Rows that a table may have."""


class Item(str):
    """The name of a row, with its attributes: ``item["area"]``."""

    __slots__ = ("attributes",)
    attributes: Mapping[str, Any]

    def __new__(cls, name: str, attributes: Mapping[str, Any]) -> Item:
        """Return the name with attributes."""
        item = super().__new__(cls, name)
        item.attributes = dict(attributes)
        return item

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.attributes:
            raise KeyError(f"{str(self)!r} has no attribute {key!r}; it has {[*self.attributes]}.")
        return self.attributes[key]

    def __reduce__(self) -> Any:
        return Item, (str(self), dict(self.attributes))


@dataclass(frozen=True)
class PartsTable:
    """Rows in the order of their numbers; ``columns`` have one entry for each row."""

    names: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]]

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The rows as names with attributes."""
        return tuple(
            Item(name, {column: values[k] for column, values in self.columns.items()})
            for k, name in enumerate(self.names)
        )

    def position(self, label: str, name: str) -> int:
        """Return the number of a row; raise `ModelError` if there is none of that name."""
        if name not in self.names:
            alike = {_folded(known): known for known in reversed(self.names)}
            hint = did_you_mean(_folded(name), alike, _ALIKE)
            for folded, known in alike.items():
                hint = hint.replace(f" {folded}?", f" {known!r}?")
            raise ModelError(
                f"Variable {label!r}: no row is called {str(name)!r}; there are "
                f"{self.some_names()}.{hint}"
            )
        return self.names.index(name)

    def some_names(self) -> str:
        """Names of the rows, the first ones of many, for messages."""
        more = f", ... ({len(self.names)} rows)" if len(self.names) > _MANY else ""
        return ", ".join(map(repr, self.names[:_MANY])) + more

    def numbers(self, label: str, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a column (k,) of numbers; raise `ModelError` if it is none."""
        if column not in self.columns:
            raise ModelError(
                f"Variable {label!r}: no attribute {column!r}; there are {[*self.columns]}."
            )
        values = self.columns[column]
        if not all(_is_number(v) for v in values):
            culprit = next(n for n, v in zip(self.names, values, strict=True) if not _is_number(v))
            raise ModelError(
                f"Variable {label!r}: attribute {column!r} of {culprit!r} is "
                f"{shown(self.columns[column][self.names.index(culprit)])}, no finite number: it "
                "cannot be used in formulas."
            )
        return np.array(values, dtype=float)

    def named(self, value: Any) -> str | None:
        """Return the name that a value is, or None if it is a number of a row.

        If rows are called by numbers, as pipes by 80 and 100, a number is such a name.
        """
        if isinstance(value, str):
            return value
        if not _is_number(value) or not self._called_by_numbers:
            return None
        return str(int(value) if value == round(value) else value)

    @cached_property
    def _called_by_numbers(self) -> bool:
        return any(_is_number(_cell(name, comma=False)) for name in self.names)

    def no_number(self) -> str:
        """Say which cell is the first that is no number, for tables without a column of them."""
        for column, values in self.columns.items():
            for name, value in zip(self.names, values, strict=True):
                if not _is_number(value):
                    return f"{column!r} of {name!r} is {shown(value)}"
        return "it has no columns beside the names"

    @property
    def numeric_columns(self) -> list[str]:
        """Names of the columns that have a number in each row."""
        return [c for c, values in self.columns.items() if all(map(_is_number, values))]

    def ordered_by(self, label: str, column: str) -> PartsTable:
        """Return the table with its rows in ascending order of a column."""
        order = np.argsort(self.numbers(label, column), kind="stable").tolist()
        names = tuple(self.names[k] for k in order)
        columns = {c: tuple(values[k] for k in order) for c, values in self.columns.items()}
        return PartsTable(names, columns)

    def to_data(self) -> dict[str, Any]:
        """Return the table as JSON data."""
        return {
            "names": list(self.names),
            "columns": {c: list(values) for c, values in self.columns.items()},
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PartsTable:
        """Return the table of :meth:`to_data`."""
        names = tuple(map(str, data["names"]))
        columns = {str(c): tuple(values) for c, values in dict(data["columns"]).items()}
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a table of the rows {list(names)}")
        for column, values in columns.items():
            if len(values) != len(names):
                raise ValueError(f"column {column!r} has not one entry for each row")
        return cls(names, columns)


def read_table(label: str, source: Any, key: str | None = None) -> PartsTable:
    """Return the table of a CSV file, a DataFrame, a list of dictionaries, or one by name.

    ``key`` is the column of names; by default the one called "name", or the first with texts.

    Raises
    ------
    ModelError
        For a file that cannot be read, rows without a name, or two of the same name.
    """
    if isinstance(source, Mapping):
        rows = [dict(attributes) for attributes in _mappings(label, source.values())]
        names = [str(name) for name in source]
    else:
        if isinstance(source, str | Path):
            texts, rows = _csv_rows(label, Path(source))
        else:
            texts = rows = _rows(label, source)
        column = _key(label, rows, key)
        names = [str(row[column]).strip() for row in texts]  # "0010" is not the number 10
        if column != key and all(_is_number(row[column]) for row in rows):
            rows = [dict(row) for row in rows]  # numbers that serve as names stay attributes
        else:
            rows = [{c: v for c, v in row.items() if c != column} for row in rows]
    return _checked(label, names, rows)


def _checked(label: str, names: list[str], rows: list[dict[str, Any]]) -> PartsTable:
    if not names:
        raise ModelError(f"Table of {label!r}: it has no rows.")
    if len(names) > MOST_ROWS:
        raise ModelError(f"Table of {label!r}: {len(names)} rows; at most {MOST_ROWS}.")
    for k, name in enumerate(names):
        if not name or name in names[:k]:
            problem = "has no name" if not name else f"is called {name!r} like another one"
            raise ModelError(f"Table of {label!r}: row {k + 1} {problem}; names must be unique.")
        if set(rows[k]) != set(rows[0]):
            odd = sorted(set(rows[k]) ^ set(rows[0]))
            raise ModelError(
                f"Table of {label!r}: row {name!r} and row {names[0]!r} differ in the attributes "
                f"{odd}; all rows need the same ones."
            )
    columns = {str(c): tuple(_plain(row[c]) for row in rows) for c in rows[0]}
    return PartsTable(tuple(names), columns)


def _rows(label: str, source: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame or a list."""
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        index = source.index
        named = any(name is not None for name in index.names)
        texts = all(isinstance(value, str) for value in index)
        frame = source.reset_index() if named or texts else source
        return [{str(c): v for c, v in row.items()} for row in frame.to_dict("records")]
    if isinstance(source, Sequence | Iterator):
        return [dict(row) for row in _mappings(label, source)]
    raise ModelError(
        f"Table of {label!r}: expected the path of a CSV file, a DataFrame, a list of "
        f"dictionaries or a dictionary of dictionaries, got {shown(source)}."
    )


def _mappings(label: str, rows: Any) -> list[Mapping[str, Any]]:
    found = list(rows)
    for row in found:
        if not isinstance(row, Mapping):
            lists = isinstance(row, list | tuple | np.ndarray)
            hint = " Columns as lists: pandas.DataFrame(table)." if lists else ""
            if isinstance(row, int | float):
                hint = " A list of numbers is model.choice()."
            raise ModelError(
                f"Table of {label!r}: each row must be a dictionary of its attributes, got "
                f"{shown(row)}.{hint}"
            )
    return found


def _csv_rows(label: str, path: Path) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """Return the rows of a file: as texts, and with the numbers in them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # no such file, no UTF-8, no name of a file
        raise ModelError(
            f"Table of {label!r}: {path} cannot be read: {error}. Expected a CSV file in UTF-8."
        ) from error
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        raise ModelError(f"Table of {label!r}: {path} needs a header and at least one row.")
    delimiter = max(",;\t", key=lines[0].count)
    rows = list(csv.DictReader(lines, delimiter=delimiter, skipinitialspace=True))
    header = [c.strip() for c in rows[0] if c is not None]
    written = [c.strip() for c in next(csv.reader(lines, delimiter=delimiter))]
    if len(header) < len(written):
        twice = sorted({c for c in written if written.count(c) > 1})
        raise ModelError(f"Table of {label!r}: {path}: columns {twice} are there twice.")
    for k, row in enumerate(rows):
        if None in row or None in row.values():
            raise ModelError(
                f"Table of {label!r}: {path}: row {k + 1} has another number of cells than the "
                "header."
            )
    texts = [{c.strip(): v.strip() for c, v in row.items()} for row in rows]
    return texts, [{c: _cell(v, comma=delimiter != ",") for c, v in row.items()} for row in texts]


def _cell(text: str, *, comma: bool) -> Any:
    """Return the number in a cell, also with a decimal comma if that is allowed, or its text."""
    if "_" in text:  # Python reads 4_5 as 45; a part's number it is
        return text
    number = text.replace(",", ".") if comma and _DECIMAL_COMMA.match(text) else text
    for read in (int, float):
        try:
            return read(number)
        except ValueError:
            continue
    return text


def _key(label: str, rows: list[dict[str, Any]], key: str | None) -> str:
    """Return the column that has the names of the rows."""
    columns = list(rows[0]) if rows else []
    if key is not None:
        if key not in columns:
            raise ModelError(f"Table of {label!r}: no column {key!r}; there are {columns}.")
        return key
    if not columns:
        raise ModelError(f"Table of {label!r}: it has no rows.")
    texts = [c for c in columns if all(isinstance(row.get(c), str) for row in rows)]
    if _NAME_COLUMN in columns:
        return _NAME_COLUMN
    return texts[0] if texts else columns[0]


def _folded(name: str) -> str:
    """Return a name without blanks and capitals, which people mix up."""
    return "".join(name.split()).casefold()


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or value is None or isinstance(value, str | int | float):
        return value
    return str(value)
