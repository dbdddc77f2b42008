"""What to write instead of what does not work here.

Words that other packages use are told by the tables below. Where Python asks a formula for a
number, or for a yes or no, the line of the program tells: ``1 <= x <= 3``, ``and``, ``if``,
``max()`` and ``math.sqrt()`` all do so, and a formula has neither before its variables have values.
"""

from __future__ import annotations

import ast
import linecache
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import casadi as ca

from archeng.model.domain import refused_keywords

VARIABLE_HINTS = {
    **refused_keywords(
        "solve one problem for each value, with lower= and upper= equal to it, and keep the best."
    ),
    **dict.fromkeys(("bounds", "lb", "ub", "low", "high", "min", "max"), "Use lower= and upper=."),
    **dict.fromkeys(("initial", "initialize", "init_guess", "guess", "x0", "value"), "Use start=."),
    **dict.fromkeys(("size", "n", "length"), "Use shape=."),
}
CONSTRAINT_HINTS = {
    **dict.fromkeys(("lb", "min"), "Use lower=."),
    **dict.fromkeys(("ub", "max"), "Use upper=."),
}
IMPORT_HINTS = refused_keywords("fix the discrete ones, by bounds that are equal.")
"""For the keywords of the importers."""

ONE_OBJECTIVE = (
    "archeng optimises one number: add the objectives with weights, or keep one and limit the "
    "others (as constraints of the model, or by simulated= if the simulator computes them)."
)
"""What to do with several objectives."""

_OWN = tuple(str(Path(file).parent) for file in (Path(__file__).parent, ca.__file__))
_BIGGER = {"max": ("fmax", "mmax"), "min": ("fmin", "mmin")}
_GENERAL = (
    "Write constraints one by one with `<=`, `>=` or `==`, and use casadi.if_else, casadi.fmax "
    "and casadi.fmin in formulas."
)


@dataclass(frozen=True)
class SourcePlace:
    """A line of the user's program, and the expression in it that was being computed.

    Attributes
    ----------
    nodes : tuple of ast.AST
        The syntax around the expression, from the inside to the outside; empty if the source
        cannot be read.
    """

    name: str
    nodes: tuple[ast.AST, ...]


def source_line() -> str:
    """Return ``file.py:12``, the line of the user's program that is being run."""
    frame = _user_frame()
    if frame is None:
        return "unknown"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def caller() -> tuple[CodeType, int] | None:
    """Return code and instruction of the innermost frame of the user."""
    frame = _user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def raised_at(error: BaseException) -> tuple[CodeType, int] | None:
    """Return code and instruction of the innermost frame of the user where an error was raised."""
    innermost, step = None, error.__traceback__
    while step is not None:
        if not _ours(step.tb_frame.f_code):
            innermost = step.tb_frame.f_code, step.tb_lasti
        step = step.tb_next
    return innermost


def place(at: tuple[CodeType, int] | None) -> SourcePlace:
    """Return the line of an instruction."""
    if at is None:
        return SourcePlace("unknown", ())
    code, instruction = at
    spots = list(code.co_positions())
    spot = spots[instruction // 2] if 0 <= instruction // 2 < len(spots) else (None,) * 4
    line, last, left, right = spot
    name = f"{Path(code.co_filename).name}:{line or code.co_firstlineno}"
    if None in spot:
        return SourcePlace(name, ())
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return SourcePlace(name, ())
    around = _around(tree, (line, left), (last, right))
    return SourcePlace(name, tuple(reversed(list(around))))


def no_truth_value(at: tuple[CodeType, int] | None) -> str:
    """Say why a formula is neither true nor false, and what to write instead."""
    source = place(at)
    what, instead = "A comparison of variables", _GENERAL
    for k, node in enumerate(source.nodes):
        advice = _advice(node, source.nodes[k + 1 :])
        if advice is not None:
            what, instead = f"`{_text(_asking(node))}`", advice
            break
    return (
        f"{source.name}: {what} asks whether a formula is true, which nobody knows before its "
        f"variables have values. {instead}"
    )


def no_number(at: tuple[CodeType, int] | None) -> str:
    """Say why a formula is no number, and what to write instead."""
    source = place(at)
    call = next((n for n in source.nodes if isinstance(n, ast.Call)), None)
    if call is None:
        what, instead = "A number is needed here, and", "Use the functions of casadi in formulas."
    else:
        name = _text(call.func).removeprefix("math.")
        what = f"`{_text(call)}` needs a number, and"
        instead = f"Write `casadi.{name}({', '.join(map(_text, call.args))})`."
        if not hasattr(math, name) or not hasattr(ca, name):
            instead = "Use the functions of casadi in formulas; they take symbols and numbers."
    return f"{source.name}: {what} a formula is none before its variables have values. {instead}"


def of_casadi(error: BaseException) -> str | None:
    """Say in our words what CasADi means by an error; None if it is another one."""
    if isinstance(error, RuntimeError) and "truth value" in str(error):
        return no_truth_value(raised_at(error))
    if isinstance(error, RuntimeError) and "to_double" in str(error):
        return no_number(raised_at(error))
    return None


def _user_frame() -> FrameType | None:
    """Return the innermost frame that is not of archeng or CasADi."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _ours(frame.f_code):
        frame = frame.f_back
    return frame


def _ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


def _around(node: ast.AST, first: Any, last: Any) -> Iterator[ast.AST]:
    """Yield the nodes that hold a piece of source, from the outside to the inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt):
            begin = child.lineno, child.col_offset
            end = child.end_lineno or 0, child.end_col_offset or 0
            if not (begin <= first and last <= end):
                continue
            yield child
        yield from _around(child, first, last)


def _asking(node: ast.AST) -> ast.AST:
    """Return the part of a statement that is asked for its truth."""
    return node.test if isinstance(node, ast.If | ast.While | ast.Assert) else node


def _advice(node: ast.AST, outer: tuple[ast.AST, ...]) -> str | None:
    """Return what to write instead, if a node is one that asks for a truth value."""
    holder = next((call for call in map(_declaring, outer) if call), None)
    declare = holder or "model.subject_to"
    within = any(isinstance(n, ast.If | ast.While | ast.IfExp) for n in outer) and holder is None
    if isinstance(node, ast.If | ast.While | ast.Assert) or (
        within and isinstance(node, ast.BoolOp | ast.UnaryOp | ast.Compare)
    ):
        return None if within else _statement(node)
    if isinstance(node, ast.IfExp):
        parts = ", ".join(_text(part) for part in (node.test, node.body, node.orelse))
        return f"Write `casadi.if_else({parts})`."
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return _chain(node, declare)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        parts = " and ".join(f"`{declare}({_text(part)})`" for part in node.values)
        return f"Write one constraint for each: {parts}."
    if isinstance(node, ast.BoolOp):
        return "Write both as one formula: `casadi.fmin(a, b) <= 0` holds where a <= 0 or b <= 0."
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "Turn the comparison around: `>=` instead of `<=`."
    if isinstance(node, ast.Call) and _text(node.func) in _BIGGER:
        two, many = _BIGGER[_text(node.func)]
        parts = ", ".join(map(_text, node.args))
        if len(node.args) == 2:
            return f"Write `casadi.{two}({parts})`."
        return f"Write `casadi.{many}(casadi.vertcat({parts}))`."
    return None


def _statement(node: ast.AST) -> str:
    """Return what to write instead of ``if``, ``while`` or ``assert``."""
    test = _text(_asking(node))
    if isinstance(node, ast.Assert):
        return f"Write `model.subject_to({test})`."
    return f"Write `casadi.if_else({test}, value, other_value)` in the formula."


def _chain(node: ast.Compare, declare: str) -> str:
    """Return the constraints that a chain of comparisons means."""
    sides = [node.left, *node.comparators]
    single = [
        f"`{declare}({_text(ast.Compare(a, [op], [b]))})`"
        for a, op, b in zip(sides[:-1], node.ops, sides[1:], strict=True)
    ]
    return f"Write one constraint for each comparison: {' and '.join(single)}."


def _declaring(node: ast.AST) -> str | None:
    """Return ``model.subject_to``, as the user wrote it, if a node is a call of it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _text(node.func) if node.func.attr == "subject_to" else None
    return None


def _text(node: ast.AST) -> str:
    return ast.unparse(node)
