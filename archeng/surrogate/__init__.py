"""Models of the objective: where the next simulation is likely to pay."""

from archeng.surrogate.data import Frame, frame_at
from archeng.surrogate.evidence import Optimality, best_evidence
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
    "Frame",
    "Kind",
    "Local",
    "LocalSearch",
    "Mode",
    "Optimality",
    "Proposal",
    "Proposer",
    "Selection",
    "Trust",
    "after",
    "best_evidence",
    "elsewhere",
    "frame_at",
    "gradients",
    "moved",
    "multipliers",
]
