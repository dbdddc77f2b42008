"""ARCH with discrete coordinates: its dimension, its metric, and handlers that refuse them."""

from __future__ import annotations

import numpy as np
import pytest

from archeng.distribution import Distribution, initial_distribution
from archeng.errors import SettingsError
from archeng.handlers.arch import adapt_alpha, advance, begin, sample_population
from archeng.model import Model, compile_model
from archeng.model.lattice import Lattice
from archeng.ranking import mean_distance, sphere_step_size
from archeng.repair import Repair, Repairer, RepairKind
from archeng.runner.handlers import HANDLERS, make_handler
from archeng.settings import Settings
from archeng.strategy import default_population_size

SPACE = Lattice(
    4,
    np.array([1, 2]),
    (np.arange(6.0), np.arange(3.0)),
    np.array([True, False]),
)


class Decoder:
    """Instead of a repair: designs are decoded, and row 0 of the category is refused."""

    def repair(self, x, distribution: Distribution, anchor=None) -> Repair:
        costs = distribution.change_costs[2]
        y, row = SPACE.decode(x), int(SPACE.decode(x)[2])
        distance = 0.0
        if row == 0:
            y[2] = 1 + np.argmin(costs[1:])
            distance = float(costs[1:].min())
        kind = RepairKind.NEAREST if distance else RepairKind.FEASIBLE
        return Repair(kind, y, distance, 0.0, 0.0, (), "none", 0)

    def repair_all(self, points, distribution, anchor) -> list[Repair]:
        return [self.repair(x, distribution, anchor) for x in points]


def test_arch_counts_all_coordinates_and_learns_rows_that_need_no_repair():
    start = initial_distribution(np.array([1.0, 5.0, 0.0, -1.0]), np.ones(4))
    search = begin(start, start.mean, None, SPACE)
    assert search.distribution.n == 4
    assert search.parameters.n == 3  # of CMA-ES: the category is none of its dimensions
    assert search.population_size == default_population_size(4)
    rng, repairer = np.random.default_rng(0), Decoder()

    search = adapt_alpha(search, repairer)
    p = search.parameters
    expected = mean_distance(
        2 * np.log(3),  # the mean is at row 0, and all rows are as likely
        sigma_hat=sphere_step_size(p.weights, p.population_size, 4),
        n=4,
        n_active=0,
        population_size=p.population_size,
        default_size=default_population_size(4),
    )
    assert search.d_m == pytest.approx(expected)
    for _ in range(60):
        search = adapt_alpha(search, repairer)
        population = sample_population(search, repairer, rng)
        f = np.array([float(np.sum((r.x - [0, 2, 2, 0]) ** 2)) for r in population.repairs])
        search = advance(search, population, f, Settings())
    np.testing.assert_array_equal(SPACE.decode(search.distribution.mean)[1:3], [2, 2])
    costs = search.distribution.change_costs[2]
    assert costs[2] < costs[1]  # row 0 is as good as the row to which it is repaired
    assert search.d_m < 1
    assert f.min() < 0.1


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_only_arch_takes_discrete_models(name: str):
    model = Model("bolts")
    model.variable("x", lower=-1, upper=1)
    model.integer("n", lower=0, upper=5)
    repairer = Repairer(compile_model(model))
    wide = initial_distribution(np.zeros(2), np.ones(2))
    settings = Settings(handler=name, simulator_defined_everywhere=True)
    if name.startswith("arch"):
        assert make_handler(repairer, repairer, settings, wide).handles_discrete
    else:
        with pytest.raises(SettingsError, match="discrete variables"):
            make_handler(repairer, repairer, settings, wide)
