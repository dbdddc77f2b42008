"""What the engineer declares, and its compiled form."""

from archeng.model.advice import IMPORT_HINTS, ONE_OBJECTIVE, of_casadi
from archeng.model.compile import compile_model
from archeng.model.constraint import Constraint
from archeng.model.convert import (
    IMPORT_OPTIONS,
    as_model,
    check_import_options,
    is_importable,
)
from archeng.model.declarations import Sense
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.fibre import fibre
from archeng.model.formulas import Formulas, FormulaTexts, formulas_of
from archeng.model.from_casadi import from_nlp, from_opti
from archeng.model.from_scipy import from_scipy
from archeng.model.lattice import Lattice
from archeng.model.model import Model
from archeng.model.nl import from_nl
from archeng.model.parameter_slopes import ParameterSlopes
from archeng.model.portable import differences, from_data, serialized, to_data
from archeng.model.pyomo import (
    ModelValues,
    all_values,
    copy_of,
    from_pyomo,
    has_objective,
    is_pyomo,
    set_params,
    variables_by_name,
)
from archeng.model.quantities import RESERVED, Output, Parameter
from archeng.model.tables import (
    model_formulas,
    model_quantities,
    model_variables,
    number,
    text_table,
)
from archeng.model.tolerance import DEFAULT_SHARE, refuse_wide
from archeng.model.variable import Variable

__all__ = [
    "DEFAULT_SHARE",
    "IMPORT_HINTS",
    "IMPORT_OPTIONS",
    "ONE_OBJECTIVE",
    "RESERVED",
    "Constraint",
    "FeasibleSet",
    "FormulaTexts",
    "Formulas",
    "Lattice",
    "Model",
    "ModelValues",
    "Output",
    "Parameter",
    "ParameterSlopes",
    "RowInfo",
    "RowKind",
    "Sense",
    "Variable",
    "all_values",
    "as_model",
    "check_import_options",
    "compile_model",
    "copy_of",
    "differences",
    "fibre",
    "formulas_of",
    "from_data",
    "from_nl",
    "from_nlp",
    "from_opti",
    "from_pyomo",
    "from_scipy",
    "has_objective",
    "is_importable",
    "is_pyomo",
    "model_formulas",
    "model_quantities",
    "model_variables",
    "number",
    "of_casadi",
    "refuse_wide",
    "serialized",
    "set_params",
    "text_table",
    "to_data",
    "variables_by_name",
]
