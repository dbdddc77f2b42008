"""The constraint handlers by name, and making the one that the settings ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from archeng.distribution import Distribution
from archeng.errors import SettingsError
from archeng.handlers import (
    ActiveSet,
    Arch,
    AugmentedLagrangian,
    BoxPenalty,
    DeathPenalty,
    EpsilonLexicographic,
    Handler,
    HandlerParts,
    Lexicographic,
    LinearSelfAdaptation,
    MatrixAdaptation,
    ModifiedCma,
    MultipleConstraintRanking,
    OnePlusOne,
    RepairsMany,
    Resampling,
    StochasticRanking,
    Xcma,
)
from archeng.model import FeasibleSet
from archeng.outcomes import Limits
from archeng.repair import Repairer
from archeng.settings import Settings
from archeng.surrogate import Assisted, MixedAssisted, Relocation

_NAMED = 4  # discrete variables that a message names


def _arch(parts: HandlerParts) -> Handler[Any]:
    if parts.settings.surrogate == "none":
        return Arch(parts)
    if "alike" in parts.settings.handler_options:
        return Relocation(parts)
    discrete = parts.repairer.feasible_set.lattice is not None
    return MixedAssisted(parts) if discrete else Assisted(parts)


HANDLERS: Mapping[str, Callable[[HandlerParts], Handler[Any]]] = {
    "arch": _arch,
    "arch-nearest": Arch,
    "resampling": Resampling,
    "death-penalty": DeathPenalty,
    "ap-bch": BoxPenalty,
    "active-set-es": ActiveSet,
    "one-plus-one-ach": OnePlusOne,
    "xcma-es-ach": Xcma,
    "mu-lambda-ach": ModifiedCma,
    "al": AugmentedLagrangian,
    "mcr": MultipleConstraintRanking,
    "stochastic-ranking": StochasticRanking,
    "lccmsa-es": LinearSelfAdaptation,
    "ma-es-ach": MatrixAdaptation,
    "lexicographic": Lexicographic,
    "epsilon-lexicographic": EpsilonLexicographic,
}
"""What makes each handler. They check their options and whether they suit the model themselves."""

DISCRETE = tuple(
    name
    for name, make in HANDLERS.items()
    if make is _arch or getattr(make, "handles_discrete", False)
)
"""Handlers that can search over discrete variables: their repair ends at levels."""


def make_handler(
    repairer: Repairer,
    team: RepairsMany,
    settings: Settings,
    wide: Distribution,
    limits: Limits | None = None,
    **more: Any,
) -> Handler[Any]:
    """Return the handler of the settings.

    ``wide`` is the initial search distribution, around any mean; ``limits`` are those of the
    simulated constraints; ``more`` is what else `HandlerParts` may have.

    Raises
    ------
    SettingsError
        If it cannot handle the rows of the model, its discrete variables or simulated constraints,
        or would simulate designs that violate explicit ones without
        ``simulator_defined_everywhere=True``, or has other options.
    """
    limits = limits or Limits()
    _refuse_discrete(repairer.feasible_set, settings.handler)
    parts = HandlerParts(repairer, team, settings, wide, limits, **more)
    handler = HANDLERS[settings.handler](parts)
    if parts.asynchronous and not handler.asynchronous:
        raise SettingsError(
            f"handler={settings.handler!r} learns from whole generations only; asynchronous=True "
            'needs "arch".'
        )
    if settings.metric == "diagonal":
        _refuse_diagonal(repairer.feasible_set, handler, settings.handler, wide)
    if limits and not handler.handles_simulated:
        raise SettingsError(
            f"handler={settings.handler!r} knows nothing of simulated constraints "
            f'({", ".join(limits.names)}); use "arch".'
        )
    if handler.outside and not settings.simulator_defined_everywhere:
        raise SettingsError(
            f"handler={settings.handler!r} simulates designs that violate constraints. If your "
            "simulator is defined everywhere, say so: Settings(simulator_defined_everywhere=True, "
            '...). Otherwise use "arch", which never does.'
        )
    return handler


def _refuse_diagonal(fs: FeasibleSet, handler: Handler[Any], name: str, wide: Distribution) -> None:
    """Raise if no diagonal metric is learned, or if one would forget the correlations asked for."""
    if np.count_nonzero(wide.factor) > wide.n:
        raise SettingsError(
            'metric="diagonal" has no correlations, and those of sigma would be lost; use '
            'metric="full", or deviations as sigma.'
        )
    if fs.lattice is not None:
        raise SettingsError(
            'metric="diagonal" is for models whose variables are all real numbers; use "auto".'
        )
    if not handler.handles_diagonal:
        raise SettingsError(
            f'metric="diagonal" is not learned by handler={name!r} with these options; use '
            'metric="auto".'
        )


def _refuse_discrete(fs: FeasibleSet, name: str) -> None:
    """Raise if a model has discrete variables and the handler knows nothing of levels."""
    if fs.lattice is None or name in DISCRETE:
        return
    discrete = [fs.free_names[i] for i in fs.lattice.positions]
    named = ", ".join(discrete[:_NAMED]) + (", ..." if len(discrete) > _NAMED else "")
    raise SettingsError(
        f"handler={name!r} knows nothing of discrete variables, and the model has some ({named}); "
        f"use {' or '.join(repr(handler) for handler in DISCRETE)}."
    )
