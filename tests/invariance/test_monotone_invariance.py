"""Increasing maps of the objective and of the constraints leave a run as it is."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from invariance_helpers import CASES, INF, compare, compiled, play, start_of

import archeng
from archeng.settings import Settings

pytestmark = pytest.mark.slow

UNENDING = Settings(surrogate="none", stop_tests=False)
ASSISTED = Settings(surrogate="auto", stop_tests=False)


def model_of(name: str, rows=None) -> archeng.Model:
    case = CASES[name]
    model = archeng.Model(name)
    x = model.variable("x", shape=case.n, lower=-3, upper=3, start=case.mean, scale=case.sigma)
    for expression, low, high, *width in (rows or case.rows)(x):
        equal = {"tolerance": width[0] if width else case.tolerance} if low == high else {}
        model.subject_to(expression, lower=low, upper=high, **equal)
    return model


def evaluations(model: archeng.Model, f, settings: Settings, seed: int = 3, **options):
    result = archeng.solve(
        model, lambda d: f(d.x), max_evaluations=112, seed=seed, settings=settings, **options
    )
    return result.evaluations


def same_bits(one, two) -> None:
    assert len(one) == len(two) == 112
    for a, b in zip(one, two, strict=True):
        assert a.sampled.tobytes() == b.sampled.tobytes()
        assert a.x.tobytes() == b.x.tobytes()
        assert a.repair_kind == b.repair_kind


INCREASING = {
    "exp": lambda v: float(np.exp(v / 100)),
    "cube": lambda v: float((v - 50) ** 3),
    "affine": lambda v: 4.0 * v - 1e3,
    "logarithm": lambda v: float(np.log(v)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("paper", [False, True], ids=["covariant", "symmetric"])
def test_increasing_maps_of_the_objective_do_not_change_a_bit(name: str, paper: bool):
    root = "symmetric" if paper else "covariant"
    chosen = Settings(surrogate="none", stop_tests=False, square_root=root)
    f = CASES[name].f
    one = evaluations(model_of(name), f, chosen)
    # Each pair of maps is enough for one of the two settings.
    maps = [INCREASING[k] for k in (("cube", "logarithm") if paper else ("exp", "affine"))]
    for h in maps:
        two = evaluations(model_of(name), lambda x, h=h: h(f(x)), chosen)
        same_bits(one, two)
        assert [h(a.objective) for a in one] == [b.objective for b in two]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chosen", [UNENDING, ASSISTED], ids=["none", "auto"])
def test_maximising_is_minimising_the_negative(name: str, chosen: Settings):
    f = CASES[name].f
    one = evaluations(model_of(name), f, chosen)
    two = evaluations(model_of(name), lambda x: -f(x), chosen, sense="maximize")
    same_bits(one, two)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chosen", [UNENDING, ASSISTED], ids=["none", "auto"])
def test_same_seed_same_run(name: str, chosen: Settings):
    f = CASES[name].f
    one, two = (evaluations(model_of(name), f, chosen, seed=8) for _ in range(2))
    same_bits(one, two)
    other = evaluations(model_of(name), f, chosen, seed=9)
    assert other[5].sampled.tobytes() != one[5].sampled.tobytes()


def rescaled(name: str, factors):
    """Rows times positive factors; the tolerance of an equality is in the row's units."""
    case = CASES[name]

    def rows(x):
        original = case.rows(x)
        assert len(original) <= len(factors)
        return [
            (k * e, k * low, k * high, k * case.tolerance)
            for k, (e, low, high) in zip(factors, original, strict=False)
        ]

    return rows


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chosen", [UNENDING, ASSISTED], ids=["none", "auto"])
def test_powers_of_two_on_the_rows_do_not_change_a_bit(name: str, chosen: Settings):
    f = CASES[name].f
    factors = [2.0**k for k in (10, -7, 3, -20, 15, 1, -4)]
    one = evaluations(model_of(name), f, chosen)
    same_bits(one, evaluations(model_of(name, rescaled(name, factors)), f, chosen))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_positive_factors_on_the_rows_do_not_change_the_search(name: str, seed: int):
    case = CASES[name]
    factors = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 7)
    one = play(compiled(case), case.f, start_of(case), np.random.default_rng(seed))
    fs = compiled(case, rescaled(name, factors))
    two = play(fs, case.f, start_of(case), np.random.default_rng(seed))
    compare(one, two)


@pytest.mark.parametrize("name", CASES)
def test_both_sides_of_a_row_may_be_swapped(name: str):
    """-g >= -limit instead of g <= limit."""
    case = CASES[name]

    def rows(x):
        return [(-e, -high, -low) for e, low, high in case.rows(x)]

    one = play(compiled(case), case.f, start_of(case), np.random.default_rng(6))
    two = play(compiled(case, rows), case.f, start_of(case), np.random.default_rng(6))
    compare(one, two)


MAPS = {
    "exp": (ca.exp, np.exp),
    "sinh": (ca.sinh, np.sinh),
    "half exp": (lambda g: ca.exp(g / 2), lambda v: np.exp(v / 2)),
    "atan": (lambda g: ca.atan(g / 2), lambda v: np.arctan(v / 2)),
}


NEAREST_ONLY = Settings(handler="arch-nearest")


@pytest.mark.parametrize(
    ("name", "chosen", "seed"),
    [
        ("linear", Settings(surrogate="none"), 0),
        ("linear", Settings(surrogate="none"), 1),
        ("linear", NEAREST_ONLY, 3),
        ("convex", NEAREST_ONLY, 0),
        ("convex", NEAREST_ONLY, 1),
        ("equality", NEAREST_ONLY, 0),
    ],
)
@pytest.mark.parametrize("kind", MAPS)
def test_increasing_maps_of_one_sided_rows_do_not_change_the_search(
    name: str, chosen: Settings, seed: int, kind: str
):
    """h(g) <= h(limit): the same set, other formulas (linear rows become nonlinear).

    On curved sets with the nearest point only: whether a solver finds the intersection of
    curved boundaries, a nonconvex problem, may depend on the formulas.
    """
    case = CASES[name]
    symbolic, numeric = MAPS[kind]

    def rows(x):
        return [
            (symbolic(e), low, float(numeric(high))) if low == -INF else (e, low, high)
            for e, low, high in case.rows(x)
        ]

    def run(fs):
        return play(fs, case.f, start_of(case), np.random.default_rng(seed), settings=chosen)

    compare(run(compiled(case)), run(compiled(case, rows)))
