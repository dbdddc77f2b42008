"""The phases of an assisted search: which follows which, and what each generation is."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Evaluation, Model, Run
from archeng.distribution import Distribution
from archeng.handlers.arch import begin
from archeng.surrogate import AssistedSearch
from archeng.surrogate.rounds import Phase, Rounds, first_state, round_over

FREE = {
    Phase.START: {Phase.PROPOSE, Phase.ARCH},
    Phase.ARCH: {Phase.ARCH, Phase.PROPOSE, Phase.LOCAL},
    Phase.PROPOSE: {Phase.PROPOSE, Phase.ARCH, Phase.LOCAL},
    Phase.LOCAL: {Phase.LOCAL, Phase.ARCH, Phase.PROPOSE},
}
LIMITED = {
    Phase.START: {Phase.ARCH, Phase.LOCAL},
    Phase.ARCH: {Phase.ARCH, Phase.LOCAL},
    Phase.LOCAL: {Phase.LOCAL, Phase.ARCH},
}


def plate() -> Model:
    model = Model("plate")
    x = model.variable("x", shape=3, lower=-2, upper=3)
    model.subject_to(ca.sumsqr(x) <= 6, name="ball")
    return model


def valley(design: Design) -> float:
    x = design.x
    return float(3 * np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum((1 - x) ** 2))


def with_disc(design: Design) -> Evaluation:
    return Evaluation(valley(design), constraints={"disc": float(design.x[0] + design.x[1] ** 2)})


def phases(simulator: Any, **options: Any) -> list[tuple[Phase, bool]]:
    """The phase before each generation, and whether its designs were proposed."""
    run, seen = Run(plate(), simulator, seed=2, max_evaluations=250, restarts=1, **options), []
    while not run.stopped:
        search = run.state.search
        assert isinstance(search, AssistedSearch)
        run.step()
        seen.append((search.phase, run.history[-1].repairs.get("proposed", 0) > 0))
    return seen


@pytest.mark.parametrize(
    ("simulator", "options", "allowed"),
    [(valley, {}, FREE), (with_disc, {"simulated": {"disc": (None, 1.0)}}, LIMITED)],
)
def test_only_these_phases_follow_each_other(
    simulator: Any, options: Mapping[str, Any], allowed: Mapping[Phase, set[Phase]]
) -> None:
    seen = phases(simulator, **options)
    assert seen[0][0] is Phase.START
    expected = Phase.LOCAL if options else Phase.PROPOSE
    assert expected in {phase for phase, _ in seen}
    for (one, _), (two, _) in itertools.pairwise(seen):
        assert two in allowed[one] or two is Phase.START  # of the next restart


@pytest.mark.parametrize("options", [{}, {"settings": archeng.Settings(proposals=2)}])
def test_what_a_generation_is_follows_from_its_phase(options: Mapping[str, Any]) -> None:
    for phase, proposed in phases(valley, **options):
        if phase in (Phase.START, Phase.LOCAL):
            assert proposed
        elif phase is not Phase.PROPOSE:  # that one ends with a generation of ARCH
            assert not proposed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Rounds(4, hits=2, tried=5, misses=4), (8, 1)),  # it paid: the next one is longer
        (Rounds(9, hits=2, tried=5), (13, 1)),  # but not longer than 10 + n
        (Rounds(4, hits=0, tried=4, misses=4), (2, 1)),
        (Rounds(1, hits=0, tried=1, misses=1), (1, 2)),  # not shorter: rarer
        (Rounds(1, rest=4, hits=0, tried=1), (1, 4)),
    ],
)
def test_the_next_round_is_longer_or_shorter_sooner_or_later(
    before: Rounds, after: tuple[int, int]
) -> None:
    zero = np.zeros(3)
    search = first_state(begin(Distribution(zero, 1.0, np.eye(3), np.eye(3)), zero, None))
    over = round_over(replace(search, phase=Phase.PROPOSE, rounds=before))
    assert over.phase is Phase.ARCH
    assert over.rounds == Rounds(after[0], after[1], wait=after[1])
