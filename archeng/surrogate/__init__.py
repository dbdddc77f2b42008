"""Models of the objective: where the next simulation is likely to pay."""

from archeng.surrogate.data import Frame
from archeng.surrogate.evidence import Evidence, best_evidence
from archeng.surrogate.local import (
    CLOSING,
    FIRST_RADIUS,
    FIRST_RESOLUTION,
    Ended,
    Kind,
    Local,
    LocalSearch,
)
from archeng.surrogate.proposer import Proposal, Proposer, Selection
from archeng.surrogate.sensitivity import gradients, multipliers
from archeng.surrogate.trust import Mode, Trust, after, elsewhere, moved

__all__ = [
    "CLOSING",
    "FIRST_RADIUS",
    "FIRST_RESOLUTION",
    "Ended",
    "Evidence",
    "Frame",
    "Kind",
    "Local",
    "LocalSearch",
    "Mode",
    "Proposal",
    "Proposer",
    "Selection",
    "Trust",
    "after",
    "best_evidence",
    "elsewhere",
    "gradients",
    "moved",
    "multipliers",
]
