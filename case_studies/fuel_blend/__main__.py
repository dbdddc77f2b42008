"""Command line of the fuel blend: ``python -m case_studies.fuel_blend --help``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import archeng
from case_studies.fuel_blend.comparison import METHODS, Run, solved, without_the_sum
from case_studies.fuel_blend.model import TOLERANCE, build_model
from case_studies.shared.comparison import Comparison
from case_studies.shared.forms import METHODS as FORMS

KNOWN = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
COLUMNS = (
    ("calls", "calls", ".0f"),
    ("at illegal designs", "illegal", ".0f"),
    ("cost it ends with, EUR/GJ", "claimed", ".3f"),
    ("sum of fractions", "total", ".4f"),
    ("cost of the real blend", "blended", ".3f"),
    ("its heating value, MJ/m3", "heating_value", ".2f"),
    ("best legal cost", "legal", ".3f"),
    ("calls to 1 %", "calls_to_target", ".0f"),
)
"""Of the table: header, key of a row, format."""


def _introduce(methods: list[str], calls: int, quick: bool) -> None:
    """Show the model, a run of archeng, and one without the row that holds the sum."""
    print(build_model(), end="\n\n", flush=True)
    forms = [form for form, name in FORMS.items() if name in methods]
    if not forms:
        return
    first, result = solved(1, calls, archeng.ProgressLine(), forms[0])
    print(result)
    print(f"\nbest known cost: {KNOWN['optimum']['cost']:.6f} EUR/GJ")
    farthest = max(abs(sum(e.x[:-2]) - 1) for e in result.evaluations)
    print(
        f"the referee: {first.calls} calls, {first.illegal} at illegal designs; the fractions are "
        f"never farther from 1 than {farthest:.2g} (tolerance {TOLERANCE:g})\n"
    )
    off = without_the_sum(1, calls)
    print(
        f"without the row 'fractions add up' the simulator claims {off.claimed:.3f} EUR/GJ with "
        f"fractions that add up to {off.total:.3f};\nit raised {off.failures} times in {off.calls} "
        f"calls. The real blend has {off.heating_value:.2f} MJ/m3 and breaks: "
        f"{', '.join(off.broken) or 'nothing'}\n"
    )


def _draw(left: Any, right: Any, groups: dict[str, list[Run]]) -> None:
    """Draw what the methods claim over the sum of the fractions."""
    for k, group in enumerate(groups.values()):
        right.plot([r.total for r in group], [r.claimed for r in group], "o", color=f"C{k}")
    for axes in (left, right):
        axes.axhline(KNOWN["optimum"]["cost"], color="0.5", ls="--", lw=1)
        axes.set_ylabel("EUR per GJ of heat")
    right.axvline(1.0, color="0.5", lw=1)
    right.set(xlabel="sum of the fractions", title="what each method ends with")


COMPARISON = Comparison(
    study="fuel_blend",
    description="Blend gases for a furnace: fractions that add up, black-box kinetics.",
    methods=METHODS,
    seeds=3,
    calls=300,
    target=1.01 * KNOWN["optimum"]["cost"],
    claim="{:.3f} EUR/GJ",
    columns=COLUMNS,
    introduce=_introduce,
    draw=_draw,
)
main = COMPARISON.main

if __name__ == "__main__":
    sys.exit(main())
