"""`Model`: what the engineer declares. It compiles to one immutable `FeasibleSet`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from archeng.checks import choice, named_options, shown, text
from archeng.errors import ModelError
from archeng.model.advice import CONSTRAINT_HINTS, VARIABLE_HINTS, source_line
from archeng.model.constraint import (
    Constraint,
    half_width,
    rows_of_expression,
    rows_of_relation,
)
from archeng.model.declarations import Sense
from archeng.model.discrete import DiscreteDeclarations
from archeng.model.quantities import Output, Parameter
from archeng.model.variable import Variable
from archeng.model.when import check_condition, with_conditions


class Model(DiscreteDeclarations):
    """Design variables, constraints and objective, written as CasADi expressions.

    Formulas may hold parameters (numbers that change between runs) and outputs (what the simulator
    returns). A constraint without outputs is explicit: the simulator is never called where it is
    violated.

    Parameters
    ----------
    name : str
        Shown in tables and reports.
    symbols : {"SX", "MX"}
        Which kind of CasADi symbol :meth:`variable` returns. SX is faster; MX is for
        expressions that need CasADi `Function` calls, interpolants and the like.

    Examples
    --------
    >>> model = Model("can")
    >>> r = model.variable("radius", lower=1, upper=10, unit="cm")
    >>> h = model.variable("height", lower=1, upper=30, unit="cm")
    >>> model.subject_to(3.14159 * r**2 * h >= 330, name="volume")
    >>> model.n_variables
    2
    """

    @named_options(ModelError)
    def __init__(self, name: str = "model", *, symbols: str = "SX") -> None:
        choice("symbols", symbols, ("SX", "MX"), ModelError)
        if not isinstance(name, str):
            raise ModelError(f"The name of a model must be a text, got {shown(name)}.")
        super().__init__(name, ca.SX if symbols == "SX" else ca.MX)

    # -- declaring ------------------------------------------------------------------------

    @named_options(ModelError, VARIABLE_HINTS)
    def variable(
        self,
        name: str,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        start: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        unit: str = "",
        shape: int | tuple[int, ...] = (),
    ) -> Any:
        """Declare a design variable and return its CasADi symbol.

        Parameters
        ----------
        name : str
            Unique in the model; the key of ``design[name]`` in the simulator.
        lower, upper : float or array, optional
            Bounds. ``lower == upper`` fixes the variable.
        start : float or array, optional
            A first guess. It need not be feasible.
        scale : float or array, optional
            Typical step, the initial standard deviation. By default a fifth of the width
            between the bounds; needed (with ``start``) for a variable without both bounds.
        unit : str
            Only shown, never converted.
        shape : int or tuple
            ``()`` scalar, ``n`` vector, ``(rows, columns)`` matrix.

        Returns
        -------
        casadi.SX or casadi.MX
        """
        return self.declare(
            name, lower=lower, upper=upper, start=start, scale=scale, unit=unit, shape=shape
        )[0]

    @named_options(ModelError)
    def parameter(self, name: str, value: ArrayLike, *, unit: str = "") -> Any:
        """Declare a number in the formulas that changes between runs, and return its symbol.

        ``solve(..., parameters={name: value})`` and :meth:`with_parameters` change it; the
        simulator finds it in ``design.parameters[name]``.

        Parameters
        ----------
        name : str
            Unique in the model.
        value : float or array
            A number, a vector or a matrix.
        unit : str
            Only shown, never converted.

        Returns
        -------
        casadi.SX or casadi.MX
        """
        return self._symbol_of(Parameter.declared(name, value, unit))

    @named_options(ModelError)
    def output(self, name: str, *, unit: str = "", shape: int | tuple[int, ...] = ()) -> Any:
        """Declare what the simulator returns under a name, and return its symbol.

        Constraints and objective may be formulas of it. The simulator then returns a dictionary
        ``{name: value, ...}`` with all outputs, or ``Evaluation(outputs={...})``.

        Parameters
        ----------
        name : str
            Unique in the model.
        unit : str
            Only shown, never converted.
        shape : int or tuple
            ``()`` scalar, ``n`` vector, ``(rows, columns)`` matrix.

        Returns
        -------
        casadi.SX or casadi.MX
        """
        return self._symbol_of(Output.declared(name, unit, shape))

    @named_options(ModelError, CONSTRAINT_HINTS)
    def subject_to(
        self,
        relation: Any,
        *,
        name: str | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        tolerance: float | None = None,
        when: Any = None,
        source: str | None = None,
    ) -> None:
        """Declare a constraint: explicit, or with outputs in it a simulated one.

        An explicit one is never violated in a call of the simulator; one with outputs may be
        violated during the search, and the result says whether it holds.

        Parameters
        ----------
        relation : CasADi relation or expression
            ``a <= b``, ``a >= b``, ``a == b``; or a plain expression together with
            ``lower=`` and/or ``upper=``. Vectors are read element by element. ``a < b`` and
            ``a > b`` are strict: the limit itself is excluded, the next float is not.
        name : str, optional
            Shown wherever the constraint is spoken of; by default ``c1``, ``c2``, ...
        lower, upper : float or array, optional
            Limits of a plain expression. ``lower == upper`` is an equality.
        tolerance : float, optional
            Equalities only: ``|a - b| <= tolerance`` counts as satisfied, in the units of the
            expression. Default: 1e-7 of what the row changes when the variables near the
            start change by their deviations; ``print(model)`` shows it. An equality with outputs
            has no default.
        when : CasADi expression, optional
            A condition: where it is 1 the constraint must hold, where it is 0 it is not there, even
            if its formula is undefined. A binary, an indicator such as ``material.is_("S355")``,
            ``1 - binary``, or a product of such; of a vector of constraints also a vector.
        source : str, optional
            Where it was written, for messages; by default the caller's ``file.py:line``.
        """
        if name is None:  # its number, or the next one that is not taken
            numbers = itertools.count(len(self._constraints) + 1)
            name = next(c for k in numbers if (c := f"c{k}") not in self._constraints)
        label = text("name", name, ModelError)
        source = source_line() if source is None else text("source", source, ModelError)
        where = f"Constraint {label!r} ({source})"
        if lower is None and upper is None:
            rows = rows_of_relation(relation, where)
        else:
            rows = rows_of_expression(relation, lower, upper, where)
        if when is not None:
            check_condition(when, self.variables, self.symbols, where)
            rows = with_conditions(rows, when, relation, where)
        equal = any(r.is_equality for r in rows)
        if tolerance is not None and not equal:
            raise ModelError(f"{where}: tolerance= is for equalities; this is an inequality.")
        self.add_constraints([Constraint(label, tuple(rows), half_width(tolerance, where), source)])

    def independent(self, *symbols: Any) -> None:
        """Name the independent variables: those that are chosen, and from which others follow.

        In a model with many equalities the search chooses as many variables as there are degrees
        of freedom; the others, which are dependent, are computed from the equations. Without this
        the independent ones are chosen for you.

        Parameters
        ----------
        *symbols : CasADi symbol or str
            What :meth:`variable` returned, or an entry of it; or the name of a variable or entry.
            A second call names further ones.

        Raises
        ------
        ModelError
            For what is no variable of the model, or is fixed.
        """
        self.name_independents(symbols)

    @named_options(ModelError)
    def minimize(self, expression: Any, *, name: str = "") -> None:
        """Give the model a formula to minimise, of variables, parameters and outputs.

        Without outputs in the model ``solve`` needs no simulator. ``name`` is shown in tables.
        """
        if not isinstance(name, str):
            raise ModelError(f"The name of an objective must be a text, got {shown(name)}.")
        self.set_objective(expression)
        self.objective_name = name

    @named_options(ModelError)
    def maximize(self, expression: Any, *, name: str = "") -> None:
        """Give the model a formula to maximise; see :meth:`minimize`."""
        self.minimize(expression, name=name)
        self._sense = "maximize"


def imported(
    name: str,
    symbols: Iterable[tuple[Any, Variable | Parameter | Output]],
    constraints: Sequence[Constraint],
    objective: tuple[Any, Sense] | None,
    independent: Sequence[Any] = (),
) -> Model:
    """Build a model of SX symbols and finished records (used by the importers)."""
    model = Model(name)
    for symbol, record in symbols:
        model.add(symbol, record)
    model.add_constraints(constraints)
    if objective is not None:
        model.set_objective(*objective)
    return model.name_independents(independent)
