"""The journal: a run on disk, call by call, so that a crash loses nothing."""

from archeng.journal.store import (
    Journal,
    StoredCall,
    finished_designs,
    has_log,
    is_still,
    is_written,
    readable,
)

__all__ = [
    "Journal",
    "StoredCall",
    "finished_designs",
    "has_log",
    "is_still",
    "is_written",
    "readable",
]
