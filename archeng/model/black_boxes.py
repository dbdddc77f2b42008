r"""Calls of expensive functions inside CasADi formulas become outputs of the model.

A `casadi.Callback` in a constraint is called wherever the repair evaluates the row: thousands of
times. Taken out, it is what a simulator is: it is called once for each design that satisfies the
explicit constraints, and the rows are formulas of what it returned.

A call :math:`z_k = B_k(a_k)` has arguments :math:`a_k(x, p, z_1, ..., z_{k-1})`: formulas of the
variables x, the parameters p, and the results of calls before it. Their derivatives are

.. math:: D z_k = J_{B_k} (\partial_x a_k + \partial_z a_k \, D z)
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from archeng.checks import shown
from archeng.errors import ModelError
from archeng.model.quantities import RESERVED, Output
from archeng.model.teaching import symbol_shape
from archeng.model.variable import Floats

EQUALITY_TOLERANCE = 1e-5
"""Half-width of an imported equality with outputs, if no ``tolerance=`` is given."""

_PYTHON = "CallbackInternal"  # what CasADi calls the class of Callbacks written in Python
_INLINED = "MXFunction"  # functions that can be replaced by their formulas
_ONE_AT_A_TIME = threading.Lock()  # CasADi does not promise that formulas may share threads
_DIFFERENCES = ("ForwardDiff", "CentralDiff", "BackwardDiff", "Smoothing")  # derivatives by calls


@dataclass(frozen=True, eq=False)
class TakenOut:
    """Formulas without the calls of black boxes.

    Attributes
    ----------
    expressions : list of casadi.MX
    outputs : tuple of Output
        What the formulas need of the black boxes,
    symbols : tuple of casadi.MX
        and the symbols that stand for it in them.
    calls : tuple of BoxCall
        In the order in which they are to be made.
    """

    expressions: list[Any]
    outputs: tuple[Output, ...]
    symbols: tuple[Any, ...]
    calls: tuple[BoxCall, ...]


@dataclass(frozen=True, eq=False)
class BoxCall:
    """One call in the formulas: of which function, with which arguments, under which names."""

    function: Any
    arguments: list[Any]
    names: tuple[str, ...]
    symbols: tuple[Any, ...]


def take_out(expressions: list[Any], boxes: Any, where: str, taken: Iterable[str]) -> TakenOut:
    """Replace every call of the black boxes by symbols.

    Parameters
    ----------
    expressions : list of casadi.MX or casadi.SX
    boxes : sequence of casadi.Function or str
        Functions, or their names.
    where : str
        What the formulas are, for messages.
    taken : iterable of str
        Names that outputs must not have.

    Raises
    ------
    ModelError
        For a black box that is none, that does not occur, or that only occurs inside a function
        that cannot be taken apart.
    """
    wanted = _checked(boxes)
    if not all(isinstance(e, ca.MX) for e in expressions):
        raise ModelError(
            f"Formulas of SX symbols hold no calls of functions, so {_listed(wanted)} cannot be in "
            "them: write the model in MX symbols."
        )
    expressions = ca.cse(_opened(expressions, wanted))
    found = [call for call in _calls(expressions) if _is_one(call.which_function(), wanted)]
    missing = [b for b in wanted if not any(_is_one(c.which_function(), [b]) for c in found)]
    if missing:
        others = sorted({call.which_function().name() for call in _calls(expressions)})
        raise ModelError(
            f"The black box {_listed(missing)} does not occur in {where}; functions that are "
            f"called there: {', '.join(others) or 'none'}."
        )
    nodes: list[Any] = []
    replacements: list[Any] = []
    calls: list[BoxCall] = []
    names = _names(found, set(taken) | set(RESERVED))
    for node, labels in zip(found, names, strict=True):
        arguments = [node.dep(i) for i in range(node.n_dep())]
        results = [node.get_output(i) for i in range(len(labels))]
        symbols = [ca.MX.sym(n, *r.shape) for n, r in zip(labels, results, strict=True)]
        arguments = _substituted(arguments, nodes, replacements)
        function = next((b for b in wanted if _same(node.which_function(), b)), None)
        function = node.which_function() if function is None else function  # known by its name
        calls.append(BoxCall(function, arguments, labels, tuple(symbols)))
        nodes += results
        replacements += [ca.project(s, r.sparsity()) for s, r in zip(symbols, results, strict=True)]
    left = _substituted(expressions, nodes, replacements)
    held = {hash(s) for e in left for s in ca.symvar(e)}
    used = [
        (Output(name, symbol_shape(s)), s)
        for call in calls
        for name, s in zip(call.names, call.symbols, strict=True)
        if hash(s) in held
    ]
    return TakenOut(left, tuple(o for o, _ in used), tuple(s for _, s in used), tuple(calls))


class BlackBoxes:
    """Calls the black boxes at a design, in their order; what ``model.black_box`` is.

    Parameters
    ----------
    taken : TakenOut
    x, p : casadi.MX
        Columns of the variables and parameters in the arguments.
    values : ndarray
        Values of p,
    parameters : sequence of (str, int)
        unless they are parameters of the model: their names and sizes, in the order of p.
    gradients : bool
        Return derivatives of the outputs, too.
    """

    def __init__(
        self,
        taken: TakenOut,
        x: Any,
        p: Any,
        values: Floats,
        parameters: Sequence[tuple[str, int]],
        gradients: bool,
    ) -> None:
        self._outputs = taken.outputs
        z = ca.vertcat(*(ca.vec(s) for call in taken.calls for s in call.symbols))
        self._size, self._values, self._slices = z.numel(), values, {}
        self._calls: list[_Prepared] = []
        first = 0
        for call in taken.calls:
            prepared = _Prepared(call, first, (x, p, z), gradients)
            self._calls.append(prepared)
            first = prepared.last
        self._gradients = gradients
        read = ca.symvar(ca.veccat(ca.MX(0, 1), *(a for c in taken.calls for a in c.arguments)))
        held, first = {hash(s) for s in read}, 0
        for name, size in parameters:
            if any(hash(s) in held for s in ca.symvar(p[first : first + size])):
                self._slices[name] = slice(first, first + size)
            first += size

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions, each once."""
        return tuple(dict.fromkeys(call.name for call in self._calls))

    def __call__(self, design: Any) -> dict[str, Any]:
        """Return the outputs, and their derivatives if asked for, as an answer of a simulator."""
        x, p = np.asarray(design.x, dtype=float), np.array(self._values)
        for name, where in self._slices.items():
            p[where] = np.reshape(design.parameters[name], -1, order="F")
        z, slopes = np.zeros(self._size), np.zeros((self._size, len(x)))
        found: dict[str, Any] = {}
        gradients: dict[str, Any] = {}
        for call in self._calls:
            with _ONE_AT_A_TIME:
                arguments = call.arguments.call([x, p, z])
            results = call.results(arguments)
            if self._gradients:
                slopes[call.first : call.last] = call.slopes(arguments, results, (x, p, z), slopes)
            z[call.first : call.last] = _flat(results)
            for name, value, where in zip(call.names, results, call.slices(), strict=True):
                found[name], gradients[name] = value, slopes[where]
        return {
            "outputs": {o.name: found[o.name].reshape(o.shape, order="F") for o in self._outputs},
            **(
                {"gradients": {o.name: gradients[o.name] for o in self._outputs}}
                if self._gradients
                else {}
            ),
        }

    def __reduce__(self) -> Any:
        for call in self._calls:
            if any(f.class_name() == _PYTHON for f in (call.function, *call.inner)):
                _stays_here(call.name)
        return super().__reduce__()


class _Prepared:
    """A call with its compiled arguments; its results are z[first:last] of all results z."""

    def __init__(
        self, call: BoxCall, first: int, symbols: tuple[Any, Any, Any], gradients: bool
    ) -> None:
        self.function, self.names = call.function, call.names
        self.first, self.last = first, first + sum(s.numel() for s in call.symbols)
        self._sizes = [s.numel() for s in call.symbols]
        self.arguments = ca.Function("arguments", list(symbols), call.arguments)
        x, _, z = symbols
        self._partial: Any = None
        self._jacobian: Any = None
        if gradients:
            column = ca.veccat(ca.MX(0, 1), *(ca.densify(a) for a in call.arguments))
            slopes = [ca.jacobian(column, x), ca.jacobian(column, z)]
            self._partial = ca.Function("slopes", list(symbols), slopes)
            self._jacobian = _exact_jacobian(call.function)

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(self.function.name())

    @cached_property
    def inner(self) -> list[Any]:
        """Functions that it is made of."""
        return list(self.function.find_functions())

    def slices(self) -> list[slice]:
        """Where each result is in z."""
        ends = self.first + np.cumsum(self._sizes)
        return [slice(int(e) - n, int(e)) for e, n in zip(ends, self._sizes, strict=True)]

    def results(self, arguments: list[Any]) -> list[Floats]:
        """Call the function: one matrix for each of its results.

        A Callback is called directly, so that its exceptions come out as they are.
        """
        f = self.function
        if not isinstance(f, ca.Callback) or f.has_eval_buffer():
            return [np.asarray(value.full(), dtype=float) for value in f.call(arguments)]
        values = f.eval(arguments)
        if not isinstance(values, list | tuple) or len(values) != f.n_out():
            raise TypeError(
                f"eval() of black box {self.name!r} must return a list of {f.n_out()} results, got "
                f"{shown(values)}"
            )
        return [self._matrix(i, value) for i, value in enumerate(values)]

    def _matrix(self, i: int, value: Any) -> Floats:
        array = np.asarray(ca.DM(value).full(), dtype=float)
        if array.shape not in ((1, 1), self.function.size_out(i)):
            raise TypeError(
                f"eval() of black box {self.name!r} returned a result {i} of shape {array.shape}; "
                f"its sparsity has {self.function.size_out(i)}"
            )
        return np.broadcast_to(array, self.function.size_out(i))

    def slopes(
        self, arguments: list[Any], results: list[Floats], at: tuple[Any, Any, Any], before: Floats
    ) -> Floats:
        """Return derivatives of the results by x; ``before`` (q, n): of all results so far."""
        with _ONE_AT_A_TIME:
            by_x, by_z = (part.full() for part in self._partial.call(list(at)))
        blocks = [block.full() for block in self._jacobian.call([*arguments, *results])]
        k = len(arguments)
        own = np.vstack([np.hstack(blocks[i : i + k]) for i in range(0, len(blocks), k)])
        return np.asarray(own @ (by_x + by_z @ before), dtype=float)


def _exact_jacobian(function: Any) -> Any:
    """Return the Jacobian of a black box as CasADi has it.

    Finite differences would call it beside the design, where explicit constraints may be violated.
    """
    advice = "give it a Jacobian (has_jacobian), or leave out gradients=True."
    try:
        jacobian = function.jacobian()
    except (RuntimeError, NotImplementedError) as error:
        raise ModelError(
            f"CasADi has no derivatives of the black box {function.name()!r}: {advice}"
        ) from error
    if any(f.class_name() in _DIFFERENCES for f in jacobian.find_functions()):
        raise ModelError(
            f"CasADi has only finite differences for the black box {function.name()!r}, which "
            f"would call it at designs that violate constraints: {advice}"
        )
    return jacobian


# -- finding calls ---------------------------------------------------------------------------


def _calls(expressions: list[Any]) -> list[Any]:
    """Nodes that are calls of functions; each after those that it needs."""
    options = {"allow_free": True, "max_io": 0}
    f = ca.Function("formulas", [], expressions, options)
    every = (k for k in range(f.n_instructions()) if f.instruction_id(k) == ca.OP_CALL)
    return [f.instruction_MX(k) for k in every]


def _opened(expressions: list[Any], wanted: list[Any]) -> list[Any]:
    """Replace functions with calls of black boxes inside by their formulas, until none is left."""
    while True:
        for call in _calls(expressions):
            f = call.which_function()
            if _is_one(f, wanted) or not any(_is_one(g, wanted) for g in f.find_functions()):
                continue
            if f.class_name() != _INLINED:
                raise ModelError(
                    f"The black box {_listed(wanted)} is inside {f.name()!r}, a function of type "
                    f"{f.class_name()} that cannot be taken apart: call it in the formulas "
                    f"themselves, or make {f.name()!r} the black box."
                )
            formulas = f.call([call.dep(i) for i in range(call.n_dep())], True, False)
            nodes = [call.get_output(i) for i in range(f.n_out())]
            expressions = _substituted(expressions, nodes, formulas)
            break
        else:
            return expressions


def _substituted(expressions: list[Any], nodes: list[Any], others: list[Any]) -> list[Any]:
    return list(ca.graph_substitute(expressions, nodes, others)) if nodes else expressions


def _checked(boxes: Any) -> list[Any]:
    """Return what was given as a list of functions and names."""
    given = [boxes] if isinstance(boxes, ca.Function | str) else boxes
    good = isinstance(given, list | tuple) and given
    if not good or not all(isinstance(b, ca.Function | str) for b in given):
        raise ModelError(
            "black_boxes must be a list of CasADi functions (a Callback is one), or of their "
            f"names; got {shown(boxes)}."
        )
    return list(given)


def _is_one(function: Any, boxes: list[Any]) -> bool:
    return any(function.name() == b if isinstance(b, str) else _same(function, b) for b in boxes)


def _same(function: Any, box: Any) -> bool:
    """Whether two objects are the same function of CasADi."""
    return not isinstance(box, str) and bool(function.__hash__() == box.__hash__())


def _names(calls: list[Any], taken: set[str]) -> list[tuple[str, ...]]:
    """Names of the results of each call: of the function, numbered if it is called again."""
    functions = [call.which_function() for call in calls]
    every = [f.name() for f in functions]
    count: dict[str, int] = {}
    names = []
    for f in functions:
        number = count[f.name()] = count.get(f.name(), 0) + 1
        first = f.name() if every.count(f.name()) == 1 else f"{f.name()}_{number}"
        own = [first] if f.n_out() == 1 else [f"{first}_{f.name_out(i)}" for i in range(f.n_out())]
        for k, name in enumerate(own):
            while name in taken:
                name += "_"
            own[k] = name
            taken.add(name)
        names.append(tuple(own))
    return names


def _listed(boxes: list[Any]) -> str:
    return ", ".join(repr(b if isinstance(b, str) else b.name()) for b in boxes)


def _flat(results: list[Floats]) -> Floats:
    return np.concatenate([r.reshape(-1, order="F") for r in results])


def _stays_here(name: str) -> NoReturn:
    raise TypeError(
        f"the black box {name!r} is a Callback of CasADi, which stays in its process: use "
        'workers="threads:N", or no workers'
    )
