"""Results as JSON files that any program can read: by their fields, no code, exact floats.

Arrays are lists; infinities and NaN, which JSON lacks, are written as ``{"float": "inf"}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from archeng.checks import file_path
from archeng.codec import decode
from archeng.errors import ResultFileError
from archeng.model import has_discrete, plain_values

_FORMAT = "archeng-result"
_VERSION = 2  # of the format that is written
_READABLE = (1, _VERSION)
_BY_NAME = "design"  # with discrete variables: the best design with names of rows

Record = TypeVar("Record")


def write_result(result: Any, path: str | Path) -> None:
    """Write a result: what :meth:`archeng.Result.save` does."""
    data = {"format": _FORMAT, "version": _VERSION, **_encoded(result)}
    if has_discrete(result.variables):
        data[_BY_NAME] = _encoded(_design(result))
    for name in ("neighbours", "independents", "estimate"):  # not of every run
        if not data[name]:
            del data[name]
    text = json.dumps(data, allow_nan=False)
    try:
        file_path("path", path, ResultFileError).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultFileError(f"{path}: cannot be written ({error.strerror}).") from error


def read_result(kind: type[Record], path: str | Path) -> Record:
    """Read what `write_result` wrote, as a dataclass of that kind."""
    file = file_path("path", path, ResultFileError)
    try:
        data = json.loads(file.read_text(encoding="utf-8"), object_hook=_special_float)
    except (OSError, ValueError, RecursionError) as error:
        raise ResultFileError(f"{path}: cannot be read as a result: {error}") from error
    if not isinstance(data, dict) or data.pop("format", None) != _FORMAT:
        raise ResultFileError(f"{path}: not an archeng result file.")
    version = data.pop("version", None)
    data.pop(_BY_NAME, None)  # the same as x
    if version not in _READABLE:
        raise ResultFileError(f"{path}: file version {version}, this archeng reads {_VERSION}.")
    try:
        result: Any = decode(kind, data)
        if not result.variables or sum(v.size for v in result.variables) != len(result.x):
            raise ValueError("variables and x do not belong together")
    except (KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"{path}: damaged result file ({error!r}).") from error
    return result  # type: ignore[no-any-return]


def _design(result: Any) -> dict[str, Any]:
    """Return the best design as the engineer wrote it, for other programs."""
    names = (name for v in result.variables for name in v.element_names())
    return dict(zip(names, plain_values(result.variables, result.x), strict=True))


def _encoded(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, Enum):
        return value.name
    if hasattr(value, "to_stored"):
        return _encoded(value.to_stored())
    if is_dataclass(value):
        return {f.name: _encoded(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return [_encoded(v) for v in value.tolist()]
    if isinstance(value, Mapping):
        return {str(k): _encoded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(v) for v in value]
    if isinstance(value, np.generic):
        return _encoded(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _special_float(data: dict[str, Any]) -> Any:
    special = set(data) == {"float"} and isinstance(data["float"], str)
    return float(data["float"]) if special else data
