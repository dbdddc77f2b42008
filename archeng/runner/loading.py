"""Filling a ledger with the calls and generations of a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from archeng.codec import decode
from archeng.errors import JournalError
from archeng.journal import StoredCall
from archeng.ledger import Ledger
from archeng.records import Generation


def load(
    ledger: Ledger,
    path: Path,
    generations: Iterable[Mapping[str, Any]],
    calls: Iterable[StoredCall],
    finished: int,
) -> list[dict[str, Any]]:
    """Take the ``finished`` generations of a journal and their calls; others are ``unfinished``.

    Returns
    -------
    list of dict
        What was stored with each generation beside its record.

    Raises
    ------
    JournalError
        If rows are missing.
    """
    names = {f.name for f in fields(Generation)}
    more = []
    for row in generations:
        own = {key: value for key, value in row.items() if key in names}
        more.append({key: value for key, value in row.items() if key not in names})
        ledger.generations.append(decode(Generation, own))
    for stored in calls:
        if stored.call.generation < finished:
            ledger.add(stored.call)
        else:
            ledger.unfinished[stored.position] = stored.call
    made = ledger.generations[-1].evaluations if ledger.generations else 0
    if len(ledger.generations) != finished or made != ledger.n_calls:
        raise JournalError(f"{path}: the file is damaged (rows are missing).")
    return more
