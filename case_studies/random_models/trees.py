"""Formulas as small trees, evaluated by any arithmetic: CasADi for archeng, mpmath for the referee.

A tree is a number, ``("x", i)`` for a variable, or ``(operation, tree, ...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

Tree = Any


def evaluate(tree: Tree, x: Sequence[Any], operations: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the value of a tree at x in the arithmetic of ``operations``.

    ``if`` has the arguments i, c, a, b: the value is a where x_i < c, else b. Numbers are handed to
    ``operations["number"]``.
    """
    if isinstance(tree, int | float):
        return operations["number"](tree)
    name, *arguments = tree
    if name == "x":
        return x[arguments[0]]
    if name == "if":
        i, c, *branches = arguments
        return operations["if"](x[i], c, *(evaluate(b, x, operations) for b in branches))
    return operations[name](*(evaluate(a, x, operations) for a in arguments))


def total(trees: Sequence[Tree]) -> Tree:
    """Return the sum of trees."""
    return reduce(lambda a, b: ("+", a, b), trees)


def times(a: float, tree: Tree) -> Tree:
    """Return a multiple of a tree."""
    return ("*", float(a), tree)
