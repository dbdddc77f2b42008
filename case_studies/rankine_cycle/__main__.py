"""Command line of the Rankine cycle: ``python -m case_studies.rankine_cycle --help``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import archeng
from case_studies.rankine_cycle.comparison import METHODS, Run, census, solved
from case_studies.rankine_cycle.model import build_model
from case_studies.rankine_cycle.simulator import Cycle, SpecificCost
from case_studies.shared.comparison import Comparison
from case_studies.shared.forms import METHODS as FORMS

KNOWN = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
COLUMNS = (
    ("calls", "calls", ".0f"),
    ("at illegal designs", "illegal", ".0f"),
    ("raised", "failed", ".0f"),
    ("cost it ends with, $/kW", "claimed", ".2f"),
    ("best legal one", "legal", ".2f"),
    ("calls to 1 %", "calls_to_target", ".0f"),
)
"""Of the table: header, key of a row, format."""


def _introduce(methods: list[str], calls: int, quick: bool) -> None:
    """Show the model, a run of archeng, and what the simulator does at random designs."""
    print(build_model(), end="\n\n", flush=True)
    for form in [form for form, name in FORMS.items() if name in methods][:1]:
        first, result = solved(1, calls, archeng.ProgressLine(), form)
        print(result)
        print(f"\nbest known cost: {KNOWN['optimum']['cost']:.4f} $/kW")
        print(f"the referee: {first.calls} calls, {first.illegal} at illegal designs")
        print(_words(SpecificCost().simulate(result.design)), end="\n\n")
    n = 100 if quick else 2000
    print(f"what the simulator says at {n} random designs of the box:")
    for what, count in census(n).most_common():
        print(f"{count:6d}  {what}")


def _words(cycle: Cycle) -> str:
    """Say what the cycle is like, as simulated."""
    areas = ", ".join(f"{name} {area:.0f} m2" for name, area in cycle.areas.items())
    return (
        f"CoolProp: net {cycle.net_power / 1e3:.1f} kW of {cycle.heat_in / 1e3:.0f} kW heat "
        f"({100 * cycle.efficiency:.2f} %), evaporating at "
        f"{cycle.temperatures['dry'] - 273.15:.1f} C, condensing at "
        f"{cycle.temperatures['dew'] - 273.15:.1f} C\npinch {cycle.evaporator_pinch:.3f} K "
        f"(evaporator) and {cycle.condenser_pinch:.3f} K (condenser), brine returns at "
        f"{cycle.brine_outlet - 273.15:.2f} C; {areas}"
    )


def _draw(left: Any, right: Any, groups: dict[str, list[Run]]) -> None:
    """Draw the share of useless calls of each method."""
    for k, group in enumerate(groups.values()):
        calls = sum(run.calls for run in group)
        illegal, failed = sum(r.illegal for r in group), sum(r.failed for r in group)
        right.barh(k, 100 * illegal / calls, color="C1")
        right.barh(k, 100 * failed / calls, color="C3")
    left.axhline(KNOWN["optimum"]["cost"], color="0.5", ls="--", lw=1)
    left.set_ylabel("$ per kW")
    right.set_yticks(range(len(groups)), groups)
    right.invert_yaxis()
    right.set(xlim=(0, 100), xlabel="% of the calls", title="illegal designs (red: it raised)")


COMPARISON = Comparison(
    study="rankine_cycle",
    description="Design an organic Rankine cycle: explicit pinch rows, black-box properties.",
    methods=METHODS,
    seeds=5,
    calls=300,
    target=1.01 * KNOWN["optimum"]["cost"],
    claim="{:.2f} $/kW",
    columns=COLUMNS,
    introduce=_introduce,
    draw=_draw,
)
main = COMPARISON.main

if __name__ == "__main__":
    sys.exit(main())
