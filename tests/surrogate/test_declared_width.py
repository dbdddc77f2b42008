"""The declared width: how wide batches are, what they consist of, and what all results say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import SettingsError
from archeng.simulator import declared_width
from archeng.strategy import default_population_size, suitable_population_size
from archeng.surrogate import constants as c
from archeng.surrogate.trust import ProposalKind, Trust, beside


def plate() -> archeng.Model:
    model = archeng.Model("plate")
    x = model.variable("x", shape=3, lower=-2, upper=2)
    model.subject_to(ca.sumsqr(x) <= 3)
    return model


def bend(design: archeng.Design) -> archeng.Evaluation:
    x = design.x
    value = float(np.sum((x - 0.8) ** 2) + 0.3 * np.sum(x**4))
    return archeng.Evaluation(value, {"stress": float(x[0] * x[1] + np.exp(x[2]))})


def bowl(design: archeng.Design) -> float:
    return bend(design).objective


LIMITS: Any = {"simulated": {"stress": (None, 1.2)}}


def calls(result: archeng.Result) -> list[bytes]:
    return [e.x.tobytes() for e in result.evaluations]


@pytest.mark.parametrize("n", [1, 4, 10, 30])
@pytest.mark.parametrize("width", [1, 2, 3, 8, 16, 64, 512, 1000])
def test_generations_suit_the_width(n: int, width: int) -> None:
    size, usual = suitable_population_size(n, width), default_population_size(n)
    assert 4 <= size <= max(512, usual)
    assert size >= 0.7 * usual
    if width == 1:
        assert size == usual
    elif width < 512:
        assert size % width == 0 or size == 4


def test_the_width_is_the_number_of_workers() -> None:
    assert [declared_width(w) for w in (None, 3, "threads:5", "tcp://host:8786")] == [1, 3, 5, 1]
    with ThreadPoolExecutor(6) as executor:
        assert declared_width(executor) == 6
        run = archeng.Run(plate(), bowl, workers=executor, seed=1)
        assert run.options.parallel == 6
        run.close()


@pytest.mark.parametrize("option", [{}, LIMITS])
def test_the_same_width_is_the_same_run(option: Any, tmp_path: Path) -> None:
    simulator = bend if option else bowl
    options: Any = {"seed": 3, "max_evaluations": 44, **option}
    alone = archeng.solve(plate(), simulator, parallel=4, **options)
    assert calls(archeng.solve(plate(), simulator, workers="threads:4", **options)) == calls(alone)
    path = tmp_path / "run.db"
    archeng.solve(
        plate(), simulator, workers="threads:4", journal=path, **{**options, "max_evaluations": 21}
    )
    resumed = archeng.resume(path, simulator, max_evaluations=44, workers="threads:3")
    assert calls(resumed) == calls(alone)


@pytest.mark.parametrize("option", [{}, LIMITS])
def test_batches_pay(option: Any) -> None:
    """Under simulated constraints, too: fewer generations, each of the whole width."""
    simulator = bend if option else bowl
    options: Any = {"seed": 1, "max_evaluations": 200, **option}
    best = archeng.solve(plate(), simulator, **options).fun
    rounds, sizes = {}, {}
    for width in (1, 6):
        result = archeng.solve(
            plate(), simulator, parallel=width, target=best + 1e-4 * abs(best), **options
        )
        assert result.stop_reason is archeng.StopReason.TARGET
        assert result.n_infeasible_calls == 0
        assert len(set(calls(result))) == result.nfev
        rounds[width] = len(result.history)
        sizes[width] = [g.evaluations for g in result.history]
    assert rounds[6] <= 0.6 * rounds[1]
    assert np.median(np.diff(sizes[6])) == 6


def test_what_a_batch_consists_of() -> None:
    trust = Trust(radius=0.5)
    others = list(beside(trust, 8))
    assert [t.radius for t in others[:2]] == [0.5 * f for f in c.BATCH_RADII]
    assert {t.kind for t in others[:2]} == {ProposalKind.EXPLOIT}
    assert {t.kind for t in others[2:]} == {ProposalKind.EXPLORE, ProposalKind.SAMPLE}
    assert len(others) >= 8
    far = list(beside(replace(trust, kind=ProposalKind.LEAP), 8))
    assert [t.kind for t in far[:4]] == [ProposalKind.WANDER] * 4


@pytest.mark.parametrize("value", [0, 1.5, "8", True])
def test_a_width_that_is_none(value: Any) -> None:
    with pytest.raises(SettingsError, match="parallel must be an integer of at least 1"):
        archeng.solve(plate(), bowl, parallel=value, max_evaluations=5)


@pytest.mark.parametrize("value", [3, "many"])
def test_a_population_that_is_none(value: Any) -> None:
    with pytest.raises(SettingsError, match="population_size must be"):
        archeng.solve(plate(), bowl, population_size=value, max_evaluations=5)


def test_a_number_of_proposals_overrules_the_width() -> None:
    settings = archeng.Settings(proposals=2)
    result = archeng.solve(plate(), bowl, parallel=5, seed=1, max_evaluations=40, settings=settings)
    sizes = np.diff([0, *(g.evaluations for g in result.history)])
    made = [k for k, g in zip(sizes, result.history, strict=True) if g.repairs.get("proposed")]
    assert made[0] == 5  # the first designs: four or more, so that no worker is idle
    assert max(made[1:]) == 2
