"""Poised designs: which directions are known, and where the next design belongs."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.model import compile_model
from archeng.surrogate.data import Frame
from archeng.surrogate.geometry import (
    designs_near,
    explicit_rows,
    free_directions,
    gain,
    lowest_step,
    missing_design,
    missing_directions,
)


def frame_at(centre: list[float]) -> Frame:
    n = len(centre)
    return Frame(np.array(centre), np.eye(n), np.eye(n))


def box(n: int = 3) -> Model:
    model = Model("box")
    model.variable("x", shape=n, lower=-1, upper=1)
    return model


def test_a_line_of_designs_leaves_the_other_directions_unknown() -> None:
    fs, frame = compile_model(box()), frame_at([0.0, 0.0, 0.0])
    line = np.outer([0.01, -0.01, 0.008], [1.0, 2.0, -1.0]) / np.sqrt(6)
    near, free, rows = designs_near(line, 0.01), np.eye(3), explicit_rows(fs, frame)
    assert missing_directions(near, free, rows, 0.01) == 2
    x = missing_design(near, free, rows, 0.01, frame, lambda x: x)
    assert x is not None
    assert abs(x @ [1.0, 2.0, -1.0]) < 1e-12  # across the line
    assert np.linalg.norm(x) == pytest.approx(0.01)


def test_evidence_from_a_hundred_thousand_designs_fits_into_memory() -> None:
    """A matrix of all designs by all designs would take 80 GB."""
    fs, frame = compile_model(box()), frame_at([0.0, 0.0, 0.0])
    many = 0.01 * np.random.default_rng(0).uniform(-1, 1, (100_000, 3)) * [1, 1, 0]
    near, rows = designs_near(many, 0.01), explicit_rows(fs, frame)
    assert len(near) > 90_000
    assert missing_directions(near, np.eye(3), rows, 0.01) == 1


def test_designs_that_span_everything_are_poised() -> None:
    fs, frame = compile_model(box()), frame_at([0.0, 0.0, 0.0])
    near, rows = designs_near(0.01 * np.eye(3), 0.01), explicit_rows(fs, frame)
    assert missing_directions(near, np.eye(3), rows, 0.01) == 0
    assert missing_design(near, np.eye(3), rows, 0.01, frame, lambda x: x) is None


def test_designs_far_away_or_at_the_centre_do_not_count() -> None:
    points = np.array([[0.0, 0.0], [1e-6, 0.0], [0.01, 0.0], [0.5, 0.0]])
    assert len(designs_near(points, 0.01)) == 1


def test_at_a_corner_the_missing_design_is_inside() -> None:
    fs, frame = compile_model(box(2)), frame_at([1.0, 1.0])

    def repaired(x: np.ndarray) -> np.ndarray:
        return np.clip(x, -1, 1)

    x = missing_design(np.zeros((0, 2)), np.eye(2), explicit_rows(fs, frame), 0.1, frame, repaired)
    assert x is not None
    assert np.all(x <= 1)
    assert np.linalg.norm(x - 1) == pytest.approx(0.1)


def test_equalities_take_their_directions_away() -> None:
    model = Model("plane")
    x = model.variable("x", shape=3, lower=-1, upper=1)
    model.subject_to(ca.sum1(x) == 0, name="plane", tolerance=1e-9)
    fs = compile_model(model)
    free = free_directions(fs, explicit_rows(fs, frame_at([0.0, 0.0, 0.0])))
    assert free.shape == (2, 3)
    np.testing.assert_allclose(free @ np.ones(3), 0, atol=1e-12)


def test_a_direction_in_which_nothing_is_feasible_is_given_up() -> None:
    model = box(2)
    x = model.symbols
    model.subject_to(x[1] <= 1e-9, name="above")
    model.subject_to(x[1] >= -1e-9, name="below")
    fs, frame = compile_model(model), frame_at([0.0, 0.0])
    near, rows = np.array([[0.01, 0.0]]), explicit_rows(fs, frame)
    free = np.eye(2)
    assert missing_directions(near, free, rows, 0.01) == 0


def test_the_linear_program_stops_at_limits() -> None:
    fs = compile_model(box(2))
    rows = explicit_rows(fs, frame_at([0.95, 0.0]))
    slope = np.array([-1.0, 2.0])
    step = lowest_step(slope, rows, 0.1)
    np.testing.assert_allclose(step, [0.05, -0.1], atol=1e-9)
    assert gain(slope[None], np.zeros(1), rows, 0.1, 1e-9) == pytest.approx(0.25)


def test_at_an_optimum_nothing_is_gained() -> None:
    model = Model("disc")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(ca.sumsqr(x) <= 2, name="disc")
    rows = explicit_rows(compile_model(model), frame_at([-1.0, -1.0]))
    assert gain(np.array([[1.0, 1.0]]), np.zeros(1), rows, 1.0, 1e-9) == pytest.approx(0, abs=1e-9)
    assert gain(np.array([[1.0, 1.1]]), np.zeros(1), rows, 1.0, 1e-9) > 0.01
