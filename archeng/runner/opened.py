"""The generation that has begun, as plain data: its candidates, and the search that made them.

Sampled again on another processor they could differ by rounding, and then calls that had finished
would belong to no candidate. So they are stored before their first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from archeng.handlers import Population, Search
from archeng.runner import typed


def as_data(value: Any) -> Any:
    """Return a frozen dataclass as nested dictionaries, enumerations by name."""
    if is_dataclass(value):
        return {f.name: as_data(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.name
    return [as_data(v) for v in value] if isinstance(value, tuple) else value


def from_data(hint: Any, data: Any) -> Any:
    """Return what :func:`as_data` took apart, by its type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        one = next(a for a in arguments if a is not NoneType)
        return None if data is None else from_data(one, data)
    if origin is tuple:
        return tuple(from_data(arguments[0], d) for d in data)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(  # type: ignore[operator]
            **{f.name: from_data(hints[f.name], data[f.name]) for f in fields(hint)}
        )
    if origin is np.ndarray:
        return np.asarray(data, dtype=float)
    if issubclass(hint, Enum):
        return hint[data]
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, hint):
        raise ValueError(f"{data!r} is no {hint.__name__}")
    return data


def opened(search: Search, population: Population, rng: np.random.Generator) -> dict[str, Any]:
    """Return what :func:`reopened` needs; ``search`` and ``rng`` after the candidates were made."""
    made = {f.name: getattr(population, f.name) for f in fields(Population)}
    return {
        "rng": rng.bit_generator.state,
        "search": as_data(search),
        "population": {**made, "repairs": [asdict(r) for r in population.repairs]},
    }


def reopened(
    data: Mapping[str, Any], search: Search, rng: np.random.Generator, state_type: type[Search]
) -> tuple[Search, Population]:
    """Return the candidates, and the search after it made them; set the generator likewise."""
    made, n = dict(data["population"]), search.distribution.n
    repairs = tuple(typed.repair(r, n) for r in made.pop("repairs"))
    made["sampled"] = typed.array(made["sampled"], len(repairs), n)
    population = Population(repairs=repairs, **made)
    rng.bit_generator.state = data["rng"]
    return replace(from_data(state_type, data["search"]), state=search.state), population
