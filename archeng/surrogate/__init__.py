"""Models of the objective: where the next simulation is likely to pay."""

from archeng.surrogate.data import Frame
from archeng.surrogate.guards import Guards
from archeng.surrogate.proposer import Proposal, Proposer, Selection
from archeng.surrogate.sensitivity import gradients, multipliers
from archeng.surrogate.trust import Mode, Trust, after, elsewhere, moved

__all__ = [
    "Frame",
    "Guards",
    "Mode",
    "Proposal",
    "Proposer",
    "Selection",
    "Trust",
    "after",
    "elsewhere",
    "gradients",
    "moved",
    "multipliers",
]
