"""Forms in which a study is posed: what the model knows, and what the simulator returns.

``grey``: the simulator returns what nobody can write down, and limits and objective are formulas of
it. ``direct``: it returns the very quantities that are limited. ``black``: it returns the objective
and the values of the limits, and the model knows nothing of them. The physics is the same in all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar, get_args

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.shared.seeds import SeedRecord

Form = Literal["grey", "direct", "black"]
FORMS: tuple[Form, ...] = get_args(Form)
BOTH: tuple[Form, ...] = ("grey", "black")

METHODS: dict[Form, str] = {form: f"archeng {form} box" for form in BOTH}
"""How archeng is called in studies that compare methods."""

GAPS = (0.005, 0.001)
"""Seeds are counted that end within these of the optimum."""

Record = TypeVar("Record", bound=SeedRecord)


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add ``--form``."""
    parser.add_argument(
        "--form",
        choices=[*FORMS, "both"],
        default="grey",
        help="what the simulator returns: outputs of formulas (grey), the limited quantities "
        "(direct), objective and limits (black); both: grey and black (grey)",
    )


def forms_of(option: str) -> tuple[Form, ...]:
    """Return the forms that ``--form`` stands for."""
    return BOTH if option == "both" else tuple(form for form in FORMS if form == option)


def forms_table(
    groups: Mapping[str, Sequence[Record]],
    optimum: float,
    objective: Callable[[Record], float],
    infeasible: Callable[[Record], int],
    sign: float = 1.0,
) -> str:
    """Return a line for each form: how far its seeds end from the optimum.

    ``sign`` is -1 if the objective is maximised. A seed without a design that satisfies everything
    has an objective of NaN and counts as infinitely far.
    """
    nearest, *_ = GAPS
    header = ["form", "seeds", "best", "median", "worst", "worst is off by",
              *(f"seeds within {100 * g:g} %" for g in GAPS),
              f"calls to {100 * nearest:g} % (median)", "infeasible calls"]  # fmt: skip
    lines = []
    for form, records in groups.items():
        values = np.array([sign * objective(r) for r in records])
        values = np.where(np.isnan(values), np.inf, values)
        gaps = (values - sign * optimum) / abs(optimum)
        reached = [r.calls_to(optimum * (1 + sign * nearest), sign) for r in records]
        calls = np.median([np.inf if n is None else n for n in reached])
        shown = [_number(sign * v) for v in (values.min(), np.median(values), values.max())]
        lines.append(
            [
                form,
                len(records),
                *shown,
                f"{_number(100 * gaps.max(), '.2f')} %",
                *(f"{int((gaps <= g).sum())} of {len(records)}" for g in GAPS),
                _number(calls, ".0f"),
                sum(infeasible(r) for r in records),
            ]
        )
    return markdown_table(header, lines)


def _number(value: float, form: str = ".7g") -> str:
    return f"{value:{form}}" if np.isfinite(value) else "-"
