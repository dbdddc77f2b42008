"""A model of formulas whose outputs are variables of OpenMDAO, for its driver.

``problem`` is an OpenMDAO problem, ``declared`` are the design variables as its driver knows them:
by name, with size, units, and limits as vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng.checks import did_you_mean
from archeng.errors import ModelError
from archeng.model import Model, Output

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Declared:
    """A design variable of OpenMDAO: size, units, lower and upper bounds (size,).

    ``per_unit`` is how much it changes in these units if it changes by 1 in those of OpenMDAO.
    """

    size: int
    units: str | None
    lower: Floats
    upper: Floats
    per_unit: float = 1.0


def with_bounds(model: Model, declared: Mapping[str, Declared]) -> Model:
    """Return the model with the bounds of OpenMDAO besides its own.

    Raises
    ------
    ModelError
        If its variables are not the design variables, or have other sizes or units.
    """
    own = [v.name for v in model.variables]
    missing = [name for name in declared if name not in own]
    strange = [name for name in own if name not in declared]
    if missing or strange:
        raise ModelError(
            f"The variables of model {model.name!r} must be the design variables of OpenMDAO, "
            f"{', '.join(declared)}; missing: {missing}, not among them: {strange}."
        )
    bounded = model.with_parameters()
    first = 0
    for v in model.variables:
        there = declared[v.name]
        if v.size != there.size or (v.unit and there.units and v.unit != there.units):
            raise ModelError(
                f"Variable {v.name!r} has {v.size} entries, unit {v.unit!r}; add_design_var says "
                f"{there.size}, {there.units!r}. They must agree."
            )
        if v.domain.table is not None:
            raise ModelError(
                f"Variable {v.name!r} is a row of a table, and OpenMDAO sets numbers: use "
                "model.integer() or model.choice(), and look the row up in the component."
            )
        low, high = (
            side.reshape(v.shape).reshape(-1, order="F") for side in (there.lower, there.upper)
        )
        if np.isfinite((low, high)).any():
            bounded.subject_to(
                bounded.symbols[first : first + v.size],
                lower=low,
                upper=high,
                name=f"bounds of {v.name} in OpenMDAO",
                source="add_design_var",
            )
        first += v.size
    return bounded


def check_outputs(model: Model, problem: Any) -> None:
    """Raise unless the outputs of the model are variables of OpenMDAO with these sizes and units.

    Raises
    ------
    ModelError
    """
    for output in model.outputs:
        try:
            size = np.size(_found(output, problem))
        except KeyError:
            every = (name for name, _ in problem.model.list_vars(out_stream=None, prom_name=True))
            raise ModelError(
                f"Output {output.name!r} of model {model.name!r} is not a variable of OpenMDAO: "
                f"its outputs are named as in prob.get_val().{did_you_mean(output.name, every)}"
            ) from None
        except (TypeError, ValueError) as error:  # of the units
            raise ModelError(
                f"Output {output.name!r} cannot be had in {output.unit!r}: {error}. Its unit must "
                "be one that OpenMDAO can convert to, or be left out."
            ) from error
        if size != output.size:
            raise ModelError(
                f"Output {output.name!r} has shape {output.shape}; in OpenMDAO it has {size} "
                "entries."
            )


def outputs_now(model: Model, problem: Any) -> dict[str, Any]:
    """Return the outputs of the model as OpenMDAO has them now, in the units of the model."""
    return {
        output.name: np.asarray(_found(output, problem), dtype=float).reshape(output.shape)
        for output in model.outputs
    }


def gradients_now(model: Model, problem: Any, declared: Mapping[str, Declared]) -> dict[str, Any]:
    """Return derivatives of the outputs by the variables of the model, in the model's units.

    OpenMDAO has total derivatives in its own units, and matrices row by row.
    """
    names = [output.name for output in model.outputs]
    totals = problem.compute_totals(of=names, wrt=list(declared), driver_scaling=False)
    return {
        output.name: {
            v.name: _per_unit(output, problem)
            / declared[v.name].per_unit
            * totals[output.name, v.name][np.ix_(_by_columns(output.shape), _by_columns(v.shape))]
            for v in model.variables
        }
        for output in model.outputs
    }


def _per_unit(output: Output, problem: Any) -> float:
    """How much an output changes in its unit if it changes by 1 in that of OpenMDAO."""
    if not output.unit:
        return 1.0
    zero, one = (problem.model.convert2units(output.name, v, output.unit) for v in (0.0, 1.0))
    return float(one - zero)


def _by_columns(shape: tuple[int, ...]) -> NDArray[np.intp]:
    """Positions, row by row, of the entries of an array column by column."""
    size = int(np.prod(shape, dtype=int))
    return np.arange(size).reshape(shape).reshape(-1, order="F")


def _found(output: Output, problem: Any) -> Any:
    return problem.get_val(output.name, units=output.unit or None)
