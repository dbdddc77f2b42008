"""What commands write: texts for a terminal; JSON for scripts, null for numbers not finite."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from archeng.errors import SettingsError
from archeng.model import plain_values
from archeng.plain_text import visible
from archeng.records import parameters_of
from archeng.result import Result


def write(text: str) -> None:
    """Write a text and the end of its line; what would steer a terminal is shown as a code."""
    sys.stdout.write(visible(f"{text}\n"))


def write_json(data: Any, stream: Any = None) -> None:
    """Write data as JSON, to standard output unless another stream is given."""
    text = json.dumps(plain(data), indent=2, allow_nan=False)
    (sys.stdout if stream is None else stream).write(f"{text}\n")


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def limits_text(limits: Sequence[float | None]) -> str:
    """Return the limits of a simulated constraint: ``>= 40 and <= 60``."""
    pairs = zip((">=", "<="), limits, strict=True)
    return " and ".join(f"{sign} {value:g}" for sign, value in pairs if value is not None)


def check_place(flag: str, path: str | None) -> None:
    """Raise before the work, not after it, if a file cannot be written there."""
    if path is not None and (Path(path).is_dir() or not Path(path).resolve().parent.is_dir()):
        raise SettingsError(f"{flag} {path}: there is no such directory, or it is one.")


def by_name(result: Result, x: Any) -> dict[str, Any]:
    """Return a vector of a run by the names of its variables, as the engineer wrote values."""
    names = (name for v in result.variables for name in v.element_names())
    return dict(zip(names, plain_values(result.variables, x), strict=True))


def value_text(value: Any) -> str:
    """Return a value of a design for a terminal."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def result_data(result: Result, journal: Any = None) -> dict[str, Any]:
    """Return what a script wants to know of a result."""
    return {
        "name": result.name,
        "success": result.success,
        "status": result.status.name,
        "stop_reason": result.stop_reason.name,
        "message": result.message,
        "objective": result.fun,
        "objective_name": result.objective_name,
        "objective_formula": result.objective_formula,
        "parameters": parameters_of(result.parameters),
        "sensitivities": {
            s.name: {"slope": s.slope, "error": s.error, "complete": s.complete}
            for s in result.sensitivities
        },
        "calls": result.nfev,
        "infeasible_calls": result.n_infeasible_calls,
        "failed_calls": len(result.failures),
        "design": by_name(result, result.x),
        "active": result.active,
        "simulated": {
            s.name: {
                "value": s.value,
                "lower": s.lower,
                "upper": s.upper,
                "holds": s.holds,
                "formula": s.formula,
            }
            for s in result.simulated
        },
        "outputs": result.outputs,
        "seed": result.provenance["seed"],
        "journal": None if journal is None else str(journal),
    }
