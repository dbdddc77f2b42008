r"""`BlackBoxes`: what computes the outputs of an imported model, called with a design.

With the design x (n,), the parameters p and the outputs z (q,) of the boxes before it, a box gets
the inputs :math:`u = h(x, p, z)` and returns some entries of z. By the chain rule

.. math:: dz/dx = J (\partial h/\partial x + \partial h/\partial z \; dz/dx),

where J are the box's own derivatives. A row of NaN stands for derivatives that are not known.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pyomo.core.base.external import PythonCallbackFunction
from pyomo.core.expr.numvalue import value

from archeng.model.functions import FastFunction
from archeng.model.variable import Floats

_BASE = "pyomo.contrib.pynumero.interfaces.external_grey_box"  # where Pyomo's base classes are


class Lock:
    """A lock that is a new one in copies and in other processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:
        return Lock, ()


class Box(Protocol):
    """One black box: inputs to values (k,) and their derivatives (k, inputs), NaN if unknown.

    Derivatives need not be computed unless ``gradients``.
    """

    name: str

    def evaluate(self, arguments: Sequence[Any], gradients: bool) -> tuple[Floats, Floats]:
        """Evaluate the box once."""
        ...


class FunctionBox:
    """An `ExternalFunction` of Pyomo, with its gradient if it has one."""

    def __init__(self, function: Any, name: str) -> None:
        self.function, self.name = function, name
        self._compiled = not isinstance(function, PythonCallbackFunction)
        self.has_gradient = self._compiled or any(
            getattr(function, part, None) is not None for part in ("_grad", "_fgh")
        )

    def evaluate(self, arguments: Sequence[Any], gradients: bool) -> tuple[Floats, Floats]:
        """Call the function once; arguments are numbers, and texts where it takes them."""
        call = self.function(*arguments)  # Pyomo adds what the function needs besides
        unknown = np.full((1, len(arguments)), np.nan)
        if not gradients or not self.has_gradient:
            return np.array([float(value(call))]), unknown
        # an argument that is a text has no derivative
        fixed = [isinstance(a, str) for a in arguments] + [True] * (len(call.args) - len(arguments))
        f, g, _ = self.function.evaluate_fgh(call.args, fixed=fixed, fgh=1)
        slopes = np.array([float(entry) for entry in g[: len(arguments)]])
        if self._compiled and not slopes.any():  # a library without derivatives leaves zeros
            return np.array([float(f)]), unknown
        return np.array([float(f)]), slopes[None]


class GreyBox:
    """The external model of an `ExternalGreyBoxBlock`: outputs, residuals, objective.

    It remembers its inputs between calls, so that threads take turns.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name
        self._lock = Lock()
        # what it returns, how many numbers that is, and where the derivatives come from
        self._parts = (
            ("evaluate_outputs", model.n_outputs(), "evaluate_jacobian_outputs"),
            (
                "evaluate_equality_constraints",
                model.n_equality_constraints(),
                "evaluate_jacobian_equality_constraints",
            ),
            ("evaluate_objective", int(has_own_objective(model)), "evaluate_grad_objective"),
        )

    def evaluate(self, arguments: Sequence[Any], gradients: bool) -> tuple[Floats, Floats]:
        """Set the inputs and ask for everything that the box computes."""
        values, slopes = [np.zeros(0)], [np.zeros((0, len(arguments)))]
        with self._lock:
            self.model.set_input_values(np.array(arguments, dtype=float))
            for part, size, derivatives in self._parts:
                if size:
                    values.append(self._numbers(part, getattr(self.model, part)(), size))
                    shape = size, len(arguments)
                    unknown = np.full(shape, np.nan)
                    slopes.append(self._slopes(derivatives, shape) if gradients else unknown)
        return np.concatenate(values), np.concatenate(slopes)

    def _numbers(self, part: str, answer: Any, size: int) -> Floats:
        numbers = np.asarray(answer, dtype=float).reshape(-1)
        if numbers.size != size:
            raise ValueError(
                f"{self.name}: {part}() returned {numbers.size} numbers, expected {size}"
            )
        return numbers

    def _slopes(self, method: str, shape: tuple[int, int]) -> Floats:
        """Return derivatives by the inputs, NaN if the box has none."""
        own = getattr(type(self.model), method, None)
        if own is None or own.__module__ == _BASE:
            return np.full(shape, np.nan)
        try:
            matrix = getattr(self.model, method)()
        except NotImplementedError:
            return np.full(shape, np.nan)
        if matrix is None:
            return np.full(shape, np.nan)
        dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, dtype=float)
        return np.array(dense, dtype=float).reshape(shape)


def has_own_objective(model: Any) -> bool:
    """Whether the external model of a grey box computes an objective (Pyomo >= 6.9)."""
    return bool(getattr(model, "has_objective", lambda: False)())


@dataclass(frozen=True, eq=False)
class Step:
    """One box in the order of evaluation.

    Attributes
    ----------
    box : Box
    arguments : tuple
        Texts as they are; None where a number comes from ``inputs``.
    inputs : FastFunction
        Those of x, p and z that it depends on, to u (k,) and its derivatives by x and by z.
    places : ndarray of int
        Where its values are in z.
    depends : tuple of ndarray of int
        Which of x, of p and of z its inputs depend on.
    """

    box: Box
    arguments: tuple[str | None, ...]
    inputs: FastFunction
    places: NDArray[np.intp]
    depends: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(
        cls,
        box: Box,
        arguments: Sequence[Any],
        symbols: Sequence[Mapping[int, int]],
        places: Sequence[int],
    ) -> Step:
        """Compile the arguments; ``symbols`` are places in x, p and z by the hash of a symbol."""
        u = ca.vertcat(ca.SX(0, 1), *(a for a in arguments if not isinstance(a, str)))
        inside = {hash(s): s for s in ca.symvar(u)}
        held = [[s for s in inside if s in family] for family in symbols]
        x, p, z = (ca.vertcat(ca.SX(0, 1), *(inside[s] for s in part)) for part in held)
        slopes = ca.jacobian(u, x), ca.jacobian(u, z)
        return cls(
            box,
            tuple(a if isinstance(a, str) else None for a in arguments),
            FastFunction.of("inputs", [x, p, z], [u, *slopes], (1, 2)),
            np.array(places, dtype=np.intp),
            tuple(
                np.array([family[s] for s in part], dtype=np.intp)
                for part, family in zip(held, symbols, strict=True)
            ),
        )

    def run(self, u: Floats, gradients: bool) -> tuple[Floats, Floats]:
        """Evaluate the box with the inputs u (k,); derivatives are those by u."""
        if not np.all(np.isfinite(u)):
            raise ArithmeticError(f"{self.box.name} was not called: its inputs are {u.tolist()}")
        numbers = iter(u.tolist())
        given = [next(numbers) if a is None else a for a in self.arguments]
        values, slopes = self.box.evaluate(given, gradients)
        return values, slopes[:, [a is None for a in self.arguments]]


class BlackBoxes:
    """Design to outputs, by the boxes of an imported model, each called once.

    Parameters
    ----------
    steps : sequence of Step
        In an order in which every box comes after those that feed it.
    names : sequence of str
        Of the outputs z.
    parameters : sequence of (int, str)
        Position and name of the parameters that inputs of boxes depend on; only these are read.
    n_parameters : int
    gradients : bool
        Whether boxes are asked for derivatives.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        names: Sequence[str],
        parameters: Sequence[tuple[int, str]],
        n_parameters: int,
        gradients: bool = True,
    ) -> None:
        self.steps, self.names = tuple(steps), tuple(names)
        self._parameters, self._n_parameters = tuple(parameters), n_parameters
        self._gradients, self._lock = gradients, Lock()

    def __call__(self, design: Any) -> dict[str, Any]:
        """Return the outputs by name; if derivatives are known, outputs and gradients."""
        x, q = np.array(design.x, dtype=float), len(self.names)
        p, z, slopes = np.zeros(self._n_parameters), np.zeros(q), np.full((q, len(x)), np.nan)
        for k, name in self._parameters:
            p[k] = design.parameters[name]
        for step in self.steps:
            of_x, of_p, of_z = step.depends
            with self._lock:  # compiled functions have memory of their own
                u, by_x, by_z = step.inputs(x[of_x], p[of_p], z[of_z])
            values, by_u = step.run(u, self._gradients)
            z[step.places] = values
            with np.errstate(all="ignore"):  # what is not known is NaN
                total = by_z @ slopes[of_z]
                total[:, of_x] += by_x
                slopes[step.places] = by_u @ total
        outputs = dict(zip(self.names, z.tolist(), strict=True))
        known = np.all(np.isfinite(slopes), axis=1)
        if not known.any():
            return outputs
        gradients = {self.names[k]: slopes[k] for k in np.flatnonzero(known)}
        return {"outputs": outputs, "gradients": gradients}
