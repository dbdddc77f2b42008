"""The journal: a run on disk, call by call, so that a crash loses nothing."""

from archeng.journal.database import StoredCall, is_database
from archeng.journal.earlier import finished_designs
from archeng.journal.lock import is_written
from archeng.journal.store import (
    Journal,
    has_log,
    is_still,
    opened_journal,
    readable,
)

__all__ = [
    "Journal",
    "StoredCall",
    "finished_designs",
    "has_log",
    "is_database",
    "is_still",
    "is_written",
    "opened_journal",
    "readable",
]
