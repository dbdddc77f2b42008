"""Any dataclass as JSON and back, by its fields: the one way in which the state of a run is stored.

Plain data only, so reading a file cannot run code. Floats and arrays keep every bit. What is read
must be of the annotated types; whatever is not is a `ValueError` that names the field.
"""

from __future__ import annotations

import base64
import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")

_DTYPES = {"float64": "<f8", "int64": "<i8", "bool": "|b1"}  # of arrays, little-endian everywhere

OMITTED = {"omitted": True}
"""Metadata of a field that is not stored while it has its default."""


def dumps(value: Any) -> str:
    """Return JSON text of a dataclass, or of nested dictionaries and lists; see :func:`encode`."""
    return json.dumps(encode(value))


def loads(text: str) -> Any:
    """Read what :func:`dumps` wrote, as plain data with arrays; see :func:`decode`."""
    return json.loads(text, object_hook=_array)


def encode(value: Any, without: tuple[str, ...] = ()) -> Any:
    """Return plain data: dataclasses as dictionaries, enumerations by their names.

    A class with ``to_stored`` and ``from_stored`` says itself what is stored of it. ``without``
    names fields of a dataclass that are left out. What cannot be stored is a TypeError.
    """
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "to_stored"):
            return value.to_stored()
        stored = (f for f in fields(value) if f.name not in without)
        entries = ((f, getattr(value, f.name)) for f in stored)
        return {
            f.name: encode(entry)
            for f, entry in entries
            if not (f.metadata.get("omitted") and _is_default(entry, f.default))
        }
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _encoded_array(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.Generator):
        return encode(value.bit_generator.state)
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} cannot be stored")


def decode(kind: type[T], data: Any, **given: Any) -> T:
    """Return a dataclass out of plain data; ``given`` are fields that were not stored.

    Fields that are missing take their defaults: files of earlier versions have fewer.

    Raises
    ------
    ValueError
        If a field is missing, unknown, or of another type.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"{kind.__name__} is {type(data).__name__}, not a dictionary of fields")
    declared = fields(kind)  # type: ignore[arg-type]
    unknown = data.keys() - {f.name for f in declared}
    if unknown:
        raise ValueError(f"{kind.__name__} has no {', '.join(sorted(map(str, unknown)))}")
    values, annotations = dict(given), _annotations(kind)  # type: ignore[arg-type]
    for f in declared:
        if f.name in given:
            continue
        if f.name in data:
            try:
                values[f.name] = _value(annotations[f.name], data[f.name])
            except (TypeError, ValueError, KeyError) as error:
                raise ValueError(f"{kind.__name__}.{f.name}: {error}") from error
        elif f.default is MISSING and f.default_factory is MISSING:
            raise ValueError(f"{kind.__name__}.{f.name} is missing")
    return kind(**values)


_annotations = cache(get_type_hints)


def _value(annotation: Any, data: Any) -> Any:
    """Return data as a value of an annotated type."""
    annotation = unaliased(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, data)
    if origin is tuple:
        return _tuple(arguments, data)
    if origin is list:
        return [_value(arguments[0], entry) for entry in _a(list, data)]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        items = _a(dict, data).items()
        return {_key(arguments[0], key): _value(arguments[1], entry) for key, entry in items}
    if annotation is Any:
        return data
    kind = origin if isinstance(origin, type) else annotation
    if kind is np.ndarray:
        if isinstance(data, list):  # as result files, which people read, have their arrays
            data = np.array([_value(float, entry) for entry in data], dtype=float)
        [dtype] = get_args(arguments[1])
        if _a(np.ndarray, data).dtype != dtype:
            raise ValueError(f"an array of {data.dtype} instead of {np.dtype(dtype)}")
        return data
    if hasattr(kind, "from_stored"):
        return kind.from_stored(data)
    if is_dataclass(kind):
        return decode(kind, data)
    if issubclass(kind, Enum):
        return kind[_a(str, data)]  # type: ignore[index]
    if issubclass(kind, np.random.Generator):
        rng = np.random.default_rng(0)
        rng.bit_generator.state = data
        return rng
    return float(_a(int | float, data)) if kind is float else _a(kind, data)


def _key(annotation: Any, key: str) -> Any:
    """Return a key of a mapping, which JSON has as text."""
    return int(key) if annotation is int else _a(str, key)


def unaliased(annotation: Any) -> Any:
    """Return what an alias with parameters stands for, such as ``NDArray[...]`` of NumPy 2.5."""
    meaning = getattr(get_origin(annotation), "__value__", None)
    return annotation if meaning is None else meaning[get_args(annotation)]


def _a(kind: Any, data: Any) -> Any:
    """Return data if it is of a type; a truth value is no number."""
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        name = getattr(kind, "__name__", str(kind))
        raise ValueError(f"{type(data).__name__} instead of {name}")
    return data


def _one_of(kinds: tuple[Any, ...], data: Any) -> Any:
    """Return data as the first of several types that fits."""
    if data is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return _value(kind, data)
            except ValueError as error:
                problems.append(str(error))
    raise ValueError("; ".join(problems))


def _tuple(kinds: tuple[Any, ...], data: Any) -> tuple[Any, ...]:
    entries = _a(list, data)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_value(kinds[0], entry) for entry in entries)
    return tuple(_value(kind, entry) for kind, entry in zip(kinds, entries, strict=True))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (not isinstance(value, np.ndarray) and bool(value == default))


def _encoded_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    name = {"f": "float64", "i": "int64", "b": "bool"}.get(array.dtype.kind)
    if name is None:
        raise TypeError(f"an array of {array.dtype} cannot be stored")
    stored = np.ascontiguousarray(array, dtype=_DTYPES[name])
    return {name: base64.b64encode(stored.tobytes()).decode("ascii"), "shape": list(array.shape)}


def _array(value: dict[str, Any]) -> Any:
    """Turn the encoding of an array into the array; leave other dictionaries."""
    name = next((key for key in value if key in _DTYPES), None)
    if name is None or set(value) != {name, "shape"}:
        return value
    data = np.frombuffer(base64.b64decode(value[name]), dtype=_DTYPES[name])
    return data.astype(name).reshape(value["shape"])
