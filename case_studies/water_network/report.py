"""Tables and the figure of the case study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from case_studies.benchmarks.record import markdown_table
from case_studies.shared import forms
from case_studies.water_network.limits import exceeded
from case_studies.water_network.networks import Network, Published, network
from case_studies.water_network.simulator import PipeNetwork
from case_studies.water_network.study import Record, Setup


def seeds_table(setup: Setup, records: Sequence[Record]) -> str:
    """Return one line for each seed."""
    header = ["seed", "cost ($)", "resilience", "lowest pressure (m)",
              f"worse than {_optimum_name(setup, short=True)}", "calls", "infeasible calls",
              "calls that violated a pressure", "calls to pass the published design",
              "restarts", "s", "of it EPANET"]  # fmt: skip
    best = setup.optimum["objective"]
    mark = published_objective(setup)
    lines = [
        [
            r.seed,
            f"{r.cost:,.0f}",
            f"{r.resilience:.4f}",
            f"{r.lowest_pressure:.3f}",
            _gap(setup, r, best),
            r.calls,
            r.infeasible_calls,
            r.violating_calls,
            r.calls_to(mark, setup.sign) or "never",
            r.restarts,
            f"{r.seconds:.0f}",
            f"{r.simulator_seconds:.0f}",
        ]
        for r in records
    ]
    return markdown_table(header, lines)


def designs_table(setup: Setup, records: Sequence[Record]) -> str:
    """Return archeng's best design beside the optimum by gradients and the published ones."""
    net = network(setup.network)
    header = ["design", "cost ($)", "resilience", "lowest pressure (m)",
              "explicit limits it exceeds", "diameters (in)"]  # fmt: skip
    best = best_of(setup, records)
    lines = [
        _line(setup, _optimum_name(setup), setup.optimum["design"]),
        _line(setup, f"**archeng, best of {len(records)} seeds**", best.design),
    ]
    for p in net.published:
        if p.design is None:
            lines.append([p.what, f"{p.cost:,.0f}", "-", "-", "-", "-"])
        else:
            lines.append(_line(setup, p.what, p.design))
    return markdown_table(header, lines)


def verdict(setup: Setup, records: Sequence[Record]) -> str:
    """Return the figures in sentences."""
    calls, infeasible = (sum(getattr(r, k) for r in records) for k in ("calls", "infeasible_calls"))
    values = np.array([setup.sign * r.objective for r in records])
    values = np.where(np.isnan(values), np.inf, values)  # no design: worse than all others
    figures = [setup.sign * v for v in (values.min(), np.median(values), values.max())]
    top, middle, worst = (f"{v:,.7g}" if np.isfinite(v) else "none" for v in figures)
    best = setup.optimum["objective"]
    return "\n".join(
        [
            f"- infeasible calls: {infeasible} of {calls}, judged in NumPy at every call",
            f"- {setup.aim}: best {top}, median {middle}, worst {worst}; "
            f"{_optimum_name(setup)} {best:,.7g}",
        ]
    )


def forms_table(setup: Setup, groups: Mapping[str, Sequence[Record]]) -> str:
    """Return one line for each form of the study."""
    best = setup.optimum["objective"]
    return forms.forms_table(
        groups, best, lambda r: r.objective, lambda r: r.infeasible_calls, setup.sign
    )


def figure(setup: Setup, records: Sequence[Record], path: Path) -> None:
    """Draw the diameters and the convergence."""
    from matplotlib.figure import Figure

    net = network(setup.network)
    known = _with_design(net)
    best = best_of(setup, records)
    sheet = Figure(figsize=(9, 7), layout="constrained")
    pipes, progress = sheet.subplots(2, 1)
    place = np.arange(len(net.pipes))
    designs = [(f"archeng, seed {best.seed}", best.design, "C0"), (known.what, known.design, "C1")]
    for k, (label, design, color) in enumerate(designs):
        pipes.bar(place + 0.4 * (k - 0.5), design, width=0.4, color=color, label=label)
    pipes.set_xticks(place, [p.name for p in net.pipes], fontsize="small")
    pipes.set(xlabel="pipe", ylabel="diameter (in)")
    pipes.set_title(net.title)
    pipes.legend(fontsize="small")
    for r in records:
        if r.curve:
            steps = [*r.curve, (r.calls, r.objective)]
            progress.step(*zip(*steps, strict=True), where="post", color="C0", lw=1)
    lines = (
        (_optimum_name(setup), setup.optimum["objective"], "black"),
        (known.what, published_objective(setup), "C1"),
    )
    for label, value, color in lines:
        progress.axhline(value, color=color, ls="--", lw=1, label=label)
    unit = "$" if setup.aim == "cost" else "index of Todini"
    progress.set(xlabel="simulator calls", ylabel=f"best {setup.aim} so far ({unit})")
    progress.legend(fontsize="small")
    sheet.savefig(path, dpi=150)


def best_of(setup: Setup, records: Sequence[Record]) -> Record:
    """Return the best seed; one without a design that satisfies everything counts last."""
    return min(records, key=lambda r: np.nan_to_num(setup.sign * r.objective, nan=np.inf))


def published_objective(setup: Setup) -> float:
    """Return the objective of the best published design, simulated."""
    design = _with_design(network(setup.network)).design
    assert design is not None
    found: float = _simulated(setup, design).objective
    return found


def _gap(setup: Setup, record: Record, best: float) -> str:
    """Return how much worse than the optimum a seed ends, if it has a design within the limits."""
    if np.isnan(record.objective):
        return "pressures too low"
    return f"{100 * setup.sign * (record.objective / best - 1):.2f} %"


def _with_design(net: Network) -> Published:
    return next(p for p in net.published if p.design is not None)


def _optimum_name(setup: Setup, *, short: bool = False) -> str:
    if setup.sizes == "catalogue":
        return "best known"
    return "gradient optimum" if short else "optimum by gradients"


def _as_design(setup: Setup, diameters: Sequence[float]) -> dict[str, Any]:
    """Return a design as the simulator gets it."""
    if setup.sizes == "any":
        return {"diameter": diameters}
    return {"pipe": [f"{d:g} in" for d in diameters]}


def _simulated(setup: Setup, diameters: Sequence[float]) -> Any:
    simulator = PipeNetwork(setup.network, setup.aim)
    found = simulator(_as_design(setup, diameters))
    simulator.close()
    return found


def _line(setup: Setup, name: str, design: Sequence[float]) -> list[str]:
    found = _simulated(setup, design)
    budget = setup.aim == "resilience"
    broken = exceeded(network(setup.network), _as_design(setup, design), budget=budget)
    return [
        name,
        f"{found.outputs['cost']:,.0f}",
        f"{found.outputs['resilience']:.4f}",
        f"{min(found.constraints.values()):.3f}",
        ", ".join(broken) or "none",
        " ".join(f"{x:.4g}" for x in design),
    ]
