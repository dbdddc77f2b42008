"""The templates that ``archeng new`` copies, and how a copy is made without any accident."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import archeng
from archeng.cli.study_file import FILE
from archeng.cli.study_keys import NAME
from archeng.errors import StudyFileError

DEFAULT = "casadi"
_IGNORED = re.compile(
    r"__pycache__|\.ipynb_checkpoints|\.pytest_cache|out|failed|run\.(html|pdf)"
    r"|.*\.(pyc|db|db-wal|db-shm|lock|orig)"
)
_RESERVED = {"con", "prn", "aux", "nul", *(f"{p}{k}" for p in ("com", "lpt") for k in range(10))}


@dataclass(frozen=True)
class Template:
    """A template: its name, what it is, and where."""

    name: str
    text: str
    folder: Path

    def files(self) -> list[Path]:
        """Return the files of a copy, relative to its folder, in the order of their names."""
        return sorted(_files(self.folder, Path()))


def templates() -> dict[str, Template]:
    """Return the templates that came with archeng, by name.

    Raises
    ------
    StudyFileError
        If the installation has none.
    """
    package = Path(archeng.__file__).resolve().parent
    for folder in (package / "templates", package.parent / "templates"):  # a wheel; a clone
        found = sorted(p.parent for p in folder.glob(f"*/{FILE}"))
        if found:
            ordered = sorted(found, key=lambda p: (p.name != DEFAULT, p.name))
            return {p.name: Template(p.name, _description(p), p) for p in ordered}
    raise StudyFileError(f"{package}: this installation of archeng has no templates.")


def instantiate(template: Template, name: str, parent: Path, force: bool) -> list[Path]:
    """Make the folder of a new study; return its files that were there before and are replaced.

    Nothing is written if anything is wrong. With ``force`` only files of the template are
    replaced.

    Raises
    ------
    StudyFileError
        The name is not valid, the folder exists, or something in it is in the way.
    """
    check_name(name)
    if not parent.is_dir():
        raise StudyFileError(f"{parent}: there is no such folder to make the study in.")
    target = parent / name
    try:
        replaced = _check_target(template, target, force)
        _make(template, name, target)
    except OSError as error:
        raise StudyFileError(f"{target}: cannot be written ({error.strerror}).") from error
    return replaced


def _make(template: Template, name: str, target: Path) -> None:
    """Write the copy aside, then put it into its place."""
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as workshop:
        made = Path(workshop) / name
        for file in template.files():
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            _copy(template.folder / file, made / file, name)
        if not target.exists():
            made.rename(target)
            return
        for file in template.files():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / file, target / file)


def check_name(name: str) -> None:
    """Raise unless a name is good for a study and its folder."""
    if NAME.fullmatch(name) is not None and name.lower() not in _RESERVED:
        return
    hint = ""
    if "/" in name or "\\" in name:
        hint = " A folder is named by --directory."
    raise StudyFileError(
        f"{name!r} is not a name for a study: letters, digits, - and _, beginning with a letter, "
        f"at most 64.{hint}"
    )


def _check_target(template: Template, target: Path, force: bool) -> list[Path]:
    """Raise if a copy must not be made there; return the files that it replaces."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise StudyFileError(f"{target}: is a file or a link, not a folder; choose another name.")
    if not target.exists() or not any(target.iterdir()):
        return []
    if not force:
        raise StudyFileError(
            f"{target}: exists already and is not empty. Choose another name, or say --force to "
            "replace the files of the template in it (journals, results and other files stay)."
        )
    replaced = []
    for file in template.files():
        for part in (target / file, *(target / p for p in file.parents if p != Path())):
            if part.is_symlink():
                raise StudyFileError(f"{part}: is a link; nothing has been written.")
        if (target / file).is_dir() or any(
            (target / p).exists() and not (target / p).is_dir() for p in file.parents
        ):
            raise StudyFileError(f"{target / file}: is in the way; nothing has been written.")
        if (target / file).exists():
            replaced.append(file)
    return replaced


def _copy(source: Path, made: Path, name: str) -> None:
    """Copy a file; the study's name goes into ``study.toml`` and the title of the README."""
    if source.name not in (FILE, "README.md"):
        shutil.copy(source, made)
        return
    text = source.read_text(encoding="utf-8")
    if source.name == FILE:
        text = re.sub(r'^name = ".*"$', f'name = "{name}"', text, count=1, flags=re.MULTILINE)
    else:
        text = re.sub(r"\A# .*$", f"# {name}", text, count=1, flags=re.MULTILINE)
    made.write_text(text, encoding="utf-8")


def _files(folder: Path, within: Path) -> Iterator[Path]:
    for path in (folder / within).iterdir():
        if _IGNORED.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from _files(folder, within / path.name)
        elif path.is_file():
            yield within / path.name


def _description(folder: Path) -> str:
    """Return the first paragraph of a template's README, without its title."""
    paragraphs = (folder / "README.md").read_text(encoding="utf-8").split("\n\n")
    return " ".join(paragraphs[1].split())
