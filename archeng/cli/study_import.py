"""The Python files of a study: imported for as long as they are needed, with their errors told.

A study has a model, a simulator, options and, if wanted, workers of its own.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from archeng.checks import did_you_mean
from archeng.cli.study_file import Source, StudyFile
from archeng.errors import ArchengError, ModelError
from archeng.model import IMPORT_OPTIONS, Model, as_model, is_importable, is_pyomo, of_casadi

_USUAL = ("model", "make_model", "build_model", "create_model")  # names of models in files


@dataclass(frozen=True)
class OpenStudy:
    """A study with its Python objects, while its modules are imported."""

    model: Any
    simulator: Any
    options: Mapping[str, Any]
    workers: Any = field(default_factory=contextlib.nullcontext)
    """Context manager that gives the workers; of `nullcontext` none."""

    def parameters(self, typed: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return values of parameters by name: those of the study, and those that were typed."""
        values = {**self.options.get("parameters", {}), **(typed or {})}
        if isinstance(self.model, Model):
            self.model.with_parameters(values)  # raises if it has no such parameters
        return values

    def with_parameters(self, typed: Mapping[str, Any] | None = None) -> Model:
        """Return the model with the values of its parameters."""
        values = self.parameters(typed)
        more = {} if isinstance(self.model, Model) else import_options(self.options)
        objective = self.simulator is None
        model = as_model(self.model, objective=objective, parameters=tuple(values), **more)
        return model.with_parameters(values) if values else model


@contextlib.contextmanager
def opened(target: StudyFile | Path, name: str | None = None) -> Iterator[OpenStudy]:
    """Import the files of a study; ``name`` is that of the model object, if given."""
    with contextlib.ExitStack() as stack:
        if isinstance(target, StudyFile):
            yield _from_toml(target, name, lambda path: stack.enter_context(imported(path)))
        else:
            module = stack.enter_context(imported(target))
            simulator = getattr(module, "simulator", None)
            yield OpenStudy(find_model(module, name), simulator, _options_of(module))


def _from_toml(
    study: StudyFile, name: str | None, importer: Callable[[Path], ModuleType]
) -> OpenStudy:
    module = functools.cache(importer)  # several objects may be in one file
    model: Any = study.model.path
    if model.suffix == ".py":
        model = find_model(module(model.resolve()), name or study.model.name)
    simulator: Any = None
    own = None
    if isinstance(study.simulator, tuple):
        simulator = [_simulator(module, source) for source in study.simulator]
    elif study.simulator is not None:
        own = module(study.simulator.path.resolve())
        simulator = _simulator(module, study.simulator)
    workers: Any = contextlib.nullcontext()
    if study.workers is not None:
        workers = _workers(module(study.workers.path.resolve()), str(study.workers.name))
    _send_by_value(study.folder, own)
    _check_parameters(study, model)
    options = {**study.options, "journal": study.journal}
    model = _named(model, study.name, simulator, options)
    return OpenStudy(model, simulator, options, workers)


def _simulator(module: Callable[[Path], ModuleType], source: Source) -> Any:
    return _object(module(source.path.resolve()), source.name or "simulator")


@contextlib.contextmanager
def _workers(module: ModuleType, name: str) -> Iterator[Any]:
    """Call the study's function; what it returns is closed at the end."""
    function = _object(module, name)
    if not callable(function):
        raise ModelError(f"{module.__file__}: {name} must be a function, got {function!r}.")
    file = Path(str(module.__file__))
    with contextlib.ExitStack() as stack:
        with own_errors(file, f"in {name}()"):
            workers = function()
            if hasattr(workers, "__enter__"):
                workers = stack.enter_context(workers)
            elif hasattr(workers, "close"):
                stack.callback(workers.close)
        if workers is None:
            raise ModelError(f"{file}: {name}() returned nothing; expected a Dask client, ...")
        yield workers


def _check_parameters(study: StudyFile, model: Any) -> None:
    """Raise, with the line, if the study has a parameter that the model has not, or not so."""
    if not isinstance(model, Model):  # an imported one: when it is imported
        return
    names = [p.name for p in model.parameters]
    for name, value in study.options.get("parameters", {}).items():
        key = ("parameters", name)
        if name not in names:
            have = f"there are {', '.join(names)}" if names else "it has none"
            hint = did_you_mean(name, names) or f" In the model {have}"
            raise study.problem(key, f"unknown parameter.{hint}")
        try:
            model.with_parameters({name: value})
        except ModelError as error:
            raise study.problem(key, str(error)) from error


def _object(module: ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        raise ModelError(f"{module.__file__}: there is no {name!r} in it.")
    return getattr(module, name)


def _named(model: Any, name: str | None, simulator: Any, options: dict[str, Any]) -> Any:
    """Give the model the name of the study; an imported one takes its options."""
    if name is None:
        return model
    if not isinstance(model, Model) and not is_pyomo(model):
        model = as_model(model, objective=simulator is None, **import_options(options))
        for key in import_options(options):
            del options[key]
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
            try:
                cloudpickle.dumps(module)
            except Exception:  # objects may raise anything
                cloudpickle.unregister_pickle_by_value(module)


def import_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options that are for the importer of a model, such as bounds of a dictionary."""
    return {name: value for name, value in options.items() if name in IMPORT_OPTIONS}


def _options_of(module: ModuleType) -> dict[str, Any]:
    """Return the dictionary ``options`` of a Python file: keywords of `archeng.solve`."""
    options = getattr(module, "options", {})
    if not isinstance(options, Mapping) or {"model", "simulator"} & set(options):
        raise ModelError(
            f"{module.__file__}: `options` must be a dictionary of keywords of archeng.solve, "
            f"without model and simulator; got {options!r}."
        )
    return dict(options)


# -- one file ----------------------------------------------------------------------------------


@contextlib.contextmanager
def imported(path: Path) -> Iterator[ModuleType]:
    """Import a Python file; while the block runs its folder is on the path, as for a script."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file.")
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
        return _made(module, name)
    for usual in _USUAL:
        if hasattr(module, usual):
            return _made(module, usual)
    models = {k: v for k, v in vars(module).items() if is_importable(v)}
    if len({id(v) for v in models.values()}) == 1:
        return next(iter(models.values()))
    what = f"several models ({', '.join(models)})" if models else "no model"
    raise ModelError(
        f"{module.__file__}: {what} in it. Call it `model` (or a function `make_model`), or say "
        "--object NAME."
    )


def _made(module: ModuleType, name: str) -> Any:
    """Return an object of the module; a function is called."""
    value = _object(module, name)
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
