"""Checks that the options of all functions share: one rule for numbers, choices, names and paths.

Each returns the value in its plain Python type, or raises an error that names the option.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import math
import numbers
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from archeng.errors import ArchengError, MissingPackageError, SettingsError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Error = type[ArchengError]
Check = Callable[[str, Any], Any]
"""Takes the name of an option and a value; returns the value in its plain type, or raises."""

LARGEST = 2**63 - 1
"""The largest integer that SQLite and NumPy hold."""

LONGEST = 1e9
"""Seconds, about 30 years; operating systems cannot wait for much longer."""

_SHOWN = 200  # characters of a value in a message
_CLOSE = 0.8  # of difflib: max_evaluation is close to max_evaluations, max_iter not to max_time
_NO_HINTS: Mapping[str, str] = MappingProxyType({})


def shown(value: Any) -> str:
    """Return a value for a message: not too long, and whatever its own text does."""
    try:
        text = repr(value)
    except Exception:  # a number with too many digits, or a class with a broken __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def is_integer(value: Any, least: int = -LARGEST, most: int = LARGEST) -> bool:
    """Whether a value is an integer in a range, of Python or NumPy, and no bool."""
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return integral and least <= value <= most


def is_real(value: Any) -> bool:
    """Whether a value is a finite real number, of Python or NumPy, and no bool."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        return abs(float(value)) < float("inf")
    except (ArithmeticError, ValueError):  # such as 10**400
        return False


def integer(
    name: str, value: Any, least: int, most: int = LARGEST, error: Error = SettingsError
) -> int:
    """Return an integer of at least ``least``."""
    if not is_integer(value, least, most):
        raise error(f"{name} must be an integer of at least {least}, got {shown(value)}.")
    return int(value)


def real(name: str, value: Any, error: Error = SettingsError) -> float:
    """Return a finite number."""
    if not is_real(value):
        raise error(f"{name} must be a finite number, got {shown(value)}.")
    return float(value)


def between(name: str, value: Any, low: float, high: float, error: Error = SettingsError) -> float:
    """Return a number from ``low`` to ``high``, which may be infinite."""
    number = is_real(value) or (isinstance(value, float) and value == math.inf)
    if not number or not low <= value <= high:
        raise error(f"{name} must be a number between {low} and {high}, got {shown(value)}.")
    return float(value)


def seconds(name: str, value: Any, error: Error = SettingsError) -> float | None:
    """Return a limit on time; None, which is no limit, for ``inf``."""
    if isinstance(value, float) and value == math.inf:
        return None
    if not is_real(value) or not 0 < value <= LONGEST:
        raise error(
            f"{name} must be positive seconds (at most {LONGEST:g}), got {shown(value)}. Leave it "
            "out, or say inf, for no limit."
        )
    return float(value)


def choice(name: str, value: Any, allowed: Collection[str], error: Error = SettingsError) -> str:
    """Return one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        hint = did_you_mean(value, allowed)
        raise error(f"{name} must be one of {', '.join(allowed)}; got {shown(value)}.{hint}")
    return value


def flag(name: str, value: Any, error: Error = SettingsError) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, got {shown(value)}.")
    return value


def text(name: str, value: Any, error: Error = SettingsError) -> str:
    """Return a text that is not empty and that files can hold."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise error(f"{name} must be a text that is not empty, got {shown(value)}.")
    return value


def texts(name: str, value: Any, size: int, error: Error = SettingsError) -> list[str]:
    """Return one text for each of so many things."""
    try:
        words = [] if isinstance(value, str | bytes) else list(value)
    except Exception:  # whatever is no sequence may say so in its own way
        words = []
    if len(words) != size or not all(isinstance(word, str) and word for word in words):
        raise error(
            f"{name} must have one text for each of the {size} entries, got {shown(value)}."
        )
    return [str(word) for word in words]


def function(name: str, value: Any, error: Error = SettingsError) -> Any:
    """Return something that can be called."""
    if not callable(value):
        raise error(f"{name} must be a function, got {shown(value)}.")
    return value


def takes_one(name: str, value: Any, error: Error = SettingsError) -> Any:
    """Return a function that can be called with one argument."""
    function(name, value, error)
    try:
        inspect.signature(value).bind(None)
    except ValueError:  # built-in functions have no signature
        pass
    except TypeError as wrong:
        raise error(f"{name} must take one argument, got {shown(value)}: {wrong}.") from wrong
    return value


def mapping(name: str, value: Any, error: Error = SettingsError) -> dict[str, Any]:
    """Return what is given by name, nothing for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise error(f"{name} must be a dictionary by name, got {shown(value)}.")
    return {text(f"{name}: a name", key, error): entry for key, entry in value.items()}


def plain_mapping(name: str, value: Any, error: Error = SettingsError) -> dict[str, Any]:
    """Return values by name that are plain: numbers, texts, truth values or None."""
    values = mapping(name, value, error)
    for key, entry in values.items():
        plain = entry is None or isinstance(entry, str | bool)
        if not plain and not is_integer(entry) and not is_real(entry):
            raise error(
                f"{name}[{key!r}] must be a number, a text, True, False or None, got "
                f"{shown(entry)}."
            )
    return values


def file_path(name: str, value: Any, error: Error = SettingsError) -> Path:
    """Return the path of a file, which need not exist."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not path or "\0" in path:
        raise error(f"{name} must be the path of a file, got {shown(value)}.")
    return Path(path)


def needed(package: str, extra: str, error: Error = MissingPackageError) -> Any:
    """Import an optional package, or say which extra of archeng brings it."""
    try:
        return importlib.import_module(package)
    except ImportError as reason:
        raise error(
            f"{package} cannot be imported ({reason}); it comes with pip install "
            f"'archeng[{extra}]'."
        ) from reason


def floats(value: Any) -> NDArray[np.float64]:
    """Return numbers as an array.

    Raises
    ------
    ValueError
        If they are none; the caller knows what they are for, and says it.
    """
    try:
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if isinstance(value, str | bytes) or kind in tuple("cSUmM") or np.ma.is_masked(value):
            raise ValueError("not real numbers")
        return np.asarray(value, dtype=float)
    except Exception as error:  # an object may raise anything
        raise ValueError(str(error)) from error


def optional(check: Check) -> Check:
    """Return a check that lets None pass: the option is not given."""
    return lambda name, value: None if value is None else check(name, value)


def documented(entries: Iterable[tuple[str, str, str]]) -> Callable[[T], T]:
    """Put name, type and meaning of options into a docstring, where it says ``{options}``."""
    lines = "\n".join(f"{name} : {kind}\n    {text}" for name, kind, text in entries)

    def decorate(thing: T) -> T:
        if thing.__doc__ is not None:  # it is with python -OO
            thing.__doc__ = inspect.cleandoc(thing.__doc__).replace("{options}", lines)
        return thing

    return decorate


def did_you_mean(word: Any, names: Iterable[str], least: float = _CLOSE) -> str:
    """Return ``" Did you mean max_time?"`` if one of the names is close, else nothing.

    ``least`` is the ratio of difflib from which words are close.
    """
    if not isinstance(word, str):
        return ""
    close = difflib.get_close_matches(word, list(names), 1, least)
    return f" Did you mean {close[0]}?" if close else ""


def unknown_options(
    where: str, names: Iterable[str], right: Iterable[str], hints: Mapping[str, str] = _NO_HINTS
) -> str:
    """Say that options do not exist, and which ones were meant."""
    right = list(right)
    sentences = []
    for name in sorted(map(str, names)):
        hint = hints.get(name) or did_you_mean(name, right).strip()
        hint = hint or (f"It takes {', '.join(right)}." if right else "It takes none.")
        sentences.append(f"{where} has no option {name}. {hint}")
    return " ".join(sentences)


def named_options(
    error: Error = SettingsError, hints: Mapping[str, str] = _NO_HINTS
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse keywords that it does not have, with the ones that were meant.

    Options without their names are refused as well.
    """

    def decorate(called: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(called).parameters
        by_place = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
        options = [
            name
            for name, p in parameters.items()
            if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and name not in ("self", "cls")
        ]

        def where(arguments: tuple[Any, ...]) -> str:
            """Say what was called: methods by the class of the object, not of its ancestor."""
            owner, _, name = called.__qualname__.removesuffix(".__init__").rpartition(".")
            if owner and "self" in parameters:
                owner = type(arguments[0]).__name__
            return f"{owner}.{name}()" if owner else f"{name}()"

        @functools.wraps(called)
        def checked(*arguments: P.args, **keywords: P.kwargs) -> R:
            unknown = [name for name in keywords if name not in parameters]
            if unknown:
                raise error(unknown_options(where(arguments), unknown, options, hints))
            if len(arguments) > len(by_place):
                names = ", ".join(f"{name}=" for name in options if name not in by_place)
                raise error(
                    f"{where(arguments)} got {shown(arguments[len(by_place)])} without the name of "
                    f"an option. Write the name: {names}."
                )
            return called(*arguments, **keywords)

        return checked

    return decorate
