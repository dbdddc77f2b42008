"""What to write instead of what does not work here.

Words that other packages use are told by the tables below. Where Python asks a formula for a
number, or for a yes or no, the line of the program tells: ``1 <= x <= 3``, ``and``, ``if``,
``max()`` and ``math.sqrt()`` all do so, and a formula has neither before its variables have values.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import linecache
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import casadi as ca

from archeng.model.domain import DECLARED_BY

VARIABLE_HINTS = {
    **DECLARED_BY,
    **dict.fromkeys(("bounds", "lb", "ub", "low", "high", "min", "max"), "Use lower= and upper=."),
    **dict.fromkeys(("initial", "initialize", "init_guess", "guess", "x0", "value"), "Use start=."),
    **dict.fromkeys(("size", "n", "length"), "Use shape=."),
}
CONSTRAINT_HINTS = {
    **dict.fromkeys(("lb", "min"), "Use lower=."),
    **dict.fromkeys(("ub", "max"), "Use upper=."),
}
IMPORT_HINTS = dict.fromkeys(
    ("binary", "boolean", "domain", "integer", "type", "discrete", "integrality"),
    "Discrete variables are imported as their package says it: domains in Pyomo and .nl files, "
    "opti.set_domain(), discrete= of an nlp dictionary, integrality= as in SciPy.",
)
"""For the keywords of the importers."""

ONE_OBJECTIVE = (
    "archeng optimises one number: add the objectives with weights, or keep one and limit the "
    "others (as constraints of the model, or by simulated= if the simulator computes them)."
)
"""What to do with several objectives."""

_OWN = tuple(str(Path(file).parent) for file in (Path(__file__).parent, ca.__file__))
_GENERAL = (
    "Write constraints one by one with `<=`, `>=` or `==`, and use casadi.if_else, casadi.fmax "
    "and casadi.fmin in formulas."
)


def source_line() -> str:
    """Return ``file.py:12``, the line of the user's program that is being run."""
    frame = _user_frame()
    if frame is None:
        return "unknown"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def no_truth_value(error: BaseException | None = None) -> str:
    """Say why a formula is neither true nor false, and what to write instead.

    It was asked for where an error was raised, or else in the line that is being run.
    """
    source, nodes = _place(error)
    what, instead = "A comparison of variables", _GENERAL
    for k, node in enumerate(nodes):
        advice = _advice(node, nodes[k + 1 :])
        if advice is not None:
            asked = node.test if isinstance(node, ast.If | ast.While | ast.Assert) else node
            what, instead = f"`{ast.unparse(asked)}`", advice
            break
    return (
        f"{source}: {what} asks whether a formula is true, which nobody knows before its "
        f"variables have values. {instead}"
    )


def no_number(error: BaseException | None = None) -> str:
    """Say why a formula is no number, and what to write instead."""
    source, nodes = _place(error)
    call = next((n for n in nodes if isinstance(n, ast.Call)), None)
    if call is None:
        what, instead = "A number is needed here, and", "Use the functions of casadi in formulas."
    else:
        name = ast.unparse(call.func).removeprefix("math.")
        what = f"`{ast.unparse(call)}` needs a number, and"
        instead = f"Write `casadi.{name}({_listed(call.args)})`."
        if not hasattr(math, name) or not hasattr(ca, name):
            instead = "Use the functions of casadi in formulas; they take symbols and numbers."
    return f"{source}: {what} a formula is none before its variables have values. {instead}"


def of_casadi(error: BaseException) -> str | None:
    """Say in our words what CasADi means by an error; None if it is another one."""
    if isinstance(error, RuntimeError) and "truth value" in str(error):
        return no_truth_value(error)
    if isinstance(error, RuntimeError) and "to_double" in str(error):
        return no_number(error)
    return None


# -- the user's line ------------------------------------------------------------------------


def _user_frame() -> FrameType | None:
    """Return the innermost frame that is not of archeng or CasADi."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _ours(frame.f_code):
        frame = frame.f_back
    return frame


def _ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN)


def _instruction(error: BaseException | None) -> tuple[CodeType, int] | None:
    """Return code and instruction of the user's innermost frame, of an error or running."""
    if error is None:
        frame = _user_frame()
        return None if frame is None else (frame.f_code, frame.f_lasti)
    innermost, step = None, error.__traceback__
    while step is not None:
        if not _ours(step.tb_frame.f_code):
            innermost = step.tb_frame.f_code, step.tb_lasti
        step = step.tb_next
    return innermost


def _place(error: BaseException | None) -> tuple[str, list[ast.AST]]:
    """Return a line of the user's program, and the syntax around what was being computed in it.

    The syntax is from the inside to the outside; empty if the source cannot be read.
    """
    at = _instruction(error)
    if at is None:
        return "unknown", []
    code, instruction = at
    spots = list(code.co_positions())
    spot = spots[instruction // 2] if 0 <= instruction // 2 < len(spots) else (None,) * 4
    line, last, left, right = spot
    name = f"{Path(code.co_filename).name}:{line or code.co_firstlineno}"
    nodes: list[ast.AST] = []
    if None not in spot:
        with contextlib.suppress(SyntaxError, ValueError):
            tree = ast.parse("".join(linecache.getlines(code.co_filename)))
            nodes = list(_around(tree, (line, left), (last, right)))
    return name, nodes[::-1]


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


# -- what to write there --------------------------------------------------------------------


def _advice(node: ast.AST, outer: list[ast.AST]) -> str | None:
    """Return what to write instead, if a node is one that asks for a truth value."""
    holder = next((call for call in map(_declaring, outer) if call), None)
    declare = holder or "model.subject_to"
    within = any(isinstance(n, ast.If | ast.While | ast.IfExp) for n in outer) and holder is None
    if within and isinstance(node, ast.stmt | ast.BoolOp | ast.UnaryOp | ast.Compare):
        return None
    match node:
        case ast.Assert():
            return f"Write `model.subject_to({ast.unparse(node.test)})`."
        case ast.If() | ast.While():
            test = ast.unparse(node.test)
            return f"Write `casadi.if_else({test}, value, other_value)` in the formula."
        case ast.IfExp():
            return f"Write `casadi.if_else({_listed([node.test, node.body, node.orelse])})`."
        case ast.Compare(ops=[_, _, *_]):
            sides = itertools.pairwise([node.left, *node.comparators])
            parts = [ast.Compare(a, [op], [b]) for (a, b), op in zip(sides, node.ops, strict=True)]
            return f"Write one constraint for each comparison: {_declared(declare, parts)}."
        case ast.BoolOp(op=ast.And()):
            return f"Write one constraint for each: {_declared(declare, node.values)}."
        case ast.BoolOp():
            return (
                "Write both as one formula: `casadi.fmin(a, b) <= 0` holds where a <= 0 or b <= 0."
            )
        case ast.UnaryOp(op=ast.Not()):
            return "Turn the comparison around: `>=` instead of `<=`."
        case ast.Call(func=ast.Name("max" | "min" as name), args=[_, _]):
            return f"Write `casadi.f{name}({_listed(node.args)})`."
        case ast.Call(func=ast.Name("max" | "min" as name)):
            return f"Write `casadi.m{name}(casadi.vertcat({_listed(node.args)}))`."
    return None


def _declaring(node: ast.AST) -> str | None:
    """Return ``model.subject_to``, as the user wrote it, if a node is a call of it."""
    match node:
        case ast.Call(func=ast.Attribute(attr="subject_to")):
            return ast.unparse(node.func)
    return None


def _declared(declare: str, relations: Iterable[ast.AST]) -> str:
    return " and ".join(f"`{declare}({ast.unparse(relation)})`" for relation in relations)


def _listed(expressions: Iterable[ast.AST]) -> str:
    return ", ".join(map(ast.unparse, expressions))
