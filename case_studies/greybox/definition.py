"""What a composite problem consists of: its definition, and the record that methods get.

Everything is stated twice. The *model* has variables, outputs and formulas for archeng and for the
referee. The *plain* function has objective and limits in NumPy; it knows nothing of archeng, and
judges what all methods do. Tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import archeng
from archeng import Model
from case_studies.peers.constraints import same_variables
from case_studies.shared.referee import Range

Floats = NDArray[np.float64]
Outputs = Mapping[str, Any]
Limits = tuple[float | None, float | None]

RELATIVE = 1e-4
"""The target is this far above the optimum, relative to it."""

ZERO_RESIDUAL = 1e-6
"""The target of a problem of least squares whose optimum is 0; absolute."""


@dataclass(frozen=True)
class Plain:
    """Objective and limits of a design in plain NumPy.

    Attributes
    ----------
    objective : float
        To be minimised.
    explicit : dict
        Value, lower and upper limit of each constraint without outputs, by name; no bounds.
    simulated : dict
        The same of the constraints with outputs.
    """

    objective: float
    explicit: dict[str, Range] = field(default_factory=dict)
    simulated: dict[str, Range] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Definition:
    """A composite problem as it is written down.

    Attributes
    ----------
    title : str
        What is designed or fitted.
    family : str
        What the objective is of the outputs: ``cec2006``, ``engineering``, ``least squares``,
        ``maximum``, ``ratio``, ``product`` or ``sum``.
    build : callable
        Returns a new `Model` with variables, outputs, constraints and the formula to minimise.
    outputs : callable
        ``outputs(x, m)`` returns numbers, or lists of them, by the names of the outputs. ``x`` is
        the flat design, ``m`` the module with ``exp``, ``sqrt``, ...: NumPy for the simulator,
        CasADi for the referee.
    plain : callable
        ``plain(x, z)`` returns `Plain` at a flat design (n,) with outputs by name.
    pieces : callable, optional
        ``pieces(x, z)`` returns the CasADi expressions whose maximum is the objective, for the
        referee. None if the objective is smooth.
    residuals : callable, optional
        ``residuals(z)`` returns the vector whose sum of squares is the objective, in NumPy. None
        if the problem is not one of least squares.
    """

    title: str
    family: str
    build: Callable[[], Model]
    outputs: Callable[[Any, Any], Outputs]
    plain: Callable[[Floats, Outputs], Plain]
    pieces: Callable[[Any, Outputs], Sequence[Any]] | None = None
    residuals: Callable[[Outputs], Floats] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A composite problem as methods get it. Other modules may make one, see `suite.register`.

    Attributes
    ----------
    name, title, family : str
    model : Model
        The grey form: outputs, constraints and the formula to minimise.
    simulate : callable
        A `Design` to the outputs by name. It may raise.
    plain : callable
        See `Definition`.
    optimum : float
        Least objective that is known.
    x_opt : ndarray of shape (n,), or None
        Where it is.
    source : str
        Where the optimum comes from.
    residuals : callable, optional
        See `Definition`.
    held_out : bool
        Whether it is kept aside: nothing is tuned on it.
    """

    name: str
    title: str
    family: str
    model: Model
    simulate: Callable[[archeng.Design], Outputs]
    plain: Callable[[Floats, Outputs], Plain]
    optimum: float
    x_opt: Floats | None
    source: str
    residuals: Callable[[Outputs], Floats] | None = None
    held_out: bool = False

    @property
    def n(self) -> int:
        """Number of scalar variables."""
        return self.model.n_variables

    @property
    def q(self) -> int:
        """Number of scalar outputs."""
        return sum(output.size for output in self.model.outputs)

    @cached_property
    def black(self) -> Model:
        """The same as a black box: variables and explicit constraints only."""
        model = same_variables(self.model)
        model.add_constraints(self.model.constraints)
        return model

    @cached_property
    def limits(self) -> dict[str, Limits]:
        """Limits of the constraints that the black box returns, as ``simulated=`` wants them."""
        return {
            name: (_side(low), _side(high)) for name, low, high in _limits_of(self.model.simulated)
        }

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """The box, two vectors (n,)."""
        low = np.concatenate([v.lower for v in self.model.variables])
        high = np.concatenate([v.upper for v in self.model.variables])
        return low, high

    @property
    def least_squares(self) -> bool:
        """Whether the objective is a sum of squares of residuals."""
        return self.residuals is not None

    @property
    def target(self) -> float:
        """Objective that a run has to reach."""
        if self.optimum == 0.0:
            return ZERO_RESIDUAL if self.least_squares else RELATIVE
        return self.optimum + RELATIVE * abs(self.optimum)

    def design(self, x: Floats) -> archeng.Design:
        """Return a flat vector (n,) as a simulator gets it."""
        return archeng.Design(self.model.variables, x, self.model.parameters)

    def at(self, x: Floats) -> tuple[Outputs, Plain]:
        """Simulate a flat vector (n,): its outputs, and what they mean."""
        outputs = self.simulate(self.design(x))
        return outputs, self.plain(x, outputs)

    def box(self, x: Floats) -> dict[str, Range]:
        """Value and bounds of each scalar variable; the names are not those of constraints."""
        rows = zip(self.model.element_names(), x, *self.bounds, strict=True)
        return {f"bounds of {name}": (float(v), float(a), float(b)) for name, v, a, b in rows}


def _limits_of(constraints: Sequence[Any]) -> list[tuple[str, float, float]]:
    return [
        (name, float(low), float(high))
        for c in constraints
        for name, low, high in zip(c.row_names(), *c.limits(), strict=True)
    ]


def _side(limit: float) -> float | None:
    return limit if np.isfinite(limit) else None
