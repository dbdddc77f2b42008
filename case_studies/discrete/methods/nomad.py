"""NOMAD 4 with integer inputs and the extreme barrier: f is called at feasible designs only.

Set-up. As in the comparison of continuous problems; discrete variables are integer inputs, the
numbers of levels, categories among them. It begins at feasible designs.
"""

from __future__ import annotations

from case_studies.discrete.trial import Trial
from case_studies.peers.adapters.nomad import extreme_barrier


def solve(trial: Trial) -> None:
    """Run it from one start after the other."""
    kinds = " ".join("I" if discrete else "R" for discrete in trial.discrete)
    extreme_barrier(trial, f"BB_INPUT_TYPE ( {kinds} )")
