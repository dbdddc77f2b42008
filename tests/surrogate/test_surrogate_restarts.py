"""Restarts with many candidates: when the model may end them, and what counts as progress."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Model, Settings, StopReason
from archeng.handlers.notes import Notes, after_gathering, negligible

NOTES = Notes(sigma=1.0, patience=3, first=101.0, best=1.0)


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
    ("merits", "expected"),
    [
        ([1.01, 1.05, 1.09, 50.0], 1),
        ([1.1, 1.5, 4.0, 50.0], 0),
        ([1.1, np.nan, np.nan, np.inf], 0),  # most failed
    ],
)
def test_candidates_have_gathered_if_most_are_as_good_as_the_best(merits, expected) -> None:
    tired = replace(NOTES, patience=1, rest=4, wait=3)
    notes = after_gathering(tired, np.array(merits), n=5)
    assert notes.gathered == expected
    assert (notes.patience > 1) == (notes.wait == 0) == bool(expected)


def test_they_have_not_before_there_was_any_progress() -> None:
    assert after_gathering(replace(NOTES, first=np.nan), np.ones(4), n=5).gathered == 0


def test_negligible_gains_are_so_in_all_progress_and_among_the_designs_around() -> None:
    spacing = 4 * float(np.spacing(1.0))
    assert negligible(NOTES) == pytest.approx(1e-10 + spacing)
    flat = replace(NOTES, first=1e15, spread=1e-3)
    assert negligible(flat) == pytest.approx(1e-7 + spacing)
    assert negligible(replace(NOTES, first=np.nan)) == spacing


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
