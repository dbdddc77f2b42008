"""The run: the only thing that changes state."""

from archeng.runner.run import Candidate, Run
from archeng.runner.solve import sample_feasible, solve

__all__ = ["Candidate", "Run", "sample_feasible", "solve"]
