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
from archeng.model.domain import INTEGER, REAL, Domain
from archeng.model.feasible_set import FeasibleSet, RowInfo, RowKind
from archeng.model.fibre import fibre
from archeng.model.formulas import Formulas, FormulaTexts, formulas_of
from archeng.model.from_casadi import from_nlp, from_opti
from archeng.model.from_scipy import from_scipy
from archeng.model.lattice import Lattice
from archeng.model.model import Model
from archeng.model.nl import from_nl
from archeng.model.parameter_slopes import ParameterSlopes
from archeng.model.parts_table import Item
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
from archeng.model.same_rows import Translation, translation
from archeng.model.structure.reduction import rechosen
from archeng.model.structure.whole import Choice
from archeng.model.table_symbol import TableSymbol
from archeng.model.tables import (
    BOUND,
    bound_domains,
    has_discrete,
    model_formulas,
    model_quantities,
    model_variables,
    number,
    text_table,
)
from archeng.model.tolerance import DEFAULT_SHARE, refuse_wide
from archeng.model.variable import Variable, plain_values, rounded

__all__ = [
    "BOUND",
    "DEFAULT_SHARE",
    "IMPORT_HINTS",
    "IMPORT_OPTIONS",
    "INTEGER",
    "ONE_OBJECTIVE",
    "REAL",
    "RESERVED",
    "Choice",
    "Constraint",
    "Domain",
    "FeasibleSet",
    "FormulaTexts",
    "Formulas",
    "Item",
    "Lattice",
    "Model",
    "ModelValues",
    "Output",
    "Parameter",
    "ParameterSlopes",
    "RowInfo",
    "RowKind",
    "Sense",
    "TableSymbol",
    "Translation",
    "Variable",
    "all_values",
    "as_model",
    "bound_domains",
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
    "has_discrete",
    "has_objective",
    "is_importable",
    "is_pyomo",
    "model_formulas",
    "model_quantities",
    "model_variables",
    "number",
    "of_casadi",
    "plain_values",
    "rechosen",
    "refuse_wide",
    "rounded",
    "serialized",
    "set_params",
    "text_table",
    "to_data",
    "translation",
    "variables_by_name",
]
