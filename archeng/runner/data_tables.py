"""Tables of earlier designs: a CSV file, a DataFrame, or pairs of designs and values, as rows.

Nothing is known of the model here; :mod:`archeng.runner.data_columns` finds out what the columns
mean.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import shown
from archeng.errors import DataError
from archeng.model import Variable

TABLE_ENDINGS = (".csv", ".tsv", ".txt")
"""How files with tables are named; other files are journals."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_LARGEST = 500_000_000  # bytes of a table


@dataclass(frozen=True)
class DataTable:
    """Rows of cells by the names of their columns, and where each row stands, for messages."""

    label: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    places: tuple[str, ...]
    comma: bool = False  # whether texts may have decimal commas

    def number(self, cell: Any) -> Any:
        """Return the number in a cell, or the cell as it is."""
        if not isinstance(cell, str) or "_" in cell:  # Python reads 4_5 as 45
            return cell
        plain = cell.replace(",", ".") if self.comma and _DECIMAL_COMMA.fullmatch(cell) else cell
        try:
            return float(plain)
        except ValueError:
            return cell

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        position = self.columns.index(name)
        return [row[position] for row in self.rows]


def csv_table(path: Path) -> DataTable:
    """Read a CSV file: comma, semicolon (then also decimal commas) or tab, UTF-8.

    Raises
    ------
    DataError
        With the line, if it is no table.
    """
    text = _text(path)
    lines = [(k, s) for k, s in _records(text) if s.strip() and not s.lstrip().startswith("#")]
    if len(lines) < 2:
        raise DataError(f"{path}: expected a header and at least one row of numbers below it.")
    header_line, header = lines[0]
    delimiter = max(",;\t", key=header.count)
    columns = _cells(header, delimiter)
    twice = sorted({c for c in columns if c and columns.count(c) > 1})
    if twice:
        raise DataError(f"{path}:{header_line}: columns {twice} are there twice; rename them.")
    rows, places = [], []
    for line, record in lines[1:]:
        cells = _cells(record, delimiter)
        if len(cells) != len(columns):
            raise DataError(
                f"{path}:{line}: has {len(cells)} cells, and the header has {len(columns)}. "
                f"Cells are separated by {delimiter!r}; texts with it in them need quotes."
            )
        rows.append(tuple(cell or None for cell in cells))
        places.append(f"{path}:{line}")
    return DataTable(str(path), tuple(columns), tuple(rows), tuple(places), delimiter != ",")


def frame_table(frame: Any, label: str = "the DataFrame") -> DataTable:
    """Return the rows of a `pandas.DataFrame`."""
    columns = tuple(str(c) for c in frame.columns)
    twice = sorted({c for c in columns if columns.count(c) > 1})
    if twice:
        raise DataError(f"{label}: columns {twice} are there twice; rename them.")
    records = list(frame.itertuples(index=False, name=None))
    rows = tuple(tuple(_plain(cell) for cell in record) for record in records)
    places = tuple(f"{label}, row {name!r}" for name in frame.index)
    return DataTable(label, columns, rows, places)


def pairs_table(pairs: Sequence[Any], variables: Sequence[Variable], label: str) -> DataTable:
    """Return pairs of a design and what the simulator said of it as rows.

    A design is a `Design`, a dictionary by the names of variables, or a flat vector; a value is a
    number, a dictionary by names, or an `Evaluation`.

    Raises
    ------
    DataError
        With the number of the pair.
    """
    records, places = [], []
    for k, pair in enumerate(pairs):
        place = f"{label}[{k}]"
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise DataError(f"{place}: expected a design and its value, got {shown(pair)}.")
        records.append({**_design(place, pair[0], variables), **_value(place, pair[1])})
        places.append(place)
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    rows = tuple(tuple(record.get(name) for name in columns) for record in records)
    return DataTable(label, columns, rows, tuple(places))


def _design(place: str, design: Any, variables: Sequence[Variable]) -> dict[str, Any]:
    """Return a design by the names of the entries of its variables."""
    if isinstance(design, Mapping):
        cells: dict[str, Any] = {}
        for name, value in design.items():
            variable = next((v for v in variables if v.name == name), None)
            if variable is None or not variable.shape:
                cells[str(name)] = _plain(value)
                continue
            entries = np.asarray(value, dtype=object).reshape(-1, order="F")
            if len(entries) != variable.size:
                raise DataError(
                    f"{place}: {name} has {len(entries)} entries, and the model's {variable.size}."
                )
            cells.update(zip(variable.element_names(), map(_plain, entries), strict=True))
        return cells
    names = [name for v in variables for name in v.element_names()]
    try:
        flat = np.asarray(design, dtype=float).reshape(-1)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{place}: a design is a dictionary by the names of variables or {len(names)} numbers, "
            f"got {shown(design)}."
        ) from error
    if len(flat) != len(names):
        raise DataError(f"{place}: the design has {len(flat)} numbers, the model {len(names)}.")
    return dict(zip(names, flat.tolist(), strict=True))


def _value(place: str, value: Any) -> dict[str, Any]:
    """Return what the simulator said by names."""
    if isinstance(value, Mapping):
        return {str(name): cell for name, v in value.items() for name, cell in _entries(name, v)}
    if hasattr(value, "objective"):
        more = {f"constraints.{k}": v for k, v in dict(value.constraints or {}).items()}
        for name, v in dict(value.outputs or {}).items():
            more.update((f"outputs.{entry}", cell) for entry, cell in _entries(name, v))
        return {"objective": value.objective, **more}
    if value is None or np.ndim(value) == 0:
        return {"objective": _plain(value)}
    raise DataError(
        f"{place}: expected a number, a dictionary by names or an Evaluation, got {shown(value)}."
    )


def _entries(name: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a vector by their names, or the value itself."""
    if np.ndim(value) == 0:
        yield str(name), _plain(value)
        return
    array = np.asarray(value, dtype=object)
    for position in np.ndindex(array.shape):
        yield f"{name}[{','.join(map(str, position))}]", _plain(array[position])


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path}: is larger than {_LARGEST // 10**6} MB.")
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}). Expected a CSV file with one row for each "
            "design."
        ) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}:{line}: is not UTF-8 text; save the table as CSV in UTF-8."
        ) from error


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers; quoted cells may go on in the next line."""
    begin, record = 1, ""
    for number, line in enumerate(io.StringIO(text), 1):
        record += line
        if record.count('"') % 2 == 0:
            yield begin, record.rstrip("\r\n")
            begin, record = number + 1, ""
    if record:
        yield begin, record


def _cells(record: str, delimiter: str) -> list[str]:
    [cells] = csv.reader([record], delimiter=delimiter, skipinitialspace=True)
    return [cell.strip() for cell in cells]


def _plain(value: Any) -> Any:
    """Return a cell as Python's own number, text, or None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    return value
