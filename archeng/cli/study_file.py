"""``study.toml``: a study as a folder. Read, checked, and refused with line numbers."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archeng.cli import study_keys
from archeng.cli.study_keys import SECTIONS, Check
from archeng.cli.toml_lines import Path as KeyPath
from archeng.cli.toml_lines import key_lines
from archeng.errors import StudyFileError
from archeng.settings import Settings

FILE = "study.toml"
_MODEL, _SIMULATOR, _JOURNAL = "model.py", "simulator.py", "run.db"
_LARGEST = 1_000_000  # bytes


@dataclass(frozen=True)
class Source:
    """A Python (or .nl) file of a study, and the name of an object in it."""

    path: Path
    name: str | None = None


@dataclass(frozen=True)
class StudyFile:
    """What ``study.toml`` says.

    Attributes
    ----------
    path : Path
        The file, absolute.
    name : str or None
        Replaces the name of the model.
    model : Source
    simulator : Source or None
        None: the objective of the model itself.
    workers : Source or None
        A function that makes the workers; plain workers are in ``options``.
    journal : Path
    options : dict
        Keywords of :func:`archeng.solve`.
    """

    path: Path
    name: str | None
    model: Source
    simulator: Source | None
    workers: Source | None
    journal: Path
    options: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder of the study."""
        return self.path.parent


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
        lines = key_lines(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyFileError(f"{path}: is not valid TOML: {error}.") from error
    checker = _Checker(file, lines)
    checker.check(data)
    study, run = data.get("study", {}), data.get("run", {})
    found = None
    if not checker.problems:
        found = _study(file, study, run, data, checker)
    if checker.problems or found is None:
        raise StudyFileError(_message(path, checker.problems))
    return found


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


def _study(
    file: Path,
    study: Mapping[str, Any],
    run: Mapping[str, Any],
    data: Mapping[str, Any],
    checker: _Checker,
) -> StudyFile:
    """Make the study of checked data; its files must exist."""
    simulator = study.get("simulator")
    if simulator is None and (file.parent / _SIMULATOR).is_file():
        simulator = _SIMULATOR
    options = {k: v for k, v in run.items() if k != "journal"}
    options |= {k: study[k] for k in ("sense", "simulator_takes") if k in study}
    if "reuse" in options:
        options["reuse"] = [file.parent / p for p in options["reuse"]]
    if data.get("simulated"):
        options["simulated"] = {
            k: (v.get("lower"), v.get("upper")) for k, v in data["simulated"].items()
        }
    if data.get("settings"):
        options["settings"] = Settings(**data["settings"])
    workers = None
    if study_keys.is_function(options.get("workers")):
        workers = checker.source(("run", "workers"), options.pop("workers"))
    model = checker.source(("study", "model"), study.get("model", _MODEL))
    return StudyFile(
        path=file,
        name=study.get("name"),
        model=model,
        simulator=None if simulator is None else checker.source(("study", "simulator"), simulator),
        workers=workers,
        journal=checker.path(("run", "journal"), run.get("journal", _JOURNAL)),
        options=options,
    )


class _Checker:
    """Gathers problems with their lines."""

    def __init__(self, file: Path, lines: Mapping[KeyPath, int]) -> None:
        self.file, self.lines = file, lines
        self.problems: list[tuple[int, str]] = []

    def check(self, data: Mapping[str, Any]) -> None:
        for section, table in data.items():
            if section not in SECTIONS:
                self._unknown((section,), list(SECTIONS), _home(section))
            elif not isinstance(table, dict):
                self.add((section,), f"expected a section [{section}], got {table!r}")
            else:
                self._section(section, table, SECTIONS[section])

    def _section(
        self, section: str, table: Mapping[str, Any], keys: Mapping[str, Check] | None
    ) -> None:
        for key, value in table.items():
            if keys is not None and key not in keys:
                self._unknown((section, key), list(keys), _home(key))
                continue
            problem = (study_keys.limits if keys is None else keys[key])(value)
            if problem is not None:
                self.add((section, key), f"{problem}, got {value!r}")

    def _unknown(self, path: KeyPath, known: list[str], home: str | None) -> None:
        name = str(path[-1])
        close = difflib.get_close_matches(name, known, 1)
        if home is not None:
            hint = f"it belongs into the section [{home}]"
        elif close:
            hint = f"did you mean {close[0]}?"
        else:
            hint = f"there are {', '.join(known)}"
        self.add(path, f"unknown {'key' if len(path) > 1 else 'section or key'}; {hint}")

    def add(self, path: KeyPath, text: str) -> None:
        line = self.lines.get(path) or self.lines.get(path[:-1]) or 1
        self.problems.append((line, f"{'.'.join(map(str, path))}: {text}"))

    def source(self, key: KeyPath, text: str) -> Source:
        """Return a file of the study, which must exist."""
        file, name = study_keys.source_parts(text)
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


def _home(key: str) -> str | None:
    """Return the section where a key would be right."""
    homes = [s for s, keys in SECTIONS.items() if keys is not None and key in keys]
    return homes[0] if homes else None


def _message(path: str | Path, problems: list[tuple[int, str]]) -> str:
    if len(problems) == 1:
        return f"{path}:{problems[0][0]}: {problems[0][1]}."
    lines = "".join(f"\n  {path}:{line}: {text}" for line, text in sorted(problems))
    return f"{path} has {len(problems)} problems:{lines}"
