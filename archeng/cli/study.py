"""``archeng run`` and ``archeng resume``: a study, from the command line."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from archeng.cli.open_study import OpenStudy, opened
from archeng.cli.plain import result_data, write_json
from archeng.cli.renew import make_free
from archeng.cli.study_file import StudyFile
from archeng.cli.target import study_beside, study_or_file
from archeng.errors import JournalError, SettingsError, SimulatorError, StudyFileError
from archeng.journal import Journal, readable
from archeng.model import as_model
from archeng.plain_text import visible
from archeng.result import Result, Status
from archeng.runner import resume, solve
from archeng.settings import Settings
from archeng.strategy import StopReason

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def run(options: argparse.Namespace) -> int:
    """Solve the study of a folder or of a Python file."""
    _check_output(options.output)
    target = study_or_file(options.study, "run")
    with opened(target, options.object) as study:
        given = {**_given(options, _RUN_OPTIONS), **_runtime(options)}
        keywords = {**study.options, **given}
        again = ""
        if keywords.get("journal") is not None:
            again = _resume_command(target, options, Path(keywords["journal"]))
            make_free(Path(keywords["journal"]), again, options.force)
        with _own_workers(study, options) as more, _naming(again):
            result = solve(study.model, study.simulator, **{**keywords, **more})
        return _report(result, options, keywords.get("journal"), again)


def go_on(options: argparse.Namespace) -> int:
    """Resume the run of a journal with the simulator of a study."""
    _check_output(options.output)
    journal, target = _what_to_resume(options)
    keywords = {**_given(options, _LIMITS), **_runtime(options)}
    keywords["retry_failed"] = options.retry_failed
    if target is None:
        with _naming("the same command"):
            return _report(resume(journal, **keywords), options, journal, "the same command")
    with opened(target, options.object) as study:
        own, model = dict(study.options), study.model
        arguments = {k: v for k, v in own.items() if k not in _SOLVE}
        if arguments:  # such as the bounds of an nlp dictionary
            model = as_model(model, objective=study.simulator is None, **arguments)
        taken: tuple[str, ...] = (*_RUNTIME, "simulator_takes", "reuse")
        if isinstance(target, StudyFile):
            taken = (*taken, *_LIMITS)
            _check_same(journal, target.options)
        keywords = {**{k: own[k] for k in taken if k in own}, **keywords}
        with _own_workers(study, options) as more, _naming("the same command"):
            result = resume(journal, study.simulator, model=model, **{**keywords, **more})
        return _report(result, options, journal, "the same command")


_SOLVE = set(inspect.signature(solve).parameters)
_LIMITS = ("max_evaluations", "max_time", "target")
_RUN_OPTIONS = (*_LIMITS, "seed", "restarts", "population_size", "sense", "journal", "reuse")
_RUNTIME = ("workers", "timeout", "retries", "max_failures", "on_failure")
_FIXED = ("seed", "sense", "restarts", "population_size")


@contextlib.contextmanager
def _own_workers(study: OpenStudy, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Start the workers that a function of the study makes, unless others are asked for."""
    if options.workers is not None:
        yield {}
        return
    with study.workers as workers:
        yield {} if workers is None else {"workers": workers}


@contextlib.contextmanager
def _naming(again: str) -> Iterator[None]:
    """Add to an error of the simulator what to type once it is mended, if there is a journal."""
    try:
        yield
    except SimulatorError as error:
        if again and error.evaluations:
            error.args = (
                f"{error}\nOnce it is mended, {again} goes on with the run; --retry-failed "
                "simulates the failed calls of the last generation again.",
            )
        raise


def _resume_command(target: StudyFile | Path, options: argparse.Namespace, journal: Path) -> str:
    """Return what to type to go on with a run."""
    typed = "" if options.study is None else f" {options.study}"
    if isinstance(target, StudyFile) and options.journal is None:
        return f"`archeng resume{typed}`"
    return f"`archeng resume {journal}{typed or ' .'}`"


def _what_to_resume(options: argparse.Namespace) -> tuple[Path, StudyFile | Path | None]:
    """Return the journal and, if there is one, the study that has its simulator."""
    first = study_or_file(options.journal, "resume")
    if isinstance(first, StudyFile):
        if options.study is not None:
            raise StudyFileError(
                f"resume takes a study, or a journal and a study; {options.journal} is a study."
            )
        if not first.journal.exists():
            raise StudyFileError(
                f"{first.journal}: this study has no journal yet; `archeng run` begins one."
            )
        return first.journal, first
    if options.study is not None:
        return first, study_or_file(options.study, "resume")
    return first, study_beside(first)


def _check_same(journal: Path, options: Mapping[str, Any]) -> None:
    """Compare a study file with the journal that it is to go on with.

    Raises
    ------
    JournalError
        If limits of simulated constraints or settings have changed. What the command line can
        change as well is only noted: the journal counts.
    """
    reader = Journal.read(journal)
    try:
        with readable(journal):
            header = reader.header()
            stored = {**header["options"], "seed": header["seed"]}
            settings = asdict(Settings(**header["settings"]))
            limits = {k: tuple(v) for k, v in (stored.get("simulated") or {}).items()}
    finally:
        reader.close()
    changed = []
    if limits != dict(options.get("simulated", {})):
        changed.append("[simulated]")
    if settings != asdict(options.get("settings", Settings())):
        changed.append("[settings]")
    if changed:
        raise JournalError(
            f"{' and '.join(changed)} of the study changed since {journal.name} was begun, so that "
            "run cannot go on. Change it back, or begin a new run: `archeng run --force`."
        )
    for key in _FIXED:
        if key in options and options[key] != stored[key]:
            sys.stderr.write(
                f"archeng: note: the run goes on with {key} = {stored[key]} of its journal, not "
                f"with {options[key]} of the study\n"
            )


def _given(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """Options that the user typed; the others keep the study's or the library's default."""
    found = {name: getattr(options, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _runtime(options: argparse.Namespace) -> dict[str, Any]:
    return {**_given(options, _RUNTIME), "verbose": not options.quiet}


def _check_output(path: str | None) -> None:
    """Raise before the run, not after it, if the result cannot be saved there."""
    if path is not None and (Path(path).is_dir() or not Path(path).resolve().parent.is_dir()):
        raise SettingsError(f"--output {path}: there is no such directory, or it is one.")


def _report(result: Result, options: argparse.Namespace, journal: Any, again: str) -> int:
    if options.output is not None:
        result.save(options.output)
    if options.json:
        write_json(result_data(result, journal))
    else:
        sys.stdout.write(visible(f"{result}\n"))
    if result.stop_reason is StopReason.INTERRUPTED:
        if journal is not None:
            sys.stderr.write(f"archeng: {again} goes on with it\n")
        return INTERRUPTED
    return 1 if result.status in (Status.NONE, Status.VIOLATING) else 0
