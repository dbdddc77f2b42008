"""Tables of the case study, as Markdown: the seeds, and archeng beside the participants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.wind_farm.published import Scenario, Submission
from case_studies.wind_farm.study import Record


def seeds_table(farm: Scenario, records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    free = farm.best(gradient=False).aep_mwh
    header = ["seed", "AEP (MWh)", "above baseline", "calls", "infeasible calls",
              "to pass gradient-free", "searches: worst, best", "s", "in py_wake"]  # fmt: skip
    lines = [
        [
            r.seed,
            f"{r.aep_mwh:,.1f}",
            _gain(r.aep_mwh, farm),
            r.calls,
            r.infeasible_calls,
            r.calls_to(free, sign=-1.0) or "never",
            f"{min(r.searches_mwh):,.0f}, {max(r.searches_mwh):,.0f}",
            f"{r.seconds:.0f}",
            f"{r.simulator_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def published_table(farm: Scenario, records: Sequence[Record]) -> str:
    """Return archeng's best, median and worst seed among the participants, by annual energy."""
    lines = [(s.aep_mwh, _published_line(s, farm)) for s in farm.submissions]
    lines.append((farm.baseline_aep_mwh, _line("baseline layout", "", farm.baseline_aep_mwh, farm)))
    energies = np.array([r.aep_mwh for r in records])
    found = {"best": energies.max(), "median": np.median(energies), "worst": energies.min()}
    many = len(records) > 1
    for name, aep in found.items() if many else [("", energies[0])]:
        label = f"**archeng, {name} of {len(records)} seeds**" if many else "**archeng, one seed**"
        lines.append((float(aep), _line(label, "gradient-free", float(aep), farm, "yes")))
    lines.sort(key=lambda line: -line[0])
    header = ["participant, method", "kind", "AEP (MWh)", "above baseline", "strictly feasible",
              "AEP moved inside"]  # fmt: skip
    return markdown_table(header, [line for _, line in lines])


def verdict(farm: Scenario, records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    free, gradient = farm.best(gradient=False), farm.best(gradient=True)
    energies = np.array([r.aep_mwh for r in records])
    passed = [r.calls_to(free.aep_mwh, sign=-1.0) for r in records]
    reached = sorted(c for c in passed if c is not None)
    median = f" (after {np.median(reached):.0f} calls, median)" if reached else ""
    calls, infeasible = (sum(getattr(r, k) for r in records) for k in ("calls", "infeasible_calls"))
    return "\n".join(
        [
            f"- infeasible calls: {infeasible} of {calls}, judged in numpy at every call",
            f"- better than the best gradient-free participant, {free.aep_mwh:,.1f} MWh "
            f"({free.name}): {len(reached)} of {len(records)} seeds{median}",
            f"- best {energies.max():,.1f}, median {np.median(energies):,.1f}, worst "
            f"{energies.min():,.1f} MWh; the best participant with gradients and a feasible layout "
            f"has {gradient.aep_mwh:,.1f} ({gradient.name}): archeng's best is "
            f"{100 * (energies.max() / gradient.aep_mwh - 1):+.2f} %",
        ]
    )


def _published_line(s: Submission, farm: Scenario) -> list[object]:
    inside = f"{s.inside_aep_mwh:,.1f}" + ("" if s.inside_feasible else " (spacing violated)")
    return _line(s.name, s.kind, s.aep_mwh, farm, _feasible(s, farm), inside)


def _feasible(s: Submission, farm: Scenario) -> str:
    if s.strictly_feasible:
        return "yes"
    troubles = []
    if s.boundary_excess_m >= 0:
        outside = s.boundary_excess_m
        troubles.append(f"{outside:.2g} m outside" if outside > 1e-6 else "outside by rounding")
    missing = farm.spacing_m - s.least_spacing_m
    if missing > 1e-4:
        troubles.append(f"spacing {missing:.2g} m short")
    elif not s.inside_feasible:
        troubles.append("spacing short by rounding")
    return "no: " + ", ".join(troubles)


def _line(
    name: str, kind: str, aep: float, farm: Scenario, feasible: str = "", inside: str = ""
) -> list[object]:
    return [name, kind, f"{aep:,.1f}", _gain(aep, farm), feasible, inside]


def _gain(aep: float, farm: Scenario) -> str:
    return f"{100 * (aep / farm.baseline_aep_mwh - 1):+.2f} %"
