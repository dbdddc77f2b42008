"""Restarts with many candidates: when the model may end them, and what counts as progress."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings, StopReason
from archeng.distribution import Distribution
from archeng.handlers.arch import begin
from archeng.repair import Repair, RepairKind
from archeng.surrogate.proposer import Proposal
from archeng.surrogate.rounds import (
    AssistedSearch,
    ObjectiveProgress,
    after_global_generation,
    first_state,
    negligible_gain,
)
from archeng.surrogate.trust import ProposalKind


def state(**changes: Any) -> AssistedSearch:
    """A restart with many candidates that has gained 100 so far."""
    zero = np.zeros(5)
    search = first_state(begin(Distribution(zero, 1.0, np.eye(5), np.eye(5)), zero, 50))
    return replace(search, **{"progress": ObjectiveProgress(101.0, 101.0), "best": 1.0, **changes})


def box(n: int = 4) -> Model:
    model = Model("box")
    x = model.variable("x", shape=n, lower=-3, upper=4)
    model.subject_to(ca.sum1(x) <= 6, name="sum")
    return model


def bowl(design: Design) -> float:
    return float(np.sum((design.x - 1.0) ** 2 * np.arange(1, len(design.x) + 1)))


def ripples(design: Design) -> float:
    """A bowl with many local minima: only many candidates see that it is one."""
    x = design.x - 0.5
    return float(np.sum(x**2) + 0.5 * np.sum(1 - np.cos(8 * x)))


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ([1.01, 1.05, 1.09, 50.0], True),
        ([1.1, 1.5, 4.0, 50.0], False),
        ([1.1, np.nan, np.nan, np.inf], False),  # most failed
    ],
)
def test_candidates_have_gathered_if_most_are_as_good_as_the_best(objectives, expected) -> None:
    search = state()
    tired = replace(search, rounds=replace(search.rounds, patience=1, rest=4, wait=3))
    after = after_global_generation(tired, np.array(objectives))
    assert after.gathered is expected
    assert (after.rounds.patience > 1) is (after.rounds.wait == 0) is expected


def test_they_have_not_before_there_was_any_progress() -> None:
    assert not after_global_generation(state(progress=None), np.ones(4)).gathered


def test_negligible_gains_are_so_in_all_progress_and_among_the_designs_around() -> None:
    spacing = 4 * float(np.spacing(1.0))
    assert negligible_gain(state(), 1.0) == pytest.approx(1e-10 + spacing)
    repair = Repair(RepairKind.FEASIBLE, np.zeros(5), 0.0, 0.0, 0.0, (), "none", 0)
    last = Proposal(repair, ProposalKind.EXPLOIT, 1.0, 1.0, 1.0, 1e-3, np.zeros(5))
    flat = state(progress=ObjectiveProgress(1e15, 1e15), last=last)
    assert negligible_gain(flat, 1.0) == pytest.approx(1e-7 + spacing)
    assert negligible_gain(state(progress=None), 1.0) == spacing


def test_a_search_with_many_candidates_ends_with_the_model() -> None:
    result = archeng.solve(box(), bowl, seed=1, population_size=40, max_evaluations=5000)
    assert result.stop_reason is StopReason.CONVERGED
    assert result.fun < 1e-8
    proposed = [e.repair_kind == "proposed" for e in result.evaluations]
    assert not any(proposed[:120])  # three generations: ARCH alone
    assert any(proposed)
    alone = archeng.solve(
        box(),
        bowl,
        seed=1,
        population_size=40,
        max_evaluations=5000,
        settings=Settings(surrogate="none"),
    )
    assert result.nfev < 0.7 * alone.nfev


def test_but_not_before_the_candidates_have_gathered() -> None:
    """The model converges to a local minimum at once; the candidates find the best one."""
    found = [
        archeng.solve(box(), ripples, seed=seed, population_size=60, max_evaluations=6000).fun
        for seed in range(2)
    ]
    assert max(found) < 1e-6


def test_a_better_design_of_arch_opens_the_trust_region_in_a_run() -> None:
    """t^5 is flat: the model fails at first, and ARCH goes on; later the model pays again."""

    def flat(design: Design) -> float:
        return bowl(design) ** 5

    result = archeng.solve(
        box(),
        flat,
        seed=0,
        target=1e-30,
        max_evaluations=3000,
        settings=Settings(stop_tests=False),
    )
    assert result.fun <= 1e-30
