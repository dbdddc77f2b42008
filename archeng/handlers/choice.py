"""Making the handler that the settings ask for, or saying why it does not suit the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archeng.distribution import Distribution
from archeng.errors import SettingsError
from archeng.handlers.active_set import ActiveSet
from archeng.handlers.arch import Arch, Repairs
from archeng.handlers.assisted import Assisted
from archeng.handlers.base import Handler
from archeng.handlers.box_penalty import BoxPenalty
from archeng.handlers.lagrangian import AugmentedLagrangian
from archeng.handlers.rank_based import MultipleConstraintRanking, StochasticRanking
from archeng.handlers.resampling import Resampling
from archeng.known import Limits
from archeng.model import FeasibleSet
from archeng.repair import Repairer
from archeng.settings import Settings

_WITH_SIMULATOR_EVERYWHERE: dict[str, Callable[[FeasibleSet, Settings], Handler[Any]]] = {
    "al": AugmentedLagrangian,
    "mcr": MultipleConstraintRanking,
    "stochastic-ranking": StochasticRanking,
}


def make_handler(
    repairer: Repairer,
    team: Repairs,
    settings: Settings,
    wide: Distribution,
    limits: Limits | None = None,
) -> Handler[Any]:
    """Return the handler of the settings.

    ``wide`` is the initial search distribution, around any mean; ``limits`` are those of the
    simulated constraints.

    Raises
    ------
    SettingsError
        If it cannot handle the rows of the model or simulated constraints, or would simulate
        designs that violate explicit ones without ``simulator_defined_everywhere=True``.
    """
    fs, name = repairer.feasible_set, settings.handler
    if limits and name not in ("arch", "arch-nearest"):
        raise SettingsError(
            f"handler={name!r} knows nothing of simulated constraints ({', '.join(limits.names)}); "
            'use "arch".'
        )
    if name in _WITH_SIMULATOR_EVERYWHERE:
        if not settings.simulator_defined_everywhere:
            raise SettingsError(
                f"handler={name!r} simulates designs that violate constraints. If your simulator "
                "is defined everywhere, say so: Settings(simulator_defined_everywhere=True, ...). "
                'Otherwise use "arch", which never does.'
            )
        return _WITH_SIMULATOR_EVERYWHERE[name](fs, settings)
    if name in ("resampling", "death-penalty"):
        _refuse_equalities(fs, name)
        limit = settings.handler_options.get("max_samples", 500) if name == "resampling" else None
        return Resampling(fs, settings, limit)
    if name == "ap-bch":
        _refuse_all_but_bounds(fs, name)
        return BoxPenalty(fs, settings)
    if name == "active-set-es":
        return ActiveSet(repairer)
    arch = Arch(repairer, team, settings, limits)
    if name != "arch" or settings.surrogate == "none":
        return arch
    return Assisted(arch, repairer, settings, limits or Limits(), wide)


def _refuse_equalities(fs: FeasibleSet, name: str) -> None:
    for row in fs.rows:
        if row.equality:
            raise SettingsError(
                f"handler={name!r} waits for samples that are feasible by chance, and none "
                f'satisfies the equality {row}; use "arch".'
            )


def _refuse_all_but_bounds(fs: FeasibleSet, name: str) -> None:
    if fs.m > len(fs.bounded):
        row = fs.rows[len(fs.bounded)]
        raise SettingsError(
            f"handler={name!r} handles bounds of variables only, but the model has the "
            f'{row.kind.value} constraint {row}; use "arch".'
        )
