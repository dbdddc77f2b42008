"""What the engineer declares, and its compiled form."""

from archeng.model.compile import compile_model
from archeng.model.convert import as_model
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.from_casadi import from_nlp, from_opti
from archeng.model.model import DEFAULT_TOLERANCE, Constraint, Model
from archeng.model.variable import Variable

__all__ = [
    "DEFAULT_TOLERANCE",
    "Constraint",
    "FeasibleSet",
    "Model",
    "RowInfo",
    "RowKind",
    "Variable",
    "as_model",
    "compile_model",
    "from_nlp",
    "from_opti",
]
