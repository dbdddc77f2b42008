"""A model as plain data (JSON), and back: what a journal needs to go on without the script.

The rows are stored as the list of elementary operations of one CasADi function, by the names of
the operations. Nothing in it can run code: reading it only builds formulas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from archeng.errors import ModelError
from archeng.model.constraint import Constraint, Row, half_width
from archeng.model.domain_changes import DOMAIN_KEYS, domain_changes
from archeng.model.model import Model, imported
from archeng.model.quantities import Output, Parameter
from archeng.model.teaching import symbol
from archeng.model.variable import Variable, element_names, finite_or_none, stacked

_UNARY = (
    "assign", "neg", "exp", "log", "sqrt", "sq", "twice", "sin", "cos", "tan", "asin", "acos",
    "atan", "floor", "ceil", "fabs", "sign", "not", "erf", "inv", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "log1p", "expm1", "erfinv",
)  # fmt: skip
_BINARY = (
    "add", "sub", "mul", "div", "pow", "constpow", "lt", "le", "eq", "ne", "and", "or", "fmod",
    "copysign", "fmin", "fmax", "atan2", "hypot", "remainder", "if_else_zero",
)  # fmt: skip
_OPERANDS = {**dict.fromkeys(_UNARY, 1), **dict.fromkeys(_BINARY, 2)}
_CODES = {name: getattr(ca, f"OP_{name.upper()}") for name in _OPERANDS}
_NAMES = {code: name for name, code in _CODES.items()}
_Named = Mapping[str, Mapping[str, Any]]
_VARIABLE, _NUMBER = "variable", "number"
_PRINTS = ("formula", "condition")  # parts of rows that are compared by fingerprints
_POINTS = 5  # at which models with Python functions are compared
_STRANGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def to_data(model: Model) -> dict[str, Any] | None:
    """Return a model as JSON data; None if it has parts that only CasADi's MX can do."""
    try:
        operations, results = _operations(_function(model).expand())
    except (RuntimeError, KeyError):  # not scalar formulas, or more than elementary operations
        return None
    lines = iter(results)
    conditions = iter(results[len(results) - _n_conditions(model) :])
    return {
        "name": model.name,
        "variables": [v.to_data() for v in model.variables],
        **{
            key: [record.to_data() for record in records]
            for key, records in (("parameters", model.parameters), ("outputs", model.outputs))
            if records
        },
        "operations": operations,
        "constraints": [
            {
                "name": c.name,
                "tolerance": c.tolerance,
                "half_widths": list(c.half_widths),
                "source": c.source,
                "rows": [[next(lines), *map(finite_or_none, (r.lower, r.upper))] for r in c.rows],
                **_conditions(c, conditions),
            }
            for c in _declared(model)
        ],
        "objective": next(lines) if model.has_objective else None,
        "sense": model.objective_sense,
        **({"objective_name": model.objective_name} if model.objective_name else {}),
        **({"independents": list(model.independents)} if model.independents else {}),
    }


def _n_conditions(model: Model) -> int:
    return sum(row.when is not None for c in model.declared for row in c.rows)


def _conditions(constraint: Constraint, lines: Iterator[int]) -> dict[str, Any]:
    """Return the operations of the conditions of rows, None for a row without; empty: all."""
    if all(row.when is None for row in constraint.rows):
        return {}
    return {"when": [None if row.when is None else next(lines) for row in constraint.rows]}


def _declared(model: Model) -> Iterator[Constraint]:
    """Constraints as they were written, with the default tolerances of their explicit rows."""
    complete = {c.name: c for c in model.constraints}
    for c in model.declared:
        explicit = complete.get(c.name)
        if explicit is None or not explicit.half_widths:
            yield c
            continue
        widths = np.zeros(len(c.rows))
        every = range(len(c.rows)) if explicit.indices is None else explicit.indices
        widths[list(every)] = explicit.half_widths
        yield replace(c, half_widths=tuple(widths.tolist()))


def serialized(model: Model) -> str:
    """Return text that changes with the model, also for one that has no data. Only to compare."""
    function = _function(model)
    limits = [(c.name, c.tolerance, r.lower, r.upper) for c in model.declared for r in c.rows]
    records = [v.to_data() for v in model.variables]
    records += [r.to_data() for r in (*model.parameters, *model.outputs)]
    text = _at_points(model, function) if model.functions else function.serialize()
    named = (model.independents,) if model.independents else ()
    return repr((model.name, records, limits, text, *named))


def _at_points(model: Model, function: Any) -> list[list[float]]:
    """Values of the rows at a few fixed points: all that can be told of Python functions."""
    lower, upper, start = stacked(model.variables, "lower", "upper", "start")
    start = np.where(np.isfinite(start), start, 0.0)
    low = np.where(np.isfinite(lower), lower, np.minimum(start, upper) - 1.0)
    high = np.where(np.isfinite(upper), upper, np.maximum(start, low) + 1.0)
    shares = np.random.default_rng(0).random((_POINTS, len(low)))
    more = np.concatenate(
        [
            np.zeros(0),
            *(p.values for p in model.parameters),
            *(np.ones(o.size) for o in model.outputs),
        ]
    )
    points = [np.concatenate((low + s * (high - low), more)) for s in shares]
    return [np.asarray(function(point)).reshape(-1).tolist() for point in points]


def from_data(data: Mapping[str, Any]) -> Model:
    """Build the model again.

    Raises
    ------
    ModelError
        If the data are not those of a model.
    """
    try:
        return _from_data(data)
    except ModelError:
        raise
    except _STRANGE as error:
        raise ModelError(f"The stored model is damaged: {error}") from error


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say in words how two stored models differ; empty if they are the same."""
    changes = []
    if old["name"] != new["name"]:
        changes.append(f"name: {old['name']!r} became {new['name']!r}")
    (variables, rows, goal), (new_variables, new_rows, new_goal) = _parts(old), _parts(new)
    for what in ("parameter", "output"):
        changes += _compare(what, *(_by_name(data.get(f"{what}s", ())) for data in (old, new)))
    changes += _compare("variable", variables, new_variables)
    changes += [
        change
        for name in variables
        if name in new_variables
        for change in domain_changes(name, variables[name], new_variables[name])
    ]
    changes += _compare("constraint", rows, new_rows)
    if goal != new_goal:
        changes.append("the objective")
    named, new_named = (_independents(data) for data in (old, new))
    if named != new_named:
        changes.append(f"independent variables: {named or 'none'} became {new_named or 'none'}")
    if not changes and json.dumps(old["variables"]) != json.dumps(new["variables"]):
        changes.append("the order of the variables")
    return changes


# -- writing --------------------------------------------------------------------------------


def _function(model: Model) -> Any:
    """Return rows, objective if there is one, and conditions as a function of all symbols."""
    rows = [row for c in model.declared for row in c.rows]
    formulas = [row.expression for row in rows]
    formulas += [model.declared_objective] if model.has_objective else []
    formulas += [row.when for row in rows if row.when is not None]
    column = ca.vertcat(*formulas) if formulas else type(model.symbols)(0, 1)
    inputs = ca.vertcat(model.symbols, model.parameter_symbols, model.output_symbols)
    return ca.Function("model", [inputs], [column])


def _operations(function: Any) -> tuple[list[list[Any]], list[int]]:
    """Operations in order, each as [name, operands...]; and which of them are the outputs.

    Operands are numbers of earlier operations, so the list does not depend on work vectors.
    """
    register: dict[int, int] = {}
    operations: list[list[Any]] = []
    results: dict[int, int] = {}
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            results[targets[1]] = register[sources[0]]
            continue
        if code == ca.OP_INPUT:
            entry: list[Any] = [_VARIABLE, sources[1]]
        elif code == ca.OP_CONST:
            entry = [_NUMBER, function.instruction_constant(k)]
        else:
            entry = [_NAMES[code], *(register[s] for s in sources)]
        register[targets[0]] = len(operations)
        operations.append(entry)
    for position in range(function.numel_out(0)):
        if position not in results:  # a structural zero
            results[position] = len(operations)
            operations.append([_NUMBER, 0.0])
    return operations, [results[i] for i in range(len(results))]


# -- reading --------------------------------------------------------------------------------


def _from_data(data: Mapping[str, Any]) -> Model:
    records = [Variable.from_data(record) for record in data["variables"]]
    parameters = [Parameter.from_data(record) for record in data.get("parameters", ())]
    outputs = [Output.from_data(record) for record in data.get("outputs", ())]
    every: list[Variable | Parameter | Output] = [*records, *parameters, *outputs]
    symbols = [symbol(ca.SX, record.name, record.shape) for record in every]
    entries = [entry for s in symbols for entry in s.nonzeros()]
    values: list[Any] = []
    for name, *operands in data["operations"]:
        if name == _VARIABLE:
            values.append(_element(entries, *operands))
        elif name == _NUMBER:
            (number,) = operands
            values.append(ca.SX(float(number)))
        elif len(operands) != _OPERANDS[name]:
            raise ValueError(f"operation {name} with {len(operands)} operands")
        else:
            make = ca.SX.unary if len(operands) == 1 else ca.SX.binary
            values.append(make(_CODES[name], *(_element(values, i) for i in operands)))
    goal = data["objective"]
    model = imported(
        str(data["name"]),
        zip(symbols, every, strict=True),
        [_constraint(c, values) for c in data["constraints"]],
        None if goal is None else (_element(values, goal), data["sense"]),
    )
    model.objective_name = str(data.get("objective_name", ""))
    return model.name_independents([_element(entries, i) for i in data.get("independents", ())])


def _constraint(record: Mapping[str, Any], values: Sequence[Any]) -> Constraint:
    """Return a stored constraint; in journals of older versions it has no default tolerances."""
    conditions = record.get("when", [None] * len(record["rows"]))
    rows = tuple(
        Row(
            _element(values, line),
            float(-np.inf if a is None else a),
            float(np.inf if b is None else b),
            None if when is None else _element(values, when),
        )
        for (line, a, b), when in zip(record["rows"], conditions, strict=True)
    )
    widths = tuple(float(w) for w in record.get("half_widths", ()))
    if len(widths) not in (0, len(rows)) or not all(0 <= w < np.inf for w in widths):
        raise ValueError(f"tolerances {widths} of {record['name']!r}")
    tolerance = half_width(record["tolerance"], "The stored model")
    return Constraint(str(record["name"]), rows, tolerance, str(record["source"]), widths)


def _element(values: Sequence[Any], index: Any) -> Any:
    """Return an element by a true index: no negative numbers, no numbers that are text."""
    if not isinstance(index, int) or not 0 <= index < len(values):
        raise ValueError(f"{index!r} is not the number of an operation")
    return ca.SX(values[index])


# -- comparing ------------------------------------------------------------------------------


def _parts(data: Mapping[str, Any]) -> tuple[_Named, _Named, Any]:
    """Return variables and constraints by name, and the objective; formulas as fingerprints."""
    prints: list[str] = []
    every = [*data["variables"], *data.get("parameters", ()), *data.get("outputs", ())]
    names = [n for v in every for n in element_names(v["name"], tuple(v["shape"]))]
    for name, *operands in data["operations"]:
        if name == _VARIABLE:
            parts: list[Any] = [names[operands[0]]]
        else:
            parts = operands if name == _NUMBER else [prints[i] for i in operands]
        prints.append(hashlib.sha256(repr((name, parts)).encode()).hexdigest())
    variables = _by_name(data["variables"])
    rows = {
        c["name"]: {
            "tolerance": c["tolerance"],
            "limits": [row[1:] for row in c["rows"]],
            "formula": [prints[row[0]] for row in c["rows"]],
            "condition": [None if k is None else prints[k] for k in c.get("when", ())],
        }
        for c in data["constraints"]
    }
    line = data["objective"]
    return variables, rows, (None if line is None else prints[line], data["sense"])


def _independents(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the named independent variables."""
    variables = data["variables"]
    names = [n for v in variables for n in element_names(v["name"], tuple(v["shape"]))]
    return sorted(names[i] for i in data.get("independents", ()))


def _by_name(records: Sequence[Mapping[str, Any]]) -> _Named:
    return {r["name"]: {key: value for key, value in r.items() if key != "name"} for r in records}


def _compare(what: str, old: _Named, new: _Named) -> list[str]:
    changes = [f"{what} {name!r} is gone" for name in old if name not in new]
    changes += [f"{what} {name!r} is new" for name in new if name not in old]
    for name in old:
        for key, value in old[name].items():
            if key in DOMAIN_KEYS:
                continue
            if name in new and new[name].get(key) != value:
                change = "" if key in _PRINTS else f": {value} became {new[name].get(key)}"
                changes.append(f"{what} {name!r}, {key}{change}")
    return changes
