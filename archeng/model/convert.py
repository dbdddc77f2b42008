"""`as_model`: whatever a user may hand to ``solve``, as a `Model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from archeng.errors import ModelError
from archeng.model.from_casadi import from_nlp, from_opti
from archeng.model.model import Model

_NLP_ARGUMENTS = ("lbx", "ubx", "lbg", "ubg", "p", "x0", "scale", "names", "row_names", "tolerance")


def as_model(model: Any, *, objective: bool, **arguments: Any) -> Model:
    """Return ``model`` itself, or import an Opti or an nlp dictionary.

    Parameters
    ----------
    model : Model, casadi.Opti or mapping
    objective : bool
        Keep the objective of an imported model if it has one (there is no simulator).
    **arguments
        For an nlp dictionary only: ``lbx, ubx, lbg, ubg, p, x0, ...`` as :func:`from_nlp`.
    """
    if isinstance(model, Mapping):
        unknown = sorted(set(arguments) - set(_NLP_ARGUMENTS))
        if unknown:
            raise ModelError(f"Unknown options {unknown}; for an nlp: {', '.join(_NLP_ARGUMENTS)}.")
        keep = objective and model.get("f") is not None
        return from_nlp(model, objective=keep, **arguments)
    if arguments:
        raise ModelError(
            f"Unknown options {sorted(arguments)}. (Bounds such as lbx= go with an nlp "
            "dictionary only; a Model carries its own.)"
        )
    if isinstance(model, Model):
        return model
    if isinstance(model, ca.Opti):
        return from_opti(model, objective=objective and not model.f.is_constant())
    raise ModelError(
        "The first argument must be an archeng.Model, a casadi.Opti or an nlp dictionary; "
        f"got {type(model).__name__}."
    )
