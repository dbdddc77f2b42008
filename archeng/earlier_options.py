"""Checks of options that name earlier data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from archeng.checks import file_path, shown
from archeng.errors import SettingsError


def earlier_data(name: str, value: Any) -> tuple[Any, ...]:
    """Return sources of earlier designs: results, DataFrames, lists of pairs, and paths."""
    if _is_source(value):
        value = (value,)
    elif isinstance(value, list | tuple) and value and all(_is_pair(entry) for entry in value):
        value = (list(value),)
    if isinstance(value, list | tuple):
        sources = [_source(name, entry) for entry in value]
        if all(source is not None for source in sources):
            return tuple(sources)
    raise SettingsError(
        f"{name} must be the path of a CSV file or of a journal, a DataFrame, a Result, a list of "
        f"(design, value) pairs, or a list of these; got {shown(value)}."
    )


def _source(name: str, value: Any) -> Any:
    """Return one source of earlier designs, paths as paths; None if it is none."""
    if isinstance(value, str | os.PathLike):
        path = file_path(name, value)
        if path.suffix.lower() in (".xlsx", ".parquet", ".json"):
            raise SettingsError(
                f"{name}: {path} cannot be read; give a CSV file, or a DataFrame: "
                "pandas.read_excel(...)."
            )
        return path
    pairs = isinstance(value, list | tuple) and all(_is_pair(entry) for entry in value)
    return value if pairs or _is_source(value) else None


def _is_source(value: Any) -> bool:
    frame = hasattr(value, "columns") and hasattr(value, "itertuples")
    return isinstance(value, str | os.PathLike) or hasattr(value, "evaluations") or frame


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and not _is_source(value[0])


def names_of_columns(name: str, value: Any) -> dict[str, str]:
    """Return what columns of a table are called, by names of the model."""
    texts = isinstance(value, Mapping) and all(
        isinstance(word, str) and word for pair in value.items() for word in pair
    )
    if value is not None and not texts:
        raise SettingsError(
            f"{name} must map names of the model to columns of the table, such as "
            f'{{"thickness": "t_mm", "objective": "mass"}}; got {shown(value)}.'
        )
    return dict(value or {})
