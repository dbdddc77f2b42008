"""Checks of single options, beyond those of `archeng.checks`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from archeng.checks import file_path, integer, is_real, real, shown
from archeng.errors import SettingsError
from archeng.settings import Settings

_TABLES = (".csv", ".tsv", ".txt", ".json", ".xlsx", ".parquet")  # what people have for a journal


def anything(name: str, value: Any) -> Any:
    """Return a value that only the model can check."""
    return value


def journals(name: str, value: Any) -> tuple[Path, ...]:
    """Return paths of journals."""
    if isinstance(value, str | os.PathLike):
        value = (value,)
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{name} must be a list of paths of journals, got {shown(value)}.")
    paths = tuple(file_path(name, path) for path in value)
    for path in paths:
        if path.suffix.lower() in _TABLES:
            raise SettingsError(
                f"{name}: {path} is a table, not a journal. reuse= takes the SQLite file that "
                "`solve(..., journal=...)` or `archeng run` wrote; if `archeng export` made this "
                "table, give the journal that it was made from."
            )
    return paths


def population(name: str, value: Any) -> int | None:
    """Return the candidates of a generation; None is as many as suit the declared width."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    if isinstance(value, str):
        raise SettingsError(f'{name} must be "auto" or an integer, got {shown(value)}.')
    return integer(name, value, least=4)


def settings_or_default(name: str, value: Any) -> Settings:
    """Return settings; the default ones for None."""
    if value is not None and not isinstance(value, Settings):
        raise SettingsError(f"{name} must be an archeng.Settings, got {shown(value)}.")
    return value or Settings()


def limits_by_name(name: str, value: Any) -> dict[str, tuple[float | None, float | None]]:
    """Return the limits by name, infinite ones as None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"{name} must map names of constraints to (lower, upper), such as "
            f'{{"stress": (None, 250e6)}}; got {shown(value)}.'
        )
    for key in value:
        if not isinstance(key, str) or not key:
            raise SettingsError(f"{name}: names must be texts, got {shown(key)}.")
    return {key: two_limits(f"{name}[{key!r}]", limits) for key, limits in value.items()}


def values_by_name(name: str, value: Any) -> dict[str, Any]:
    """Return values of parameters by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise SettingsError(
            f'{name} must map names of parameters to values, such as {{"load": 15e3}}; got '
            f"{shown(value)}."
        )
    return dict(value)


def two_limits(name: str, limits: Any) -> tuple[float | None, float | None]:
    """Return the limits of a simulated constraint, infinite ones as None."""
    if not isinstance(limits, list | tuple) or len(limits) != 2:
        raise SettingsError(
            f"{name} must be (lower, upper), None where there is no limit; got {shown(limits)}."
        )
    low, high = (_limit(name, value) for value in limits)
    if low is None and high is None:
        raise SettingsError(
            f"{name} has no limit. What is only to be recorded belongs into the outputs of "
            "archeng.Evaluation."
        )
    if low is not None and high is not None and not low < high:
        raise SettingsError(
            f"{name}: the lower limit {low!r} must be below the upper {high!r}. A simulation hits "
            "a single value only by chance: give a band around it."
        )
    return low, high


def _limit(name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return None
    if not is_real(value):
        raise SettingsError(f"{name}: {shown(value)} is not a number.")
    return float(value)


def positive(name: str, value: Any) -> float:
    """Return a positive number, or raise."""
    number = float(real(name, value))
    if not number > 0:
        raise SettingsError(f"{name} must be positive, got {shown(value)}.")
    return number


def costs(name: str, value: Any) -> tuple[float, ...] | None:
    """Return what a call of each simulator costs: positive, and increasing."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise SettingsError(
            f"{name} must have a number for each of several simulators, such as [0.05, 1.0]; got "
            f"{shown(value)}."
        )
    numbers = tuple(positive(f"{name}[{k}]", entry) for k, entry in enumerate(value))
    if any(b <= a for a, b in pairwise(numbers)):
        raise SettingsError(
            f"{name} must increase from the cheapest simulator to the dearest, got {shown(value)}. "
            "Give simulators and costs in that order."
        )
    return numbers
