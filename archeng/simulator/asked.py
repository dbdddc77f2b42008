"""`Asked`: what the simulator has to return, and what follows from it by the model's formulas.

Objective and constraints of a call are those that the simulator returned, or formulas of its
outputs. Whoever reads a call later (ranking, journal, tables) need not know which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.checks import shown
from archeng.distribution import Floats
from archeng.model import FeasibleSet, Formulas, Output, Variable
from archeng.simulator.call import GOOD, Call, CallStatus

_EXPECTED = "expected 'objective' and, if needed, 'constraints' and 'outputs'"


class _BadAnswerError(Exception):
    """Why an answer is not what was asked for; ``malformed``: the simulator is written wrongly."""

    def __init__(self, message: str, malformed: bool = True) -> None:
        super().__init__(message)
        self.malformed = malformed


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of the simulator.

    Attributes
    ----------
    feasible_set : FeasibleSet
        With the formulas of the model, if it has outputs.
    simulated : tuple of str
        Names of ``simulated=``: constraints that the simulator returns as such.
    sign : float
        -1 if the objective is maximised.
    finest : int
        Level of the simulator that the answer is about; cheaper ones may leave constraints out.
    """

    feasible_set: FeasibleSet
    simulated: tuple[str, ...] = ()
    sign: float = 1.0
    finest: int = 0

    def completed(self, outcome: Call, x: Floats, level: int | None = None) -> Call:
        """Return the outcome with objective and constraints; an invalid one if that cannot be.

        ``x`` is the full vector of the design, ``level`` the simulator that was called (None: the
        finest). Constraints that a cheaper one leaves out are NaN.
        """
        if outcome.status not in GOOD:
            return self._explained(outcome)
        if level is not None and level < self.finest:
            known = {k: v for k, v in outcome.constraints.items() if k in self.simulated}
            missing = dict.fromkeys(self.simulated, math.nan)
            outcome = replace(outcome, constraints=missing | known)
        try:
            return self._completed(outcome, x)
        except _BadAnswerError as error:
            return replace(
                outcome,
                status=CallStatus.INVALID,
                objective=math.nan,
                message=str(error),
                constraints={},
                gradients={},
                mistake=error.malformed,
            )

    def _explained(self, outcome: Call) -> Call:
        """Return an answer that cannot be read with what is expected, if the model says it."""
        formulas = self.feasible_set.formulas
        if formulas is None or outcome.status is not CallStatus.INVALID or not outcome.mistake:
            return outcome
        return replace(outcome, message=f"{outcome.message}. {_how(formulas)}")

    def _completed(self, outcome: Call, x: Floats) -> Call:
        formulas = self.feasible_set.formulas
        if formulas is None:
            if outcome.strict:
                keys = list(outcome.outputs)
                raise _BadAnswerError(
                    f"the simulator returned a dictionary with the keys {keys}; {_EXPECTED}"
                )
            self._check_objective(outcome)
            self._check_constraints(outcome.constraints)
            return replace(outcome, gradients={})
        if not formulas.objective:
            self._check_objective(outcome)
        elif not math.isnan(outcome.objective):
            raise _BadAnswerError(
                f"the simulator returned the objective {outcome.objective:g}, but the objective of "
                f"the model is a formula: {formulas.objective}. {_how(formulas)}"
            )
        self._check_constraints(outcome.constraints)
        z = output_vector(formulas, outcome.outputs, outcome.strict)
        objective, rows = self._derived(formulas, x, z)
        return replace(
            outcome,
            objective=self.sign * objective if formulas.objective else outcome.objective,
            constraints=dict(zip(formulas.row_names, rows.tolist(), strict=True))
            | dict(outcome.constraints),
            gradients=_gradients(formulas, self.feasible_set.variables, outcome.gradients),
        )

    def _check_objective(self, outcome: Call) -> None:
        if math.isnan(outcome.objective):
            raise _BadAnswerError(
                "the simulator returned no objective; return a number, or archeng.Evaluation("
                "objective, ...), or make the objective a formula: model.minimize(...)"
            )

    def _check_constraints(self, constraints: Mapping[str, float]) -> None:
        missing = [name for name in self.simulated if name not in constraints]
        strange = [name for name in constraints if name not in self.simulated]
        parts = [f"no value of the declared {missing}"] if missing else []
        if strange:
            parts.append(f"values of {strange}, which simulated= does not declare")
        if parts:
            raise _BadAnswerError(
                f"the simulator returned {' and '.join(parts)}. Return archeng.Evaluation("
                "objective, constraints={...}) with the names of simulated={...}; what is only to "
                "be recorded belongs into outputs."
            )

    def _derived(self, formulas: Formulas, x: Floats, z: Floats) -> tuple[float, Floats]:
        """Objective and rows (m,) by the formulas; all must be finite."""
        try:
            objective, rows = self.feasible_set.formulas_at(x, z)
        except RuntimeError as error:  # of a CasADi function in a formula
            last = str(error).strip().splitlines()[-1]
            raise _BadAnswerError(f"a formula cannot be evaluated: {last}", False) from error
        named = {"the objective": objective, **dict(zip(formulas.row_names, rows, strict=True))}
        for name, value in named.items():
            if not np.isfinite(value):
                labels = [label for o in formulas.outputs for label in o.element_names()]
                found = ", ".join(f"{k} = {v:g}" for k, v in zip(labels, z, strict=True))
                raise _BadAnswerError(f"by its formula {name} is {value} with {found}", False)
        return objective, rows


def output_vector(formulas: Formulas, outputs: Mapping[str, Any], strict: bool = False) -> Floats:
    """Return the declared outputs as one vector (q,); ``strict``: there must be no others."""
    names = [output.name for output in formulas.outputs]
    missing = [name for name in names if name not in outputs]
    strange = [name for name in outputs if name not in names] if strict else []
    parts = [f"no value of the outputs {missing}"] if missing else []
    if strange:
        parts.append(f"values of {strange}, which the model does not declare by model.output()")
    if parts:
        raise _BadAnswerError(f"the simulator returned {' and '.join(parts)}. {_how(formulas)}")
    return np.concatenate([_flat(output, outputs[output.name]) for output in formulas.outputs])


def gradient_rows(formulas: Formulas, gradients: Mapping[str, Any]) -> dict[int, Floats]:
    """Return derivatives (n_full,) of entries of the outputs, by their positions in the vector."""
    rows, first = dict[int, Floats](), 0
    for output in formulas.outputs:
        for i, row in enumerate(gradients.get(output.name, ())):
            rows[first + i] = np.array(row)
        first += output.size
    return rows


def _how(formulas: Formulas) -> str:
    names = ", ".join(f'"{output.name}": ...' for output in formulas.outputs)
    return (
        f"Return the dictionary {{{names}}}; or archeng.Evaluation(outputs={{...}}), which may "
        "hold more that is only recorded."
    )


def _flat(output: Output, value: Any) -> Floats:
    try:
        flat = output.flat(value)
    except ValueError:
        flat = None
    if flat is None:
        shape = f"numbers of shape {output.shape}" if output.shape else "a number"
        raise _BadAnswerError(
            f"the simulator returned {shown(value)} as output {output.name!r}; expected {shape}"
        )
    if not np.all(np.isfinite(flat)):
        raise _BadAnswerError(
            f"the simulator returned {shown(value)} as output {output.name!r}", malformed=False
        )
    return flat


def _gradients(
    formulas: Formulas, variables: Sequence[Variable], given: Mapping[str, Any]
) -> dict[str, list[list[float]]]:
    """Return derivatives (size, n_full) of outputs by name, as lists."""
    outputs = {output.name: output for output in formulas.outputs}
    found = {}
    for name, value in given.items():
        if name not in outputs:
            raise _BadAnswerError(
                f"the simulator returned a gradient of {name!r}; the model has the outputs "
                f"{list(outputs)}"
            )
        matrix = _gradient(outputs[name], variables, value)
        if not np.all(np.isfinite(matrix)):
            raise _BadAnswerError(f"the gradient of output {name!r} is not finite", False)
        found[name] = matrix.tolist()
    return found


def _gradient(output: Output, variables: Sequence[Variable], value: Any) -> Floats:
    size, n = output.size, sum(v.size for v in variables)
    if isinstance(value, Mapping):
        names, real = (
            [v.name for v in variables],
            [v for v in variables if not v.domain.is_discrete],
        )
        if not {v.name for v in real} <= set(value) <= set(names):
            raise _BadAnswerError(
                f"the gradient of output {output.name!r} has the variables {list(value)}; expected "
                f"{names if len(real) == len(names) else [v.name for v in real]}"
            )
        none = {v.name: np.zeros((size, v.size)) for v in variables}  # nobody looks at these
        blocks = [np.asarray(value.get(v.name, none[v.name]), dtype=float) for v in variables]
        for v, block in zip(variables, blocks, strict=True):
            if block.size != size * v.size:
                raise _BadAnswerError(
                    f"the gradient of output {output.name!r} by variable {v.name!r} has "
                    f"{block.size} entries; expected {size} x {v.size}"
                )
        return np.concatenate([block.reshape(size, -1, order="F") for block in blocks], axis=1)
    array = np.asarray(value, dtype=float)
    if array.shape == (n,) and size == 1:
        array = array[None]
    if array.shape != (size, n):
        raise _BadAnswerError(
            f"the gradient of output {output.name!r} has shape {array.shape}; expected "
            f"{(size, n) if size > 1 else (n,)}, in the order of design.x"
        )
    return array
