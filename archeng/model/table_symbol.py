r"""What `Model.category` and `Model.catalogue` return: attributes of the chosen row, for formulas.

In formulas a row is its number s. An attribute with the values :math:`a_0, a_1, ...` is

.. math:: a(s) = \sum_k a_k \max(0, 1 - |s - k|) ,

exact at whole numbers, and linear in between, where only the search looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.variable import Floats, Variable

_INDICATOR = r"fmax\(0,\(1-fabs\((?:{0}|\({0}-(\d+)\))\)\)\)"  # of a row, as CasADi writes it
_OPERATORS = ("add", "sub", "mul", "truediv", "pow", "matmul")
_COMPARED = ("le", "lt", "ge", "gt", "neg", "pos", "abs", "float", "bool")
_OF_NUMPY = ("array_ufunc", "array_function")  # NumPy asks for these


class TableSymbol:
    """A variable whose values are rows of a table.

    ``section["area"]`` is the attribute of the chosen row in formulas; of a vector of rows it is a
    vector, and ``section[3]`` is one of them. ``section.is_("IPE 200")`` is 1 if that row is
    chosen, and 0 if not. ``section.number`` is the CasADi symbol of the row's number.
    """

    def __init__(self, number: Any, record: Variable) -> None:
        self.number, self._record = number, record

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            table = self._record.domain.table
            assert table is not None
            return self._interpolated(table.numbers(self._record.name, key))
        try:
            return TableSymbol(self.number[key], self._record)
        except (NotImplementedError, RuntimeError) as error:  # CasADi's own
            shape = self._record.shape
            what = f"of shape {shape}" if shape else "one row, no vector"
            raise ModelError(
                f"Variable {self._record.name!r} is {what}; it has no entry {shown(key)}."
            ) from error

    def __len__(self) -> int:
        return int(self.number.numel())

    def is_(self, name: str) -> Any:
        """Return 1 where the row of that name is chosen, else 0, for formulas and ``when=``."""
        table = self._record.domain.table
        assert table is not None
        values = np.zeros(len(table.names))
        values[table.position(self._record.name, name)] = 1.0
        return self._interpolated(values)

    def _interpolated(self, values: Floats) -> Any:
        """Return the attribute as a formula of the row's number."""
        if np.all(values == values[0]):
            return self._teaching(type(self.number)(ca.DM.ones(*self.number.shape)) * values[0])
        terms = [
            float(value) * ca.fmax(0.0, 1.0 - ca.fabs(self.number - float(k)))
            for k, value in enumerate(values)
            if value != 0.0
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return self._teaching(total)

    def _teaching(self, formula: Any) -> Any:
        """Return a formula with the errors that teach, as symbols of variables have them."""
        formula.__class__ = type(self.number)
        return formula

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        table = self._record.domain.table
        assert table is not None
        columns = table.numeric_columns
        example = f"{self._record.name}[{columns[0]!r}]" if columns else "is_()"
        raise ModelError(
            f"Variable {self._record.name!r} is a row of a table, not a number: use one of its "
            f"attributes, as {example}; there are {columns}."
        )

    def __eq__(self, other: object) -> Any:
        if isinstance(other, str):
            return self.is_(other)
        return self._refused()

    def __ne__(self, other: object) -> Any:
        return 1.0 - (self == other)

    def __hash__(self) -> int:
        return hash((type(self), self._record.name))

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<table symbol {self._record.name!r}>"


for _name in (*_OPERATORS, *(f"r{name}" for name in _OPERATORS), *_COMPARED, *_OF_NUMPY):
    setattr(TableSymbol, f"__{_name}__", TableSymbol._refused)


def with_row_names(text: str, variables: Sequence[Variable]) -> str:
    """Return a formula's text with indicators of rows as ``material is S355``."""
    for v in variables:
        table = v.domain.table
        if table is None:
            continue
        for label in v.element_names():

            def named(match: re.Match[str], label: str = label, names: Any = table.names) -> str:
                said = f"{label} is {names[int(match[1] or 0)]}"
                return said if match[0] == match.string else f"({said})"

            text = re.sub(_INDICATOR.format(re.escape(label)), named, text)
    return text
