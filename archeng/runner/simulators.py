"""What is called with a Design: the user's simulator, several of them, or what the model has."""

from __future__ import annotations

from typing import Any

from archeng.checks import shown
from archeng.errors import SettingsError
from archeng.model import Model, is_pyomo
from archeng.options import SimulatorTakes
from archeng.simulator import Graded, OnPyomoModel, Simulator, check_simulator


def make_simulator(
    model: Model,
    simulator: Any,
    source: Any,
    takes: SimulatorTakes,
    own: bool,
    cost: tuple[float, ...] | None = None,
) -> Simulator | None:
    """Return what is called with a Design: the user's simulator, or what the model has itself.

    That is its objective, or the black boxes of an imported model. Several simulators, the
    cheapest first, have a ``cost`` each.
    """
    check_costs(simulator, cost)
    if isinstance(simulator, list | tuple):
        return Graded([_given(model, one, source, takes) for one in simulator])
    if takes == "model" and (simulator is None or not is_pyomo(source)):
        raise SettingsError(
            'simulator_takes="model" needs a Pyomo model and a simulator that takes it; got '
            f"{type(source).__name__} and {type(simulator).__name__}."
        )
    if simulator is not None:
        return _given(model, simulator, source, takes)
    if cost is not None:
        return None  # ask and tell
    if model.black_box is not None and not model.has_objective:
        raise SettingsError(
            f"Model {model.name!r} has black boxes but no objective to optimise: give it one, "
            "or pass a simulator that returns the objective and the outputs "
            f"{[output.name for output in model.outputs]}."
        )
    return model.objective_function() if own else model.black_box


def check_costs(simulator: Any, cost: tuple[float, ...] | None) -> None:
    """Raise unless several simulators have a cost each.

    Raises
    ------
    SettingsError
    """
    if not isinstance(simulator, list | tuple):
        if simulator is not None and cost is not None:
            raise SettingsError(
                f"cost={list(cost)} is for several simulators, solve(model, [coarse, fine], ...); "
                f"there is one, {shown(simulator)}. Leave cost out: each call costs 1."
            )
        return
    if cost is None:
        raise SettingsError(
            f"There are {len(simulator)} simulators: say what a call of each costs, the cheapest "
            "first, such as cost=[0.05, 1.0]."
        )
    if len(cost) != len(simulator):
        raise SettingsError(
            f"cost must have one number for each simulator: there are {len(simulator)} simulators "
            f"and {len(cost)} costs."
        )


def _given(model: Model, simulator: Any, source: Any, takes: SimulatorTakes) -> Simulator:
    """Return a simulator of the user, checked."""
    check_simulator(simulator)
    if takes == "model":
        if not is_pyomo(source):
            raise SettingsError(
                'simulator_takes="model" needs a Pyomo model and simulators that take it; got '
                f"{type(source).__name__}."
            )
        return OnPyomoModel(simulator, source)
    check = getattr(simulator, "check_model", None)
    if check is not None:
        check(model)
    return simulator  # type: ignore[no-any-return]
