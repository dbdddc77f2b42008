"""Attributes of rows in the text of a formula: ``section[area]`` in the place of its sum.

In formulas an attribute is a sum over all rows of a table; nobody wants to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from archeng.model.abbreviations import spelled_out
from archeng.model.parts_table import PartsTable
from archeng.model.table_symbol import TableSymbol
from archeng.model.variable import Variable

_MANY = 500  # rows beyond which it is not looked for single ones


def attribute_texts(records: Sequence[Any], marks: Sequence[Any]) -> list[tuple[str, str]]:
    """Return how CasADi prints the attributes of tables, each with what stands for it.

    ``marks`` are the symbols that stand for the records; the longest text comes first.
    """
    found: dict[str, str] = {}
    for record, mark in zip(records, marks, strict=True):
        table = record.domain.table if isinstance(record, Variable) else None
        if table is not None:
            for entry in mark.nonzeros():
                for text, label in _of_entry(TableSymbol(entry, record), table, str(entry)):
                    found.setdefault(text, label)
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def _of_entry(symbol: TableSymbol, table: PartsTable, name: str) -> Iterator[tuple[str, str]]:
    for column in table.numeric_columns:
        attribute = symbol[column]
        if not attribute.is_constant():
            yield spelled_out(str(attribute)), f"{name}[{column}]"
    if len(table.names) <= _MANY:
        for row in table.names:
            yield spelled_out(str(symbol.is_(row))), f"({name} is {row!r})"
