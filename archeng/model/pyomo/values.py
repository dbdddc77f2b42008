"""The way back: values of a design, and what follows from it, in the variables of a Pyomo model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyomo.core.base.block import Block
from pyomo.core.base.var import Var

from archeng.errors import ModelError
from archeng.model.pyomo.boxes import GREY_BOX
from archeng.model.pyomo.disjunctions import DISJUNCT
from archeng.model.pyomo.importer import Computed


def all_values(
    model: Any,
    design: Mapping[str, Any],
    outputs: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> dict[str, float]:
    """Return values of Pyomo's variables by name: design, outputs of boxes, eliminated ones.

    Without ``outputs`` the model has no black boxes, and the design is all.
    """
    values = {name: float(design[name]) for name in design}
    if not outputs:
        return values
    computed = Computed.of(model, outputs, list(parameters))
    return computed.values(design, outputs, parameters) | values


def variables_by_name(model: Any) -> dict[str, Any]:
    """Return all variables of a block's whole model, also of grey boxes and disjuncts."""
    root = model.model()
    blocks = (Block, *{c.ctype for c in _other_blocks(root)})
    every = root.component_data_objects(Var, active=None, descend_into=blocks)
    return {var.name: var for var in every}


def _other_blocks(root: Any) -> Iterator[Any]:
    for component in root.component_objects(active=None, descend_into=Block):
        if component.ctype.__name__ in (GREY_BOX, DISJUNCT):
            yield component


class ModelValues:
    """The variables of a Pyomo model by their full names, ready to take values.

    Parameters
    ----------
    model : Pyomo model or block
        Names are looked up in the whole model that it belongs to.
    names : iterable of str
        The variables that will be set.

    Raises
    ------
    ModelError
        If the model lacks one of them.
    """

    def __init__(self, model: Any, names: Any) -> None:
        root, every, wanted = model.model(), variables_by_name(model), list(names)
        missing = [name for name in wanted if name not in every]
        if missing:
            raise ModelError(
                f"Pyomo model {root.name!r} has no variable {', '.join(missing)}; it is not the "
                "model of this design."
            )
        # what is fixed now has its value; what a simulator fixes later is still the design's
        self._variables = {name: every[name] for name in wanted if not every[name].fixed}

    def set(self, values: Mapping[str, float]) -> None:
        """Set the variables that were free at first; the others have their value."""
        for name, var in self._variables.items():
            number = float(values[name])
            whole = not var.is_continuous() and number.is_integer()
            var.set_value(int(number) if whole else number, skip_validation=True)


def set_params(model: Any, values: Mapping[str, float]) -> None:
    """Give mutable Params of a model, by their full names, values."""
    root = model.model()
    for name, number in values.items():
        root.find_component(name).set_value(float(number))


def copy_of(model: Any) -> tuple[Any, Any]:
    """Copy a whole model; return the copy and, in it, the given block (the copy itself if whole).

    The first must be kept: a block holds its model only weakly.
    """
    root = model.model()
    clone = root.clone()
    return clone, clone if model is root else clone.find_component(model)
