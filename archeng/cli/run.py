"""``archeng run`` and ``archeng resume``: a study, from the command line."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from archeng.cli import flags
from archeng.cli.output import check_place, result_data, write, write_json
from archeng.cli.study_file import StudyFile
from archeng.cli.study_import import OpenStudy, opened
from archeng.cli.targets import journal_of, study_beside, study_or_file
from archeng.errors import JournalError, SimulatorError, StudyFileError
from archeng.journal import Journal, opened_journal
from archeng.model import Model, as_model
from archeng.options import LIMIT_NAMES, OPTION_NAMES, OPTIONS, RESUME_NAMES, OnResume
from archeng.result import Result, Status
from archeng.runner import resume as resume_run
from archeng.runner import solve
from archeng.settings import Settings
from archeng.strategy import StopReason

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

_FREE = tuple(o.name for o in OPTIONS.values() if o.on_resume is OnResume.FREE)
_FIXED = tuple(o.name for o in OPTIONS.values() if o.on_resume is OnResume.FIXED)


@flags.command(
    "run",
    """\
  archeng run                                the study in this folder
  archeng run --workers 4 --max-evaluations 500
  archeng run --parameter load=15e3 --parameter angles=0,30,60
  archeng run --force                        begin anew; the old journal is kept
  archeng run study.py --journal run.db      a single Python file instead of a folder
  archeng run --json --quiet | jq .objective
""",
)
@flags.target("study")
@flags.from_the_table(OPTIONS[name] for name in OPTION_NAMES)
@flags.switch(
    "--force", help="Begin anew although there is a journal; it is kept under another name."
)
@flags.of_a_run
def run(
    study: str | None,
    object_name: str | None,
    force: bool,
    output: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Solve a study.

    STUDY is a folder with study.toml, or a Python file that defines `model`, `simulator` and, if
    wanted, `options` (keywords of archeng.solve). What is typed here goes before what it says.
    """
    check_place("--output", output)
    target = study_or_file(study, "run")
    given = {**flags.typed(options), "verbose": not quiet}
    with opened(target, object_name) as parts:
        keywords = {**parts.options, **given}
        if "parameters" in keywords:
            keywords["parameters"] = parts.parameters(given.get("parameters"))
        journal, again = keywords.get("journal"), ""
        if journal is not None:
            beside = isinstance(target, StudyFile) and options["journal"] is None
            words = [] if study is None else [study]
            words = words if beside else [str(journal), *(words or ["."])]
            again = f"`{' '.join(['archeng resume', *words])}`"
            make_free(Path(journal), again, force)
        with _own_workers(parts, given) as more, _naming(again):
            result = solve(parts.model, parts.simulator, **{**keywords, **more})
    return _tell(result, journal, again, output, as_json)


@flags.command(
    "resume",
    """\
  archeng resume                             the study in this folder
  archeng resume --max-evaluations 1000      and for longer
  archeng resume run.db study.py             a journal and a single Python file
""",
)
@flags.target("journal")
@flags.target("study")
@flags.from_the_table(OPTIONS[name] for name in RESUME_NAMES)
@flags.of_a_run
def resume(
    journal: str | None,
    study: str | None,
    object_name: str | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Go on with a run that was stopped, or that died.

    Exactly: nothing that had finished is simulated again. Limits that are typed, or that study.toml
    has, replace those of the journal. JOURNAL is a study's folder, its study.toml, or a journal;
    after a journal, STUDY is the study with its simulator.
    """
    check_place("--output", output)
    file, target = _what_to_resume(journal, study)
    keywords = {**flags.typed(options), "verbose": not quiet}
    again = "the same command"
    with contextlib.ExitStack() as stack:
        stack.enter_context(_naming(again))
        if target is None:
            return _tell(resume_run(file, **keywords), file, again, output, as_json)
        parts = stack.enter_context(opened(target, object_name))
        own, model = dict(parts.options), parts.model
        if isinstance(model, Model):
            model = parts.with_parameters()
        arguments = {k: v for k, v in own.items() if k not in OPTIONS}
        if arguments:  # such as the bounds of an nlp dictionary
            model = as_model(model, objective=parts.simulator is None, **arguments)
        names = _FREE
        if isinstance(target, StudyFile):
            names = (*_FREE, *LIMIT_NAMES)
            _check_same(file, target.options)
        keywords = {**{k: own[k] for k in names if k in own}, **keywords}
        more = stack.enter_context(_own_workers(parts, keywords))
        result = resume_run(file, parts.simulator, model=model, **{**keywords, **more})
    return _tell(result, file, again, output, as_json)


@contextlib.contextmanager
def _own_workers(study: OpenStudy, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Start the workers that a function of the study makes, unless others are asked for."""
    if given.get("workers") is not None:
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


def _what_to_resume(journal: str | None, study: str | None) -> tuple[Path, StudyFile | Path | None]:
    """Return the journal and, if there is one, the study that has its simulator."""
    first = study_or_file(journal, "resume")
    if isinstance(first, StudyFile):
        if study is not None:
            raise StudyFileError(
                f"resume takes a study, or a journal and a study; {journal} is a study."
            )
        return journal_of(journal, "resume").absolute(), first
    if study is not None:
        return first, study_or_file(study, "resume")
    return first, study_beside(first)


def _check_same(journal: Path, options: Mapping[str, Any]) -> None:
    """Compare a study file with the journal that it is to go on with.

    Raises
    ------
    JournalError
        If limits of simulated constraints or settings have changed. What the command line can
        change as well is only noted: the journal counts.
    """
    with opened_journal(journal) as reader:
        header = reader.header()
        stored = {**header["options"], "seed": header["seed"]}
        settings = Settings.from_stored(header["settings"])
        limits = {k: tuple(v) for k, v in (stored.get("simulated") or {}).items()}
    changed = []
    if limits != dict(options.get("simulated", {})):
        changed.append("[simulated]")
    if settings != options.get("settings", Settings()):
        changed.append("[settings]")
    if changed:
        raise JournalError(
            f"{' and '.join(changed)} of the study changed since {journal.name} was begun, so that "
            "run cannot go on. Change it back, or begin a new run: `archeng run --force`."
        )
    for key in _FIXED:
        if key in stored and key != "simulated" and options.get(key, stored[key]) != stored[key]:
            sys.stderr.write(
                f"archeng: note: the run goes on with {key} = {stored[key]} of its journal, not "
                f"with {options[key]} of the study\n"
            )


def _tell(result: Result, journal: Any, again: str, output: str | None, as_json: bool) -> int:
    """Show and save a result; return the exit code."""
    if output is not None:
        result.save(output)
    if as_json:
        write_json(result_data(result, journal))
    else:
        write(f"{result}")
    if result.stop_reason is StopReason.INTERRUPTED:
        if journal is not None:
            sys.stderr.write(f"archeng: {again} goes on with it\n")
        return INTERRUPTED
    return 1 if result.status in (Status.NONE, Status.VIOLATING) else 0


# -- a journal is never overwritten -----------------------------------------------------------


def make_free(journal: Path, again: str, force: bool) -> None:
    """Raise if a run cannot begin with this journal; with ``force`` move an old one aside.

    ``again`` is what to type to go on with the old run.

    Raises
    ------
    JournalError
        The file exists, and is no journal or may not be moved; it says what to do.
    """
    if not journal.exists() or (journal.is_file() and journal.stat().st_size == 0):
        return
    try:
        with contextlib.closing(Journal.read(journal)) as reader:
            calls = sum(reader.count().values())
    except JournalError as error:
        raise JournalError(
            f"{error} It is not overwritten: choose another file with --journal."
        ) from error
    if not force:
        raise JournalError(
            f"{journal}: exists already, with {calls} calls. {again} goes on with it. --force "
            "begins anew and keeps the old journal under another name. --journal FILE writes to "
            "another file."
        )
    kept = _move(journal)
    sys.stderr.write(f"archeng: the old journal is kept as {kept}\n")


def _move(journal: Path) -> Path:
    """Rename a journal that nobody writes to ``run.1.db``, or the next free number."""
    file = journal.resolve()
    Journal.resume(file).close()  # nobody runs with it, and everything is in the one file
    for number in itertools.count(1):
        kept = file.with_name(f"{file.stem}.{number}{file.suffix}")
        if kept.exists():
            continue
        try:
            os.link(file, kept)  # unlike rename, it never replaces anything
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            file.rename(kept)
        else:
            file.unlink()
        break
    return journal.with_name(kept.name)
