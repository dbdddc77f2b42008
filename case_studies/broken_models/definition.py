"""What one broken model consists of: how to build it, the mistake, and what must be named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archeng.model import Model


@dataclass(frozen=True, eq=False)
class Broken:
    """A small design model with one mistake planted in it.

    Attributes
    ----------
    kind : str
        ``pair``, ``cycle``, ``equation``, ``units`` or ``domain``.
    mistake : str
        What was done to the healthy model.
    build : callable
        ``build(True)`` returns the broken model, ``build(False)`` the healthy one.
    planted : frozenset of str
        Constraints that the diagnosis must name: the conflict as it was planted.
    partners : frozenset of str
        Bounds and rows without which there would be no conflict either, or that can take the
        place of one another in it. Naming them is right; naming anything else is not.
    """

    kind: str
    mistake: str
    build: Callable[[bool], Model]
    planted: frozenset[str]
    partners: frozenset[str] = frozenset()
