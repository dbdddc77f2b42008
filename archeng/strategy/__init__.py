"""CMA-ES: ask, tell an order, stop with a reason, restart."""

from archeng.strategy.cmaes import (
    State,
    initial_state,
    sample,
    update,
    with_factor,
    with_narrowed_factor,
)
from archeng.strategy.parameters import (
    Parameters,
    default_parameters,
    default_population_size,
    suitable_population_size,
)
from archeng.strategy.restarts import Bipop, Regime
from archeng.strategy.stopping import History, StopReason, most_iterations, stop_reasons

__all__ = [
    "Bipop",
    "History",
    "Parameters",
    "Regime",
    "State",
    "StopReason",
    "default_parameters",
    "default_population_size",
    "initial_state",
    "most_iterations",
    "sample",
    "stop_reasons",
    "suitable_population_size",
    "update",
    "with_factor",
    "with_narrowed_factor",
]
