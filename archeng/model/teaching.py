"""Symbols of variables: CasADi's own, with errors that teach."""

from __future__ import annotations

from typing import Any

import casadi as ca

from archeng.errors import ModelError
from archeng.model.advice import no_number, no_truth_value

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_COMPARED = ("le", "lt", "ge", "gt", "eq", "ne")
_OTHER = ("neg", "pos", "abs", "getitem", "array_ufunc")
_OPERATORS = [
    f"__{name}__" for name in (*_BINARY, *(f"r{name}" for name in _BINARY), *_COMPARED, *_OTHER)
]


def symbol(kind: Any, name: str, shape: tuple[int, ...] = ()) -> Any:
    """Return a new symbol of a variable, of a kind: `casadi.SX` or `casadi.MX`.

    CasADi reads a name that begins with a bracket as a list of names, and makes as many symbols:
    the symbol's own name has letters, digits and underscores only.
    """
    safe = "".join(c if c.isascii() and c.isalnum() else "_" for c in str(name))
    rows, columns = (*shape, 1, 1)[:2]
    return kind.sym(safe, rows, columns)


def symbol_shape(expression: Any) -> tuple[int, ...]:
    """Return the shape of a CasADi expression as variables have it: columns are vectors."""
    rows, columns = expression.shape
    if (rows, columns) == (1, 1):
        return ()
    return (rows,) if columns == 1 else (rows, columns)


def teaching_symbol(kind: Any, name: str, shape: tuple[int, ...] = ()) -> Any:
    """Return a symbol as `Model.variable` does: CasADi's own, with errors that teach.

    CasADi cannot say whether ``x <= 3`` is true, and turns ``math.sqrt(x)`` into NaN (SX); these
    symbols, and what is computed from them by operators, say what to write instead.
    """
    new = symbol(kind, name, shape)
    new.__class__ = _TEACHING[kind]
    return new


def _teaching(kind: Any) -> Any:
    """Return the class of symbols that derives from a class of CasADi."""

    class Teaching(kind):  # type: ignore[misc]
        __hash__ = kind.__hash__
        __doc__ = f"A `casadi.{kind.__name__}` with errors that teach."

        def __bool__(self) -> bool:
            if not self.is_constant():
                raise ModelError(no_truth_value())
            return bool(super().__bool__())

        def __float__(self) -> float:
            if not self.is_constant():
                raise ModelError(no_number())
            return float(super().__float__())

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            plain = tuple(kind if t is Teaching else t for t in types)  # CasADi compares classes
            return super().__array_function__(func, plain, args, kwargs)

        def __reduce__(self) -> Any:
            return kind, (kind(self),)

    def wrapped(name: str) -> Any:
        operator = getattr(kind, name)

        def apply(self: Any, *others: Any, **options: Any) -> Any:
            value = operator(self, *others, **options)
            if type(value) is kind:
                value.__class__ = Teaching
            return value

        return apply

    for name in _OPERATORS:
        if hasattr(kind, name):
            setattr(Teaching, name, wrapped(name))
    Teaching.__name__ = Teaching.__qualname__ = kind.__name__
    return Teaching


_TEACHING = {kind: _teaching(kind) for kind in (ca.SX, ca.MX)}
