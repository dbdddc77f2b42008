"""``archeng run`` and ``archeng resume``: a study file, from the command line."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from archeng.cli.load import existing, find_model, imported
from archeng.errors import ModelError, SettingsError
from archeng.model import as_model
from archeng.result import Result, Status
from archeng.runner import resume, solve


def run(options: argparse.Namespace) -> int:
    """Solve the study of a Python file."""
    _check_output(options.output)
    with imported(existing(options.study)) as study:
        keywords = {**_study_options(study), **_given(options, _RUN_OPTIONS), **_runtime(options)}
        model = find_model(study, options.object)
        return _report(solve(model, _simulator(study), **keywords), options)


def go_on(options: argparse.Namespace) -> int:
    """Resume the run of a journal with the simulator of a study."""
    _check_output(options.output)
    keywords = {**_given(options, _LIMITS), **_runtime(options)}
    keywords["retry_failed"] = options.retry_failed
    if options.study is None:
        return _report(resume(options.journal, **keywords), options)
    with imported(existing(options.study)) as study:
        own, simulator = _study_options(study), _simulator(study)
        model = find_model(study, options.object)
        arguments = {k: v for k, v in own.items() if k not in _SOLVE}
        if arguments:  # such as the bounds of an nlp dictionary
            model = as_model(model, objective=simulator is None, **arguments)
        keywords = {**{k: own[k] for k in (*_RUNTIME, "simulator_takes") if k in own}, **keywords}
        return _report(resume(options.journal, simulator, model=model, **keywords), options)


_SOLVE = set(inspect.signature(solve).parameters)
_LIMITS = ("max_evaluations", "max_time", "target")
_RUN_OPTIONS = (*_LIMITS, "seed", "restarts", "population_size", "sense", "journal", "reuse")
_RUNTIME = ("workers", "timeout", "retries", "max_failures", "on_failure")


def _given(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """Options that the user typed; the others keep the study's or the library's default."""
    found = {name: getattr(options, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _runtime(options: argparse.Namespace) -> dict[str, Any]:
    return {**_given(options, _RUNTIME), "verbose": not options.quiet}


def _simulator(study: ModuleType) -> Any:
    return getattr(study, "simulator", None)


def _study_options(study: ModuleType) -> dict[str, Any]:
    """Return the dictionary ``options`` of a study: keywords of `archeng.solve`."""
    found = getattr(study, "options", {})
    if not isinstance(found, Mapping) or {"model", "simulator"} & set(found):
        raise ModelError(
            f"{study.__file__}: `options` must be a dictionary of keywords of archeng.solve, "
            f"without model and simulator; got {found!r}."
        )
    return dict(found)


def _check_output(path: str | None) -> None:
    """Raise before the run, not after it, if the result cannot be saved there."""
    if path is not None and (Path(path).is_dir() or not Path(path).resolve().parent.is_dir()):
        raise SettingsError(f"--output {path}: there is no such directory, or it is one.")


def _report(result: Result, options: argparse.Namespace) -> int:
    if options.output is not None:
        result.save(options.output)
    sys.stdout.write(f"{result}\n")
    return 1 if result.status in (Status.NONE, Status.VIOLATING) else 0
