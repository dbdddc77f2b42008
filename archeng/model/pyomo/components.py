"""`from_pyomo`: walk the active components of a Pyomo model and build a `Model`.

`ModelValues` is the way back: it writes the values of a design into the Pyomo model.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from pyomo.core.base.block import Block, BlockData
from pyomo.core.base.boolean_var import BooleanVar
from pyomo.core.base.constraint import Constraint as PyomoConstraint
from pyomo.core.base.objective import Objective
from pyomo.core.base.suffix import SuffixFinder
from pyomo.core.base.var import Var

from archeng.checks import flag, mapping, named_options
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.constraint import Constraint, Row, half_width
from archeng.model.declarations import Sense
from archeng.model.domain import refusal
from archeng.model.model import Model, imported
from archeng.model.pyomo.expressions import Converter, constant
from archeng.model.variable import Variable, imported_scalar, make_variable, symbol

logger = logging.getLogger("archeng")

# Types of components that are read, and those that are not needed or read where they are used.
_SUPPORTED = {
    "Var", "Constraint", "Objective", "Block",
    "Set", "RangeSet", "SetOf", "ContinuousSet", "Param", "Expression", "ExternalFunction",
    "Suffix", "BuildAction", "BuildCheck", "Port",
}  # fmt: skip
_WHY = {
    "SOSConstraint": "special ordered sets are discrete",
    "Complementarity": "complementarity conditions; reformulate with TransformationFactory("
    '"mpec.simple_nonlinear")',
    "Disjunction": "disjunctions; reformulate (they need discrete variables)",
    "Disjunct": "a disjunct; deactivate it or make it a Block",
    "LogicalConstraint": "logical constraints are discrete",
    "BooleanVar": refusal("discrete", "true or false") + ", or make it a Param",
    "DerivativeVar": "a derivative that is not discretised; apply a dae transformation first",
    "Integral": "an integral that is not discretised; apply a dae transformation first",
    "ExternalGreyBoxBlock": "a grey box is code, not formulas: deactivate it (b.deactivate()) and "
    "compute its outputs in the simulator, their limits by simulated=",
    "Arc": 'not expanded; apply TransformationFactory("network.expand_arcs") first',
}


@dataclass
class _Import:
    """What the walk has collected so far."""

    scale: Mapping[str, float]
    tolerance: float | None
    factors: SuffixFinder
    variables: dict[int, tuple[Any, Variable]] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    problems: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    guessed: list[str] = field(default_factory=list)


def is_pyomo(model: Any) -> bool:
    """Whether an object is a Pyomo model or block."""
    return isinstance(model, BlockData | Block)


def has_objective(model: Any) -> bool:
    """Whether a Pyomo model has an active objective."""
    return isinstance(model, BlockData) and next(_active(model, Objective), None) is not None


@named_options(ModelError, IMPORT_HINTS)
def from_pyomo(
    model: Any,
    *,
    scale: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    objective: bool = False,
    name: str | None = None,
) -> Model:
    """Import a Pyomo model: variables, active constraints, units, initial values.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel or block
        Not changed. Deactivated blocks and constraints are skipped, fixed variables keep
        their value, parameters enter with their present value.
    scale : mapping, optional
        Initial standard deviation by variable name, for variables without both bounds. By
        default a fifth of the variable's magnitude: the inverse of its ``scaling_factor``
        suffix, else its initial value, and at least 1.
    tolerance : float, optional
        Half-width of equality constraints; by default relative to each row.
    objective : bool
        Keep the active objective, so that ``archeng.solve(model)`` needs no simulator.
    name : str, optional
        By default the Pyomo model's own.

    Returns
    -------
    Model
        Variables and rows under their full Pyomo names, such as ``b.x[3]``.

    Raises
    ------
    UnsupportedModelError
        Lists every component that cannot be imported, by its full name, with the reason.
    """
    flag("objective", objective, ModelError)
    block = _one_block(model)
    wanted = mapping("scale", scale, ModelError)
    factors = SuffixFinder("scaling_factor", default=None, context=block)
    state = _Import(wanted, half_width(tolerance, "from_pyomo"), factors)
    _check_components(block, state)
    for var in _active(block, Var):
        _variable(var, state)
    converter = Converter(lambda var: _variable(var, state))
    for constraint in _active(block, PyomoConstraint):
        _constraint(constraint, converter, state)
    goal = _objective(block, converter, state) if objective else None
    unknown = sorted(set(state.scale) - {v.name for _, v in state.variables.values()})
    if unknown:
        raise ModelError(f"scale: {unknown} are not variables of the Pyomo model.")
    if state.problems:
        raise UnsupportedModelError(f"Pyomo model {block.name!r}", state.problems)
    return _build(block.name if name is None else name, state, goal)


def _build(name: str, state: _Import, goal: tuple[Any, Sense] | None) -> Model:
    if state.guessed:
        logger.info(
            "%s: no bounds on %s; their initial deviation is a fifth of their magnitude (change "
            "it with bounds, scale= or a scaling_factor suffix)",
            name,
            ", ".join(state.guessed),
        )
    return imported(name, state.variables.values(), state.constraints, goal)


# -- walking --------------------------------------------------------------------------------


def _one_block(model: Any) -> Any:
    if not is_pyomo(model):
        raise ModelError(f"Expected a Pyomo model or block, got {type(model).__name__}.")
    if not isinstance(model, BlockData):
        raise ModelError(f"{model.name!r} is an indexed block; pass one of its elements.")
    if not model.is_constructed():
        raise ModelError(f"Pyomo model {model.name!r} is abstract; call create_instance() first.")
    if not model.active:
        raise ModelError(f"Pyomo model {model.name!r} is deactivated.")
    return model


def _components(block: Any, ctype: type | None = None) -> Iterator[Any]:
    """Components of the active blocks in declaration order; references are left to their target."""
    for b in block.block_data_objects(active=True, descend_into=Block):
        for component in b.component_objects(ctype, descend_into=False):
            if not component.is_reference():
                yield component


def _active(block: Any, ctype: type) -> Iterator[Any]:
    """Active elements of the components of one type."""
    for component in _components(block, ctype):
        yield from (data for data in component.values() if getattr(data, "active", True))


def _check_components(block: Any, state: _Import) -> None:
    """Report the active components of a kind that archeng does not read."""
    for component in _components(block):
        kind = component.ctype.__name__
        if kind not in _SUPPORTED and _in_use(component):
            why = _WHY.get(kind, "this kind of component is not supported")
            state.problems[component.name].append(f"{kind}: {why}")


def _in_use(component: Any) -> bool:
    """Whether some element is active and not fixed."""
    if not getattr(component, "active", True):
        return False
    elements = list(component.values()) if hasattr(component, "values") else [component]
    free = component.ctype is not BooleanVar or not all(e.fixed for e in elements)
    return free and any(getattr(e, "active", True) for e in elements)


# -- variables ------------------------------------------------------------------------------


def _variable(var: Any, state: _Import) -> Any:
    """Return the symbol of a Pyomo variable; it is registered when it is first seen."""
    if id(var) not in state.variables:
        state.variables[id(var)] = (symbol(ca.SX, var.name), _record(var, state))
    return state.variables[id(var)][0]


def _record(var: Any, state: _Import) -> Variable:
    name = var.name
    units = getattr(var, "get_units", lambda: None)()
    unit = "" if units is None else str(units)
    if var.fixed:
        if var.value is None:
            state.problems[name].append("fixed, but it has no value")
        fixed = 0.0 if var.value is None else float(var.value)
        return make_variable(name, lower=fixed, upper=fixed, start=fixed, unit=unit)
    bounds = _bounds(var, state)
    value = None if var.value is None else float(var.value)
    given, magnitude = state.scale.get(name), None
    if given is None and not np.all(np.isfinite(bounds)):
        state.guessed.append(name)
        factor = state.factors.find(var)
        magnitude = 1.0 / abs(factor) if factor else None
    try:
        return imported_scalar(name, bounds, value, given, magnitude, unit)
    except ModelError as error:
        state.problems[name].append(str(error))
        return make_variable(name, lower=0, upper=1, start=0, unit=unit)


def _bounds(var: Any, state: _Import) -> tuple[float, float]:
    """Bounds of a continuous variable, with those of its domain; open ends are stepped inside."""
    ranges = list(var.domain.ranges())
    if any(r.isdiscrete() for r in ranges):
        state.problems[var.name].append(refusal("discrete", var.domain.name))
        return 0.0, 1.0
    if len(ranges) != 1 or not hasattr(ranges[0], "closed"):
        state.problems[var.name].append(f"domain {var.domain.name} is not one interval")
        return 0.0, 1.0
    domain = ranges[0]
    lower = max(-np.inf if domain.start is None else domain.start, _end(var, "lower", state))
    upper = min(np.inf if domain.end is None else domain.end, _end(var, "upper", state))
    if not domain.closed[0] and domain.start == lower:
        lower = float(np.nextafter(lower, np.inf))
    if not domain.closed[1] and domain.end == upper:
        upper = float(np.nextafter(upper, -np.inf))
    return lower, upper


def _end(var: Any, which: str, state: _Import) -> float:
    """One declared bound of a variable, without that of its domain."""
    expression = getattr(var, which)
    if expression is None:
        return -np.inf if which == "lower" else np.inf
    number, why = constant(expression)
    if why or np.isnan(number):
        state.problems[var.name].append(f"{which} bound: {why or 'is NaN'}")
        return 0.0 if which == "lower" else 1.0
    return number


# -- constraints and objective ----------------------------------------------------------------


def _constraint(constraint: Any, converter: Converter, state: _Import) -> None:
    name = constraint.name
    try:
        body, limits = constraint.body, (constraint.lower, constraint.upper)
    except (AttributeError, TypeError, ValueError) as error:
        state.problems[name].append(" ".join(str(error).split()))
        return
    expression, problems = converter.convert(body)
    ends = [
        (default, "") if limit is None else constant(limit)
        for limit, default in zip(limits, (-np.inf, np.inf), strict=True)
    ]
    (lower, _), (upper, _) = ends
    problems += [why for _, why in ends if why]
    if problems:
        state.problems[name] += dict.fromkeys(problems)
    elif (lower, upper) != (-np.inf, np.inf):
        row = Row(ca.SX(expression), lower, upper)
        state.constraints.append(Constraint(name, (row,), state.tolerance, "Pyomo"))


def _objective(block: Any, converter: Converter, state: _Import) -> tuple[Any, Sense] | None:
    goals = list(_active(block, Objective))
    if not goals:
        raise ModelError(
            f"There is no simulator, and Pyomo model {block.name!r} has no active objective to "
            "take its place."
        )
    first, *others = goals
    for goal in others:
        state.problems[goal.name].append(f"a second active objective besides {first.name!r}")
    if others:
        return None
    expression, problems = converter.convert(first.expr)
    if problems:
        state.problems[first.name] += problems
    return ca.SX(expression), "minimize" if first.is_minimizing() else "maximize"


# -- writing values -----------------------------------------------------------------------------


class ModelValues:
    """The variables of a Pyomo model by their full names, ready to take values.

    Parameters
    ----------
    model : Pyomo model or block
        Names are looked up in the whole model that it belongs to.
    names : iterable of str
        The variables that will be set.

    Raises
    ------
    ModelError
        If the model lacks one of them.
    """

    def __init__(self, model: Any, names: Any) -> None:
        root = model.model()
        every = {
            var.name: var
            for var in root.component_data_objects(Var, active=None, descend_into=Block)
        }
        wanted = list(names)
        missing = [name for name in wanted if name not in every]
        if missing:
            raise ModelError(
                f"Pyomo model {root.name!r} has no variable {', '.join(missing)}; it is not the "
                "model of this design."
            )
        # what is fixed now has its value; what a simulator fixes later is still the design's
        self._variables = {name: every[name] for name in wanted if not every[name].fixed}

    def set(self, values: Mapping[str, float]) -> None:
        """Set the variables that were free at first; the others have their value."""
        for name, var in self._variables.items():
            var.set_value(float(values[name]), skip_validation=True)


def copy_of(model: Any) -> tuple[Any, Any]:
    """Copy a whole model; return the copy and, in it, the given block (the copy itself if whole).

    The first must be kept: a block holds its model only weakly.
    """
    root = model.model()
    clone = root.clone()
    return clone, clone if model is root else clone.find_component(model)
