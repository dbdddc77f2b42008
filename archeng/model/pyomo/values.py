"""Writing the values of a design into a Pyomo model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyomo.core.base.block import Block
from pyomo.core.base.var import Var

from archeng.errors import ModelError


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
        root = model.model()
        every = {
            var.name: var
            for var in root.component_data_objects(Var, active=None, descend_into=Block)
        }
        wanted = list(names)
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
            var.set_value(float(values[name]), skip_validation=True)


def copy_of(model: Any) -> tuple[Any, Any]:
    """Copy a whole model; return the copy and, in it, the given block (the copy itself if whole).

    The first must be kept: a block holds its model only weakly.
    """
    root = model.model()
    clone = root.clone()
    return clone, clone if model is root else clone.find_component(model)
