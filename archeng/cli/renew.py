"""A journal is never overwritten: the old one is kept under another name, if the user says so."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from archeng.errors import JournalError
from archeng.journal import Journal


def make_free(journal: Path, again: str, force: bool) -> None:
    """Raise if a run cannot begin with this journal; with ``force`` move an old one aside.

    Parameters
    ----------
    journal : Path
    again : str
        What to type to go on with the old run.
    force : bool

    Raises
    ------
    JournalError
        The file exists, and is no journal or may not be moved; it says what to do.
    """
    if not journal.exists() or (journal.is_file() and journal.stat().st_size == 0):
        return
    calls = _calls(journal)
    if not force:
        raise JournalError(
            f"{journal}: exists already, with {calls} calls. {again} goes on with it. --force "
            "begins anew and keeps the old journal under another name. --journal FILE writes to "
            "another file."
        )
    kept = _move(journal)
    sys.stderr.write(f"archeng: the old journal is kept as {kept}\n")


def _calls(journal: Path) -> int:
    try:
        reader = Journal.read(journal)
    except JournalError as error:
        raise JournalError(
            f"{error} It is not overwritten: choose another file with --journal."
        ) from error
    with contextlib.closing(reader):
        return sum(reader.count().values())


def _move(journal: Path) -> Path:
    """Rename a journal that nobody writes to ``run.1.db``, or the next free number."""
    file = journal.resolve()
    Journal.resume(file).close()  # nobody runs with it, and everything is in the one file
    number = 1
    while True:
        kept = file.with_name(f"{file.stem}.{number}{file.suffix}")
        try:
            os.link(file, kept)  # unlike rename, it never replaces anything
        except FileExistsError:
            number += 1
            continue
        except OSError:  # a file system without links
            if kept.exists():
                number += 1
                continue
            file.rename(kept)
            return journal.with_name(kept.name)
        file.unlink()
        return journal.with_name(kept.name)
