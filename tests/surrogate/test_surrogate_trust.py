"""The trust region: what follows from success and failure, and that it ends."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surrogate_helpers import moderate, seeds

from archeng.surrogate.trust import FIRST_RADIUS, Mode, Trust, after, elsewhere, moved, without

MANY = 1000  # steps; a search that failed more often would be no help
ANYWHERE = (Mode.LEAP, Mode.WANDER)
HERE = (Mode.EXPLOIT, Mode.EXPLORE, Mode.SAMPLE)

trusts = st.builds(
    Trust,
    radius=st.floats(1e-9, 1e3),
    mode=st.sampled_from(Mode),
    failures=st.integers(0, 50),
    leaps=st.integers(0, 10),
)
ratios = st.floats(-1e6, 1e6)
fractions = st.floats(0, 1)


def failed(trust: Trust, fraction: float) -> Trust:
    return after(trust, False, -1.0, fraction * trust.radius)


# -- one step -----------------------------------------------------------------------------------


def test_it_begins_with_the_model_and_is_not_at_its_end() -> None:
    assert Trust().mode is Mode.EXPLOIT
    assert not Trust().collapsed
    assert not Trust().exhausted
    with pytest.raises(FrozenInstanceError):
        Trust().radius = 1.0  # type: ignore[misc]


def test_a_good_model_widens_the_region() -> None:
    trust = Trust(failures=3)
    one = after(trust, True, 1.0, trust.radius)
    assert one.radius > trust.radius
    assert one.mode is Mode.EXPLOIT
    assert one.failures == 0


def test_a_lucky_success_of_a_poor_model_does_not() -> None:
    trust = Trust()
    assert after(trust, True, 1e-3, trust.radius).radius < trust.radius


@moderate
@given(trust=trusts, distance=st.floats(0, 1e3))
def test_a_better_design_far_away_opens_the_region(trust: Trust, distance: float) -> None:
    opened = moved(trust, distance)
    assert opened.radius == max(trust.radius, min(distance, FIRST_RADIUS))
    assert opened.leaps == trust.leaps
    if opened.radius > trust.radius:
        assert opened.mode is Mode.EXPLOIT
    else:
        assert opened == trust


@moderate
@given(trust=trusts, ratio=ratios, fraction=fractions)
def test_success(trust: Trust, ratio: float, fraction: float) -> None:
    step = fraction * trust.radius
    one = after(trust, True, ratio, step)
    if trust.mode in ANYWHERE:
        assert one == Trust()  # a new place: everything begins again
        return
    assert one.radius >= trust.radius / 2
    if trust.mode is Mode.EXPLOIT:
        assert one.failures == 0
        if ratio >= 1:
            assert one.radius >= trust.radius


@moderate
@given(trust=trusts, fraction=fractions)
def test_failure(trust: Trust, fraction: float) -> None:
    one = failed(trust, fraction)
    assert one.radius <= trust.radius
    if trust.mode in ANYWHERE:
        assert one.leaps == trust.leaps + 1
        assert one.radius == trust.radius
    elif trust.mode is Mode.EXPLOIT:
        assert one.failures == trust.failures + 1
    else:
        assert one.radius < trust.radius
    if one.exhausted:
        assert one.collapsed


def test_a_long_step_that_fails_shrinks_the_region_a_short_one_asks_another_model() -> None:
    trust = Trust()
    assert failed(trust, 1.0).radius < trust.radius
    short = failed(trust, 1e-6)
    assert short.mode is Mode.EXPLORE
    assert short.radius == trust.radius


def test_after_some_failures_in_a_row_another_model_is_asked() -> None:
    trust, modes = Trust(), []
    for _ in range(6):
        trust = failed(trust, 1.0)
        modes.append(trust.mode)
    assert Mode.EXPLORE in modes


@moderate
@given(trust=trusts, improved=st.booleans(), ratio=ratios, step=st.floats(0, 1e12))
def test_the_radius_stays_in_bounds(
    trust: Trust, improved: bool, ratio: float, step: float
) -> None:
    before = replace(trust)
    one = after(trust, improved, ratio, step)
    assert 0 < one.radius <= max(trust.radius, 1e4)
    assert one.leaps >= 0
    assert one.failures >= 0
    assert trust == before


def test_success_again_and_again_does_not_widen_it_for_ever() -> None:
    trust = Trust()
    for _ in range(200):
        trust = after(trust, True, 1.0, trust.radius)
    assert np.isfinite(trust.radius)
    assert trust.radius == after(trust, True, 1.0, trust.radius).radius


@pytest.mark.parametrize("mode", HERE)
def test_a_collapsed_region_makes_it_look_elsewhere(mode: Mode) -> None:
    trust = Trust(mode=mode)
    while not trust.collapsed:
        trust = failed(replace(trust, mode=mode), 1.0)
        assert not trust.exhausted
    assert trust.mode in ANYWHERE


def test_a_success_elsewhere_makes_it_begin_again() -> None:
    far = Trust(radius=1e-8, mode=Mode.WANDER, leaps=3, failures=9)
    assert after(far, True, 1.0, 50.0) == Trust()


# -- looking elsewhere --------------------------------------------------------------------------


@moderate
@given(trust=trusts)
def test_looking_elsewhere(trust: Trust) -> None:
    one = elsewhere(trust)
    assert (one.radius, one.leaps, one.failures) == (trust.radius, trust.leaps, trust.failures)
    assert one == trust or one.mode in ANYWHERE


def test_it_looks_elsewhere_a_few_times_only() -> None:
    trust = Trust()
    for _ in range(MANY):
        away = elsewhere(trust)
        if away.mode not in ANYWHERE:
            break
        trust = failed(away, 1.0)
    assert 1 <= trust.leaps < MANY
    assert elsewhere(trust) is trust
    assert trust.mode is Mode.EXPLOIT
    assert not trust.exhausted  # only what is near is left


def test_the_first_look_elsewhere_is_by_the_model_itself() -> None:
    first = elsewhere(Trust())
    assert first.mode is Mode.LEAP
    assert elsewhere(failed(first, 1.0)).mode is Mode.WANDER


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
        trust = without(trust) if rng.random() < share else failed(trust, rng.random() ** 4)
    assert trust.exhausted


@pytest.mark.parametrize("fraction", [0.0, 1e-9, 0.5, 1.0])
@pytest.mark.parametrize("mode", Mode)
def test_equal_failures_end_it(mode: Mode, fraction: float) -> None:
    trust = Trust(mode=mode)
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
        trust = without(trust)
    assert trust.exhausted


def test_all_modes_are_tried_before_the_end() -> None:
    trust, modes = Trust(), {Trust().mode}
    while not trust.exhausted:
        modes.add(trust.mode)
        trust = without(trust)
    assert modes == set(Mode)


@moderate
@given(trust=trusts)
def test_having_nothing_to_propose_never_widens_the_region(trust: Trust) -> None:
    one = without(trust)
    assert one.radius <= trust.radius
    assert one.leaps >= trust.leaps
    assert one != trust or trust.exhausted
