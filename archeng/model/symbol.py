"""The symbols that `Model.variable` returns: CasADi's own, with errors that teach.

They are SX or MX in every respect but one. CasADi cannot say whether ``x <= 3`` is true, and turns
``math.sqrt(x)`` into NaN (SX); these symbols, and what is computed from them by operators, say what
to write instead.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from archeng.errors import ModelError
from archeng.model.mistakes import caller, no_number, no_truth_value
from archeng.model.variable import symbol_name

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_COMPARED = ("le", "lt", "ge", "gt", "eq", "ne")
_OTHER = ("neg", "pos", "abs", "getitem", "array_ufunc")
_OPERATORS = [
    f"__{name}__" for name in (*_BINARY, *(f"r{name}" for name in _BINARY), *_COMPARED, *_OTHER)
]


def symbol(kind: Any, name: str, rows: int, columns: int) -> Any:
    """Return a new symbol of a kind, `casadi.SX` or `casadi.MX`."""
    new = kind.sym(symbol_name(name), rows, columns)
    new.__class__ = _KINDS[kind]
    return new


def _teaching(kind: Any) -> Any:
    """Return the class of symbols that derives from a class of CasADi."""

    class Teaching(kind):  # type: ignore[misc]
        __hash__ = kind.__hash__
        __doc__ = f"A `casadi.{kind.__name__}` with errors that teach."

        def __bool__(self) -> bool:
            if not self.is_constant():
                raise ModelError(no_truth_value(caller()))
            return bool(super().__bool__())

        def __float__(self) -> float:
            if not self.is_constant():
                raise ModelError(no_number(caller()))
            return float(super().__float__())

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            plain = tuple(kind if t is Teaching else t for t in types)  # CasADi compares classes
            return super().__array_function__(func, plain, args, kwargs)

        def __reduce__(self) -> Any:
            return kind, (kind(self),)

    def wrapped(name: str) -> Any:
        operator = getattr(kind, name)

        def apply(self: Any, *others: Any, **options: Any) -> Any:
            found = operator(self, *others, **options)
            if type(found) is kind:
                found.__class__ = Teaching
            return found

        return apply

    for name in _OPERATORS:
        if hasattr(kind, name):
            setattr(Teaching, name, wrapped(name))
    Teaching.__name__ = Teaching.__qualname__ = kind.__name__
    return Teaching


_KINDS = {kind: _teaching(kind) for kind in (ca.SX, ca.MX)}
