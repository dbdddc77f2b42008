"""Designs with discrete variables: feasible, at levels, all of them, evenly; by brute force."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest

import archeng
from archeng import Model
from archeng.errors import InfeasibleModelError
from archeng.model import compile_model


def bracket() -> Model:
    """An integer, a choice, a category and a real variable, with rows that cut levels off."""
    model = Model("bracket")
    n = model.integer("n", lower=1, upper=6)
    t = model.choice("t", [1, 2, 4, 8])
    m = model.category("m", {"a": {"E": 1.0}, "b": {"E": 2.0}, "c": {"E": 4.0}})
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(n * x <= 2, name="load")
    model.subject_to(t * m["E"] >= 2, name="stiff")
    model.subject_to(n + t <= 12, name="room")
    return model


def one_of_six() -> Model:
    """One of six binaries; an integer; fractions that add up to one."""
    model = Model("one of six")
    b = model.binary("b", shape=6)
    n = model.integer("n", lower=1, upper=8)
    x = model.variable("x", lower=0, upper=1, shape=3)
    model.subject_to(sum(b[i] for i in range(6)) == 1, name="one")
    model.subject_to(x[0] + x[1] + x[2] == 1, name="whole")
    model.subject_to(n * x[0] >= 1, name="enough")
    model.subject_to(b[5] + n <= 6.5, name="not both")
    return model


def circle() -> Model:
    """A curved equality whose radius is discrete."""
    model = Model("circle")
    n = model.integer("n", lower=1, upper=5)
    x = model.variable("x", lower=-3, upper=3, shape=2)
    model.subject_to(x[0] ** 2 + x[1] ** 2 == n, name="circle")
    model.subject_to(x[0] >= -1, name="half")
    return model


def all_feasible(model: Model, designs: archeng.sampling.Designs) -> bool:
    """Whether every row holds exactly at each design, and all discrete values are at levels."""
    fs = compile_model(model)
    return all(
        fs.is_feasible(fs.reduce(d.x)) and model.violations(d.x).maximum == 0 for d in designs
    )


@pytest.mark.parametrize("make", [bracket, one_of_six, circle])
@pytest.mark.parametrize("k", [1, 7, 40])
def test_all_designs_are_feasible_and_different(make, k):
    model = make()
    designs = archeng.sample_feasible(model, k, seed=3)
    assert len(designs) == k
    assert all_feasible(model, designs)
    assert len({d.x.tobytes() for d in designs}) == k


def test_the_same_seed_gives_the_same_designs():
    first, again, other = (archeng.sample_feasible(bracket(), 12, seed=s).x for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_every_feasible_level_appears_about_as_often():
    x = archeng.sample_feasible(bracket(), 60, seed=0).x
    possible = {0: [1, 2, 3, 4, 5, 6], 1: [1, 2, 4, 8], 2: [0, 1, 2]}
    for column, levels in possible.items():
        found, counts = np.unique(x[:, column], return_counts=True)
        assert found.tolist() == levels
        assert counts.min() >= 0.6 * 60 / len(levels), (column, counts)


def test_levels_that_samples_miss_are_searched_for():
    x = archeng.sample_feasible(one_of_six(), 40, seed=1).x
    assert np.array_equal(x[:, :6].sum(axis=0) > 0, np.ones(6, dtype=bool))
    assert sorted(set(x[:, 6])) == [1, 2, 3, 4, 5, 6]  # 7 and 8 are cut off
    assert (x[:, :6].sum(axis=0) >= 3).all()


def test_a_level_with_a_single_design_is_found():
    model = Model("needle")
    n = model.integer("n", lower=0, upper=9)
    x = model.variable("x", lower=0, upper=1, shape=2)
    model.subject_to(n * 0.2222222222 <= 2 - 0.1 * (x[0] + x[1]), name="tight at nine")
    designs = archeng.sample_feasible(model, 30, seed=0)
    assert set(designs.x[:, 0]) == set(range(10))


def test_real_variables_are_uniform_for_fixed_levels():
    """For each n, x is uniform between 0 and min(1, 2 / n): Kolmogorov's distance."""
    x = archeng.sample_feasible(bracket(), 600, seed=5).x
    for n in range(1, 7):
        values = np.sort(x[x[:, 0] == n, 3]) / min(1.0, 2.0 / n)
        uniform = (np.arange(len(values)) + 0.5) / len(values)
        assert len(values) >= 60
        assert np.abs(values - uniform).max() < 1.63 / np.sqrt(len(values))  # 1 %


def test_walks_on_a_curved_equality_cover_the_arc_of_each_level():
    x = archeng.sample_feasible(circle(), 200, seed=2).x
    for n in range(1, 6):
        on = x[x[:, 0] == n]
        angle = np.abs(np.arctan2(on[:, 2], on[:, 1]))
        last = np.pi if n == 1 else np.arccos(-1 / np.sqrt(n))
        values = np.sort(angle) / last
        uniform = (np.arange(len(values)) + 0.5) / len(values)
        assert len(values) >= 30
        assert np.abs(values - uniform).max() < 1.95 / np.sqrt(len(values))  # 0.1 %


def brute_force(model: Model, *levels: range) -> set[tuple[float, ...]]:
    return {
        z for z in itertools.product(*levels) if model.violations(np.array(z, float)).maximum == 0
    }


def sums() -> Model:
    model = Model("sums")
    n = model.integer("n", lower=0, upper=9)
    q = model.integer("q", lower=0, upper=9)
    model.subject_to(n + 2 * q == 9, name="sum")
    model.subject_to(n >= q - 3, name="above")
    return model


def test_few_combinations_are_listed_without_repetition(caplog):
    model = sums()
    every = brute_force(model, range(10), range(10))
    some = archeng.sample_feasible(model, len(every) - 1, seed=1)
    assert len({tuple(d.x) for d in some}) == len(every) - 1
    with caplog.at_level(logging.WARNING, "archeng"):
        designs = archeng.sample_feasible(model, 50, seed=1)
    assert {tuple(d.x) for d in designs} == every
    assert len(designs) == len(every)
    assert f"50 designs of 'sums' were asked for; there are only {len(every)}." in caplog.text


def test_no_combination_is_feasible():
    model = Model("parity")
    x, y = (model.integer(name, lower=0, upper=30) for name in "xy")
    model.subject_to(2 * x + 4 * y == 7, name="sum")
    with pytest.raises(InfeasibleModelError, match="diagnose") as error:
        archeng.sample_feasible(model, 3)
    assert any("sum" in name for name in error.value.conflicts)


def test_no_design_at_levels_although_real_numbers_would_do():
    model = Model("gap")
    n = model.integer("n", lower=0, upper=5)
    x = model.variable("x", lower=0, upper=0.2)
    model.subject_to(n + x == 2.5, name="half")
    with pytest.raises(InfeasibleModelError, match=r"(?s)half.*discrete"):
        archeng.sample_feasible(model, 3, seed=0)


@pytest.mark.slow
def test_long_lists_are_covered_by_parts():
    model = Model("long")
    n = model.integer("n", lower=0, upper=1000, shape=2)
    x = model.variable("x", lower=0, upper=1)
    model.subject_to(n[0] + n[1] <= 1200, name="together")
    model.subject_to(n[0] * x >= 50, name="enough")
    designs = archeng.sample_feasible(model, 20, seed=0)
    assert all_feasible(model, designs)
    parts = np.floor(designs.x[:, 1] / 1001 * 10)
    assert set(parts) == set(range(10))
