"""From a study's files to its model, simulator and options."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from archeng.cli.load import existing, find_model, imported, own_errors
from archeng.cli.study_file import Source, StudyFile
from archeng.errors import ModelError
from archeng.model import Model, as_model, is_pyomo


@dataclass(frozen=True)
class OpenStudy:
    """A study with its Python objects, while its modules are imported."""

    model: Any
    simulator: Any
    options: Mapping[str, Any]
    workers: Any = field(default_factory=contextlib.nullcontext)
    """Context manager that gives the workers; of `nullcontext` none."""


@contextlib.contextmanager
def opened(target: StudyFile | Path, name: str | None = None) -> Iterator[OpenStudy]:
    """Import the files of a study; ``name`` is that of the model object, if given."""
    if isinstance(target, StudyFile):
        with _from_toml(target, name) as study:
            yield study
        return
    with imported(existing(str(target))) as module:
        yield OpenStudy(
            find_model(module, name), getattr(module, "simulator", None), _options_of(module)
        )


@contextlib.contextmanager
def _from_toml(study: StudyFile, name: str | None) -> Iterator[OpenStudy]:
    with contextlib.ExitStack() as stack:
        modules: dict[Path, ModuleType] = {}

        def module(source: Source) -> ModuleType:
            path = source.path.resolve()
            if path not in modules:
                modules[path] = stack.enter_context(imported(source.path))
            return modules[path]

        model: Any = study.model.path
        if model.suffix == ".py":
            model = find_model(module(study.model), name or study.model.name)
        simulator, own = None, None
        if study.simulator is not None:
            own = module(study.simulator)
            simulator = _object(own, study.simulator.name or "simulator")
        workers: Any = contextlib.nullcontext()
        if study.workers is not None:
            workers = _workers(module(study.workers), str(study.workers.name))
        _send_by_value(study.folder, own)
        options = {**study.options, "journal": study.journal}
        yield OpenStudy(_named(model, study.name, simulator), simulator, options, workers)


@contextlib.contextmanager
def _workers(module: ModuleType, name: str) -> Iterator[Any]:
    """Call the study's function; what it returns is closed at the end."""
    function = _object(module, name)
    if not callable(function):
        raise ModelError(f"{module.__file__}: {name} must be a function, got {function!r}.")
    file = Path(str(module.__file__))
    with contextlib.ExitStack() as stack:
        with own_errors(file, f"in {name}()"):
            found = function()
            if hasattr(found, "__enter__"):
                found = stack.enter_context(found)
            elif hasattr(found, "close"):
                stack.callback(found.close)
        if found is None:
            raise ModelError(f"{file}: {name}() returned nothing; expected a Dask client, ...")
        yield found


def _object(module: ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        raise ModelError(f"{module.__file__}: there is no {name!r} in it.")
    return getattr(module, name)


def _named(model: Any, name: str | None, simulator: Any) -> Any:
    """Give the model the name of the study."""
    if name is None:
        return model
    if not isinstance(model, Model) and not is_pyomo(model):
        model = as_model(model, objective=simulator is None)
    model.name = name
    return model


def _send_by_value(folder: Path, simulator: ModuleType | None) -> None:
    """Let workers on other machines do without the files of the study, as far as possible.

    A module with something in it that cannot be sent, such as CasADi symbols, is imported by the
    workers, which have to find it.
    """
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if module is simulator or not isinstance(file, str):
            continue
        if not Path(file).is_relative_to(folder):
            continue
        if "site-packages" not in Path(file).relative_to(folder).parts:
            cloudpickle.register_pickle_by_value(module)
            if not _can_be_sent(module):
                cloudpickle.unregister_pickle_by_value(module)


def _can_be_sent(module: ModuleType) -> bool:
    try:
        cloudpickle.dumps(module)
    except Exception:  # objects may raise anything
        return False
    return True


def _options_of(module: ModuleType) -> dict[str, Any]:
    """Return the dictionary ``options`` of a Python file: keywords of `archeng.solve`."""
    found = getattr(module, "options", {})
    if not isinstance(found, Mapping) or {"model", "simulator"} & set(found):
        raise ModelError(
            f"{module.__file__}: `options` must be a dictionary of keywords of archeng.solve, "
            f"without model and simulator; got {found!r}."
        )
    return dict(found)
