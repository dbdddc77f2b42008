"""Models in many variables: what they know, what they leave open, and how many calls they save."""

from __future__ import annotations

import time
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from surrogate_helpers import designs, few, normalised, plain_frame, seeds, values

import archeng
from archeng import Design, Model
from archeng.blas import one_thread
from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.choice import chosen
from archeng.surrogate.data import most_designs, most_designs_in_many, select
from archeng.surrogate.fit import Kernels
from archeng.surrogate.priors import QUADRATIC
from archeng.surrogate.trust import Trust, shrunk_less
from archeng.surrogate.wide import WIDE, WidePrior

ADDITIVE, DENSE = WIDE[0], WIDE[4]


def bowl(rng: np.random.Generator, n: int, common: bool) -> Callable[[Floats], Floats]:
    """A sum of parabolas of (k, n), all with the same curvature or not."""
    bends = np.full(n, 3.0) if common else rng.uniform(1, 10, n)
    slope = rng.standard_normal(n)
    return lambda V: 2.0 + V @ slope + 0.5 * V**2 @ bends


def unit(A: Floats) -> Floats:
    """Designs of length one, about, as those of a model are."""
    return A / np.sqrt(A.shape[1])


@few
@given(seed=seeds)
def test_what_few_designs_tell_of_a_ball_and_of_parabolas(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    n = 20
    for common, p, prior in ((True, n + 2, DENSE), (False, 2 * n + 1, ADDITIVE)):
        f, A, elsewhere = bowl(rng, n, common), unit(designs(rng, p, n)), unit(designs(rng, 40, n))
        fit = prior.refit(Kernels(A), f(A), 0.0, None)
        assert fit is not None
        scale, truth = np.ptp(f(A)), f(elsewhere)
        for model, most in ((fit.model, 0.15), (fit.random(rng, c.WIDE_SHARE), 0.2)):
            errors = values(model, elsewhere) - truth
            assert np.sqrt(np.mean(errors**2)) < most * scale


@few
@given(seed=seeds)
@pytest.mark.parametrize("prior", [WIDE[0], WIDE[2], WIDE[4]], ids=lambda prior: prior.name)
def test_models_pass_through_the_designs_random_ones_too(prior: WidePrior, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = 20, int(np.random.default_rng(seed).integers(4, 60))
    A, y = unit(designs(rng, p, n)), normalised(rng.standard_normal(p))
    fit = prior.refit(Kernels(A), y, 0.0, None)
    assert fit is not None
    for model in (fit.model, fit.random(rng), fit.random(rng, 0.3)):
        np.testing.assert_allclose(values(model, A), y, atol=1e-4 * np.ptp(y))
    away, at = rng.standard_normal(n) / np.sqrt(n), fit.model.value
    drawn = [fit.random(rng, share).value(away) for share in (0.3, 1.0) for _ in range(30)]
    assert 0 < np.std(drawn[:30]) < np.std(drawn[30:])
    assert abs(np.mean(drawn[:30]) - at(away)) < 1.5 * np.std(drawn[:30])


def test_leave_one_out_errors_are_those_of_fits_without_the_design() -> None:
    rng = np.random.default_rng(1)
    A = unit(designs(rng, 30, 20))
    y = normalised(bowl(rng, 20, False)(A) + rng.standard_normal(30))
    (fit,) = DENSE.fit(Kernels(A), y[:, None])
    assert fit is not None
    for k in (3, 11):
        rest = np.delete(np.arange(30), k)
        without = DENSE.refit(Kernels(A[rest]), y[rest], 0.0, None)
        assert without is not None
        error = y[k] - without.model.value(A[k])
        assert fit.errors[k] == pytest.approx(error, rel=0.2)  # kernels have other sizes


@pytest.mark.parametrize("n", [c.WIDE_FROM - 1, c.WIDE_FROM, 40])
def test_many_variables_begin_somewhere(n: int) -> None:
    """There is a model as soon as there are a few designs; below, one needs n + 2 of them."""
    rng = np.random.default_rng(n)
    points = designs(rng, 8, n)
    data = select(plain_frame(points[0]), PastCalls(points, np.sum(points**2, axis=1)), wide=True)
    assert data is not None
    wide = n >= c.WIDE_FROM
    assert data.wide is wide
    selection, choice, _ = chosen(data, None, 8)
    assert (choice is not None) is wide
    assert selection is None or selection.kind.startswith("wide")


def test_windows_hold_what_parabolas_need() -> None:
    for n in (c.WIDE_FROM, 50, 100, 200, 1000):
        assert 2 * n + 3 <= most_designs_in_many(n) <= max(c.WIDE_MOST, 2 * n + 3)
        assert most_designs_in_many(n) >= most_designs(n) or n < 25


def test_a_miss_says_less_in_many_variables() -> None:
    before, after = Trust(radius=1.0), Trust(radius=0.5)
    radii = [shrunk_less(before, after, n).radius for n in (10, 20, 50, 200)]
    assert radii[:2] == [0.5, 0.5]
    assert 0.5 < radii[2] < radii[3] < 1
    assert shrunk_less(before, Trust(radius=2.0), 50).radius == 2.0


def test_a_fit_takes_a_fraction_of_one_with_free_slopes() -> None:
    rng = np.random.default_rng(0)
    n, p = 100, 400
    A = unit(designs(rng, p, n))
    y = normalised(bowl(rng, n, False)(A))

    def seconds(act: Callable[[], object]) -> float:
        spent = []
        for _ in range(3):
            begin = time.process_time()
            act()
            spent.append(time.process_time() - begin)
        return min(spent)

    def updated() -> object:
        fit = DENSE.refit(Kernels(A), y, 0.0, None)
        assert fit is not None
        return fit.random(rng, c.WIDE_SHARE)

    with one_thread:
        assert seconds(updated) < 0.5 * seconds(lambda: QUADRATIC.fit(Kernels(A), y[:, None]))


# -- whole runs -----------------------------------------------------------------------------------


def quadratic(n: int, dense: bool) -> tuple[Model, Callable[[Design], float], float, Floats]:
    """Return a quadratic (condition 10) under n / 2 dense rows, its least value, and the rows."""
    rng = np.random.default_rng(n)
    aim, bends = rng.uniform(-2, 2, n), 10 ** rng.uniform(0, 1, n)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0] if dense else np.eye(n)
    root = np.sqrt(bends)[:, None] * turn
    rows = rng.standard_normal((n // 2, n)) / np.sqrt(n)
    model = Model("quadratic")
    x = model.variable("x", shape=n, lower=-5, upper=5)
    model.subject_to(ca.DM(rows) @ x <= 0.3, name="rows")
    z = ca.MX.sym("z", n)
    r = ca.DM(root) @ (z - aim)
    program = {"x": z, "f": ca.dot(r, r), "g": ca.DM(rows) @ z}
    solver = ca.nlpsol("s", "ipopt", program, {"ipopt.print_level": 0, "print_time": False})
    found = solver(x0=np.zeros(n), lbx=-5, ubx=5, lbg=-np.inf, ubg=0.3)

    def simulator(design: Design) -> float:
        r = root @ (design.x - aim)
        return float(r @ r)

    return model, simulator, float(found["f"]), rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dense", "ceiling"),
    [(20, False, 55), (20, True, 130), (50, False, 125), (50, True, 450), (100, False, 240)],
)
def test_calls_on_quadratics_with_rows(n: int, dense: bool, ceiling: int) -> None:
    """As many calls to 1e-4 as in the documentation, and a quarter more."""
    model, simulator, least, rows = quadratic(n, dense)
    calls: list[Floats] = []

    def counted(design: Design) -> float:
        calls.append(design.x.copy())
        return simulator(design)

    run = archeng.Run(model, counted, max_evaluations=ceiling, seed=1)
    while not run.stopped and (run.best is None or run.best.objective > least + 1e-4 * abs(least)):
        run.step()
    assert run.best is not None
    assert least * (1 - 1e-6) <= run.best.objective <= least + 1e-4 * abs(least)
    X = np.array(calls)
    assert np.all(X @ rows.T <= 0.3 + 1e-6)
    assert np.all(np.abs(X) <= 5 + 1e-6)
