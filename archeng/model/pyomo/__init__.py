"""Pyomo models as archeng models. The only place, with the solver plug-in, that knows Pyomo."""

from archeng.model.pyomo.components import has_objective, is_pyomo
from archeng.model.pyomo.importer import from_pyomo
from archeng.model.pyomo.values import (
    ModelValues,
    all_values,
    copy_of,
    set_params,
    variables_by_name,
)

__all__ = [
    "ModelValues",
    "all_values",
    "copy_of",
    "from_pyomo",
    "has_objective",
    "is_pyomo",
    "set_params",
    "variables_by_name",
]
