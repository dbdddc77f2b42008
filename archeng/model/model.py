"""`Model`: what the engineer declares. It compiles to one immutable `FeasibleSet`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import choice, floats, named_options, shown, text
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model.advice import CONSTRAINT_HINTS, ONE_OBJECTIVE, VARIABLE_HINTS, source_line
from archeng.model.constraint import (
    Constraint,
    Row,
    check_limits,
    constants_of,
    half_width,
    rows_of_expression,
    rows_of_relation,
    with_defaults,
)
from archeng.model.tables import ViolationTable, model_table, violation_table
from archeng.model.variable import Floats, Variable, make_variable, teaching_symbol

Sense = Literal["minimize", "maximize"]


class Model:
    """Design variables and explicit constraints, written as CasADi expressions.

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
        self.name = name
        self._type = ca.SX if symbols == "SX" else ca.MX
        self._variables: dict[str, Variable] = {}
        self._symbols: list[Any] = []
        self._constraints: dict[str, Constraint] = {}
        self._complete: tuple[Constraint, ...] | None = None  # with their default tolerances
        self._implied: dict[str, tuple[float, float]] | None = None
        self._objective: Any = None
        self._sense: Sense = "minimize"
        self._functions: list[Any] = []

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
        record = make_variable(
            name, lower=lower, upper=upper, start=start, scale=scale, unit=unit, shape=shape
        )
        new = teaching_symbol(self._type, name, record.shape)
        self.add_symbol(new, record)
        return new

    def add_symbol(self, symbol: Any, record: Variable) -> None:
        """Declare an existing CasADi symbol as a variable (used by the importers)."""
        if record.name in self._variables:
            raise ModelError(
                f"A variable named {record.name!r} exists already; names must be unique."
            )
        self._variables[record.name] = record
        self._symbols.append(symbol)
        self._complete = self._implied = None

    @named_options(ModelError, CONSTRAINT_HINTS)
    def subject_to(
        self,
        relation: Any,
        *,
        name: str | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        tolerance: float | None = None,
        source: str | None = None,
    ) -> None:
        """Declare an explicit constraint.

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
            start change by their deviations; ``print(model)`` shows it.
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
        equal = any(r.is_equality for r in rows)
        if tolerance is not None and not equal:
            raise ModelError(f"{where}: tolerance= is for equalities; this is an inequality.")
        self.add_constraints([Constraint(label, tuple(rows), half_width(tolerance, where), source)])

    def add_constraints(self, constraints: Sequence[Constraint]) -> None:
        """Add finished records, checked together: the time is linear in their size.

        For the importers; :meth:`subject_to` is how people write constraints.
        """
        together = dict(self._constraints)
        for constraint in constraints:
            if constraint.name in together:
                raise ModelError(f"{constraint}: a constraint of that name exists already.")
            together[constraint.name] = constraint
        try:
            self._check_rows([r for c in constraints for r in c.rows], "The constraints")
        except ModelError:
            for constraint in constraints:  # once more, one by one, to name the culprit
                self._check_rows(list(constraint.rows), str(constraint))
            raise
        self._constraints = together
        self._complete = self._implied = None

    def keep(self, function: Any) -> None:
        """Keep a Python function alive that rows refer to (used by the importers)."""
        self._functions.append(function)

    @named_options(ModelError)
    def set_objective(self, expression: Any, sense: Sense = "minimize") -> None:
        """Give the model a formula to optimise, so that ``solve`` needs no simulator."""
        choice("sense", sense, get_args(Sense), ModelError)
        symbolic = isinstance(expression, ca.SX | ca.MX)
        if not symbolic or expression.numel() != 1:
            several = symbolic or isinstance(expression, list | tuple | np.ndarray)
            hint = ONE_OBJECTIVE if several else "Use the symbols of model.variable()."
            raise ModelError(
                f"The objective must be one scalar expression, got {shown(expression)}. {hint}"
            )
        where = "The objective"
        if not isinstance(expression, self._type):
            raise ModelError(f"{where} must be a {self._type.__name__} expression of the model.")
        self._check_symbols(expression, where)
        self._objective = expression
        self._sense = sense

    # -- looking --------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The declared variables."""
        return tuple(self._variables.values())

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The declared constraints, equalities with their tolerances."""
        if self._complete is None:
            declared = tuple(self._constraints.values())
            self._complete = with_defaults(declared, self.variables, self.symbols)
        return self._complete

    @property
    def functions(self) -> tuple[Any, ...]:
        """Python functions behind the rows; empty if all rows are formulas."""
        return tuple(self._functions)

    @property
    def n_variables(self) -> int:
        """Number of scalar variables, fixed ones included."""
        return sum(v.size for v in self.variables)

    @property
    def symbols(self) -> Any:
        """All variables as one CasADi column vector, in declaration order."""
        return ca.vertcat(*(ca.vec(s) for s in self._symbols))

    @property
    def has_objective(self) -> bool:
        """Whether :meth:`set_objective` was called."""
        return self._objective is not None

    @property
    def objective(self) -> Any:
        """The formula given by :meth:`set_objective`, or None."""
        return self._objective

    @property
    def objective_sense(self) -> Sense:
        """Whether the model's own objective is minimised or maximised."""
        return self._sense

    def objective_function(self) -> Callable[[ArrayLike], float]:
        """Return the objective as a function of a flat vector (or of a design)."""
        if self._objective is None:
            raise ModelError(f"Model {self.name!r} has no objective.")
        function = ca.Function("objective", [self.symbols], [self._objective])
        return lambda design: float(function(np.asarray(design, dtype=float)))

    def flat(self, design: Mapping[str, ArrayLike] | ArrayLike) -> Floats:
        """Flat vector of a design given as mapping by name, or as a vector already."""
        if isinstance(design, Mapping):
            names, given = self._variables.keys(), set(design)
            if given != names:
                missing, extra = sorted(names - given), sorted(map(str, given - names))
                raise ModelError(
                    f"Design of model {self.name!r}: missing {missing}, unknown {extra}."
                )
            parts = []
            for v in self.variables:
                value = self._numbers(design[v.name])
                if value.shape != v.shape:
                    raise ModelError(
                        f"Variable {v.name!r}: expected shape {v.shape}, got {value.shape}."
                    )
                parts.append(value.reshape(-1, order="F"))
            return np.concatenate(parts) if parts else np.zeros(0)
        x = self._numbers(design)
        if x.shape != (self.n_variables,):
            raise ModelError(
                f"Model {self.name!r} has {self.n_variables} variables; got a vector of "
                f"shape {x.shape}. Order: {', '.join(self.element_names())}."
            )
        return x

    def _numbers(self, values: Any) -> Floats:
        try:
            return floats(values)
        except ValueError as error:
            raise ModelError(
                f"A design of model {self.name!r} is a vector or a mapping of numbers by name; got "
                f"{shown(values)}."
            ) from error

    def element_names(self) -> list[str]:
        """Names of the scalar variables in flat order."""
        return [name for v in self.variables for name in v.element_names()]

    def violations(self, design: Mapping[str, ArrayLike] | ArrayLike) -> ViolationTable:
        """Every bound and constraint at a design: value, limits, violation. Prints as a table.

        Limits are those of a run: inequalities that can only hold at their limit, together with
        others, have the tolerance of an equality.
        """
        x = self.flat(design)
        expressions = [r.expression for c in self.constraints for r in c.rows]
        function = ca.Function("rows", [self.symbols], [ca.vertcat(*expressions)])
        values = np.asarray(function(x), dtype=float).reshape(-1)
        table = violation_table(self.variables, self.constraints, x, values)
        return table if table.maximum == 0 else table.with_limits(self._implied_limits())

    def _implied_limits(self) -> dict[str, tuple[float, float]]:
        """Limits of the inequalities that can only hold as equalities; compiles the model once."""
        from archeng.model.compile import compile_model  # it needs this module

        if self._implied is None:
            self._implied = {}
            with contextlib.suppress(ModelError, InfeasibleModelError):
                fs = compile_model(self)
                rows = zip(fs.rows, fs.lower.tolist(), fs.upper.tolist(), strict=True)
                self._implied = {row.name: (a, b) for row, a, b in rows if row.implied}
        return self._implied

    def __str__(self) -> str:
        return model_table(self.name, self.variables, self.constraints)

    def __repr__(self) -> str:
        rows = sum(len(c.rows) for c in self._constraints.values())
        return f"<archeng.Model {self.name!r}: {self.n_variables} variables, {rows} rows>"

    # -- checking -------------------------------------------------------------------------

    def _check_rows(self, rows: list[Row], where: str) -> None:
        """Limits make sense, symbols are the model's own, coefficients are finite."""
        for row in rows:
            check_limits(row, where)
            if not isinstance(row.expression, self._type):
                raise ModelError(
                    f"{where}: the model uses {self._type.__name__} symbols but the expression "
                    f"is {type(row.expression).__name__}. Use the symbols of model.variable()."
                )
        if not rows:
            return
        expression = ca.vertcat(*(row.expression for row in rows))
        self._check_symbols(expression, where)
        bad = [c for c in constants_of(expression, self.symbols) if not np.isfinite(c)]
        if bad:
            hint = " math.sqrt and the like make NaN of a formula: use casadi.sqrt."
            raise ModelError(
                f"{where}: a coefficient is {bad[0]}; all must be finite numbers."
                f"{hint if np.isnan(bad[0]) else ''}"
            )

    def _check_symbols(self, expression: Any, where: str) -> None:
        """Raise if the expression contains a symbol that is not a variable of the model."""
        own = {hash(s) for s in ca.symvar(self.symbols)}
        foreign = sorted({str(s) for s in ca.symvar(expression) if hash(s) not in own})
        if foreign:
            raise ModelError(
                f"{where}: unknown variable {', '.join(foreign)}; the model has "
                f"{', '.join(self._variables) or 'none'}. Declare it with "
                "model.variable() or replace it by a number."
            )


def imported(
    name: str,
    variables: Iterable[tuple[Any, Variable]],
    constraints: Sequence[Constraint],
    objective: tuple[Any, Sense] | None,
) -> Model:
    """Build a model of SX symbols and finished records (used by the importers)."""
    model = Model(name)
    for symbol, record in variables:
        model.add_symbol(symbol, record)
    model.add_constraints(constraints)
    if objective is not None:
        model.set_objective(*objective)
    return model
