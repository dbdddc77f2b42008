"""Black boxes in a Pyomo model, as calls with inputs and outputs: what is read of them.

A call is an `ExternalFunction` with certain arguments, or an `ExternalGreyBoxBlock`. Its outputs
are symbols in the formulas of the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from archeng.errors import ModelError
from archeng.model.pyomo.black_box import (
    BlackBoxes,
    Box,
    FunctionBox,
    GreyBox,
    Step,
    has_own_objective,
)
from archeng.model.quantities import Output
from archeng.model.teaching import symbol

GREY_BOX = "ExternalGreyBoxBlock"
"""Pyomo's kind of component; by its name, because importing its module takes a while."""

_DEPTH = 1000  # to which formulas of arguments are compared
_LONGEST = 60  # characters of the name of a call


@dataclass(eq=False)
class BoxCall:
    """One box with its arguments (SX, float or text) and its outputs, as symbols."""

    box: Box
    arguments: list[Any]
    outputs: list[Any] = field(default_factory=list)

    @property
    def inputs(self) -> Any:
        """The arguments that are numbers, as one column."""
        return ca.vertcat(ca.SX(0, 1), *(a for a in self.arguments if not isinstance(a, str)))


@dataclass(frozen=True)
class GreyOutput:
    """An output of a grey box that is a variable of Pyomo."""

    var: Any
    symbol: Any
    record: Output


@dataclass
class Boxes:
    """All calls of a model, and all outputs in their order."""

    calls: list[BoxCall] = field(default_factory=list)
    records: list[tuple[Any, Output]] = field(default_factory=list)
    grey: dict[int, GreyOutput] = field(default_factory=dict)  # by the id of the variable
    torn: list[tuple[Any, Any]] = field(default_factory=list)  # variable, and what is computed
    residuals: list[tuple[str, Any]] = field(default_factory=list)  # name, what must be zero
    objectives: list[tuple[str, Any]] = field(default_factory=list)  # of a grey box, minimised
    _taken: set[str] = field(default_factory=set)  # names of outputs
    _open: list[tuple[BoxCall, Any]] = field(default_factory=list)  # with blocks not read yet
    _functions: dict[Any, list[BoxCall]] = field(default_factory=lambda: defaultdict(list))

    def output(self, call: BoxCall, name: str, unit: str) -> Any:
        """Declare an output of a call and return its symbol."""
        unique, k = name, 1
        while unique in self._taken:
            k += 1
            unique = f"{name} #{k}"
        self._taken.add(unique)
        new, record = symbol(ca.SX, unique), Output.declared(unique, unit, ())
        call.outputs.append(new)
        self.records.append((new, record))
        return new

    def function(self, node: Any, arguments: Sequence[Any]) -> Any:
        """Return the output of an external function; the same one for the same arguments."""
        function = node._fcn  # an expression has no other way to its function
        own = len(function(0.0).args) - 1  # arguments that Pyomo adds at the end
        given, shown = (list(part)[: len(arguments) - own] for part in (arguments, node.args))
        kind = (id(function), tuple(_key(a) for a in given))
        for call in self._functions[kind]:
            if all(_same(a, b) for a, b in zip(call.arguments, given, strict=True)):
                return call.outputs[0]
        name = str(function.name or "external function")
        call = BoxCall(FunctionBox(function, name), given)
        self.calls.append(call)
        self._functions[kind].append(call)
        text = f"{name}({', '.join(map(str, shown))})"
        if len(text) > _LONGEST:
            text = f"{name}(...)"
        units = function.get_units()
        return self.output(call, text, "" if units is None else str(units))

    def grey_boxes(self, blocks: Sequence[Any], problems: dict[str, list[str]]) -> None:
        """Declare what grey boxes compute; their inputs are read later, by `read_inputs`."""
        usable = []
        for block in blocks:
            if getattr(block, "_ex_model", None) is None:  # get_external_model() may raise
                problems[block.name].append(
                    f"{GREY_BOX}: it has no external model; call set_external_model(), or "
                    "deactivate it"
                )
            else:
                usable.append(block)
        back = _fed_back(usable)
        for block in usable:
            model, name = block.get_external_model(), block.name
            call = BoxCall(GreyBox(model, name), [])
            for var in block.outputs.values():
                self._grey_output(call, var, id(var) in back, problems)
            for row in model.equality_constraint_names():
                new = self.output(call, f"{name}.residual[{row}]", "")
                self.residuals.append((f"{name}.{row}", new))
            if has_own_objective(model):
                self.objectives.append((name, self.output(call, f"{name}.objective", "")))
            self.calls.append(call)
            self._open.append((call, block))

    def read_inputs(self, convert: Callable[[Any], Any]) -> None:
        """Read the inputs of grey boxes, once all that is computed is known."""
        for call, block in self._open:
            call.arguments = [convert(var) for var in block.inputs.values()]
        self._open = []

    def _grey_output(
        self, call: BoxCall, var: Any, torn: bool, problems: dict[str, list[str]]
    ) -> None:
        units = getattr(var, "get_units", lambda: None)()
        unit = "" if units is None else str(units)
        try:
            new = self.output(call, f"{var.name} (computed)" if torn else var.name, unit)
        except ModelError as error:
            problems[var.name].append(str(error))
            return
        if torn:
            self.torn.append((var, new))
        elif id(var) in self.grey:
            problems[var.name].append("it is the output of two grey boxes")
        else:
            self.grey[id(var)] = GreyOutput(var, new, self.records[-1][1])

    def ordered(self) -> list[BoxCall]:
        """Return the calls in an order in which each comes after those that feed it."""
        producer = {hash(s): call for call in self.calls for s in call.outputs}
        order: dict[int, BoxCall] = {}

        def visit(call: BoxCall) -> None:
            if id(call) not in order:
                for s in ca.symvar(call.inputs):
                    if hash(s) in producer:
                        visit(producer[hash(s)])
                order[id(call)] = call

        for call in self.calls:
            visit(call)
        return list(order.values())

    def black_box(
        self, x: Any, parameters: Sequence[tuple[Any, str]], gradients: bool
    ) -> BlackBoxes:
        """Compile: columns of the variables and of named parameters to all outputs."""
        entries = [x[k] for k in range(x.numel())]
        columns = entries, [s for s, _ in parameters], [s for s, _ in self.records]
        places = [{hash(s): k for k, s in enumerate(column)} for column in columns]
        steps = [
            Step.of(c.box, c.arguments, places, [places[2][hash(s)] for s in c.outputs])
            for c in self.ordered()
        ]
        used = {hash(s) for call in self.calls for s in ca.symvar(call.inputs)}
        read = [(k, name) for k, (s, name) in enumerate(parameters) if hash(s) in used]
        names = [record.name for _, record in self.records]
        return BlackBoxes(steps, names, read, len(parameters), gradients)


def _fed_back(blocks: Sequence[Any]) -> set[int]:
    """Return ids of variables to cut, so that no grey box feeds itself by shared variables.

    Boxes are taken as soon as their inputs are there; if none is left whose inputs are, one on a
    circle is taken, and those of its inputs that are missing are cut.
    """
    maker = {id(var): k for k, block in enumerate(blocks) for var in block.outputs.values()}
    needs = [{maker[id(v)] for v in b.inputs.values() if id(v) in maker} for b in blocks]
    left: set[int] = set(range(len(blocks)))
    cut: set[int] = set()
    while left:
        ready = next((k for k in sorted(left) if not left & needs[k]), None)
        if ready is None:
            ready = next(k for k in sorted(left) if k in _upstream(k, needs, left))
            block, circle = blocks[ready], _upstream(ready, needs, left)
            cut |= {id(v) for v in block.inputs.values() if maker.get(id(v)) in left & circle}
        left.remove(ready)
    return cut


def _upstream(start: int, needs: Sequence[set[int]], left: set[int]) -> set[int]:
    """Return the boxes among those left that feed a box, directly or not."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        new = (needs[waiting.pop()] & left) - found
        found |= new
        waiting += new
    return found


def _key(argument: Any) -> Any:
    """Return something that is equal for equal arguments, to compare few of them."""
    if isinstance(argument, str | float):
        return argument
    return tuple(sorted(hash(s) for s in ca.symvar(argument)))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str | float) or isinstance(b, str | float):
        return bool(a == b)
    return bool(ca.is_equal(a, b, _DEPTH))
