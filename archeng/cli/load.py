"""Finding the model in a file that the user names on the command line."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from archeng.errors import ArchengError, ModelError
from archeng.journal import Journal, readable
from archeng.model import Model, as_model, is_importable, of_casadi
from archeng.runner.stored import stored_model

_USUAL = ("model", "make_model", "build_model", "create_model")


def load_model(file: str, name: str | None = None) -> Model:
    """Return the model of an .nl file, of a Python file, or of a journal.

    Raises
    ------
    ModelError
        If the file cannot be run, or it is not clear which object is the model.
    """
    path = existing(file)
    if path.suffix == ".py":
        with imported(path) as module:
            return as_model(find_model(module, name), objective=False)
    if name is not None:
        raise ModelError(f"--object is for Python files, not for {file}.")
    return _of_journal(path) if _is_sqlite(path) else as_model(path, objective=False)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def _of_journal(path: Path) -> Model:
    journal = Journal.read(path)
    try:
        with readable(path):
            return stored_model(journal.header(), None)
    finally:
        journal.close()


def existing(file: str) -> Path:
    """Return the path of a file that exists."""
    if not Path(file).is_file():
        raise ModelError(f"{file}: no such file.")
    return Path(file)


@contextlib.contextmanager
def imported(path: Path) -> Iterator[ModuleType]:
    """Import a Python file; while the block runs its folder is on the path, as for a script."""
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_study"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path}: cannot be imported as a Python module.")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[name] = module
    try:
        with own_errors(path, "while it was imported"):
            spec.loader.exec_module(module)
        cloudpickle.register_pickle_by_value(module)  # workers need not find the file
        yield module
    finally:
        sys.path[:] = before
        sys.modules.pop(name, None)


def find_model(module: ModuleType, name: str | None) -> Any:
    """Return the model object of a module."""
    if name is not None:
        if not hasattr(module, name):
            raise ModelError(f"{module.__file__}: there is no {name!r} in it.")
        return _made(module, name)
    for usual in _USUAL:
        if hasattr(module, usual):
            return _made(module, usual)
    found = {k: v for k, v in vars(module).items() if is_importable(v)}
    if len({id(v) for v in found.values()}) == 1:
        return next(iter(found.values()))
    what = f"several models ({', '.join(found)})" if found else "no model"
    raise ModelError(
        f"{module.__file__}: {what} in it. Call it `model` (or a function `make_model`), or say "
        "--object NAME."
    )


def _made(module: ModuleType, name: str) -> Any:
    """Return an object of the module; a function is called."""
    value = getattr(module, name)
    if not inspect.isfunction(value):
        return value
    with own_errors(Path(str(module.__file__)), f"in {name}()"):
        return value()


@contextlib.contextmanager
def own_errors(path: Path, where: str) -> Iterator[None]:
    """Report whatever goes wrong in the user's file as an error of that file, with its line."""
    try:
        yield
    except ArchengError as error:
        line = f"{path.name}{_line_in(path, error)}"
        if line not in str(error):
            error.args = (f"{line}: {error}", *error.args[1:])
        raise
    except (Exception, SystemExit) as error:
        said = of_casadi(error)
        if said is None:
            line = _line_in(path, error)
            said = f"{path}{line}: {type(error).__name__} {where}: {error}"
        raise ModelError(said) from error


def _line_in(path: Path, error: BaseException) -> str:
    """Return ``:12``, the last line of a file on the way to an error; nothing if there is none."""
    steps = traceback.extract_tb(error.__traceback__)
    lines = [step.lineno for step in steps if Path(step.filename).resolve() == path.resolve()]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    return f":{lines[-1]}" if lines else ""
