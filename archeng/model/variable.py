"""One declared design variable: name, shape, bounds, domain, start, scale, unit; its symbol."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from archeng.checks import floats, shown
from archeng.errors import ModelError
from archeng.model.domain import REAL, Domain

Floats = NDArray[np.float64]

_LARGEST = 10**7  # rows or columns of one variable
_MISSING = {"lower": -np.inf, "upper": np.inf, "start": np.nan, "scale": np.nan}  # if not given


@dataclass(frozen=True)
class Variable:
    """A declared variable. Arrays are flat, column by column as CasADi stores matrices.

    Attributes
    ----------
    name, unit : str
    shape : tuple of int
        ``()`` for a scalar.
    lower, upper, start, scale : ndarray, shape (size,)
        ``start`` and ``scale`` are NaN where they were not given.
    domain : Domain
        Which numbers between the bounds it may take.
    """

    name: str
    shape: tuple[int, ...]
    lower: Floats
    upper: Floats
    start: Floats
    scale: Floats
    unit: str = ""
    domain: Domain = REAL

    @cached_property
    def size(self) -> int:
        """Number of scalar entries."""
        return int(np.prod(self.shape, dtype=int))

    def element_names(self) -> Iterator[str]:
        """Names of the entries in flat order: ``t``, or ``w[0]``, ``w[1]``, or ``W[0,1]``."""
        return element_names(self.name, self.shape)

    def reshape(self, flat: Floats) -> Any:
        """Turn the flat values of this variable into what the engineer wrote, in its shape.

        A float or an array; whole numbers for integers, an `Item` (or an array of them) for tables.
        """
        if not self.domain.is_discrete:
            if self.shape == ():
                return float(flat[0])
            return np.asarray(flat, dtype=float).reshape(self.shape, order="F")
        values = [self.domain.value(number) for number in flat.tolist()]
        if self.shape == ():
            return values[0]
        array = np.array(values, dtype=object if self.domain.table is not None else None)
        return array.reshape(self.shape, order="F")

    def flat(self, value: Any) -> Floats:
        """Return the flat numbers (size,) of a value of this variable; names of rows are found.

        Raises
        ------
        ModelError
            For another shape, or something that is no value of this variable.
        """
        try:
            array = np.asarray(value, dtype=object if self.domain.table is not None else None)
        except ValueError as error:  # lists of different lengths
            raise ModelError(
                f"Variable {self.name!r}: expected shape {self.shape}, got {shown(value)}."
            ) from error
        if array.shape != self.shape:
            raise ModelError(
                f"Variable {self.name!r}: expected shape {self.shape}, got {array.shape}."
            )
        flat = array.reshape(-1, order="F").tolist()
        return np.array([self.domain.number(self.name, v) for v in flat], dtype=float)

    def plain(self, flat: Floats) -> list[Any]:
        """Return flat values (size,) as the engineer wrote them: numbers, and names of rows."""
        return [self.domain.plain(number) for number in flat.tolist()]

    def to_data(self) -> dict[str, Any]:
        """Return the variable as JSON data; infinities and unset values are None."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            **{key: [finite_or_none(x) for x in getattr(self, key)] for key in _MISSING},
            "unit": self.unit,
            **self.domain.to_data(),
        }

    @classmethod
    def from_data(cls, record: Mapping[str, Any]) -> Variable:
        """Return the variable of :meth:`to_data`."""
        return cls(
            name=str(record["name"]),
            shape=tuple(int(d) for d in record["shape"]),
            **{key: _numbers(record[key], missing) for key, missing in _MISSING.items()},
            unit=str(record["unit"]),
            domain=Domain.from_data(record),
        )


def element_names(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Names of the entries of a variable in flat order."""
    if shape == ():
        yield name
        return
    for flat in range(int(np.prod(shape, dtype=int))):
        index = np.unravel_index(flat, shape, order="F")
        yield f"{name}[{','.join(str(int(i)) for i in index)}]"


def plain_values(variables: Sequence[Variable], x: Floats) -> list[Any]:
    """Return a flat vector (n,) as the engineer wrote it, for tables and files.

    Floats of real variables, whole numbers of integers, numbers of choices, names of rows.
    """
    values, first = [], 0
    for v in variables:
        values += v.plain(x[first : first + v.size])
        first += v.size
    return values


def make_variable(
    name: str,
    *,
    lower: Any = None,
    upper: Any = None,
    start: Any = None,
    scale: Any = None,
    unit: str = "",
    shape: int | tuple[int, ...] = (),
    domain: Domain = REAL,
) -> Variable:
    """Check what the engineer typed and build the record; every error names the variable."""
    dims = checked_shape("Variable", name, unit, shape)
    if domain.table is not None and start is not None:
        start = _table_numbers(name, domain, start)
    if domain.is_discrete:
        lower, upper = (
            natural if limit is None else limit
            for limit, natural in zip((lower, upper), domain.natural_bounds, strict=True)
        )
    given = {"lower": lower, "upper": upper, "start": start, "scale": scale}
    low, high, first, width = (_flat(name, key, value, dims) for key, value in given.items())
    variable = Variable(name, dims, low, high, first, width, unit or "", domain)
    for label, a, b, x in zip(variable.element_names(), low, high, first, strict=True):
        domain.check_bounds(label, a, b)
        domain.check_start(label, x, a, b)
    if start is not None and not np.all(np.isfinite(first)):
        raise ModelError(f"Variable {name!r}: start must be finite, got {shown(start)}.")
    if scale is not None and not (np.all(np.isfinite(width)) and np.all(width > 0)):
        raise ModelError(
            f"Variable {name!r}: scale must be positive and finite, got {shown(scale)}."
        )
    return variable


def _table_numbers(name: str, domain: Domain, start: Any) -> Floats:
    """Return the numbers of rows that are given by their names, in the same shape."""
    try:
        names = np.asarray(start, dtype=object)
    except Exception as error:  # an object may raise anything
        raise ModelError(
            f"Variable {name!r}: start must be the name of a row, got {shown(start)}."
        ) from error
    flat = [domain.number(name, value) for value in names.reshape(-1).tolist()]
    return np.array(flat, dtype=float).reshape(names.shape)


def checked_shape(what: str, name: Any, unit: Any, shape: Any) -> tuple[int, ...]:
    """Return the shape of a variable, parameter or output; check its name and unit with it."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"A {what.lower()} needs a non-empty name; got {shown(name)}.")
    try:
        dims = tuple(operator.index(d) for d in np.atleast_1d(np.asarray(shape, dtype=object)))
    except Exception:  # an object may raise anything
        dims = (0,)
    if len(dims) > 2 or any(not 1 <= d <= _LARGEST for d in dims):
        raise ModelError(
            f"{what} {name!r}: shape must be an int or a tuple of one or two positive ints, "
            f"got {shown(shape)}."
        )
    if unit is not None and not isinstance(unit, str):
        raise ModelError(f"{what} {name!r}: unit must be a text, got {shown(unit)}.")
    return dims


def imported_scalar(
    name: str,
    bounds: tuple[float, float],
    start: float | None,
    scale: float | None,
    magnitude: float | None = None,
    unit: str = "",
    domain: Domain = REAL,
) -> Variable:
    """Build the record of an imported scalar; start and scale are guessed if it lacks a bound.

    The scale is a fifth of the magnitude, by default that of the start, and at least 1. Bounds of
    integers are rounded inwards, and a discrete variable starts at the value next to its start.
    """
    lower, upper = domain.inward(*bounds)
    if domain.is_discrete and lower > upper:
        raise ModelError(
            f"Variable {name!r}: none of its values lies between {bounds[0]:g} and {bounds[1]:g}."
        )
    if domain.is_discrete and start is not None:
        start = domain.nearest(start, lower, upper)
    if not (np.isfinite(lower) and np.isfinite(upper)):
        start = float(np.clip(0.0, lower, upper)) if start is None else start
        size = max(abs(start), 1.0) if magnitude is None else magnitude
        scale = size / 5.0 if scale is None else scale
    return make_variable(
        name, lower=lower, upper=upper, start=start, scale=scale, unit=unit, domain=domain
    )


def rounded(domain: Domain, **options: Any) -> dict[str, Any]:
    """Return keywords of :func:`make_variable` for an imported array of this domain.

    Bounds of integers are rounded inwards, starts to the nearest one.
    """
    if not domain.is_discrete:
        return options
    lower, upper = (options.get(key, _MISSING[key]) for key in ("lower", "upper"))
    low, high = np.vectorize(domain.inward)(lower, upper)
    options |= {"lower": low, "upper": high, "domain": domain}
    if options.get("start") is not None:
        options["start"] = np.vectorize(domain.nearest)(options["start"], low, high)
    return options


def _flat(name: str, what: str, value: Any, dims: tuple[int, ...]) -> Floats:
    """Broadcast a scalar or array option to the flat (column-major) entries of a variable."""
    try:
        full = np.broadcast_to(floats(_MISSING[what] if value is None else value), dims)
    except ValueError as error:
        raise ModelError(
            f"Variable {name!r}: {what}={shown(value)} is not a number or an array of shape {dims}."
        ) from error
    flat = np.array(full, dtype=float).reshape(-1, order="F")
    flat.flags.writeable = False
    return flat


def vector(what: str, value: Any, size: int) -> Floats:
    """Return a new vector (size,) of numbers, or of one that is repeated; also of CasADi's DM."""
    try:
        array = floats(value.full() if isinstance(value, ca.DM) else value)
        array = array.reshape(-1, order="F") if array.ndim else array
        return np.array(np.broadcast_to(array, (size,)))
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{what} must be a number or have {size} entries, got {shown(value)}."
        ) from error


def stacked(variables: Sequence[Variable], *names: str) -> list[Floats]:
    """Return lower, upper, start or scale of all variables, each as one flat vector (n,)."""
    return [np.concatenate([np.zeros(0), *(getattr(v, name) for v in variables)]) for name in names]


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON holds it: None for an infinity, or for what is not given."""
    return float(value) if np.isfinite(value) else None


def _numbers(values: Sequence[float | None], missing: float) -> Floats:
    array = np.array([missing if v is None else v for v in values], dtype=float)
    array.flags.writeable = False
    return array


def flat_design(name: str, variables: Sequence[Variable], design: Any) -> Floats:
    """Flat vector of a design of model ``name``: a mapping by name, or a vector already."""
    if isinstance(design, Mapping):
        names, given = {v.name for v in variables}, set(design)
        if given != names:
            missing, extra = sorted(names - given), sorted(map(str, given - names))
            raise ModelError(f"Design of model {name!r}: missing {missing}, unknown {extra}.")
        parts = []
        for v in variables:
            if v.domain.is_discrete:
                parts.append(v.flat(design[v.name]))
                continue
            value = _design_numbers(name, design[v.name])
            if value.shape != v.shape:
                raise ModelError(
                    f"Variable {v.name!r}: expected shape {v.shape}, got {value.shape}."
                )
            parts.append(value.reshape(-1, order="F"))
        return np.concatenate(parts) if parts else np.zeros(0)
    x, size = _design_numbers(name, design), sum(v.size for v in variables)
    if x.shape != (size,):
        order = ", ".join(label for v in variables for label in v.element_names())
        raise ModelError(
            f"Model {name!r} has {size} variables; got a vector of shape {x.shape}. Order: {order}."
        )
    return x


def _design_numbers(name: str, values: Any) -> Floats:
    try:
        return floats(values)
    except ValueError as error:
        raise ModelError(
            f"A design of model {name!r} is a vector or a mapping of numbers by name; got "
            f"{shown(values)}."
        ) from error
