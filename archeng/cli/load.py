"""Finding the model in a file that the user names on the command line."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from archeng.errors import ModelError
from archeng.model import Model, as_model, is_importable

_USUAL = ("model", "make_model", "build_model", "create_model")


def load_model(file: str, name: str | None = None) -> Model:
    """Return the model of an .nl file or of a Python file.

    Raises
    ------
    ModelError
        If the file cannot be run, or it is not clear which object is the model.
    """
    path = Path(file)
    if not path.exists():
        raise ModelError(f"{file}: no such file.")
    if path.suffix == ".py":
        return as_model(find_model(load_module(path), name), objective=False)
    if name is not None:
        raise ModelError(f"--object is for Python files, not for {file}.")
    return as_model(path, objective=False)


def load_module(path: Path) -> ModuleType:
    """Import a Python file; its folder is on the path, as with ``python file.py``."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path}: cannot be imported as a Python module.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(
            f"{path}: {type(error).__name__} while it was imported: {error}"
        ) from error
    finally:
        sys.path.pop(0)
    return module


def find_model(module: ModuleType, name: str | None) -> Any:
    """Return the model object of a module."""
    if name is not None:
        if not hasattr(module, name):
            raise ModelError(f"{module.__file__}: there is no {name!r} in it.")
        return _made(getattr(module, name))
    for usual in _USUAL:
        if hasattr(module, usual):
            return _made(getattr(module, usual))
    found = {k: v for k, v in vars(module).items() if is_importable(v)}
    if len({id(v) for v in found.values()}) == 1:
        return next(iter(found.values()))
    what = f"several models ({', '.join(found)})" if found else "no model"
    raise ModelError(
        f"{module.__file__}: {what} in it. Call it `model` (or a function `make_model`), or say "
        "--object NAME."
    )


def _made(value: Any) -> Any:
    return value() if inspect.isfunction(value) else value
