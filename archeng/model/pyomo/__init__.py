"""Pyomo models as archeng models. The only place, with the solver plug-in, that knows Pyomo."""

from archeng.model.pyomo.components import ModelValues, copy_of, from_pyomo, has_objective, is_pyomo

__all__ = ["ModelValues", "copy_of", "from_pyomo", "has_objective", "is_pyomo"]
