"""Models of the objective: where the next simulation is likely to pay."""

from archeng.surrogate.assisted import Assisted, clipped
from archeng.surrogate.data import Frame, frame_at
from archeng.surrogate.estimates import Estimates, best_estimated
from archeng.surrogate.evidence import Neighbourhood, Optimality, best_evidence
from archeng.surrogate.mixed.closing import mixed_evidence
from archeng.surrogate.mixed.search import MixedAssisted
from archeng.surrogate.noisy import NoisyState
from archeng.surrogate.relocation import Relocation
from archeng.surrogate.rounds import AssistedSearch
from archeng.surrogate.sensitivity import Gradients, gradients, multipliers

__all__ = [
    "Assisted",
    "AssistedSearch",
    "Estimates",
    "Frame",
    "Gradients",
    "MixedAssisted",
    "Neighbourhood",
    "NoisyState",
    "Optimality",
    "Relocation",
    "best_estimated",
    "best_evidence",
    "clipped",
    "frame_at",
    "gradients",
    "mixed_evidence",
    "multipliers",
]
