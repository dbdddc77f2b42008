"""``study.toml``: a study as a folder. Read, checked, and refused with line numbers.

The keys of ``[run]`` and ``[study]`` that are options of a run, and those of ``[settings]``, are
checked as everywhere; here are the names of files, which have to stay inside the folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from archeng.checks import Check, did_you_mean
from archeng.errors import SettingsError, StudyFileError
from archeng.model import IMPORT_OPTIONS
from archeng.option_checks import two_limits
from archeng.options import OPTIONS
from archeng.settings import HANDLER_OPTIONS, Settings

FILE = "study.toml"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names of studies: they are names of folders too."""

KeyPath = tuple[str, ...]
"""Keys from the outside in."""

_MODEL, _SIMULATOR, _JOURNAL = "model.py", "simulator.py", "run.db"
_LARGEST = 1_000_000  # bytes of a study file
_SOURCE = re.compile(r"(?P<file>.+\.(?:py|nl))(?::(?P<name>[A-Za-z_]\w*))?")
_FUNCTION = re.compile(r".+\.py:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Source:
    """A Python (or .nl) file of a study, and the name of an object in it."""

    path: Path
    name: str | None = None


@dataclass(frozen=True)
class StudyFile:
    """What ``study.toml`` says."""

    path: Path  # of the file, absolute
    name: str | None  # replaces the name of the model
    model: Source
    simulator: Source | tuple[Source, ...] | None  # None: the objective of the model itself
    workers: Source | None  # a function that makes the workers; plain workers are in ``options``
    journal: Path
    options: Mapping[str, Any]  # keywords of `archeng.solve`
    lines: Mapping[KeyPath, int]  # of all keys, for what only the model can tell

    @property
    def folder(self) -> Path:
        """The folder of the study."""
        return self.path.parent

    def problem(self, key: KeyPath, text: str) -> StudyFileError:
        """Return an error that names a key and its line."""
        return StudyFileError(f"{self.path.name}:{self.lines[key]}: {'.'.join(key)}: {text}")


def read_study(path: str | Path) -> StudyFile:
    """Read and check a ``study.toml``.

    Raises
    ------
    StudyFileError
        With all problems at once, each with its line.
    """
    file = Path(path).resolve()
    text = _text(file, path)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyFileError(f"{path}: is not valid TOML: {error}.") from error
    checker = _Checker(file, text)
    checker.check(data)
    study = None if checker.problems else _study(file, data, checker)
    if checker.problems or study is None:
        raise StudyFileError(_message(path, checker.problems))
    return study


def _text(file: Path, shown: str | Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise StudyFileError(f"{shown}: is larger than a study file can be.")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise StudyFileError(f"{shown}:{line}: is not UTF-8 text.") from error
    except OSError as error:
        raise StudyFileError(f"{shown}: cannot be read ({error.strerror}).") from error


def _study(file: Path, data: Mapping[str, Any], checker: _Checker) -> StudyFile:
    """Make the study of checked data; its files must exist."""
    study, run = data.get("study", {}), data.get("run", {})
    simulator = study.get("simulator")
    if simulator is None and (file.parent / _SIMULATOR).is_file():
        simulator = _SIMULATOR
    options = {k: v for k, v in {**run, **study}.items() if k in OPTIONS and k not in _FILES}
    for key in ("reuse", "data"):
        if key in options:
            names = [options[key]] if isinstance(options[key], str) else options[key]
            options[key] = [file.parent / name for name in names]
    if data.get("simulated"):
        options["simulated"] = {
            k: (v.get("lower"), v.get("upper")) for k, v in data["simulated"].items()
        }
    if data.get("parameters"):
        options["parameters"] = dict(data["parameters"])
    if data.get("start"):
        options["start"] = dict(data["start"])
    options |= data.get("import", {})
    if data.get("settings"):
        options["settings"] = Settings(**data["settings"])
    workers = None
    if _is_function(options.get("workers")):
        workers = checker.source(("run", "workers"), options.pop("workers"))
    return StudyFile(
        path=file,
        name=study.get("name"),
        model=checker.source(("study", "model"), study.get("model", _MODEL)),
        simulator=_simulators(simulator, checker),
        workers=workers,
        journal=checker.path(("run", "journal"), run.get("journal", _JOURNAL)),
        options=options,
        lines=checker.lines,
    )


def _simulators(given: Any, checker: _Checker) -> Source | tuple[Source, ...] | None:
    """Return the file of the simulator; of several, the cheapest first, those of all."""
    key = ("study", "simulator")
    if isinstance(given, list):
        return tuple(checker.source(key, one) for one in given)
    return None if given is None else checker.source(key, given)


class _Checker:
    """Gathers problems with their lines."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self._text = file, text
        self.problems: list[tuple[int, str]] = []

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        return key_lines(self._text)

    def check(self, data: Mapping[str, Any]) -> None:
        for section, table in data.items():
            if section not in SECTIONS:
                self._unknown((section,), list(SECTIONS))
            elif not isinstance(table, dict):
                self.add((section,), f"must be a section [{section}], got {table!r}")
            else:
                for key, value in table.items():
                    self._check_key(section, key, value)

    def _check_key(self, section: str, key: str, value: Any) -> None:
        keys = SECTIONS[section]
        if keys is not None and key not in keys:
            self._unknown((section, key), list(keys))
            return
        try:
            (_OF_ANY_NAME[section] if keys is None else keys[key])(key, value)
        except SettingsError as error:
            said = str(error).removeprefix(key).removeprefix(":").strip()
            self.add((section, key), said.removesuffix("."))

    def _unknown(self, path: KeyPath, names: list[str]) -> None:
        key = path[-1]
        hint = did_you_mean(key, names, 0.6) or f" There are {', '.join(names)}"
        homes = [section for section, keys in SECTIONS.items() if key in (keys or ())]
        if key in HANDLER_OPTIONS:
            homes = ["settings.handler_options"]
        if homes:
            hint = f" It belongs into the section [{homes[0]}]"
        self.add(path, f"unknown {'key' if len(path) > 1 else 'section or key'}.{hint}")

    def add(self, path: KeyPath, text: str) -> None:
        line = self.lines.get(path) or self.lines.get(path[:-1]) or 1
        self.problems.append((line, f"{'.'.join(path)}: {text}"))

    def source(self, key: KeyPath, text: str) -> Source:
        """Return a file of the study, which must exist."""
        file, name = _parts(text)
        path = self.path(key, file)
        if not path.is_file():
            self.add(key, f"there is no file {file} in the folder of the study")
        return Source(path, name)

    def path(self, key: KeyPath, text: str) -> Path:
        """Return a path in the study's folder; links must not lead out of it."""
        path = self.file.parent / text
        if not path.resolve().is_relative_to(self.file.parent):
            self.add(key, f"{text} is a link that leads out of the folder of the study")
        return path


def _message(path: str | Path, problems: list[tuple[int, str]]) -> str:
    if len(problems) == 1:
        return f"{path}:{problems[0][0]}: {problems[0][1]}"
    lines = "".join(f"\n  {path}:{line}: {text}" for line, text in sorted(problems))
    return f"{path} has {len(problems)} problems:{lines}"


# -- keys -------------------------------------------------------------------------------------


def _parts(text: str) -> tuple[str, str | None]:
    """Split ``model.py:make_model`` into the file and the name of an object in it, if given."""
    match = _SOURCE.fullmatch(text)
    return (text, None) if match is None else (match["file"], match["name"])


def _is_function(workers: Any) -> bool:
    """Whether ``workers`` names a function in a Python file that makes them."""
    return isinstance(workers, str) and _FUNCTION.fullmatch(workers) is not None


def _inside(text: str) -> bool:
    """Whether a path is a plain relative one that does not leave its folder."""
    windows, posix = PureWindowsPath(text), PurePosixPath(text)
    absolute = windows.is_absolute() or windows.drive or windows.root or posix.is_absolute()
    return not absolute and ".." not in (*windows.parts, *posix.parts) and "\0" not in text


def _name(key: str, value: Any) -> None:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise SettingsError(
            f"{key} must be a name of letters, digits, - and _ that begins with a letter (at most "
            f"64), got {value!r}."
        )


def _file(key: str, value: Any, endings: tuple[str, ...]) -> None:
    if not isinstance(value, str) or not _parts(value)[0].endswith(endings):
        raise SettingsError(
            f"{key} must be a {' or '.join(endings)} file of the study, such as "
            f'"model.py" or "model.py:name", got {value!r}.'
        )
    if not _inside(_parts(value)[0]):
        raise SettingsError(f"{key} must be inside the folder of the study, got {value!r}.")


def _simulator(key: str, value: Any) -> None:
    for one in value if isinstance(value, list) and value else [value]:
        _file(key, one, (".py",))


def _journal(key: str, value: Any) -> None:
    if not isinstance(value, str) or not value or value.endswith(("/", "\\", ".py", ".toml")):
        raise SettingsError(f'{key} must be the name of a file, such as "run.db", got {value!r}.')
    if not _inside(value):
        raise SettingsError(
            f"{key} must be inside the folder of the study, got {value!r}; for another place say "
            "`archeng run --journal FILE`."
        )


def _workers(key: str, value: Any) -> None:
    if not _is_function(value) or not _inside(_parts(value)[0]):
        OPTIONS["workers"].checked(value)


def _limits(key: str, value: Any) -> None:
    """Check the limits of a simulated constraint: ``{ lower = 1.0, upper = 2.0 }``."""
    if not isinstance(value, dict) or not value or set(value) - {"lower", "upper"}:
        raise SettingsError(
            f"{key} must have limits such as {{ upper = 250e6 }} or {{ lower = 40.0, upper = 60.0 "
            f"}}, got {value!r}."
        )
    two_limits(key, (value.get("lower"), value.get("upper")))


def _parameter(key: str, value: Any) -> None:
    """Check the value of a parameter: ``15e3``, ``[1, 2]``, or a matrix as a list of its rows."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.array("")
    numbers = array.dtype.kind in "iuf" and array.size > 0 and array.ndim <= 2
    if not numbers or not np.all(np.isfinite(array)):
        raise SettingsError(
            f"{key} must be a finite number, or a list of them such as [1.0, 2.0], got {value!r}."
        )


def _start(key: str, value: Any) -> None:
    """Check where a variable begins: ``8``, ``"IPE 200"``, or a list for a vector."""
    entries = np.array(value, dtype=object).reshape(-1).tolist()
    for entry in entries if not isinstance(value, dict) else [value]:
        number = isinstance(entry, int | float) and np.isfinite(entry)
        if not number and not isinstance(entry, str):
            raise SettingsError(
                f'{key} must be a number, a name such as "IPE 200", or a list of them, got '
                f"{value!r}."
            )


_OF_ANY_NAME: Mapping[str, Check] = {
    "simulated": _limits,
    "parameters": _parameter,
    "start": _start,
}
"""Sections whose keys are names of the model, with the check of their values."""

_FILES: Mapping[str, Check] = {
    "name": _name,
    "model": partial(_file, endings=(".py", ".nl")),
    "simulator": _simulator,
    "journal": _journal,
}
"""Keys that stand for names of files, or of the study."""


def _section(name: str) -> dict[str, Check]:
    """Return the keys of a section that are options of a run."""
    return {o.name: o.check for o in OPTIONS.values() if o.section == name}


def _imported(key: str, value: Any) -> Any:
    """Leave the check to the importer."""
    return value


SECTIONS: Mapping[str, Mapping[str, Check] | None] = {
    "study": {k: c for k, c in _FILES.items() if k != "journal"} | _section("study"),
    "run": _section("run") | {"journal": _journal, "workers": _workers},
    **dict.fromkeys(_OF_ANY_NAME),
    "import": dict.fromkeys(IMPORT_OPTIONS, _imported),
    "settings": {f.name: f.metadata["check"] for f in fields(Settings)},
}
"""Every key of every section, with its check."""


# -- lines ------------------------------------------------------------------------------------


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of every table and key of a TOML document; `tomllib` does not say.

    The text, which must have passed `tomllib`, is cut into statements: the fewest lines that are
    TOML by themselves.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    begin, statement = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        statement += line + "\n"
        try:
            data = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:  # it goes on in the next line
            continue
        header = statement.lstrip().startswith("[")
        for path in _key_paths(data, () if header else table):
            lines.setdefault(path, begin)
            table = path if header else table
        begin, statement = number + 1, ""
    return lines


def _key_paths(data: Mapping[str, Any], within: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of all keys, the outer ones first."""
    for key, value in data.items():
        yield (*within, key)
        if isinstance(value, dict):
            yield from _key_paths(value, (*within, key))
