"""The run: the only thing that changes state."""

from archeng.runner.candidates import Candidate
from archeng.runner.run import Run
from archeng.runner.solve import resume, sample_feasible, solve

__all__ = ["Candidate", "Run", "resume", "sample_feasible", "solve"]
