"""What the columns of a table of earlier designs mean: variables, objective, constraints, outputs.

Columns are found by name, as ``archeng export`` writes them, or by the names that ``data_columns=``
maps ours to; units in brackets and capitals do not matter. Cells that say nothing (empty, NaN,
"failed") are unknown.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.checks import did_you_mean, shown
from archeng.distribution import Floats
from archeng.errors import DataError, ModelError
from archeng.model import Domain, FeasibleSet, Parameter, Variable
from archeng.runner.data_tables import DataTable

logger = logging.getLogger("archeng")

OBJECTIVE = "objective"
"""The column of the objective, unless it has a name of its own."""

_UNIT = re.compile(r"\s*[\[({][^\])}]*[\])}]\s*$|\s+in\s+\S+$")
_UNKNOWN = frozenset(("", "nan", "none", "null", "na", "n/a", "-", "failed", "error", "timed_out"))
_BAD = frozenset(("failed", "invalid", "timed_out", "lost", "error"))  # what a status may say
_SHOWN = 6  # columns that a message names


@dataclass(frozen=True, eq=False)
class DataRows:
    """Earlier designs with what is known of them; NaN where nothing is.

    Attributes
    ----------
    label : str
        Where they come from, for messages.
    x : ndarray, shape (k, n_full)
        Full vectors.
    objectives : ndarray, shape (k,)
        As the user sees them.
    simulated : ndarray, shape (k, m)
        Of the simulated constraints.
    outputs : ndarray, shape (k, q)
        That the model declares.
    parameters : ndarray, shape (k, r)
        Values of the model's parameters, as one vector.
    looked_at : ndarray of bool, shape (r,)
        Which of them the simulator looked at, as far as that is known: else all.
    """

    label: str
    x: Floats
    objectives: Floats
    simulated: Floats
    outputs: Floats
    parameters: Floats
    looked_at: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.objectives)


@dataclass(frozen=True)
class Wanted:
    """What is looked for in a table."""

    feasible_set: FeasibleSet
    constraints: tuple[str, ...] = ()  # names of the simulated constraints
    objective_name: str = ""

    @property
    def output_names(self) -> list[str]:
        """Entries of the outputs that the model declares."""
        formulas = self.feasible_set.formulas
        outputs = () if formulas is None else formulas.outputs
        return [name for output in outputs for name in output.element_names()]


def table_rows(table: DataTable, wanted: Wanted, columns: Mapping[str, str]) -> DataRows:
    """Return the rows of a table in terms of the model.

    ``columns`` maps names of the model to those of the table.

    Raises
    ------
    DataError
        With place and column: a variable without a column, or a cell that is no value of it.
    """
    fs = wanted.feasible_set
    finder = _Finder(table, columns)
    at = [finder.find((name, f"design.{name}")) for v in fs.variables for name in v.element_names()]
    _check_variables(table, fs, at)
    own = (OBJECTIVE, wanted.objective_name) if wanted.objective_name else (OBJECTIVE,)
    objective = finder.find(own)
    constraints = [finder.find((name, f"constraints.{name}")) for name in wanted.constraints]
    outputs = [finder.find((name, f"outputs.{name}")) for name in wanted.output_names]
    parameters = [finder.find((name, f"parameters.{name}")) for name in _entries(fs.parameters)]
    status = finder.find(("status",))
    finder.finish(taught=[objective, *constraints, *outputs])
    numbers, kept = _designs(table, fs, at)
    now = flat_parameters(fs.parameters)
    known = np.array([_cells(table, column) for column in (objective, *constraints, *outputs)]).T
    failed = [str(cell).lower() in _BAD for cell in _raw(table, status)]
    known[np.array(failed, dtype=bool)] = np.nan
    m = 1 + len(constraints)
    then = np.array([now] * len(table)).reshape(len(table), len(now))
    for k, column in enumerate(parameters):
        if column is not None:
            cells = _cells(table, column)
            then[:, k] = np.where(np.isnan(cells), now[k], cells)
    return DataRows(
        table.label,
        numbers[kept],
        known[kept, 0],
        known[kept, 1:m],
        known[kept, m:],
        then[kept],
        np.ones(len(now), dtype=bool),
    )


def flat_parameters(parameters: Iterable[Parameter]) -> Floats:
    """Values of parameters as one vector."""
    return np.concatenate([np.zeros(0), *(p.values for p in parameters)])


class _Finder:
    """Finds columns by name, and remembers which ones are used."""

    def __init__(self, table: DataTable, mapped: Mapping[str, str]) -> None:
        self._table, self._mapped = table, dict(mapped)
        self._exact = {name: name for name in table.columns}
        self._alike: dict[str, list[str]] = {}
        for name in table.columns:
            for alike in {_folded(name), _folded(_UNIT.sub("", name))}:
                self._alike.setdefault(alike, []).append(name)
        self._used: set[str] = set()
        self._asked: set[str] = set()

    def find(self, names: Sequence[str]) -> str | None:
        """Return the column that has one of some names; None if there is none."""
        self._asked |= set(names)
        ours = next((name for name in names if name in self._mapped), None)
        if ours is not None:
            return self._take(self._given(ours))
        for name in names:
            if name in self._exact:
                return self._take(name)
        for name in names:
            alike = [c for c in self._alike.get(_folded(name), []) if c not in self._used]
            if len(alike) > 1:
                raise DataError(
                    f"{self._table.label}: the columns {alike} may all be {name}; say which one: "
                    f"data_columns={{{name!r}: {alike[0]!r}}}."
                )
            if alike:
                return self._take(alike[0])
        return None

    def finish(self, taught: Sequence[str | None]) -> None:
        """Check what was mapped, and say which columns are not used."""
        strange = [name for name in self._mapped if name not in self._asked]
        if strange:
            hint = did_you_mean(strange[0], sorted(self._asked))
            raise DataError(
                f"data_columns: {strange} are neither variables, parameters, constraints nor "
                f"outputs of the model, nor {OBJECTIVE!r}.{hint}"
            )
        label, columns = self._table.label, self._table.columns
        if not any(taught):
            raise DataError(
                f"{label}: has no column of the objective, a simulated constraint or an output; "
                f"there are {_some(columns)}. Say which one it is: data_columns={{{OBJECTIVE!r}: "
                f"{columns[-1]!r}}}."
            )
        ignored = [c for c in columns if c not in self._used]
        if ignored:
            logger.info("data: %s: columns %s are ignored", label, _some(ignored))

    def _given(self, name: str) -> str:
        column = self._mapped[name]
        if column not in self._exact:
            hint = did_you_mean(column, list(self._table.columns))
            raise DataError(
                f"{self._table.label}: has no column {column!r}, which data_columns gives for "
                f"{name}.{hint or f' There are {_some(self._table.columns)}.'}"
            )
        return column

    def _take(self, column: str) -> str:
        self._used.add(column)
        return column


def _check_variables(table: DataTable, fs: FeasibleSet, at: Sequence[str | None]) -> None:
    """Raise if a variable that is not fixed has no column."""
    names = [name for v in fs.variables for name in v.element_names()]
    needed = set(fs.free.tolist())
    missing = [name for k, name in enumerate(names) if at[k] is None and k in needed]
    if missing:
        raise DataError(
            f"{table.label}: has no column of the variables {_some(missing)}; there are "
            f"{_some(table.columns)}. If they have other names there: "
            f"data_columns={{{missing[0]!r}: ...}}."
        )


def _designs(
    table: DataTable, fs: FeasibleSet, at: Sequence[str | None]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return full vectors, and which rows have all variables, with values that these may take."""
    full = np.array([fs.template] * len(table)).reshape(len(table), len(fs.template))
    kept = np.ones(len(table), dtype=bool)
    position = 0
    for variable in fs.variables:
        for name in variable.element_names():
            column = at[position]
            for row, cell in enumerate(_raw(table, column) if column is not None else ()):
                value = _variable(table, row, name, column, cell, variable)
                full[row, position] = value
                kept[row] &= not math.isnan(value)
            position += 1
    fixed = np.array([fs.has_fixed(x) for x in full], dtype=bool)
    for what, odd in (("lack a variable, or have none of its values", ~kept),
                      ("have other values of fixed variables", kept & ~fixed)):  # fmt: skip
        if odd.any():
            first = table.places[int(np.argmax(odd))]
            logger.info("data: %d rows %s (%s); they are left out", odd.sum(), what, first)
    return full, kept & fixed


def _variable(
    table: DataTable, row: int, name: str, column: str | None, cell: Any, variable: Variable
) -> float:
    """Return the number of a cell; NaN if it is empty, or no value of a discrete variable now."""
    domain: Domain = variable.domain
    if cell is None or (isinstance(cell, str) and cell.lower() in _UNKNOWN):
        return math.nan
    try:
        if domain.table is not None:
            named, names = domain.table.named(cell), domain.table.names
            return float(names.index(named)) if named in names else math.nan
        value = domain.number(name, table.number(cell))
    except ModelError as error:
        raise DataError(
            f"{table.places[row]}, column {column!r}: expected {domain.expected} for {name}, got "
            f"{shown(cell)}."
        ) from error
    return value if math.isfinite(value) and domain.contains(value) else math.nan


def _cells(table: DataTable, column: str | None) -> Floats:
    """Return the numbers of a column, NaN where it says nothing."""
    numbers = np.full(len(table), np.nan)
    for row, cell in enumerate(_raw(table, column)):
        if cell is None or (isinstance(cell, str) and cell.lower() in _UNKNOWN):
            continue
        number = table.number(cell)
        if not isinstance(number, float):
            raise DataError(
                f"{table.places[row]}, column {column!r}: expected a number, or nothing where it "
                f"is not known, got {shown(cell)}."
            )
        numbers[row] = number if math.isfinite(number) else math.nan
    return numbers


def _raw(table: DataTable, column: str | None) -> list[Any]:
    return [None] * len(table) if column is None else table.column(column)


def _entries(parameters: Iterable[Parameter]) -> list[str]:
    return [name for p in parameters for name in p.element_names()]


def _folded(name: str) -> str:
    """Return a name without blanks and capitals, which people mix up."""
    return "".join(name.split()).casefold()


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f", ... ({len(every)})" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
