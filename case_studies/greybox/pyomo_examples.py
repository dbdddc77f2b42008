"""Pyomo's own examples of black boxes: archeng beside Pyomo's trust-region solver.

The examples are those that Pyomo publishes with its solver ``trustregion`` (Eason and Biegler 2018,
Yoshio and Biegler 2021), unchanged, and its grey box of a reactor, which that solver cannot take.

Black-box calls
---------------
archeng gets the external functions without their derivatives: one call for each design. The
trust-region solver asks for derivatives in every iteration. They are counted as what they cost if
the black box has none: finite differences, n calls besides the one at the point itself. A point
that it asks for again is counted once, as if its answers were kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import pyomo.environ as pyo
from pyomo.contrib.pynumero.examples.external_grey_box.react_example import reactor_model_outputs
from pyomo.contrib.pynumero.interfaces.external_grey_box import ExternalGreyBoxBlock
from pyomo.contrib.trustregion.examples import example1, example2

import archeng  # noqa: F401  (registers its solver)
from case_studies.benchmarks.record import markdown_table, provenance
from case_studies.greybox import casadi_ipopt
from case_studies.shared.arguments import command_of, positive

STUDY = "greybox.pyomo_examples"
RECORD = Path("docs/benchmarks/greybox/pyomo_trf.json")
SEEDS = 11
ACCURACY = 1e-4
"""Of the objective, relative: as good as the known optimum."""
BUDGET = 500
"""Calls after which a run of archeng ends, converged or not."""


class Counted:
    """Where a function, and its gradient, were asked for."""

    def __init__(self) -> None:
        self.values: list[tuple[float, ...]] = []
        self.slopes: list[tuple[float, ...]] = []

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same function, counted; not as a method, which Pyomo's copies would copy."""

        def counted(*arguments: float) -> Any:
            self.values.append(arguments)
            return function(*arguments)

        return counted

    def gradient(self, gradient: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same gradient, counted."""

        def counted(arguments: Sequence[float], fixed: Any) -> Any:
            self.slopes.append(tuple(arguments))
            return gradient(arguments, fixed)

        return counted

    def calls(self) -> dict[str, int]:
        """Return the counts: as they were made, and with finite differences."""
        n = len(self.values[0])
        distinct, slopes = len(set(self.values) | set(self.slopes)), len(set(self.slopes))
        return {
            "function": len(self.values),
            "gradient": len(self.slopes),
            "black_box": distinct + n * slopes,
            "black_box_n_plus_1": len(self.values) + (n + 1) * len(self.slopes),
        }


@dataclass(frozen=True)
class Example:
    """An example of Pyomo.

    Attributes
    ----------
    name, source : str
    optimum : float
        Objective at the optimum, as Pyomo's own tests have it (of the reactor to six digits; the
        others follow from its equations, see the tests of this study).
    module : module, optional
        Of the trust-region solver; it has ``create_model``, the function and its gradient.
    decisions : tuple of str
        Which variables the trust-region solver takes as its own.
    options : dict
        Of the trust-region solver, as the example sets them.
    """

    name: str
    source: str
    optimum: float
    module: Any = None
    decisions: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


EXAMPLES = (
    Example(
        "Eason",
        "pyomo.contrib.trustregion.examples.example1",
        0.2770447887637415,
        example1,
        ("z[0]", "z[1]", "z[2]"),
        (("maximum_iterations", 10),),
    ),
    Example(
        "Yoshio",
        "pyomo.contrib.trustregion.examples.example2",
        48.383116936949,
        example2,
        ("x1",),
        (("maximum_iterations", 100),),
    ),
    Example(
        "reactor",
        "pyomo.contrib.pynumero.examples.external_grey_box.react_example.maximize_cb_outputs",
        1072.4372001,
    ),
)


@contextlib.contextmanager
def watched(example: Example, derivatives: bool) -> Iterator[tuple[Any, Counted]]:
    """Yield the model of an example, and the counter of its black box."""
    counted = Counted()
    if example.module is None:
        model = pyo.ConcreteModel(name="Example 3: reactor")
        external = reactor_model_outputs.ReactorConcentrationsOutputModel()
        model.reactor = ExternalGreyBoxBlock(external_model=external)
        fixed = {"k1": 5 / 6, "k2": 5 / 3, "k3": 1 / 6000, "caf": 10000}
        inputs = model.reactor.inputs
        model.given = pyo.Constraint(list(fixed), rule=lambda m, k: inputs[k] == fixed[k])
        model.obj = pyo.Objective(expr=model.reactor.outputs["cb"], sense=pyo.maximize)
        name = "reactor_outlet_concentrations"
        simulated = counted.function(getattr(reactor_model_outputs, name))
        with mock.patch.object(reactor_model_outputs, name, simulated):
            yield model, counted
        return
    module = example.module
    slope = counted.gradient(module.grad_ext_fcn) if derivatives else None
    function = counted.function(module.ext_fcn)
    with mock.patch.multiple(module, ext_fcn=function, grad_ext_fcn=slope):
        yield module.create_model(), counted


def by_archeng(example: Example, seed: int) -> dict[str, Any]:
    """Solve an example by ``SolverFactory("archeng")``, without derivatives."""
    with watched(example, derivatives=False) as (model, counted):
        options = {"seed": seed, "max_evaluations": BUDGET, "gradients": False}
        results = pyo.SolverFactory("archeng").solve(model, options=options)
        result = results.archeng
        sign = -1.0 if result.maximize else 1.0
        limit = sign * example.optimum + ACCURACY * abs(example.optimum)
        good = (k for k, e in enumerate(result.evaluations, 1) if _good(e, sign, limit))
        return {
            "seed": seed,
            "objective": result.fun,
            "objective_in_pyomo": pyo.value(model.obj),
            "status": result.status.name,
            "black_box": len(counted.values),
            "calls_to_optimum": next(good, None),
            "infeasible_calls": result.n_infeasible_calls,
        }


def _good(call: Any, sign: float, limit: float) -> bool:
    return bool(call.acceptable and sign * call.objective <= limit)


def by_trust_region(example: Example, strategy: str) -> dict[str, Any] | None:
    """Solve an example by ``SolverFactory("trustregion")``, as Pyomo's own script does."""
    if example.module is None:
        return None
    casadi_ipopt.register()
    quiet = logging.getLogger("pyomo.contrib.trustregion")
    level = quiet.level
    with watched(example, derivatives=True) as (model, counted):
        options = {**dict(example.options), "globalization_strategy": strategy}
        solver = pyo.SolverFactory("trustregion", **options)
        decisions = [model.find_component(name) for name in example.decisions]
        basis = getattr(example.module, "basis_rule", None)
        rule = {} if basis is None else {"ext_fcn_surrogate_map_rule": basis}
        text = io.StringIO()
        quiet.setLevel(logging.CRITICAL)
        try:
            with contextlib.redirect_stdout(text):
                solved = solver.solve(model, decisions, solver=casadi_ipopt.NAME, **rule)
        finally:
            quiet.setLevel(level)
        calls = counted.calls()
        return {
            "strategy": strategy,
            "converged": "Optimal solution found" in text.getvalue(),
            "objective": pyo.value(solved.obj),
            **calls,
        }


def run_all(seeds: int) -> list[dict[str, Any]]:
    """Return a record for each example."""
    records = []
    for example in EXAMPLES:
        data = {k: v for k, v in asdict_without_module(example).items() if k != "options"}
        runs = [by_archeng(example, seed) for seed in range(1, seeds + 1)]
        others = [by_trust_region(example, strategy) for strategy in ("filter", "funnel")]
        records.append({**data, "archeng": runs, "trustregion": [r for r in others if r]})
    return records


def asdict_without_module(example: Example) -> dict[str, Any]:
    """Return what JSON can hold of an example."""
    return {k: v for k, v in vars(example).items() if k != "module"}


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the comparison as Markdown; calls of archeng are medians over the seeds."""
    lines = []
    for record in records:
        runs = record["archeng"]
        calls = sorted(run["black_box"] for run in runs)
        reached = [r["calls_to_optimum"] for r in runs if r["calls_to_optimum"] is not None]
        cells = [
            f"{r['black_box']} ({r['objective']:.6g}{'' if r['converged'] else ', not converged'})"
            for r in record["trustregion"]
        ] or ["not possible"] * 2
        lines.append(
            [
                record["name"],
                f"{record['optimum']:.8g}",
                f"{median(run['objective'] for run in runs):.8g}",
                f"{len(reached)}/{len(runs)}",
                f"{median(reached):g}" if reached else "-",
                f"{median(calls):g} ({calls[0]}-{calls[-1]})",
                *cells,
            ]
        )
    header = [
        "example", "known optimum", "archeng (median)", f"runs within {ACCURACY:g}",
        "calls to there (median)", "calls until it stops",
        "trust region, filter: calls (objective)", "funnel",
    ]  # fmt: skip
    return markdown_table(header, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the examples and print the table."""
    parser = argparse.ArgumentParser(
        prog=f"python -m case_studies.{STUDY}", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seeds", type=positive, default=SEEDS, help=f"default {SEEDS}")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD}")
    options = parser.parse_args(argv)
    records = run_all(options.seeds)
    print(table(records))
    if options.record:
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        data = {"provenance": provenance(command_of(STUDY, argv)), "examples": records}
        RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"\nrecorded in {RECORD}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
