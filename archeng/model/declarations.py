"""`Declarations`: everything that a model consists of, however it was declared."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from archeng.checks import choice, named_options, shown
from archeng.errors import InfeasibleModelError, ModelError
from archeng.model.advice import ONE_OBJECTIVE
from archeng.model.constraint import Constraint, with_defaults
from archeng.model.domain import REAL
from archeng.model.formula_text import formula_texts
from archeng.model.quantities import Output, Parameter
from archeng.model.structure.named import named_positions
from archeng.model.symbols import Family, check_known, check_rows, parts, put_in
from archeng.model.table_symbol import with_row_names
from archeng.model.tables import ViolationTable, model_table, violation_table
from archeng.model.variable import Floats, Variable, flat_design

Sense = Literal["minimize", "maximize"]


class Declarations:
    """Variables, parameters, outputs, constraints and objective of a model.

    Importers add finished records; engineers write `Model`.
    """

    def __init__(self, name: str, kind: Any) -> None:
        self.name, self._type = name, kind
        self._variables: Family[Variable] = Family(self._type)
        self._parameters: Family[Parameter] = Family(self._type)
        self._outputs: Family[Output] = Family(self._type)
        self._constraints: dict[str, Constraint] = {}
        self._objective: Any = None
        self._sense: Sense = "minimize"
        self.objective_name = ""
        self.black_box: Any = None  # computes the outputs of an imported model from a Design
        self._functions: list[Any] = []
        self._independents: tuple[int, ...] = ()
        self._forget()

    def _forget(self) -> None:
        """Forget what was made of the declarations so far."""
        self._complete: tuple[Constraint, ...] | None = None  # explicit, with default tolerances
        self._implied: dict[str, tuple[float, float]] | None = None

    # -- adding -----------------------------------------------------------------------------

    def add(self, symbol: Any, record: Variable | Parameter | Output) -> None:
        """Declare an existing CasADi symbol (used by the importers)."""
        families: dict[type, Family[Any]] = {
            Variable: self._variables,
            Parameter: self._parameters,
            Output: self._outputs,
        }
        for what, other in self._families():
            if record.name in other.records:
                raise ModelError(
                    f"{what} named {record.name!r} exists already; names must be unique."
                )
        families[type(record)].add(symbol, record)
        self._forget()

    def _families(self) -> Iterable[tuple[str, Family[Any]]]:
        yield "A variable", self._variables
        yield "A parameter", self._parameters
        yield "An output", self._outputs

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
            rows = [r for c in constraints for r in c.rows]
            check_rows(rows, self._type, self._every, "The constraints")
        except ModelError:
            for constraint in constraints:  # once more, one by one, to name the culprit
                check_rows(list(constraint.rows), self._type, self._every, str(constraint))
            raise
        for part in parts(constraints, self._outputs, self._parameters, held=True):
            if part.tolerance is None and any(part.equalities()):
                raise ModelError(
                    f"{part}: an equality with outputs needs tolerance=; a simulation hits a "
                    "single value only by chance."
                )
        self._constraints = together
        self._forget()

    def keep(self, function: Any) -> None:
        """Keep a Python function alive that rows refer to (used by the importers)."""
        self._functions.append(function)

    def name_independents(self, items: Sequence[Any], column: Any = None) -> Self:
        """Name variables as independent, too, and return the model itself (used by the importers).

        ``column`` has the symbols of the variables if they are not the model's own.
        """
        own = self.symbols if column is None else column
        named = named_positions(items, self.variables, own)
        self._independents = tuple(sorted({*self._independents, *named}))
        return self

    @named_options(ModelError)
    def set_objective(self, expression: Any, sense: Sense = "minimize") -> None:
        """Give the model a formula to optimise: `minimize` or `maximize`, by ``sense``."""
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
        check_known(expression, self._every, where)
        self._objective = expression
        self._sense = sense
        self.objective_name = ""

    def with_parameters(self, values: Mapping[str, ArrayLike] | None = None, **more: Any) -> Self:
        """Return the same model with other values of some parameters.

        As a mapping by name, or as keywords: ``model.with_parameters(load=15e3)``.

        Raises
        ------
        ModelError
            For a name that is no parameter of the model, or a value of another shape.
        """
        if values is not None and not isinstance(values, Mapping):
            raise ModelError(
                f"Parameters must be a mapping from their names to values, got {shown(values)}."
            )
        given, known = {**(values or {}), **more}, self._parameters.records
        strange = [name for name in given if name not in known]
        if strange:
            have = f"it has {', '.join(known)}" if known else "it has none: model.parameter()"
            raise ModelError(f"Model {self.name!r} has no parameters {strange}; {have}.")
        new = copy.copy(self)
        changed = {name: known[name].with_value(value) for name, value in given.items()}
        new._variables, new._outputs = self._variables.copy(), self._outputs.copy()
        new._parameters = self._parameters.copy(changed)
        new._forget()
        return new

    def relaxed(self) -> Self:
        """Return the same model with all variables real, between the bounds of their values."""
        new, known = copy.copy(self), self._variables.records
        real = {name: replace(record, domain=REAL) for name, record in known.items()}
        new._variables, new._outputs = self._variables.copy(real), self._outputs.copy()
        new._parameters = self._parameters.copy()
        new._forget()
        return new

    # -- looking --------------------------------------------------------------------------

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The declared variables."""
        return tuple(self._variables.records.values())

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The declared parameters, with their values."""
        return tuple(self._parameters.records.values())

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The declared outputs of the simulator."""
        return tuple(self._outputs.records.values())

    @property
    def independents(self) -> tuple[int, ...]:
        """Positions of the named independent variables in the flat vector, if there are any."""
        return self._independents

    @property
    def declared(self) -> tuple[Constraint, ...]:
        """All constraints as they were written, with parameters and outputs in them."""
        return tuple(self._constraints.values())

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The explicit constraints, with parameters put in; equalities with their tolerances."""
        if self._complete is None:
            explicit = parts(self.declared, self._outputs, self._parameters, held=False)
            self._complete = with_defaults(explicit, self.variables, self.symbols)
        return self._complete

    @property
    def simulated(self) -> tuple[Constraint, ...]:
        """The constraints with outputs in them, with parameters put in."""
        return tuple(parts(self.declared, self._outputs, self._parameters, held=True))

    def formula_texts(self) -> list[str]:
        """Return objective, if there is one, and rows of :attr:`simulated` as texts.

        They have the names of variables, parameters and outputs in them.
        """
        written = parts(self.declared, self._outputs, Family(self._type), held=True)
        expressions = [] if self._objective is None else [self._objective]
        expressions += [row.expression for c in written for row in c.rows]
        families = [family for _, family in self._families()]
        symbols = [s for family in families for s in family.symbols]
        records = [r for family in families for r in family.records.values()]
        return formula_texts(expressions, symbols, records)

    def condition_texts(self) -> dict[str, str]:
        """Return the conditions of rows as texts, by the names of the rows."""
        rows = [
            (name, row.when)
            for c in self.declared
            for name, row in zip(c.row_names(), c.rows, strict=True)
            if row.when is not None
        ]
        texts = formula_texts([when for _, when in rows], self._variables.symbols, self.variables)
        named = [with_row_names(text, self.variables) for text in texts]
        return {name: text for (name, _), text in zip(rows, named, strict=True)}

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
        return self._variables.column

    @property
    def parameter_symbols(self) -> Any:
        """All parameters as one CasADi column vector."""
        return self._parameters.column

    @property
    def output_symbols(self) -> Any:
        """All outputs as one CasADi column vector."""
        return self._outputs.column

    @property
    def _every(self) -> list[Family[Any]]:
        """Families of all symbols that formulas may hold."""
        return [family for _, family in self._families()]

    @property
    def has_objective(self) -> bool:
        """Whether the model has a formula to optimise."""
        return self._objective is not None

    @property
    def declared_objective(self) -> Any:
        """The formula of :meth:`minimize` or :meth:`maximize` as it was written, or None."""
        return self._objective

    @property
    def objective(self) -> Any:
        """The formula to optimise, with parameters put in, or None."""
        if self._objective is None:
            return None
        return put_in([self._objective], self._parameters)[0]

    @property
    def objective_sense(self) -> Sense:
        """Whether the model's own objective is minimised or maximised."""
        return self._sense

    def objective_function(self) -> Callable[[ArrayLike], float]:
        """Return the objective as a function of a flat vector (or of a design)."""
        if self._objective is None:
            raise ModelError(f"Model {self.name!r} has no objective.")
        function = ca.Function("objective", [self.symbols], [self.objective])
        return lambda design: float(function(np.asarray(design, dtype=float)))

    def flat(self, design: Mapping[str, ArrayLike] | ArrayLike) -> Floats:
        """Flat vector of a design given as mapping by name, or as a vector already."""
        return flat_design(self.name, self.variables, design)

    def element_names(self) -> list[str]:
        """Names of the scalar variables in flat order."""
        return [name for v in self.variables for name in v.element_names()]

    def violations(self, design: Mapping[str, ArrayLike] | ArrayLike) -> ViolationTable:
        """Every bound and constraint at a design: value, limits, violation. Prints as a table.

        Limits are those of a run: inequalities that can only hold at their limit, together with
        others, have the tolerance of an equality.
        """
        x = self.flat(design)
        rows = [r for c in self.constraints for r in c.rows]
        formulas = [r.expression for r in rows]
        formulas += [self._type(1.0) if r.when is None else r.when for r in rows]
        function = ca.Function("rows", [self.symbols], [ca.vertcat(*formulas)])
        values = np.asarray(function(x), dtype=float).reshape(2, -1)
        table = violation_table(self.variables, self.constraints, x, *values)
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
        return model_table(self)

    def __repr__(self) -> str:
        rows = sum(len(c.rows) for c in self._constraints.values())
        return f"<archeng.Model {self.name!r}: {self.n_variables} variables, {rows} rows>"
