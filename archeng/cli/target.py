"""What an argument of a command stands for: a study's folder, its files, or a journal."""

from __future__ import annotations

from pathlib import Path

from archeng.cli.study_file import FILE, StudyFile, read_study
from archeng.errors import StudyFileError

_JOURNALS = ("*.db", "*.sqlite", "*.sqlite3")


def study_or_file(argument: str | None, command: str) -> StudyFile | Path:
    """Return the study of a folder or of a ``study.toml``, or the path of another file.

    Parameters
    ----------
    argument : str or None
        As typed; None is the present folder.
    command : str
        That was typed, for the message.

    Raises
    ------
    StudyFileError
        If there is no study, or its file is wrong.
    """
    path = Path(argument or ".")
    if path.is_dir():
        if not (path / FILE).is_file():
            raise StudyFileError(_no_study(argument, path, command))
        return read_study(path / FILE)
    return read_study(path) if path.suffix == ".toml" else path


def journal_of(argument: str | None, command: str) -> Path:
    """Return the journal of a study, or the journal itself.

    Raises
    ------
    StudyFileError
        If there is no study, or it has no journal yet.
    """
    target = study_or_file(argument, command)
    if isinstance(target, Path):
        return target
    if not target.journal.exists():
        raise StudyFileError(
            f"{_short(target.journal)}: this study has no journal yet; `archeng run` begins one."
        )
    return _short(target.journal)


def study_beside(journal: Path) -> StudyFile | None:
    """Return the study of the folder that a journal is in, if it is the study's journal."""
    if not (journal.parent / FILE).is_file():
        return None
    study = read_study(journal.parent / FILE)
    return study if study.journal.resolve() == journal.resolve() else None


def how_to_resume(journal: Path, own_objective: bool) -> str:
    """Return what goes on with the run of a journal; of a script's the script has to.

    ``own_objective``: the model's own objective was optimised, there is no simulator.
    """
    try:
        beside = study_beside(journal) is not None
    except StudyFileError:
        beside = True
    shown = _short(journal.resolve())
    if beside or own_objective:
        return f"`archeng resume {shown}`"
    return (
        f"archeng.resume({str(shown)!r}, simulator), or `archeng resume {shown} FILE.py` with the "
        "file of its simulator,"
    )


def _no_study(argument: str | None, folder: Path, command: str) -> str:
    where = "here" if argument is None else f"in {argument}"
    text = f"There is no {FILE} {where}."
    journals = sorted(p.name for kind in _JOURNALS for p in folder.glob(kind))
    if journals and command not in ("run", "check"):
        shown = journals[0] if argument is None else str(Path(argument) / journals[0])
        return f"{text} For a journal say `archeng {command} {shown}`."
    return f"{text} Make a study with `archeng new my_study`, or name a study's folder or file."


def _short(path: Path) -> Path:
    """Return a path relative to the present folder if it is in it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
