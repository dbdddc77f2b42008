"""What a run stores is made of types that can be written down by their annotations alone."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
import pytest

from archeng.codec import unaliased
from archeng.distribution import Distribution
from archeng.repair import Repair
from archeng.strategy import Bipop, Regime, State


def storable(hint: Any) -> bool:
    """Whether a value of this type can be written as JSON and read back by the type."""
    hint = unaliased(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return all(map(storable, arguments))
    if origin is tuple:
        return all(a is ... or storable(a) for a in arguments)
    if origin is Mapping:
        return arguments[0] in (int, str) and storable(arguments[1])
    if origin is np.ndarray or hint in (float, int, bool, str, type(None)):
        return True
    if dataclasses.is_dataclass(hint):
        frozen = hint.__dataclass_params__.frozen  # type: ignore[union-attr]
        return frozen and all(map(storable, typing.get_type_hints(hint).values()))
    return isinstance(hint, type) and issubclass(hint, Enum)


@pytest.mark.parametrize("record", [Bipop, Distribution, Regime, Repair, State])
def test_records_are_frozen_and_of_storable_types(record: type) -> None:
    assert storable(record)
