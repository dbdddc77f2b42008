"""A second layout, kept aside: ``python -m case_studies.wind_farm.sensors --help``.

Twelve sensors on an island, each at least a distance from the others, are to detect what happens at
900 places of different worth. Who detects what falls off with the distance along ellipses, and
two sensors at one place are hardly better than one. Nothing of the method was chosen on it. Three
searches with the same calls: relocation of items that are alike, archeng as it is, ARCH alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table
from case_studies.shared.arguments import command_of, interruptible, study_parser
from case_studies.shared.seeds import SeedFile, SeedRecord, improvements
from case_studies.wind_farm.model import pairs

SENSORS, RADIUS, APART = 12, 10.0, 1.5
SEEDS, CALLS = 5, 2000
QUICK = 1, 400
METHODS = ("relocation", "default", "arch")


@dataclass(frozen=True, kw_only=True)
class SensorRecord(SeedRecord):
    """What came of one method with one seed.

    Attributes
    ----------
    missed : dict
        Share of the worth that the best layout of each method does not detect.
    calls, infeasible_calls : dict
    """

    missed: dict[str, float]
    calls: dict[str, int]
    infeasible_calls: dict[str, int]


def build_model() -> archeng.Model:
    """Return the island: a circle without a lagoon, and the distances."""
    model = archeng.Model("sensors")
    x = model.variable("x", lower=-RADIUS, upper=RADIUS, shape=SENSORS, unit="km")
    y = model.variable("y", lower=-RADIUS, upper=RADIUS, shape=SENSORS, unit="km")
    model.subject_to(x**2 + y**2 <= RADIUS**2, name="shore")
    model.subject_to((x - 3) ** 2 + (y - 2) ** 2 >= 2.5**2, name="lagoon")
    gaps = [(x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 for i, j in pairs(SENSORS)]
    model.subject_to(ca.vertcat(*gaps) >= APART**2, name="apart")
    return model


def missed(design: Any) -> float:
    """Return the share of the worth that no sensor detects."""
    places = np.linspace(-RADIUS, RADIUS, 30)
    east, north = (v.ravel() for v in np.meshgrid(places, places))
    worth = (1.5 + np.sin(0.9 * east) * np.cos(0.7 * north)) * (east**2 + north**2 <= RADIUS**2)
    u = (east[:, None] - design["x"]) / 2.2
    v = (north[:, None] - design["y"]) / 1.4
    unseen = np.prod(1 - 0.95 * np.exp(-(u**2 + v**2 - 0.8 * u * v)), axis=1)
    return float(worth @ unseen / worth.sum())


def settings_of(method: str) -> archeng.Settings:
    """Return the settings of a method."""
    if method == "relocation":
        return archeng.Settings(handler_options={"alike": "x, y"})
    return archeng.Settings(surrogate="none" if method == "arch" else "auto")


def run_seed(seed: int, calls: int) -> SensorRecord:
    """Run all methods with one seed; restarts until the calls are used."""
    results = {
        method: archeng.solve(
            build_model(),
            missed,
            max_evaluations=calls,
            restarts=calls,
            seed=seed,
            settings=settings_of(method),
        )
        for method in METHODS
    }
    best = results[METHODS[0]]
    return SensorRecord(
        seed=seed,
        curve=improvements((e.objective, True) for e in best.evaluations),
        missed={name: result.fun for name, result in results.items()},
        calls={name: result.nfev for name, result in results.items()},
        infeasible_calls={name: r.n_infeasible_calls for name, r in results.items()},
    )


def seeds_table(records: Sequence[SensorRecord]) -> str:
    """Return one line for each seed: percent that is missed."""
    lines = [
        [r.seed, *(f"{100 * r.missed[name]:.2f}" for name in METHODS), max(r.calls.values()),
         sum(r.infeasible_calls.values())]
        for r in records
    ]  # fmt: skip
    header = ["seed", *(f"{name} (%)" for name in METHODS), "calls of each", "infeasible calls"]
    return markdown_table(header, lines)


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing and print the table."""
    parser = _parser()
    options = parser.parse_args(argv)
    seeds, calls = QUICK if options.quick else (SEEDS, CALLS)
    seeds, calls = options.seeds or seeds, options.calls or calls
    path = (options.out or Path("out/wind_farm")) / "sensors.json"
    try:
        file = SeedFile(path, SensorRecord, {"calls": calls}, command_of("wind_farm.sensors", argv))
    except ValueError as error:
        parser.error(str(error))
    for seed in file.missing(range(1, seeds + 1)):
        record = run_seed(seed, calls)
        file.add(record)
        print(asdict(record)["missed"], file=sys.stderr, flush=True)
    print(seeds_table(file.records), end="\n\n")
    print(f"written: {path.name}")
    return 0


def _parser() -> argparse.ArgumentParser:
    return study_parser(
        "wind_farm.sensors",
        "Places of twelve sensors: relocation, archeng as it is, ARCH alone.",
        seeds=f"seeds 1 to N ({SEEDS})",
        calls=f"simulator calls of each method ({CALLS})",
        out="results (out/wind_farm)",
        quick=f"{QUICK[0]} seed, {QUICK[1]} calls",
    )


if __name__ == "__main__":
    sys.exit(main())
