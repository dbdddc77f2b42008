"""The run: the only thing that changes state."""

from archeng.runner.generation import Candidate
from archeng.runner.reading import JournalReader, read_journal
from archeng.runner.run import Run
from archeng.runner.solve import resume, sample_feasible, solve
from archeng.runner.sweep import Sweep, sweep

__all__ = [
    "Candidate",
    "JournalReader",
    "Run",
    "Sweep",
    "read_journal",
    "resume",
    "sample_feasible",
    "solve",
    "sweep",
]
