"""Checksums of rows: what comes out of the file is what was written."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archeng.errors import JournalError


def checksum(*values: Any) -> int:
    """Return a number that changes with every single bit of the values (CRC-32).

    Values are what SQLite gives back: int, float, str, bytes or None.
    """
    return zlib.crc32(repr(values).encode("utf-8", "backslashreplace"))


def verified(file: Path, table: str, named: str, row: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a row, whose last one is its checksum.

    Rows of files that earlier versions wrote have none (None), and are taken as they are.
    ``named`` says what the first values are, by which the row is known.

    Raises
    ------
    JournalError
        If the values are not those that were written; it names the row.
    """
    *values, stored = row
    if stored is not None and stored != checksum(*values):
        key = ", ".join(str(value) for value in values[: len(named.split(" and "))])
        where = f"table {table}, {named} {key}" if named else f"table {table}"
        raise JournalError(
            f"{file}: the file is damaged: a row is not what was written ({where}). Use a copy "
            "from before the damage."
        )
    return values
