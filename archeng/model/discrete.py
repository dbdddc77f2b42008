"""Declaring discrete variables: integers, binaries, choices, categories and catalogues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import named_options, text
from archeng.errors import ModelError
from archeng.model.advice import VARIABLE_HINTS
from archeng.model.declarations import Declarations
from archeng.model.domain import BINARY, INTEGER, Domain, Kind, choice_domain
from archeng.model.parts_table import PartsTable, read_table
from archeng.model.quantities import Output, Parameter
from archeng.model.table_symbol import TableSymbol
from archeng.model.teaching import teaching_symbol
from archeng.model.variable import Variable, make_variable

_Shape = int | tuple[int, ...]


class DiscreteDeclarations(Declarations):
    """The ways to declare variables that take some numbers only."""

    def declare(self, name: str, **options: Any) -> tuple[Any, Variable]:
        """Declare a variable of any domain and return its symbol and record (for importers)."""
        record = make_variable(name, **options)
        return self._symbol_of(record), record

    def _symbol_of(self, record: Variable | Parameter | Output) -> Any:
        """Add a record and return its new symbol."""
        new = teaching_symbol(self._type, record.name, record.shape)
        self.add(new, record)
        return new

    @named_options(ModelError, VARIABLE_HINTS)
    def integer(
        self,
        name: str,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        unit: str = "",
        shape: _Shape = (),
    ) -> Any:
        """Declare a whole number between two bounds and return its CasADi symbol.

        Parameters are those of :meth:`Model.variable`; both bounds are needed. In the simulator
        ``design[name]`` is an int.
        """
        bounds: dict[str, Any] = {"lower": lower, "upper": upper, "domain": INTEGER}
        checked = make_variable(name, **bounds, shape=shape)
        for label, a, b in zip(checked.element_names(), checked.lower, checked.upper, strict=True):
            INTEGER.check_levels(label, a, b)
        return self.declare(name, **bounds, start=start, scale=scale, unit=unit, shape=shape)[0]

    @named_options(ModelError, VARIABLE_HINTS)
    def binary(self, name: str, *, start: ArrayLike | None = None, shape: _Shape = ()) -> Any:
        """Declare a yes or no, 1 or 0, and return its CasADi symbol.

        ``subject_to(..., when=symbol)`` makes constraints that hold only with a yes.
        """
        return self.declare(name, start=start, shape=shape, domain=BINARY)[0]

    @named_options(ModelError, VARIABLE_HINTS)
    def choice(
        self,
        name: str,
        values: Any,
        *,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        unit: str = "",
        shape: _Shape = (),
    ) -> Any:
        """Declare one of a list of numbers, such as plate thicknesses, and return its symbol.

        In formulas the symbol is the number itself.

        Parameters
        ----------
        name : str
        values : list of float
            In any order.
        start, scale, unit, shape
            As for :meth:`Model.variable`.
        """
        domain = choice_domain(name, values)
        return self.declare(name, start=start, scale=scale, unit=unit, shape=shape, domain=domain)[
            0
        ]

    @named_options(ModelError, VARIABLE_HINTS)
    def category(
        self, name: str, table: Any, *, start: Any = None, shape: _Shape = ()
    ) -> TableSymbol:
        """Declare one of several named things without an order, such as materials.

        Parameters
        ----------
        name : str
        table : dict of dict, or what :meth:`catalogue` takes
            Attributes by name: ``{"S355": {"E": 210e9, "rho": 7850}, ...}``. A list of names is a
            category without attributes.
        start : str, optional
            The name of a row.
        shape : int or tuple

        Returns
        -------
        TableSymbol
            ``material["E"]`` is the attribute of the chosen row in formulas.
        """
        if isinstance(table, Iterator) or (isinstance(table, np.ndarray) and table.ndim):
            table = list(table)
        if isinstance(table, list | tuple) and all(isinstance(row, str) for row in table):
            table = [{"name": row} for row in table]
        return self._rows(name, Kind.CATEGORY, read_table(name, table), start, shape)

    @named_options(ModelError, VARIABLE_HINTS)
    def catalogue(
        self,
        name: str,
        table: Any,
        *,
        order: str | None = None,
        key: str | None = None,
        start: Any = None,
        shape: _Shape = (),
    ) -> TableSymbol:
        """Declare a row of a table that has an order, such as sections, bolts or pipes.

        Parameters
        ----------
        name : str
        table : path of a CSV file, DataFrame, list of dict, or dict of dict
            One row for each part, one column for each attribute.
        order : str, optional
            The column by which rows are ordered: rows near to each other should be alike. By
            default the first column of numbers.
        key : str, optional
            The column of names; by default the one called "name", or the first one with texts.
        start : str, optional
            The name of a row.
        shape : int or tuple

        Returns
        -------
        TableSymbol
            ``section["area"]`` is the attribute of the chosen row in formulas; in the simulator
            ``design[name]`` is the row's name, with attributes: ``design[name]["area"]``.
        """
        for option, column in (("order", order), ("key", key)):
            if column is not None:
                text(option, column, ModelError)
        rows = read_table(name, table, key)
        columns = rows.numeric_columns
        if order is None and not columns:
            raise ModelError(
                f"Catalogue {name!r}: no column has a number in every row, by which to order them "
                f"({rows.no_number()}). Correct the table; use model.category() for things without "
                "an order."
            )
        rows = rows.ordered_by(name, columns[0] if order is None else order)
        return self._rows(name, Kind.CATALOGUE, rows, start, shape)

    def _rows(
        self, name: str, kind: Kind, table: PartsTable, start: Any, shape: _Shape
    ) -> TableSymbol:
        domain = Domain(kind, table=table)
        return TableSymbol(*self.declare(name, start=start, shape=shape, domain=domain))
