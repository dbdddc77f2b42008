"""`Trust`: how far the model is trusted, and what is asked of it next.

Pure: a frozen state and one function that says what follows from the outcome of a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

FIRST_RADIUS = 2.0
"""In standard deviations of the initial distribution."""
_COLLAPSED = 1e-7
_LEAPS = 4
_SHRINK = 0.35  # of the radius, after a random model that fits as well was no better
_COLLAPSE = 0.1  # after a random design was no better, where no model has a better one
_LARGEST = 1e3
_GOOD, _POOR = 0.5, 0.1  # actual over predicted gain
_SMALL = 0.05  # a step this short, relative to the radius, ends inside the trust region


class Mode(IntEnum):
    """What the next proposal is."""

    EXPLOIT = 0  # the minimum of the model in the trust region
    EXPLORE = 1  # the minimum of a random model that fits the data as well
    SAMPLE = 2  # a random design in the trust region
    LEAP = 3  # the minimum of the model anywhere
    WANDER = 4  # the minimum of a random model that fits the data as well, anywhere


@dataclass(frozen=True)
class Trust:
    """Radius of the trust region in the initial frame, and the next mode.

    Attributes
    ----------
    radius : float
    mode : Mode
    failures : int
        Minima of the model in a row that did not improve the objective.
    leaps : int
        Looks elsewhere that found nothing better.
    most_leaps : int
        How many of them there are before the search ends.
    """

    radius: float = FIRST_RADIUS
    mode: Mode = Mode.EXPLOIT
    failures: int = 0
    leaps: int = 0
    most_leaps: int = _LEAPS

    @property
    def collapsed(self) -> bool:
        """Whether the search around the best design has ended."""
        return self.radius < _COLLAPSED

    @property
    def exhausted(self) -> bool:
        """Whether the search elsewhere has ended, too."""
        return self.collapsed and self.leaps >= self.most_leaps


def after(trust: Trust, improved: bool, ratio: float, step: float) -> Trust:
    """Return the state after a proposal was simulated.

    Parameters
    ----------
    trust : Trust
    improved : bool
        Whether it is the best design now.
    ratio : float
        Actual over predicted gain.
    step : float
        Its distance from the centre.
    """
    if trust.mode in (Mode.LEAP, Mode.WANDER):
        return Trust(most_leaps=trust.most_leaps) if improved else _landed(trust)
    small = step < _SMALL * trust.radius
    if trust.mode is not Mode.EXPLOIT:
        factor = 1.0 if improved else (_SHRINK if trust.mode is Mode.EXPLORE else _COLLAPSE)
        return _settled(replace(trust, radius=factor * trust.radius, mode=Mode.EXPLOIT))
    if improved:
        radius = trust.radius
        if ratio > _GOOD:
            radius = max(radius, min(2.5 * step, _LARGEST))
        elif ratio < _POOR and step > radius / 4:
            radius /= 1.5
        mode = Mode.EXPLORE if small else Mode.EXPLOIT
        return replace(trust, radius=radius, mode=mode, failures=0)
    failures = trust.failures + 1
    mode = Mode.EXPLORE if small or failures % 2 == 0 else Mode.EXPLOIT
    radius = trust.radius if small else trust.radius / 2
    return _settled(replace(trust, radius=radius, mode=mode, failures=failures))


def moved(trust: Trust, distance: float) -> Trust:
    """Return the state after others than the model have found a better design at a distance.

    Steps of that length pay, so the trust region is at least as large, but not larger than at
    first.
    """
    radius = min(distance, FIRST_RADIUS)
    if radius <= trust.radius:
        return trust
    return replace(trust, radius=radius, mode=Mode.EXPLOIT, failures=0)


def elsewhere(trust: Trust) -> Trust:
    """Return the state for a look elsewhere while there is little progress; a few times only."""
    if trust.leaps >= (trust.most_leaps if trust.collapsed else _LEAPS):
        return trust
    return replace(trust, mode=Mode.LEAP if trust.leaps == 0 else Mode.WANDER)


def without(trust: Trust) -> Trust:
    """Return the state after a mode had nothing to propose."""
    if trust.mode is Mode.EXPLOIT:
        return replace(trust, mode=Mode.EXPLORE, radius=_SHRINK * trust.radius)
    if trust.mode is Mode.EXPLORE:
        away = elsewhere(trust)
        return away if away is not trust else replace(trust, mode=Mode.SAMPLE)
    if trust.mode is Mode.SAMPLE:
        return _settled(replace(trust, mode=Mode.EXPLOIT, radius=_SHRINK * trust.radius))
    return _landed(trust)


def _landed(trust: Trust) -> Trust:
    """Return the state after a look elsewhere that was not worth it."""
    mode = Mode.WANDER if trust.collapsed else Mode.EXPLOIT
    return replace(trust, mode=mode, leaps=trust.leaps + 1)


def _settled(trust: Trust) -> Trust:
    """Look elsewhere once the trust region has collapsed."""
    return elsewhere(trust) if trust.collapsed else trust
