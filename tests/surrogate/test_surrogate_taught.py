"""Models with the help of teachers: own, pooled, corrected, whichever predicts best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from surrogate_helpers import Quadratic, designs, differences, plain_frame

from archeng.distribution import Floats
from archeng.outcomes import Limits, PastCalls, Teacher
from archeng.surrogate.data import Data, select
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.models import fit_models
from archeng.surrogate.priors import IDENTITY
from archeng.surrogate.sums import Sum, several
from archeng.surrogate.taught import taught_choice, taught_or_chosen

N = 4


def teacher(rng: np.random.Generator, f: Callable[[Floats], Floats], k: int = 30) -> Teacher:
    points = 1.5 * rng.standard_normal((k, N))
    return Teacher("old.csv", points, f(points), f(points)[:, None])


def data_of(p: int, f: Callable[[Floats], Floats], *teachers: Teacher) -> Data:
    points = designs(np.random.default_rng(5), p, N)
    past = PastCalls(points, f(points), f(points)[:, None], teachers=teachers)
    data = select(plain_frame(np.zeros(N)), past, taught=True)
    assert data is not None
    return data


def bent(v: Floats) -> Floats:
    """Neither quadratic nor separable."""
    return np.exp(0.3 * v[..., 0] - 0.2 * v[..., 1]) + np.sum(v**2, axis=-1) + v[..., 2] * v[..., 3]


def error(data: Data, f: Callable[[Floats], Floats]) -> float:
    """Of the differences that the model predicts near the centre, over how much f differs."""
    choice, _ = taught_choice(data, (IDENTITY,))
    assert choice is not None
    near = 0.5 * np.random.default_rng(9).standard_normal((50, N))
    v = near / data.scale
    said = np.array([choice.fit.model.value(x) for x in v]) * data.spread + data.best
    return float(np.std(said - f(near)) / np.std(f(near)))


def test_the_same_function_is_known_from_few_designs() -> None:
    rng = np.random.default_rng(0)
    alone, helped = data_of(7, bent), data_of(7, bent, teacher(rng, bent))
    assert error(helped, bent) < 0.3 * error(alone, bent)


def test_another_function_is_corrected() -> None:
    def other(v: Floats) -> Floats:
        return 3.0 * bent(v) + 2.0 + 1.5 * v[..., 0]

    choice, _ = taught_choice(data_of(9, other, teacher(np.random.default_rng(0), bent)))
    assert choice is not None
    assert choice.kind.name == "corrected"
    data = data_of(9, other, teacher(np.random.default_rng(0), bent))
    assert error(data, other) < 0.3 * error(data_of(9, other), other)


@pytest.mark.parametrize("p", [3, 7, 12, 25])
def test_a_teacher_that_knows_nothing_is_left_alone(p: int) -> None:
    believed = 0
    own, _ = taught_choice(data_of(p, bent))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        useless = Teacher("noise", rng.standard_normal((30, N)), rng.standard_normal(30))
        choice, _ = taught_choice(data_of(p, bent, useless))
        same = own is None and choice is None
        if own is not None and choice is not None:
            same = np.array_equal(choice.fit.errors, own.fit.errors)
        believed += not same
    assert believed <= 1


def test_one_design_is_enough_to_begin() -> None:
    rng = np.random.default_rng(2)
    data = data_of(1, bent, teacher(rng, bent))
    choice, _ = taught_choice(data)
    assert choice is not None
    assert choice.fit.model.value(np.zeros(N)) == pytest.approx(0.0, abs=1e-9)
    assert error(data, bent) < 0.3


def test_without_teachers_the_choice_is_the_same() -> None:
    data = data_of(12, bent)
    first, second = taught_or_chosen(data, None, 12), taught_or_chosen(data, None, 12)
    assert first[1] is not None
    assert second[1] is not None
    np.testing.assert_array_equal(first[1].fit.errors, second[1].fit.errors)


def test_incomplete_rows_teach_what_they_know() -> None:
    rng = np.random.default_rng(3)
    one = teacher(rng, bent, 60)
    some = np.where(rng.random(60) < 0.5, np.nan, one.objectives)
    holes = Teacher("old.csv", one.points, some, one.simulated)
    assert error(data_of(7, bent, holes), bent) < 0.5 * error(data_of(7, bent), bent)
    nothing = Teacher("old.csv", one.points, np.full(60, np.nan))
    assert taught_choice(data_of(3, bent, nothing))[0] is None


def test_simulated_constraints_are_taught_each_by_itself() -> None:
    rng = np.random.default_rng(4)
    points = 1.5 * rng.standard_normal((30, N))
    noise = rng.standard_normal(30)
    known = Teacher("old", points, noise, np.column_stack((bent(points) + 1, noise)))
    own = designs(rng, 5, N)
    past = PastCalls(
        own, own[:, 0], np.column_stack((bent(own), np.sin(own[:, 1]))), teachers=(known,)
    )
    limits = Limits(("a", "b"), np.full(2, -np.inf), np.array([3.0, 0.5]))
    frame = plain_frame(np.zeros(N))
    data = select(frame, past, taught=True)
    assert data is not None
    models = fit_models(frame, data, limits)
    near = 0.4 * rng.standard_normal((20, N))
    said = np.array([models.expected(x / data.scale)[0] for x in near])
    assert np.std(said - bent(near)) < 0.3 * np.std(bent(near))


def test_sums_are_sums() -> None:
    rng = np.random.default_rng(6)
    one = Quadratic(rng, N).model()
    other = Interpolant(
        0.5, rng.standard_normal(N), np.eye(N), designs(rng, 6, N), rng.standard_normal(6), 0.3, 0.2
    )
    both, at = Sum((one, other)), rng.standard_normal(N)
    assert both.value(at) == pytest.approx(one.value(at) + other.value(at))
    np.testing.assert_allclose(both.slope(at), differences(both.value, at), rtol=1e-6, atol=1e-6)
    gradient, hessian = both.derivatives(at)
    np.testing.assert_allclose(gradient, both.slope(at))
    np.testing.assert_allclose(hessian, differences(both.slope, at), rtol=1e-5, atol=1e-5)
    together = several([both, other, one])
    expected = [both.value(at), other.value(at), one.value(at)]
    np.testing.assert_allclose(together.values(at), expected)
    np.testing.assert_allclose(together.values_of_many(at[None])[0], expected)
    np.testing.assert_allclose(together.slopes(at)[0], both.slope(at))
    np.testing.assert_allclose(both.divided_by(2.0).value(at), both.value(at) / 2)
