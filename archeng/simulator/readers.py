"""Readers: how a number is found in what a program wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from archeng.checks import file_path, named_options, text
from archeng.errors import SettingsError

Reader = Callable[[Path, str], Any]
"""Takes the call's directory and the standard output."""


@named_options()
def read_json(key: str = "objective", file: str | None = None) -> Reader:
    """Read a number, or a list of them, from JSON: a file in the call's directory, or the output.

    Parameters
    ----------
    key : str
        Where it is; dots go deeper: ``"mass.total"``, ``"loads.0"``.
    file : str, optional
    """
    return partial(_from_json, text("read_json: key", key), _file("read_json", file))


@named_options()
def read_regex(pattern: str, file: str | None = None) -> Reader:
    r"""Read a number by a regular expression; of several matches the last one counts.

    Parameters
    ----------
    pattern : str
        With one group, the number: ``r"mass *= *(\S+)"``.
    file : str, optional
        A file in the call's directory; the standard output by default.
    """
    text("read_regex: pattern", pattern)
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingsError(f"read_regex: {pattern!r} is no regular expression: {error}") from error
    if groups != 1:
        raise SettingsError(f"read_regex: {pattern!r} must have exactly one group, the number.")
    return partial(_by_regex, pattern, _file("read_regex", file))


def _file(where: str, file: Any) -> str | None:
    return None if file is None else str(file_path(f"{where}: file", file))


def _from_json(key: str, file: str | None, folder: Path, output: str) -> float | list[Any]:
    value = json.loads(_written(file, folder, output))
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value if isinstance(value, list) else float(value)


def _by_regex(pattern: str, file: str | None, folder: Path, output: str) -> float:
    matches = re.findall(pattern, _written(file, folder, output))
    if not matches:
        raise ValueError(f"{pattern!r} is nowhere in {file or 'standard output'}")
    return float(re.sub("[dD]", "e", matches[-1]))  # Fortran writes 1.0D+00


def _written(file: str | None, folder: Path, output: str) -> str:
    if file is None:
        return output
    return (folder / file).read_text(encoding="utf-8", errors="replace")
