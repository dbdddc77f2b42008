"""Narrow curved valleys: scales from the steps, and designs that a model must not forget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from surrogate_helpers import data_of

import archeng
from archeng.distribution import Distribution
from archeng.handlers.arch import begin
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.choice import chosen
from archeng.surrogate.data import Frame
from archeng.surrogate.local import LocalState
from archeng.surrogate.rounds import Phase, after_trial, first_state, longest_round
from archeng.surrogate.valley import better_steps, in_valley
from case_studies.engineering import problem

FRAME = Frame(np.zeros(2), np.diag([2.0, 5.0]), np.diag([0.5, 0.2]))
STEP = np.array([2.0, 0.05])  # in the frame 1 and 0.01


def descent(k: int, step: np.ndarray = STEP) -> PastCalls:
    """Calls along a line, each better than the last but for failures and worse ones between."""
    points = np.repeat(np.arange(k)[:, None] * step, 3, axis=0)
    objectives = -np.repeat(np.arange(k, dtype=float), 3)
    points[1::3] += 7.0
    objectives[1::3] += 100.0
    objectives[2::3] = np.nan
    return PastCalls(points, objectives)


def test_steps_lead_from_each_best_design_to_the_next() -> None:
    past = descent(5)
    np.testing.assert_allclose(better_steps(past.points, past.objectives), np.tile(STEP, (4, 1)))
    assert better_steps(past.points[:0], past.objectives[:0]).shape == (0, 2)


def test_few_steps_leave_the_frame_as_it_is() -> None:
    most = c.VALLEY_STEPS * (4 + c.VALLEY_SURPLUS)
    assert in_valley(FRAME, descent(most), 0) is FRAME
    assert in_valley(FRAME, descent(most + 1), 0) is not FRAME
    assert in_valley(FRAME, descent(most + 1), 3) is FRAME  # those of another restart do not count


def test_many_steps_scale_the_frame() -> None:
    frame = in_valley(FRAME, descent(40), 0)
    np.testing.assert_allclose(frame.factor, np.diag([2.0, 0.05]))
    np.testing.assert_allclose(frame.factor @ frame.inverse, np.eye(2))
    assert frame.distance(frame.centre + STEP) == pytest.approx(np.sqrt(2))


def test_a_variable_that_does_not_move_keeps_a_least_scale() -> None:
    frame = in_valley(FRAME, descent(40, np.array([2.0, 0.0])), 0)
    np.testing.assert_allclose(frame.factor, np.diag([2.0, 5.0 * c.VALLEY_NARROWEST]))


def test_scales_move_with_the_variables() -> None:
    """The frame of scaled variables is the scaled frame."""
    scales = np.array([1e3, 1e-4])
    past = descent(40)
    scaled = Frame(np.zeros(2), np.diag(scales) @ FRAME.factor, FRAME.inverse / scales)
    other = in_valley(scaled, PastCalls(past.points * scales, past.objectives), 0)
    np.testing.assert_allclose(other.factor, np.diag(scales) @ in_valley(FRAME, past, 0).factor)


def test_designs_that_contradict_a_model_of_the_better_ones_come_back() -> None:
    """On a line the model knows no slope off it, but designs off it were worse."""
    t = np.linspace(0, 1, 12)
    along = np.column_stack((t, t**2))
    off = np.array([[0.3, 1.3], [0.5, 1.5], [0.1, 1.4], [0.2, 1.2], [0.4, 1.4], [0.6, 1.4]])
    A = np.vstack((along, off))
    y = np.concatenate((t, 1e3 + 50 * np.arange(6) ** 3))
    data = data_of(A, y)
    _, choice, used = chosen(data, None, len(A))
    assert choice is not None
    predicted = np.array([choice.fit.model.value(v) for v in off / data.scale])
    assert predicted.min() > -0.1
    if len(used.y) < len(y):  # what is known of them is only that they are worse
        assert used.y.max() <= np.quantile(data.y, c.DATA_TRIMMED)


def test_a_local_search_that_finds_much_hands_back() -> None:
    n = 2
    metric = Distribution(np.zeros(n), 1.0, np.eye(n), np.eye(n))
    search = first_state(begin(metric, np.zeros(n), 6))
    local = LocalState(np.zeros(n), 0.0, np.zeros(0), 1.0, 0.1, np.zeros(0), np.ones(0))
    few, many = (replace(local, hits=longest_round(n) - less) for less in (1, 0))
    search = replace(search, local=local, phase=Phase.LOCAL)
    assert after_trial(search, few, only_local=False).phase is Phase.CONSULT
    assert after_trial(search, many, only_local=True).phase is Phase.CONSULT
    after = after_trial(search, many, only_local=False)
    assert after.phase is Phase.PROPOSE
    assert after.local is None
    assert not after.trust.collapsed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_gas_compressor_takes_few_calls(seed: int) -> None:
    """The median of five runs of case_studies/peers was 579 calls, now it is 100."""
    case = problem("gas_compressor")
    result = archeng.solve(
        case.model,
        lambda design: case.objective(design.x),
        seed=seed,
        target=case.f_opt * (1 + 1e-4),
        max_evaluations=300,
        restarts=10,
    )
    assert result.fun <= case.f_opt * (1 + 1e-4)
    assert result.n_infeasible_calls == 0
