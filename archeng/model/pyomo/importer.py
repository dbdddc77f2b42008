"""`from_pyomo`: a Pyomo model as a `Model`, with its own black boxes as outputs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.checks import flag, named_options
from archeng.errors import ModelError
from archeng.model.advice import IMPORT_HINTS
from archeng.model.constraint import Constraint
from archeng.model.model import Model, imported
from archeng.model.pyomo.boxes import GREY_BOX
from archeng.model.pyomo.components import Import, read
from archeng.model.pyomo.definitions import System, Unknown, symbols
from archeng.model.pyomo.named import independent_names

logger = logging.getLogger("archeng")

OUTPUT_TOLERANCE = 1e-5
"""Half-width of an equality with outputs of black boxes, in its own units, if none is given."""


@named_options(ModelError, IMPORT_HINTS)
def from_pyomo(
    model: Any,
    *,
    scale: Mapping[str, float] | None = None,
    tolerance: float | None = None,
    objective: bool | None = None,
    parameters: Sequence[Any] | None = None,
    gradients: bool = True,
    independent: Sequence[Any] | None = None,
    name: str | None = None,
) -> Model:
    """Import a Pyomo model: variables, active constraints, units, initial values.

    Black boxes of Pyomo (``ExternalFunction``, ``ExternalGreyBoxBlock``) become outputs. A variable
    that an equality defines by outputs is eliminated: its bounds become a simulated constraint, and
    :meth:`archeng.Result.load_into` computes it. Other equalities with outputs are simulated.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel or block
        Not changed. What is deactivated is skipped; fixed variables and Params have their values.
    scale : mapping, optional
        Initial standard deviation by variable name, for variables without both bounds. By
        default a fifth of the variable's magnitude: the inverse of its ``scaling_factor``
        suffix, else its initial value, and at least 1.
    tolerance : float, optional
        Half-width of equality constraints. By default relative to each row for explicit ones, and
        1e-5 (`OUTPUT_TOLERANCE`) in the units of the row for those with outputs of black boxes.
    objective : bool, optional
        Keep the active objective, for a run without a simulator; by default if there are boxes.
    parameters : list, optional
        Mutable Params, or their names, that become parameters; of an indexed one every element.
    gradients : bool
        Ask black boxes for derivatives, too. False if that takes long, as finite differences do.
    independent : list, optional
        Vars, indexed Vars or their members, or names: see :meth:`Model.independent`.
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
    ModelError
        If an option makes no sense.
    """
    _check_flags(objective, gradients)
    options = {"scale": scale, "tolerance": tolerance, "parameters": parameters}
    state = read(model, objective=objective, **options)
    formulas = eliminated(state)
    label = state.name if name is None else name
    _say(label, state, formulas)
    named = independent_names(independent, state, {v.name for v, _ in formulas.defined.values()})
    return _build(label, state, formulas, gradients, named)


def _check_flags(objective: Any, gradients: Any) -> None:
    if objective is not None:
        flag("objective", objective, ModelError)
    flag("gradients", gradients, ModelError)


def eliminated(state: Import) -> System:
    """Return the formulas of a model that was read, without the variables that others define."""
    unknowns = {}
    for var, x, record in state.variables.values():
        lower, upper = float(record.lower[0]), float(record.upper[0])
        if lower < upper and not record.domain.is_discrete:
            own = var.parent_block().parent_component().ctype.__name__ == GREY_BOX
            unknowns[hash(x)] = Unknown(record.name, x, lower, upper, own)
    goal = None if state.goal is None else state.goal[0]
    system = System(state.constraints, state.boxes.calls, goal, unknowns)
    system.eliminate()
    return system


def _build(
    name: str, state: Import, system: System, gradients: bool, independent: list[str]
) -> Model:
    variables = [(x, r) for _, x, r in state.variables.values() if hash(x) not in system.defined]
    parameters, outputs = state.parameters.values(), state.boxes.records
    goal = None if state.goal is None else (system.objective, state.goal[1])
    rows = [c for c in system.constraints if not (system.defined and _idle(c))]
    constraints = [_with_tolerance(c, system) for c in rows]
    model = imported(name, [*variables, *parameters, *outputs], constraints, goal, independent)
    if outputs:
        named = [(p, record.name) for p, record in parameters]
        model.black_box = state.boxes.black_box(model.symbols, named, gradients)
    return model


def _with_tolerance(constraint: Constraint, system: System) -> Constraint:
    """Return an equality with outputs with a tolerance; it has no default."""
    if constraint.tolerance is None and system.holds_outputs(constraint):
        return replace(constraint, tolerance=OUTPUT_TOLERANCE)
    return constraint


def _idle(constraint: Constraint) -> bool:
    """Whether a constraint has become a number within its limits."""
    return all(
        row.expression.is_constant() and row.lower <= float(row.expression) <= row.upper
        for row in constraint.rows
    )


def _say(name: str, state: Import, system: System) -> None:
    if state.guessed:
        kept = set(state.guessed) - {v.name for v, _ in system.defined.values()}
        if kept:
            logger.info(
                "%s: no bounds on %s; their initial deviation is a fifth of their magnitude "
                "(change it with bounds, scale= or a scaling_factor suffix)",
                name,
                ", ".join(n for n in state.guessed if n in kept),
            )
    if system.defined:
        these = ", ".join(v.name for v, _ in system.defined.values())
        logger.info("%s: not searched for, because equalities define them: %s", name, these)
    rows = system.equalities_with_outputs()
    if rows:
        logger.info(
            "%s: equalities with outputs of black boxes are simulated constraints, within %g "
            "(change it with tolerance=): %s",
            name,
            state.tolerance or OUTPUT_TOLERANCE,
            ", ".join(c.name for c in rows),
        )
        held = {s for c in rows for row in c.rows for s in symbols(row.expression)}
        torn = [v.name for k, v in system.unknowns.items() if k in held & system.feeding()]
        if torn:
            logger.info(
                "%s: inputs of black boxes in these equalities stay variables: %s",
                name,
                ", ".join(torn),
            )


@dataclass(frozen=True, eq=False)
class Computed:
    """Values of Pyomo variables that are not in a design: outputs, and what equalities define."""

    state: Import
    system: System

    @classmethod
    def of(cls, model: Any, outputs: Mapping[str, Any], parameters: Sequence[str]) -> Computed:
        """Read a model; ``parameters`` are names of the Params that are symbols.

        Raises
        ------
        ModelError
            If it has other outputs.
        """
        for objective in (None, False):  # as it was imported: with the objective, or without
            state = read(model, parameters=parameters, objective=objective)
            missing = [r.name for _, r in state.boxes.records if r.name not in outputs]
            if not missing:
                return cls(state, eliminated(state))
        raise ModelError(
            f"Pyomo model {state.name!r} has black boxes with the outputs {missing}, of which the "
            "result knows nothing; it is not the model of this design."
        )

    def values(
        self, design: Mapping[str, Any], outputs: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return values by the names of the variables."""
        state, defined = self.state, self.system.defined.values()
        numbers = [(x, design.get(r.name, np.nan)) for _, x, r in state.variables.values()]
        numbers += [(p, parameters[r.name]) for p, r in state.parameters.values()]
        numbers += [(z, outputs[r.name]) for z, r in state.boxes.records]
        known = ca.vertcat(*(s for s, _ in numbers))
        formulas = ca.vertcat(ca.SX(0, 1), *(formula for _, formula in defined))
        function = ca.Function("defined", [known], [formulas])
        found = function(ca.DM([float(number) for _, number in numbers])).full().reshape(-1)
        names = [v.name for v, _ in defined]
        grey = {g.var.name: float(outputs[g.record.name]) for g in state.boxes.grey.values()}
        return grey | dict(zip(names, found.tolist(), strict=True))
