"""`Trust`: how far the model is believed within a round, and what is proposed next.

Pure: a frozen state, and functions that say what follows from the outcome of a proposal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from archeng.surrogate import constants as c


class ProposalKind(StrEnum):
    """What the next proposal is."""

    EXPLOIT = "exploit"  # the minimum of the model in the trust region
    EXPLORE = "explore"  # the minimum of a random model that fits the data as well
    SAMPLE = "sample"  # a random design in the trust region
    LEAP = "leap"  # the minimum of the model anywhere
    WANDER = "wander"  # the minimum of a random model that fits the data as well, anywhere


@dataclass(frozen=True)
class Trust:
    """The trust region, and the kind of the next proposal."""

    radius: float = c.TRUST_FIRST  # in deviations of the initial search distribution
    kind: ProposalKind = ProposalKind.EXPLOIT
    failures: int = 0  # minima of the model in a row that did not improve the objective
    leaps: int = 0  # proposals anywhere that were not better
    most_leaps: int = c.LEAPS  # how many of them there are before the search ends

    @property
    def collapsed(self) -> bool:
        """Whether the search around the best design has ended."""
        return self.radius < c.TRUST_COLLAPSED

    @property
    def exhausted(self) -> bool:
        """Whether the search anywhere has ended, too."""
        return self.collapsed and self.leaps >= self.most_leaps


def trust_after(trust: Trust, improved: bool, ratio: float, step: float) -> Trust:
    """Return the trust after a proposal was simulated, which is the best design if ``improved``.

    ``ratio`` is its actual over its predicted gain, ``step`` its distance from the centre.
    """
    if trust.kind in (ProposalKind.LEAP, ProposalKind.WANDER):
        return Trust(most_leaps=trust.most_leaps) if improved else _after_leap(trust)
    inside = step < c.TRUST_INSIDE * trust.radius
    if trust.kind is not ProposalKind.EXPLOIT:
        explored = trust.kind is ProposalKind.EXPLORE
        factor = c.TRUST_SHRINK if explored else c.TRUST_SHRINK_SAMPLED
        radius = trust.radius if improved else factor * trust.radius
        return _leap_if_collapsed(replace(trust, radius=radius, kind=ProposalKind.EXPLOIT))
    if improved:
        radius = trust.radius
        if ratio > c.TRUST_GOOD:
            radius = max(radius, min(c.TRUST_LONGER * step, c.TRUST_LARGEST))
        elif ratio < c.TRUST_POOR and step > radius * c.TRUST_LONG_STEP:
            radius /= c.TRUST_SHORTER
        kind = ProposalKind.EXPLORE if inside else ProposalKind.EXPLOIT
        return replace(trust, radius=radius, kind=kind, failures=0)
    failures = trust.failures + 1
    explore = inside or failures % 2 == 0
    kind = ProposalKind.EXPLORE if explore else ProposalKind.EXPLOIT
    radius = trust.radius if inside else trust.radius * c.TRUST_SHRINK_MISSED
    return _leap_if_collapsed(replace(trust, radius=radius, kind=kind, failures=failures))


def at_jump(trust: Trust) -> Trust:
    """Return the trust after a minimum of the model was beyond a jump of the objective.

    It is not the model that was wrong, but the fence, which is moved by it. So the region becomes
    smaller only every other time, and what comes next is a minimum of the model again.
    """
    failures = trust.failures + 1
    radius = trust.radius * (c.TRUST_SHRINK_MISSED if failures % 2 == 0 else 1.0)
    return _leap_if_collapsed(replace(trust, radius=radius, failures=failures))


def shrunk_less(before: Trust, after: Trust, power: float) -> Trust:
    """Return the trust with a region that has shrunk less, by a power of the factor up to 1."""
    if power == 1.0 or not 0 < after.radius < before.radius:
        return after
    return replace(after, radius=before.radius * (after.radius / before.radius) ** power)


def beside(trust: Trust, count: int) -> Iterator[Trust]:
    """Yield what else is proposed in a batch of ``count`` designs, more often than that.

    Minima of the model in larger and smaller regions, so that the radius need not be found one call
    after the other; minima of random models, and random designs, in turn. If the proposal is one
    anywhere, so is half of the batch.
    """
    if trust.kind in (ProposalKind.LEAP, ProposalKind.WANDER):
        yield from [replace(trust, kind=ProposalKind.WANDER)] * (count // 2)
    for factor in c.BATCH_RADII:
        radius = min(factor * trust.radius, c.TRUST_LARGEST)
        yield replace(trust, kind=ProposalKind.EXPLOIT, radius=radius)
    for _ in range(count):
        yield replace(trust, kind=ProposalKind.EXPLORE)
        yield replace(trust, kind=ProposalKind.SAMPLE)


def trust_without_proposal(trust: Trust) -> Trust:
    """Return the trust after there was no new design of its kind."""
    if trust.kind is ProposalKind.EXPLOIT:
        return replace(trust, kind=ProposalKind.EXPLORE, radius=c.TRUST_SHRINK * trust.radius)
    if trust.kind is ProposalKind.EXPLORE:
        leaping = with_leap(trust)
        return leaping if leaping is not trust else replace(trust, kind=ProposalKind.SAMPLE)
    if trust.kind is ProposalKind.SAMPLE:
        radius = c.TRUST_SHRINK * trust.radius
        return _leap_if_collapsed(replace(trust, kind=ProposalKind.EXPLOIT, radius=radius))
    return _after_leap(trust)


def widened(trust: Trust, distance: float) -> Trust:
    """Return the trust after ARCH has found a better design at a distance from the centre.

    Steps of that length pay, so the region is at least as large, but not larger than at first.
    """
    radius = min(distance, c.TRUST_FIRST)
    if radius <= trust.radius:
        return trust
    return replace(trust, radius=radius, kind=ProposalKind.EXPLOIT, failures=0)


def with_leap(trust: Trust) -> Trust:
    """Return the trust with a proposal anywhere next, unless there were enough of them."""
    most = trust.most_leaps if trust.collapsed else min(c.LEAPS, trust.most_leaps)
    if trust.leaps >= most:
        return trust
    return replace(trust, kind=ProposalKind.LEAP if trust.leaps == 0 else ProposalKind.WANDER)


def _after_leap(trust: Trust) -> Trust:
    """Return the trust after a proposal anywhere that was not better."""
    kind = ProposalKind.WANDER if trust.collapsed else ProposalKind.EXPLOIT
    return replace(trust, kind=kind, leaps=trust.leaps + 1)


def _leap_if_collapsed(trust: Trust) -> Trust:
    return with_leap(trust) if trust.collapsed else trust
