"""`Account`: what a result is made of, from a run or from the journal of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archeng.distribution import Distribution, Floats
from archeng.model import FeasibleSet
from archeng.records import Generation
from archeng.runner.archive import Archive
from archeng.runner.options import Options
from archeng.settings import Settings
from archeng.strategy import StopReason


@dataclass(frozen=True, eq=False)
class Account:
    """A run as it stands.

    Attributes
    ----------
    wide : Distribution
        The initial search distribution.
    ended : sequence of StopReason
        Of the restarts that have ended.
    places : sequence of ndarray, shape (2, n)
        Where each restart stood when it ended, and where the present one stands: its feasible
        point, and its mean.
    """

    feasible_set: FeasibleSet
    archive: Archive
    options: Options
    settings: Settings
    seed: int
    history: Sequence[Generation]
    stop_reason: StopReason
    wide: Distribution
    n_restarts: int
    ended: Sequence[StopReason]
    places: Sequence[Floats]
