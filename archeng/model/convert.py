"""`as_model`: whatever a user may hand to ``solve``, as a `Model`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca

from archeng.checks import unknown_options
from archeng.errors import ModelError, SettingsError
from archeng.model.from_casadi import from_nlp, from_opti
from archeng.model.model import Model
from archeng.model.nl import from_nl
from archeng.model.pyomo import from_pyomo, has_objective, is_pyomo

IMPORT_OPTIONS = (
    *("lbx", "ubx", "lbg", "ubg", "p", "x0"),
    *("scale", "names", "row_names", "tolerance", "discrete"),
    *("black_boxes", "gradients", "parameter_names", "independent"),
)
"""Every option that one of the importers takes."""


def as_model(
    model: Any, *, objective: bool, parameters: tuple[str, ...] = (), **arguments: Any
) -> Model:
    """Return ``model`` itself, or import an Opti, an nlp dictionary, Pyomo or an .nl file.

    Parameters
    ----------
    model : Model, casadi.Opti, mapping, Pyomo model, or path of an .nl file
    objective : bool
        Keep the objective of an imported model if it has one (there is no simulator). That of a
        model with black boxes is always kept: a simulator returns outputs in their place.
    parameters : tuple of str
        Names of parameters that get other values: those of an imported model stay symbols.
    **arguments
        For the importer: ``lbx, ubx, ...`` as :func:`from_nlp`, ``scale``, ``tolerance``,
        ``gradients`` and ``independent``.
    """
    if isinstance(model, Model):
        if arguments:
            what = "A Model (which carries its own bounds and tolerances)"
            hints = {"independent": "Write model.independent(...)."}
            raise ModelError(unknown_options(what, arguments, (), hints))
        return model
    if isinstance(model, Mapping):
        keep = True if objective and model.get("f") is not None else None
        return from_nlp(model, objective=keep, parameters=bool(parameters), **arguments)
    if isinstance(model, ca.Opti):
        keep = True if objective and not model.f.is_constant() else None
        return from_opti(model, objective=keep, parameters=bool(parameters), **arguments)
    if is_pyomo(model):
        keep = True if objective and has_objective(model) else None
        return from_pyomo(model, objective=keep, parameters=parameters, **arguments)
    if isinstance(model, str | Path) and str(model).endswith(".nl"):
        return from_nl(model, objective=objective, **arguments)
    raise ModelError(
        "The first argument must be an archeng.Model, a casadi.Opti, an nlp dictionary, a Pyomo "
        f"model or the path of an .nl file; got {type(model).__name__}."
    )


def is_importable(value: Any) -> bool:
    """Whether an object (other than a mapping or a path) is a model that can be imported."""
    return isinstance(value, Model | ca.Opti) or is_pyomo(value)


def check_import_options(
    where: str, arguments: Iterable[str], own: Iterable[str], hints: Mapping[str, str] | None = None
) -> None:
    """Raise if a function got options that are neither its own nor those of an importer."""
    unknown = [name for name in arguments if name not in IMPORT_OPTIONS]
    if unknown:
        raise SettingsError(unknown_options(where, unknown, own, hints or {}))
