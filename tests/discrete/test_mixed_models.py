"""Parts of the search over mixed designs: features, fibres, moves, searches over the lattice."""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest

from archeng import Model
from archeng.distribution import Distribution, Floats, initial_distribution
from archeng.model import FeasibleSet, compile_model, fibre
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate.mixed.descent import Descent
from archeng.surrogate.mixed.features import Features
from archeng.surrogate.mixed.fitted import MixedModels, fit_mixed
from archeng.surrogate.mixed.moves import kicked, neighbours, pair_moves, single_moves
from archeng.surrogate.mixed.neighbourhood import Examination

MATERIALS = {"S235": {"fy": 235}, "S355": {"fy": 355}, "AlMg3": {"fy": 120}}


def bracket() -> Model:
    """Two integers, a category and two real variables."""
    model = Model("bracket")
    n = model.integer("bolts", lower=4, upper=9)
    t = model.choice("plate", [4, 5, 6, 8])
    m = model.category("material", MATERIALS)
    w = model.variable("width", lower=20, upper=90)
    h = model.variable("height", lower=10, upper=40)
    model.subject_to(w * t >= 40 * n, name="edges")
    model.subject_to(n * t * m["fy"] >= 6000, name="strength")
    model.subject_to(w + h <= 110, name="room")
    return model


def cost(X: Floats) -> Floats:
    """A quadratic of all numbers, with a price for each material."""
    n, t, m, w, h = np.moveaxis(X, -1, 0)
    price = np.array([0.0, 8.0, 30.0])[m.astype(int)]
    return np.asarray(n + 0.02 * w * t + 0.05 * (h - 25) ** 2 + price + 0.1 * n * t)


def wide_of(fs: FeasibleSet) -> Distribution:
    return initial_distribution((fs.bounds[0] + fs.bounds[1]) / 2, fs.scale)


def feasible_designs(fs: FeasibleSet, count: int, seed: int) -> Floats:
    rng, found = np.random.default_rng(seed), []
    assert fs.lattice is not None
    while len(found) < count:
        x = fs.lattice.decode(rng.uniform(*fs.bounds))
        if fs.is_feasible(x):
            found.append(x)
    return np.array(found)


def fitted(count: int = 40) -> tuple[FeasibleSet, Distribution, MixedModels, PastCalls, Floats]:
    fs = compile_model(bracket())
    X = feasible_designs(fs, count, 1)
    past = PastCalls(X, cost(X))
    best = X[int(np.argmin(past.objectives))]
    wide = wide_of(fs)
    models = fit_mixed(fs, Features(fs, wide), past, Limits(), best)
    assert models is not None
    return fs, wide, models, past, best


def true_optimum(fs: FeasibleSet) -> float:
    """The least cost of all combinations of levels, each with SciPy's best real variables."""
    from scipy.optimize import minimize

    assert fs.lattice is not None
    lowest = np.inf
    for z in itertools.product(*fs.lattice.levels):
        n, t, m = z
        if n * t * MATERIALS[list(MATERIALS)[int(m)]]["fy"] < 6000 or 90 * t < 40 * n:
            continue
        solved = minimize(
            lambda y, z=z: float(cost(np.array([*z, *y]))),
            [60.0, 25.0],
            bounds=[(max(20.0, 40 * n / t), 90.0), (10.0, 40.0)],
        )
        lowest = min(lowest, float(solved.fun))
    return lowest


def test_designs_are_linear_functions_of_features() -> None:
    fs = compile_model(bracket())
    features = Features(fs, wide_of(fs))
    X = feasible_designs(fs, 10, 0)
    frame = features.frame(X[0])
    np.testing.assert_allclose(frame.designs(features.of(X)), X, atol=1e-12)
    u = features.of(X[3]) - features.of(X[0])
    np.testing.assert_allclose(frame.design(u), X[3], atol=1e-12)


def test_features_of_a_category_know_its_name_and_its_attributes() -> None:
    fs = compile_model(bracket())
    features = Features(fs, wide_of(fs))
    x = np.array([4.0, 4.0, 0.0, 50.0, 20.0])
    rows = [features.of(np.array([*x[:2], m, *x[3:]])) for m in (0.0, 1.0, 2.0)]
    differ = np.abs(np.diff(rows, axis=0)).max(axis=0) > 0
    assert differ.sum() == 4  # three names, one attribute
    near, far = np.linalg.norm(rows[1] - rows[0]), np.linalg.norm(rows[2] - rows[1])
    assert near < far  # by strength


def test_a_fibre_has_the_rows_of_the_real_variables() -> None:
    fs = compile_model(bracket())
    assert fs.lattice is not None
    (x,) = feasible_designs(fs, 1, 3)
    own = fibre(fs, x)
    assert own.n == 2
    assert [row.name for row in own.rows] == [
        "bounds of width", "bounds of height", "room", "edges"
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    names = [row.name for row in fs.rows]
    for _ in range(20):
        y = rng.uniform(*own.bounds)
        full = np.array(x)
        full[fs.lattice.continuous] = y
        kept = [names.index(row.name) for row in own.rows]
        np.testing.assert_allclose(own.values(y), fs.values(full)[kept])
        _, jacobian = own.values_and_jacobian(y)
        expected = fs.values_and_jacobian(full)[1][kept][:, fs.lattice.continuous]
        np.testing.assert_allclose(jacobian, expected)


def test_a_fibre_has_the_formulas_of_outputs() -> None:
    model = bracket()
    stress = model.output("stress")
    symbols = ca.vertsplit(model.symbols)
    model.subject_to(stress * symbols[3] <= 50 * symbols[0], name="limit")
    model.minimize(stress**2 + symbols[3] * symbols[1])
    fs = compile_model(model)
    assert fs.lattice is not None
    (x,) = feasible_designs(fs, 1, 3)
    own = fibre(fs, x)
    assert own.formulas is not None
    assert fs.formulas is not None
    y, z = x[fs.lattice.continuous], np.array([2.5])
    f, rows = own.formulas.at(y, z)
    expected_f, expected_rows = fs.formulas.at(x, z)
    assert f == pytest.approx(expected_f)
    np.testing.assert_allclose(rows, expected_rows)
    _, slopes = own.formulas.pieces.values_and_jacobian(y, z)
    _, full = fs.formulas.pieces.values_and_jacobian(x, z)
    np.testing.assert_allclose(slopes, full[:, [*fs.lattice.continuous, fs.n]])


def test_neighbours_are_one_or_two_changes_away() -> None:
    lattice = compile_model(bracket()).lattice
    assert lattice is not None
    x = np.array([4.0, 6.0, 1.0, 50.0, 20.0])
    found = {tuple(y[:3]) for y in neighbours(lattice, x)}
    single = {(5.0, 6.0, 1.0), (4.0, 5.0, 1.0), (4.0, 8.0, 1.0), (4.0, 6.0, 0.0), (4.0, 6.0, 2.0)}
    assert single < found
    assert (5.0, 5.0, 1.0) in found
    assert (5.0, 6.0, 2.0) in found
    assert (5.0, 5.0, 0.0) not in found  # three
    assert (6.0, 6.0, 1.0) not in found  # two levels at once
    assert len(found) == len(neighbours(lattice, x)) == 5 + 8
    assert {tuple(y[:3]) for y in pair_moves(lattice, x)} == found - single
    assert (9.0, 6.0, 1.0) in {tuple(y[:3]) for y in single_moves(lattice, x)}
    assert lattice.contains(kicked(lattice, x, np.random.default_rng(0)))


def test_the_search_over_the_lattice_finds_the_optimum_of_a_model_that_is_exact() -> None:
    fs, wide, models, past, best = fitted()
    descent = Descent(fs, wide, models)
    found = descent.search(best[None], np.random.default_rng(0))[0]
    assert found.feasible
    assert fs.lattice is not None
    assert fs.lattice.contains(found.x)
    optimum = true_optimum(fs)
    assert float(cost(found.x)) == pytest.approx(optimum, rel=1e-4)
    assert optimum < past.objectives.min() - 0.1  # there was something to find


def test_a_radius_keeps_the_search_near() -> None:
    fs, wide, models, _, best = fitted()
    assert fs.lattice is not None
    far = Descent(fs, wide, models, 0.01)
    for found in far.search(best[None], np.random.default_rng(0)):
        apart = np.abs(fs.lattice.indices(found.x) - fs.lattice.indices(best))
        assert apart[:2].max() <= 1
        assert np.abs((found.x - best)[3:] / fs.scale[3:]).max() <= 0.01 + 1e-9


def test_neighbours_that_are_better_are_open_until_they_are_simulated() -> None:
    fs, wide, models, past, best = fitted()
    assert fs.lattice is not None
    descents = (Descent(fs, wide, models),)
    around, chosen = Examination(fs.lattice, descents, past, best, 1e-6, lambda y: y).made()
    total = around.simulated + around.infeasible + around.predicted + around.open
    assert total == len(neighbours(fs.lattice, best))
    assert around.open > 0  # the best of forty random designs has better neighbours
    assert chosen is not None
    assert float(cost(chosen)) < past.objectives.min()
