"""Constraint handlers on one CMA-ES: ARCH, and the methods that it is compared with."""

from archeng.handlers.active_set import ActiveSet
from archeng.handlers.arch import Arch, ArchSearch
from archeng.handlers.base import (
    Handler,
    HandlerParts,
    NoOptions,
    Population,
    RepairsMany,
    Search,
    as_it_is,
)
from archeng.handlers.box_penalty import BoxPenalty
from archeng.handlers.lagrangian import AugmentedLagrangian
from archeng.handlers.linear_self_adaptation import LinearSelfAdaptation
from archeng.handlers.matrix_adaptation import MatrixAdaptation
from archeng.handlers.modified_cma import ModifiedCma
from archeng.handlers.one_plus_one import OnePlusOne
from archeng.handlers.orders import EpsilonLexicographic, Lexicographic
from archeng.handlers.rank_based import MultipleConstraintRanking, StochasticRanking
from archeng.handlers.resampling import DeathPenalty, Resampling
from archeng.handlers.xcma import Xcma

__all__ = [
    "ActiveSet",
    "Arch",
    "ArchSearch",
    "AugmentedLagrangian",
    "BoxPenalty",
    "DeathPenalty",
    "EpsilonLexicographic",
    "Handler",
    "HandlerParts",
    "Lexicographic",
    "LinearSelfAdaptation",
    "MatrixAdaptation",
    "ModifiedCma",
    "MultipleConstraintRanking",
    "NoOptions",
    "OnePlusOne",
    "Population",
    "RepairsMany",
    "Resampling",
    "Search",
    "StochasticRanking",
    "Xcma",
    "as_it_is",
]
