"""``archeng check``: what a model is, and whether it can have a design, before any simulator."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from archeng.cli.load import load_model
from archeng.diagnose import diagnose
from archeng.errors import InfeasibleModelError
from archeng.model import FeasibleSet, Model, compile_model, model_variables, number, text_table
from archeng.runner.options import check_seed
from archeng.sampling import deviations


def check(options: argparse.Namespace) -> int:
    """Print the model and its diagnosis."""
    check_seed(options.seed)
    model = load_model(options.file, options.object)
    fs: FeasibleSet | None = None
    with contextlib.suppress(InfeasibleModelError):  # the diagnosis says why
        fs = compile_model(model)
    diagnosis = diagnose(model, seed=options.seed)
    if options.json:
        sys.stdout.write(json.dumps(diagnosis.to_dict(), indent=2) + "\n")
    else:
        head = str(model) if fs is None else _tables(model, fs)
        sys.stdout.write(f"{head}\n\n{diagnosis}\n")
    if fs is not None:
        deviations(fs)  # refuses a model in which a run cannot tell where to search
    return 0 if diagnosis.feasible else 1


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
