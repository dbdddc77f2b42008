"""``archeng check``: what a model is, before any simulator exists."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from archeng.cli.load import load_model
from archeng.distribution import Floats
from archeng.errors import InfeasibleModelError
from archeng.model import FeasibleSet, Model, compile_model, model_variables, number, text_table
from archeng.repair import Repairer
from archeng.runner.options import check_seed
from archeng.sampling import feasible_points
from archeng.settings import Settings


def check(options: argparse.Namespace) -> int:
    """Print the model and whether it has a feasible design."""
    check_seed(options.seed)
    model = load_model(options.file, options.object)
    try:
        fs = compile_model(model)
        sys.stdout.write(f"{_tables(model, fs)}\n\n")
        point = feasible_points(Repairer(fs, Settings()), 1, np.random.default_rng(options.seed))[0]
    except InfeasibleModelError as error:
        sys.stdout.write(f"feasible design: NONE FOUND\n{error}\n")
        return 1
    sys.stdout.write(f"{_freedom(fs, point)}\n\nfeasible design: found\n{_design(fs, point)}\n")
    return 0


def _tables(model: Model, fs: FeasibleSet) -> str:
    """Variables as declared; rows as compiled, with their kinds."""
    rows = [
        (
            info.name,
            f"{info.kind.value} equality" if info.equality else info.kind.value,
            *_limits(low, high, info.equality),
            info.source or "-",
        )
        for info, low, high in zip(fs.rows, fs.lower, fs.upper, strict=True)
    ]
    text = f"{model.name}: {model.n_variables} variables, {len(rows)} rows\n\n"
    text += model_variables(model.variables)
    if rows:
        text += "\n\n" + text_table(("row", "kind", "lower", "upper", "source"), rows)
    return text + "".join(f"\nnote: {note}" for note in fs.notes)


def _limits(low: float, high: float, equality: bool) -> tuple[str, str]:
    """Limits of a row; of an equality the value and its tolerance."""
    if not equality:
        return number(low), number(high)
    middle = (low + high) / 2
    return f"{number(middle)} +- {(high - low) / 2:.3g}", number(middle)


def _freedom(fs: FeasibleSet, point: Floats) -> str:
    """Free variables less the independent equalities, at a feasible design."""
    jacobian = fs.values_and_jacobian(point)[1][fs.equality]
    scaled = jacobian * np.where(np.isnan(fs.scale), 1.0, fs.scale)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(lengths > 0, lengths, 1.0)
    rank = int(np.linalg.matrix_rank(unit)) if len(jacobian) else 0
    equalities = int(np.sum(fs.equality))
    dependent = "" if rank == equalities else f" ({equalities - rank} of them depend on the others)"
    return (
        f"degrees of freedom: {fs.n - rank} = {fs.n} free variables - {rank} of {equalities} "
        f"equalities{dependent}"
    )


def _design(fs: FeasibleSet, point: Floats) -> str:
    return "\n".join(
        f"  {name} = {value:.10g}" for name, value in zip(fs.free_names, point, strict=True)
    )
