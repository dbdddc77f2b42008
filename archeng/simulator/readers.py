"""Reading the objective out of what a program wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archeng.checks import file_path, named_options, text
from archeng.errors import SettingsError

Reader = Callable[[Path, str], Any]


@named_options()
def read_json(key: str = "objective", file: str | None = None) -> Reader:
    """Read a number from JSON: a file in the call's directory, or the standard output.

    Parameters
    ----------
    key : str
        Where it is; dots go deeper: ``"mass.total"``, ``"loads.0"``.
    file : str, optional
    """
    return _Json(text("read_json: key", key), _file("read_json", file))


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
    return _Regex(pattern, _file("read_regex", file))


def _file(where: str, file: Any) -> str | None:
    return None if file is None else str(file_path(f"{where}: file", file))


class _Json:
    def __init__(self, key: str, file: str | None) -> None:
        self._key, self._file = key, file

    def __call__(self, folder: Path, output: str) -> float:
        value = json.loads(_source(folder, output, self._file))
        for part in self._key.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return float(value)


class _Regex:
    def __init__(self, pattern: str, file: str | None) -> None:
        self._pattern, self._file = pattern, file

    def __call__(self, folder: Path, output: str) -> float:
        found = re.findall(self._pattern, _source(folder, output, self._file))
        if not found:
            raise ValueError(f"{self._pattern!r} is nowhere in {self._file or 'standard output'}")
        return float(re.sub("[dD]", "e", found[-1]))  # Fortran writes 1.0D+00


def _source(folder: Path, output: str, file: str | None) -> str:
    if file is None:
        return output
    return (folder / file).read_text(encoding="utf-8", errors="replace")
