"""`Design`: what a simulator receives, by names and not by positions; the `Gate` before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.distribution import Floats
from archeng.errors import GateError
from archeng.model import FeasibleSet, ModelValues, Parameter, Variable, copy_of, set_params


class ParameterValues(Mapping[str, Any]):
    """Parameters of the model by name. ``names_read`` are those that were looked at."""

    __slots__ = ("_records", "names_read")

    def __init__(self, records: Sequence[Parameter] = ()) -> None:
        self._records = {record.name: record for record in records}
        self.names_read: set[str] = set()

    def copy(self) -> ParameterValues:
        """Return the same values, none of them looked at."""
        return ParameterValues(tuple(self._records.values()))

    def element_names(self, name: str) -> list[str]:
        """Names of the entries of one, in flat order; it is not looked at by that."""
        return list(self._records[name].element_names())

    def __getitem__(self, name: str) -> Any:
        if name not in self._records:
            have = ", ".join(self._records) or "none"
            raise KeyError(f"{name!r} is not a parameter; there are {have}.")
        self.names_read.add(name)
        return self._records[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={p.value!r}" for name, p in self._records.items())
        return f"ParameterValues({inner})"

    def __reduce__(self) -> Any:
        return (ParameterValues, (tuple(self._records.values()),))


class Design(Mapping[str, Any]):
    """A read-only mapping from variable name to float or array.

    Values of discrete variables are as they were written: whole numbers, numbers of a list, and of
    a table the name of a row, with its attributes (``design["section"]["area"]``). ``design.x`` is
    the flat vector in declaration order, fixed variables included, rows by their numbers; NumPy
    functions take the design itself: ``np.asarray(design)``. ``design.parameters`` are the
    parameters of the model by name. ``design.seed`` is a number for simulators that draw random
    numbers: another one for each call, repeats of a design included, and the same one for the
    same call of the same run, wherever it is made. None outside of a run. ``design.level`` is the
    number of the simulator that is called, if there are several: 0 for the cheapest.
    """

    __slots__ = ("_by_name", "_variables", "_x", "call", "level", "parameters")

    def __init__(
        self,
        variables: Sequence[Variable],
        x: Floats,
        parameters: Sequence[Parameter] | ParameterValues = (),
        call: tuple[int, int] | None = None,
        level: int = 0,
    ) -> None:
        self.level = level
        self.call = call  # seed of the run and number of the call that it is made for
        vector = np.array(x, dtype=float)
        vector.flags.writeable = False
        self._x = vector
        if not isinstance(parameters, ParameterValues):
            parameters = ParameterValues(parameters)
        self.parameters: ParameterValues = parameters
        self._variables = tuple(variables)
        self._by_name: dict[str, tuple[int, Variable]] = {}

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The declared variables, with names, bounds and units."""
        return self._variables

    x: property = property(attrgetter("_x"), doc="The flat vector, read-only.")

    def copy(self) -> Design:
        """Return an equal design with a vector of its own."""
        return Design(self._variables, self._x, self.parameters.copy(), self.call, self.level)

    @property
    def seed(self) -> int | None:
        """Number for simulators that draw random numbers; None outside of a run."""
        if self.call is None:
            return None
        return int(np.random.SeedSequence(self.call).generate_state(1)[0])

    def __getitem__(self, name: str) -> Any:
        if not self._by_name:
            k = 0
            for variable in self._variables:
                self._by_name[variable.name] = (k, variable)
                k += variable.size
        if name not in self._by_name:
            raise KeyError(f"{name!r} is not a variable; there are {', '.join(self)}.")
        first, variable = self._by_name[name]
        return variable.reshape(self.x[first : first + variable.size])

    def __iter__(self) -> Iterator[str]:
        return (v.name for v in self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.x, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        if list(self) != list(other) or not np.array_equal(self.x, other.x):
            return False
        pairs = zip(self._variables, other._variables, strict=True)
        return all(a is b or a.domain == b.domain for a, b in pairs)

    def __hash__(self) -> int:
        return hash((tuple(self), self.x.tobytes()))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={self[name]!r}" for name in self)
        return f"Design({inner})"

    def __reduce__(self) -> Any:
        return (Design, (self._variables, np.array(self.x), self.parameters, self.call, self.level))


@dataclass(frozen=True, eq=False)
class Gate:
    """Evaluates every row at the exact vector that the simulator would get.

    ``open_to_all`` lets designs pass that violate rows: only for handlers that simulate them, and
    only if the user said that the simulator is defined everywhere.
    """

    feasible_set: FeasibleSet
    open_to_all: bool = False

    def check(self, full: Floats) -> float:
        """Return the largest violation at a full vector (n_full,); 0 unless open to all.

        Raises
        ------
        GateError
            If any row does not hold, a fixed variable was changed, or a discrete one has a value
            that it may not take.
        """
        fs = self.feasible_set
        violations = fs.violations_in_full(full)
        if violations is None:
            raise GateError(
                "A fixed variable differs from its value; the simulator was not called."
            )
        worst = float(violations.max(initial=0.0))
        if worst > 0:
            self._check_values(full)
        if worst > 0 and not self.open_to_all:
            row = fs.rows_in_full[int(np.argmax(violations))]
            shown = f"Design {full}" if fs.lattice is None else repr(Design(fs.variables, full))
            raise GateError(
                f"{shown} violates {row} by {worst:.3g}; the simulator was not called. "
                "Designs must come from ask() unchanged."
            )
        return worst

    def _check_values(self, full: Floats) -> None:
        """Raise if a discrete variable has a value that it may not take; for all handlers."""
        numbers = iter(full.tolist())
        for v in self.feasible_set.variables:
            for label in v.element_names():
                value = next(numbers)
                if not v.domain.contains(value):
                    raise GateError(
                        f"{label} = {value!r} is not a value of this variable: expected "
                        f"{v.domain.expected}. The simulator was not called. Designs must come "
                        "from ask() unchanged."
                    )


class OnPyomoModel:
    """Call a simulator with a copy of the Pyomo model that holds the design's values.

    Each thread and each worker process has a copy of its own; the user's model never changes.
    """

    def __init__(self, simulator: Callable[[Any], Any], model: Any) -> None:
        self._simulator = simulator
        self._root, self._model = copy_of(model)
        self._local = threading.local()

    def __call__(self, design: Design) -> Any:
        """Load the design into this thread's copy and simulate it."""
        if not hasattr(self._local, "copy"):
            self._local.root, self._local.copy = copy_of(self._model)
            self._local.values = ModelValues(self._local.copy, design)
        set_params(self._local.copy, design.parameters)  # each time: they count as looked at
        self._local.values.set(design)
        return self._simulator(self._local.copy)

    def __getstate__(self) -> dict[str, Any]:
        return {"_simulator": self._simulator, "_root": self._root, "_model": self._model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()
