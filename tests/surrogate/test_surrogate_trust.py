"""The trust region: what follows from success and failure, and that it ends."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import moderate, seeds

from archeng.surrogate.constants import TRUST_FIRST
from archeng.surrogate.trust import (
    ProposalKind,
    Trust,
    trust_after,
    trust_without_proposal,
    widened,
    with_leap,
)

MANY = 1000  # steps; a search that failed more often would be no help
ANYWHERE = (ProposalKind.LEAP, ProposalKind.WANDER)
HERE = (ProposalKind.EXPLOIT, ProposalKind.EXPLORE, ProposalKind.SAMPLE)

trusts = st.builds(
    Trust,
    radius=st.floats(1e-9, 1e3),
    kind=st.sampled_from(ProposalKind),
    failures=st.integers(0, 50),
    leaps=st.integers(0, 10),
)
ratios = st.floats(-1e6, 1e6)
fractions = st.floats(0, 1)


def failed(trust: Trust, fraction: float) -> Trust:
    return trust_after(trust, False, -1.0, fraction * trust.radius)


# -- one step -----------------------------------------------------------------------------------


def test_it_begins_with_the_model_and_is_not_at_its_end() -> None:
    assert Trust().kind is ProposalKind.EXPLOIT
    assert not Trust().collapsed
    assert not Trust().exhausted
    with pytest.raises(FrozenInstanceError):
        Trust().radius = 1.0  # type: ignore[misc]


def test_a_good_model_widens_the_region() -> None:
    trust = Trust(failures=3)
    one = trust_after(trust, True, 1.0, trust.radius)
    assert one.radius > trust.radius
    assert one.kind is ProposalKind.EXPLOIT
    assert one.failures == 0


def test_a_lucky_success_of_a_poor_model_does_not() -> None:
    trust = Trust()
    assert trust_after(trust, True, 1e-3, trust.radius).radius < trust.radius


@moderate
@given(trust=trusts, distance=st.floats(0, 1e3))
def test_a_better_design_far_away_opens_the_region(trust: Trust, distance: float) -> None:
    opened = widened(trust, distance)
    assert opened.radius == max(trust.radius, min(distance, TRUST_FIRST))
    assert opened.leaps == trust.leaps
    if opened.radius > trust.radius:
        assert opened.kind is ProposalKind.EXPLOIT
    else:
        assert opened == trust


@moderate
@given(trust=trusts, ratio=ratios, fraction=fractions)
def test_success(trust: Trust, ratio: float, fraction: float) -> None:
    step = fraction * trust.radius
    one = trust_after(trust, True, ratio, step)
    if trust.kind in ANYWHERE:
        assert one == Trust()  # a new place: everything begins again
        return
    assert one.radius >= trust.radius / 2
    if trust.kind is ProposalKind.EXPLOIT:
        assert one.failures == 0
        if ratio >= 1:
            assert one.radius >= trust.radius


@moderate
@given(trust=trusts, fraction=fractions)
def test_failure(trust: Trust, fraction: float) -> None:
    one = failed(trust, fraction)
    assert one.radius <= trust.radius
    if trust.kind in ANYWHERE:
        assert one.leaps == trust.leaps + 1
        assert one.radius == trust.radius
    elif trust.kind is ProposalKind.EXPLOIT:
        assert one.failures == trust.failures + 1
    else:
        assert one.radius < trust.radius
    if one.exhausted:
        assert one.collapsed


def test_a_long_step_that_fails_shrinks_the_region_a_short_one_asks_another_model() -> None:
    trust = Trust()
    assert failed(trust, 1.0).radius < trust.radius
    short = failed(trust, 1e-6)
    assert short.kind is ProposalKind.EXPLORE
    assert short.radius == trust.radius


def test_after_some_failures_in_a_row_another_model_is_asked() -> None:
    trust, modes = Trust(), []
    for _ in range(6):
        trust = failed(trust, 1.0)
        modes.append(trust.kind)
    assert ProposalKind.EXPLORE in modes


@moderate
@given(trust=trusts, improved=st.booleans(), ratio=ratios, step=st.floats(0, 1e12))
def test_the_radius_stays_in_bounds(
    trust: Trust, improved: bool, ratio: float, step: float
) -> None:
    before = replace(trust)
    one = trust_after(trust, improved, ratio, step)
    assert 0 < one.radius <= max(trust.radius, 1e4)
    assert one.leaps >= 0
    assert one.failures >= 0
    assert trust == before


def test_success_again_and_again_does_not_widen_it_for_ever() -> None:
    trust = Trust()
    for _ in range(200):
        trust = trust_after(trust, True, 1.0, trust.radius)
    assert np.isfinite(trust.radius)
    assert trust.radius == trust_after(trust, True, 1.0, trust.radius).radius


@pytest.mark.parametrize("mode", HERE)
def test_a_collapsed_region_makes_it_look_elsewhere(mode: ProposalKind) -> None:
    trust = Trust(kind=mode)
    while not trust.collapsed:
        trust = failed(replace(trust, kind=mode), 1.0)
        assert not trust.exhausted
    assert trust.kind in ANYWHERE


def test_a_success_elsewhere_makes_it_begin_again() -> None:
    far = Trust(radius=1e-8, kind=ProposalKind.WANDER, leaps=3, failures=9)
    assert trust_after(far, True, 1.0, 50.0) == Trust()


# -- looking elsewhere --------------------------------------------------------------------------


@moderate
@given(trust=trusts)
def test_looking_elsewhere(trust: Trust) -> None:
    one = with_leap(trust)
    assert (one.radius, one.leaps, one.failures) == (trust.radius, trust.leaps, trust.failures)
    assert one == trust or one.kind in ANYWHERE


def test_it_looks_elsewhere_a_few_times_only() -> None:
    trust = Trust()
    for _ in range(MANY):
        away = with_leap(trust)
        if away.kind not in ANYWHERE:
            break
        trust = failed(away, 1.0)
    assert 1 <= trust.leaps < MANY
    assert with_leap(trust) is trust
    assert trust.kind is ProposalKind.EXPLOIT
    assert not trust.exhausted  # only what is near is left


@moderate
@given(trust=trusts, improved=st.booleans(), ratio=ratios, fraction=fractions)
def test_no_look_elsewhere_where_there_are_none(
    trust: Trust, improved: bool, ratio: float, fraction: float
) -> None:
    """Not after a region was opened again either."""
    trust = replace(trust, kind=ProposalKind.EXPLOIT, leaps=0, most_leaps=0)
    after = trust_after(trust, improved, ratio, fraction * trust.radius)
    for one in (trust, after, trust_without_proposal(replace(trust, kind=ProposalKind.EXPLORE))):
        assert with_leap(one) is one
        assert one.kind in HERE
    assert after.exhausted is after.collapsed


def test_the_first_look_elsewhere_is_by_the_model_itself() -> None:
    first = with_leap(Trust())
    assert first.kind is ProposalKind.LEAP
    assert with_leap(failed(first, 1.0)).kind is ProposalKind.WANDER


# -- the end ------------------------------------------------------------------------------------


@moderate
@given(seed=seeds, start=trusts)
def test_failures_end_it(seed: int, start: Trust) -> None:
    """Whatever fails, and whether there is anything to simulate at all."""
    rng = np.random.default_rng(seed)
    share, trust = rng.random(), start
    for _ in range(MANY):
        if trust.exhausted:
            break
        trust = (
            trust_without_proposal(trust)
            if rng.random() < share
            else failed(trust, rng.random() ** 4)
        )
    assert trust.exhausted


@pytest.mark.parametrize("fraction", [0.0, 1e-9, 0.5, 1.0])
@pytest.mark.parametrize("mode", ProposalKind)
def test_equal_failures_end_it(mode: ProposalKind, fraction: float) -> None:
    trust = Trust(kind=mode)
    for _ in range(MANY):
        if trust.exhausted:
            break
        trust = failed(trust, fraction)
    assert trust.exhausted


@moderate
@given(start=trusts)
def test_nothing_to_propose_ends_it(start: Trust) -> None:
    trust = start
    for _ in range(MANY):
        if trust.exhausted:
            break
        trust = trust_without_proposal(trust)
    assert trust.exhausted


def test_all_modes_are_tried_before_the_end() -> None:
    trust, modes = Trust(), {Trust().kind}
    while not trust.exhausted:
        modes.add(trust.kind)
        trust = trust_without_proposal(trust)
    assert modes == set(ProposalKind)


@moderate
@given(trust=trusts)
def test_having_nothing_to_propose_never_widens_the_region(trust: Trust) -> None:
    one = trust_without_proposal(trust)
    assert one.radius <= trust.radius
    assert one.leaps >= trust.leaps
    assert one != trust or trust.exhausted
