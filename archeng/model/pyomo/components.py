"""Walk the active components of a Pyomo model: what `from_pyomo` makes a `Model` of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from pyomo.core.base.block import Block, BlockData
from pyomo.core.base.boolean_var import BooleanVar
from pyomo.core.base.constraint import Constraint as PyomoConstraint
from pyomo.core.base.objective import Objective
from pyomo.core.base.suffix import SuffixFinder
from pyomo.core.base.var import Var

from archeng.checks import mapping
from archeng.errors import ModelError, UnsupportedModelError
from archeng.model.constraint import Constraint, Row, half_width
from archeng.model.declarations import Sense
from archeng.model.domain import REAL, Domain
from archeng.model.pyomo.boxes import GREY_BOX, Boxes
from archeng.model.pyomo.disjunctions import DISJUNCT, DISJUNCTION, branches
from archeng.model.pyomo.expressions import Converter, constant
from archeng.model.pyomo.kinds import kind_of
from archeng.model.pyomo.parameters import Chosen, chosen_parameters, holds
from archeng.model.teaching import symbol
from archeng.model.variable import Variable, imported_scalar, make_variable

# Types of components that are read, and those that are not needed or read where they are used.
_SUPPORTED = {
    "Var", "Constraint", "Objective", "Block",
    "Set", "RangeSet", "SetOf", "ContinuousSet", "Param", "Expression", "ExternalFunction",
    "Suffix", "BuildAction", "BuildCheck", "Port", GREY_BOX, DISJUNCT, DISJUNCTION,
}  # fmt: skip
_WHY = {
    "SOSConstraint": "special ordered sets; write them with binary variables",
    "Complementarity": "complementarity conditions; reformulate with TransformationFactory("
    '"mpec.simple_nonlinear")',
    **dict.fromkeys(
        ("LogicalConstraint", "BooleanVar"),
        'true or false; apply TransformationFactory("core.logical_to_linear") first, which makes '
        "binary variables of it",
    ),
    "DerivativeVar": "a derivative that is not discretised; apply a dae transformation first",
    "Integral": "an integral that is not discretised; apply a dae transformation first",
    "Arc": 'not expanded; apply TransformationFactory("network.expand_arcs") first',
}


@dataclass
class Import:
    """What the walk has collected so far.

    ``variables`` has Pyomo's variable, symbol and record, by the variable's id.
    """

    name: str
    scale: Mapping[str, float]
    tolerance: float | None
    factors: SuffixFinder
    parameters: Chosen
    boxes: Boxes = field(default_factory=Boxes)
    variables: dict[int, tuple[Any, Any, Variable]] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    goal: tuple[Any, Sense] | None = None
    problems: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    guessed: list[str] = field(default_factory=list)
    when: Any = None  # the condition of the disjunct that is being read

    def __post_init__(self) -> None:
        self._converter = Converter(self.symbol_of, self.boxes.function, self.parameters)
        self.convert = self._converter.convert

    def symbol_of(self, var: Any) -> Any:
        """Return the symbol of a Pyomo variable; it is registered when it is first seen."""
        if id(var) in self.boxes.grey:
            return self.boxes.grey[id(var)].symbol
        if id(var) not in self.variables:
            self.variables[id(var)] = var, symbol(ca.SX, var.name), _record(var, self)
        return self.variables[id(var)][1]

    def add(self, name: str, *rows: Row, tolerance: float | None = None) -> None:
        """Add a constraint, within a disjunct with its condition."""
        if self.when is not None:
            rows = tuple(replace(row, when=self.when) for row in rows)
        self.constraints.append(Constraint(name, rows, tolerance or self.tolerance, "Pyomo"))


def is_pyomo(model: Any) -> bool:
    """Whether an object is a Pyomo model or block."""
    return isinstance(model, BlockData | Block)


def has_objective(model: Any) -> bool:
    """Whether a Pyomo model has an active objective."""
    return isinstance(model, BlockData) and next(_active(model, Objective), None) is not None


def read(
    model: Any,
    *,
    scale: Any = None,
    tolerance: Any = None,
    objective: bool | None = None,
    parameters: Any = None,
) -> Import:
    """Walk a Pyomo model; see `from_pyomo` for the options.

    Raises
    ------
    UnsupportedModelError
        If some of it cannot be imported.
    """
    block = _one_block(model)
    state = Import(
        name=block.name,
        scale=mapping("scale", scale, ModelError),
        tolerance=half_width(tolerance, "from_pyomo"),
        factors=SuffixFinder("scaling_factor", default=None, context=block),
        parameters=chosen_parameters(block, parameters),
    )
    _check_components(block, state)
    state.boxes.grey_boxes(list(_grey_boxes(block)), state.problems)
    for var in _active(block, Var):
        state.symbol_of(var)
    state.boxes.read_inputs(state.symbol_of)
    _box_rows(state)
    for constraint in _active(block, PyomoConstraint):
        _constraint(constraint, state)
    for disjunct, when in list(branches(block, state.symbol_of, state.add, state.problems)):
        _check_components(disjunct, state)
        state.when = when
        for constraint in _active(disjunct, PyomoConstraint):
            _constraint(constraint, state)
    state.when = None
    _objective(block, objective, state)
    _moving_bounds(state)
    unknown = sorted(set(state.scale) - {v.name for _, _, v in state.variables.values()})
    if unknown:
        raise ModelError(f"scale: {unknown} are not variables of the Pyomo model.")
    if state.problems:
        raise UnsupportedModelError(f"Pyomo model {block.name!r}", state.problems)
    return state


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


def _grey_boxes(block: Any) -> Iterator[Any]:
    """Active grey boxes."""
    for component in _components(block):
        if component.ctype.__name__ == GREY_BOX and _in_use(component):
            yield from (data for data in component.values() if data.active)


def _check_components(block: Any, state: Import) -> None:
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
    if component.ctype is BooleanVar:
        return not all(e.fixed or e.get_associated_binary() is not None for e in elements)
    return any(getattr(e, "active", True) for e in elements)


# -- variables ------------------------------------------------------------------------------


def _record(var: Any, state: Import) -> Variable:
    name = var.name
    units = getattr(var, "get_units", lambda: None)()
    unit = "" if units is None else str(units)
    if var.fixed:
        if var.value is None:
            state.problems[name].append("fixed, but it has no value")
        fixed = 0.0 if var.value is None else float(var.value)
        return make_variable(name, lower=fixed, upper=fixed, start=fixed, unit=unit)
    domain, bounds = _kind(var, state)
    value = None if var.value is None else float(var.value)
    given, magnitude = state.scale.get(name), None
    if given is None and _moves(var, state):
        given = _deviation(var)
    if given is None and not np.all(np.isfinite(bounds)):
        state.guessed.append(name)
        factor = state.factors.find(var)
        magnitude = 1.0 / abs(factor) if factor else None
    try:
        return imported_scalar(name, bounds, value, given, magnitude, unit, domain)
    except ModelError as error:
        state.problems[name].append(str(error))
        return make_variable(name, lower=0, upper=1, start=0, unit=unit)


def _kind(var: Any, state: Import) -> tuple[Domain, tuple[float, float]]:
    """Domain of a variable and its bounds, with those of the domain."""
    try:
        return kind_of(var, (_end(var, "lower", state), _end(var, "upper", state)))
    except ModelError as error:
        state.problems[var.name].append(str(error))
        return REAL, (0.0, 1.0)


def _end(var: Any, which: str, state: Import) -> float:
    """One declared bound of a variable, without that of its domain."""
    expression = getattr(var, which)
    if expression is None or holds(expression, state.parameters):
        return -np.inf if which == "lower" else np.inf
    number, why = constant(expression)
    if why or np.isnan(number):
        state.problems[var.name].append(f"{which} bound: {why or 'is NaN'}")
        return 0.0 if which == "lower" else 1.0
    return number


def _moves(var: Any, state: Import) -> list[str]:
    """Which bounds of a variable hold parameters: they are rows."""
    return [which for which in ("lower", "upper") if holds(getattr(var, which), state.parameters)]


def _deviation(var: Any) -> float | None:
    """Return a fifth of the width between the present bounds; None if that is no scale."""
    low, high = (np.inf if end is None else constant(end)[0] for end in (var.lower, var.upper))
    width = (high - low) / 5.0
    return width if 0 < width < np.inf else None


def _moving_bounds(state: Import) -> None:
    """Make rows of the bounds that hold parameters."""
    for var, x, _ in list(state.variables.values()):
        for which in [] if var.fixed else _moves(var, state):
            end, problems = state.convert(getattr(var, which))
            if problems:
                state.problems[var.name] += problems
            body = x - end if which == "lower" else end - x
            state.add(f"{which} bound of {var.name}", Row(body, 0.0, np.inf))


# -- constraints and objective ----------------------------------------------------------------


def _box_rows(state: Import) -> None:
    """Add what is demanded of the outputs of grey boxes themselves."""
    for grey in state.boxes.grey.values():
        var, z = grey.var, grey.symbol
        if var.fixed and var.value is not None:
            state.add(f"fixed value of {var.name}", Row(z, float(var.value), float(var.value)))
            continue
        domain, (lower, upper) = _kind(var, state)
        if domain.is_discrete:
            state.problems[var.name].append("the output of a grey box must be a real number")
        if np.isfinite(lower) or np.isfinite(upper):
            state.add(f"bounds of {var.name}", Row(z, lower, upper))
    for name, residual in state.boxes.residuals:
        state.add(name, Row(residual, 0.0, 0.0))
    for var, computed in state.boxes.torn:
        state.add(f"{var.name} as computed", Row(state.symbol_of(var) - computed, 0.0, 0.0))


def _constraint(constraint: Any, state: Import) -> None:
    name = constraint.name
    try:
        body, limits = constraint.body, (constraint.lower, constraint.upper)
    except (AttributeError, TypeError, ValueError) as error:
        state.problems[name].append(" ".join(str(error).split()))
        return
    expression, problems = state.convert(body)
    if any(holds(limit, state.parameters) for limit in limits):
        _moving_limits(name, expression, limits, problems, state)
        return
    ends = [
        (default, "") if limit is None else constant(limit)
        for limit, default in zip(limits, (-np.inf, np.inf), strict=True)
    ]
    (lower, _), (upper, _) = ends
    problems += [why for _, why in ends if why]
    if problems:
        state.problems[name] += dict.fromkeys(problems)
    elif (lower, upper) != (-np.inf, np.inf):
        state.add(name, Row(ca.SX(expression), lower, upper))


def _moving_limits(name: str, body: Any, limits: Any, problems: list[str], state: Import) -> None:
    """Add a constraint whose limits hold parameters: they become part of its rows."""
    (lower, more), (upper, others) = (
        (None, []) if limit is None else state.convert(limit) for limit in limits
    )
    problems = [*problems, *more, *others]
    if problems:
        state.problems[name] += dict.fromkeys(problems)
    elif limits[0] is limits[1]:
        state.add(name, Row(ca.SX(body - lower), 0.0, 0.0))
    else:
        below = [] if lower is None else [Row(ca.SX(body - lower), 0.0, np.inf)]
        above = [] if upper is None else [Row(ca.SX(body - upper), -np.inf, 0.0)]
        state.add(name, *below, *above)


def _objective(block: Any, wanted: bool | None, state: Import) -> None:
    """Read the objective; None: if there are black boxes, in constraints or in itself."""
    goals, own = list(_active(block, Objective)), state.boxes.objectives
    if wanted is None:
        wanted = bool(goals or own) and (
            bool(state.boxes.calls) or any(_has_external(goal.expr) for goal in goals)
        )
    if not wanted:
        return
    if not goals and not own:
        raise ModelError(
            f"There is no simulator, and Pyomo model {block.name!r} has no active objective to "
            "take its place."
        )
    first, *others = [goal.name for goal in goals] + [name for name, _ in own]
    for name in others:
        state.problems[name].append(f"a second active objective besides {first!r}")
    if others:
        return
    if own:
        state.goal = own[0][1], "minimize"
        return
    expression, problems = state.convert(goals[0].expr)
    if problems:
        state.problems[first] += problems
    state.goal = ca.SX(expression), "minimize" if goals[0].is_minimizing() else "maximize"


def _has_external(expression: Any) -> bool:
    """Whether an external function of variables is in an expression."""
    found: list[bool] = []

    def note(node: Any, arguments: Any) -> Any:
        found.append(True)
        return ca.SX(1.0)

    Converter(lambda var: ca.SX(1.0), note).convert(expression)
    return bool(found)
