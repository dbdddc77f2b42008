"""The run: the only thing that changes state."""

from archeng.runner.generation import Candidate
from archeng.runner.reading import JournalReader, read_journal
from archeng.runner.run import Run
from archeng.runner.solve import resume, sample_feasible, solve

__all__ = [
    "Candidate",
    "JournalReader",
    "Run",
    "read_journal",
    "resume",
    "sample_feasible",
    "solve",
]
