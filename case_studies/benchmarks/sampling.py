"""How evenly `sample_feasible` covers feasible sets, and how fast: ``make bench-sampling``.

**Coverage.** For each set there are exact uniform samples: by rejection, or by a formula. All
figures are those of the designs divided by the mean of five uniform samples of the same size, in
units of the initial deviations: the mean of three seeds, and the worst. 1 is as good as a uniform
sample, less is more even.

- *energy*: energy distance from 4000 other uniform points (a wrong density, or a missed piece,
  would make it much larger than 1);
- *hole*: distance from the designs of the worst covered one of 2000 other uniform points;
- *gap*: least distance between two designs (here more is better).

"By" says where the points come from: Sobol points of the box, walks from such points, or walks
from repaired points. On boxes there is also the centred L2 discrepancy. On some sets the designs
are compared with as many points found as those that a run begins at (`feasible_points`: repaired
samples, combinations of pairs, greedy maximin), which is how `sample_feasible` worked before.

**Time.** Processor seconds, the compilation of the model left out, and how many designs came back,
differ, and violate a constraint.
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import qmc

import archeng
from archeng.model import FeasibleSet, compile_model
from archeng.repair import Repairer
from archeng.sampling import deviations, feasible_points, space_filling_points
from case_studies import cec2006, engineering
from case_studies.benchmarks import sampling_sets
from case_studies.benchmarks.models import rotated_box, wind_farm
from case_studies.benchmarks.record import command_line, markdown_table, write
from case_studies.benchmarks.threads import compared

SAMPLES, REFERENCE, PROBES = 5, 4000, 2000
BEFORE = ("annulus", "welded beam", "g06", "small ball, n = 6", "sphere", "three spheres, n = 10")
CEC = ("g03", "g05", "g13", "g17", "g21", "g23")
LIMIT_S = 10.0
"""Wanted for 1000 points, ten variables, three nonlinear equalities."""

Floats = Any


def inner(a: Floats) -> float:
    """Return the mean distance between two points of a sample."""
    return float(2 * pdist(a).sum() / len(a) ** 2)


class Measure:
    """Compares points with uniform samples of the same size on one set."""

    def __init__(self, case: sampling_sets.Case, scale: Floats, k: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._reference, self._probes = (case.uniform(n, rng) / scale for n in (REFERENCE, PROBES))
        self._inner = inner(self._reference)
        self.samples = [case.uniform(k, rng) / scale for _ in range(SAMPLES)]
        self.energies = [self._energy(s) for s in self.samples]
        self._hole_of_uniform = float(np.mean([self._hole(s) for s in self.samples]))
        self._gap_of_uniform = float(np.mean([pdist(s).min() for s in self.samples]))

    def _energy(self, z: Floats) -> float:
        return float(2 * cdist(z, self._reference).mean() - inner(z) - self._inner)

    def _hole(self, z: Floats) -> float:
        return float(cdist(self._probes, z).min(axis=1).max())

    def energy(self, z: Floats) -> float:
        """Energy distance from other uniform points."""
        return self._energy(z) / float(np.mean(self.energies))

    def hole(self, z: Floats) -> float:
        """Distance of the worst covered probe from the points."""
        return self._hole(z) / self._hole_of_uniform

    def gap(self, z: Floats) -> float:
        """Least distance between two points."""
        return float(pdist(z).min()) / self._gap_of_uniform


def coverage(case: sampling_sets.Case, k: int, seeds: int) -> dict[str, Any]:
    """Measure the designs on one set against uniform samples of it."""
    fs = compile_model(case.model)
    scale = deviations(fs)
    measure = Measure(case, scale, k, seed=0)
    runs = [timed(fs, k, seed) for seed in range(1, seeds + 1)]
    points = [designs / scale for designs, _, _ in runs]
    record: dict[str, Any] = {
        "set": case.name,
        "n": fs.n,
        "equalities": int(fs.equality.sum()),
        "by": runs[0][2],
        "points": [len(z) for z in points],
        "infeasible": sum(not fs.is_feasible(x) for designs, _, _ in runs for x in designs),
        "energy": [measure.energy(z) for z in points],
        "hole": [measure.hole(z) for z in points],
        "gap": [measure.gap(z) for z in points],
        "energy_of_uniform": [e / float(np.mean(measure.energies)) for e in measure.energies],
        "seconds": [seconds for _, seconds, _ in runs],
    }
    if case.name in BEFORE:
        begin = time.process_time()
        z = feasible_points(Repairer(fs), k, np.random.default_rng(1)) / scale
        record["before"] = {
            "seconds": time.process_time() - begin,
            "energy": measure.energy(z),
            "hole": measure.hole(z),
        }
    if fs.m == len(fs.bounded):
        uniform = float(np.mean([_discrepancy(fs, s * scale) for s in measure.samples]))
        sobol = qmc.Sobol(fs.n, seed=np.random.default_rng(1)).random(2 ** int(np.log2(k)))
        record["discrepancy"] = _discrepancy(fs, runs[0][0]) / uniform
        record["sobol_discrepancy"] = float(qmc.discrepancy(sobol)) / uniform
    return record


def _discrepancy(fs: FeasibleSet, x: Floats) -> float:
    return float(qmc.discrepancy(qmc.scale(x, *fs.box(), reverse=True)))


def timed(fs: FeasibleSet, k: int, seed: int) -> tuple[Floats, float, str]:
    """Return designs, processor seconds, and where the points come from."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("archeng.sampling")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    begin = time.process_time()
    designs = space_filling_points(Repairer(fs), k, np.random.default_rng(seed))
    seconds = time.process_time() - begin
    logger.removeHandler(handler)
    walks = any("walk" in m for m in messages)
    repaired = any("repaired" in m for m in messages)
    by = "walks from repaired" if repaired else "walks from Sobol" if walks else "Sobol"
    return designs, seconds, by


def speed_models() -> list[archeng.Model]:
    """Return the models that are timed."""
    return [
        sampling_sets.coupled(),
        *(cec2006.problem(name).model for name in CEC),
        engineering.problem("reactor_network").model,
        rotated_box(50),
        sampling_sets.polytope(50, 30),
        wind_farm(),
    ]


def speed(model: archeng.Model, k: int, seed: int) -> dict[str, Any]:
    """Time one model."""
    fs = compile_model(model)
    designs, seconds, by = timed(fs, k, seed)
    return {
        "model": model.name,
        "n": fs.n,
        "equalities": int(fs.equality.sum()),
        "rows": fs.m - len(fs.bounded),
        "by": by,
        "points": len(designs),
        "different": len(np.unique(designs, axis=0)),
        "infeasible": sum(not fs.is_feasible(x) for x in designs),
        "seconds": seconds,
    }


def workload() -> None:
    """200 designs of each model of the second table."""
    for model in speed_models():
        speed(model, 200, seed=1)


def report(covered: list[dict[str, Any]], times: list[dict[str, Any]]) -> str:
    """Return the figures in Markdown."""
    header = ["set", "n", "equalities", "by", "energy (worst)", "hole (worst)", "gap", "s"]
    rows = [
        [r["set"], r["n"], r["equalities"], r["by"], _mean_worst(r["energy"]),
         _mean_worst(r["hole"]), f"{np.mean(r['gap']):.3g}", f"{np.mean(r['seconds']):.1f}"]
        for r in covered
    ]  # fmt: skip
    text = markdown_table(header, rows) + "\n\n"
    for key in ("energy", "hole"):
        means = {r["set"]: float(np.mean(r[key])) for r in covered}
        average = float(np.exp(np.mean(np.log(list(means.values())))))
        last = max(means, key=lambda name: means[name])
        text += f"{key.capitalize()}: geometric mean of the sets **{average:.2f}**, "
        text += f"largest {means[last]:.2f} ({last}). "
    spread = [e for r in covered for e in r["energy_of_uniform"]]
    text += (
        f"Energies of single uniform samples lie between {min(spread):.2f} and {max(spread):.2f} "
        f"times their mean. Infeasible designs: {sum(r['infeasible'] for r in covered + times)}."
    )
    text += "\n\n" + markdown_table(
        ["set", "energy before", "now", "hole before", "now", "s before", "now"],
        [
            [r["set"], *(f"{v:.{digits}f}" for key, digits in (("energy", 1), ("hole", 2),
             ("seconds", 1)) for v in (r["before"][key], np.mean(r[key])))]
            for r in covered if "before" in r
        ],
    )  # fmt: skip
    text += "\n\n" + markdown_table(
        ["box", "centred L2 discrepancy", "scrambled Sobol"],
        [
            [r["set"], f"{r['discrepancy']:.3f}", f"{r['sobol_discrepancy']:.3f}"]
            for r in covered
            if "discrepancy" in r
        ],
    )
    text += "\n\n" + markdown_table(
        ["model", "n", "equalities", "rows", "by", "points", "different", "infeasible", "s"],
        [[*list(r.values())[:-1], f"{r['seconds']:.1f}"] for r in times],
    )
    return text + f"\n\nWanted for the first one: {LIMIT_S:g} s."


def _mean_worst(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({max(values):.2f})"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(prog="python -m case_studies.benchmarks.sampling")
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    covered, times = [], []
    for case in sampling_sets.coverage_cases():
        covered.append(coverage(case, options.points, options.seeds))
        print(f"{case.name} done", flush=True)
    for model in speed_models():
        times.append(speed(model, options.points, seed=1))
        print(f"{model.name} done", flush=True)
    text = f"{report(covered, times)}\n\n{compared(workload)}"
    print(text)
    if options.record:
        write(
            options.record,
            "Sampling: coverage of feasible sets, and time",
            f"{__doc__}\n{text}",
            {"coverage": covered, "time": times, "points": options.points, "limit_s": LIMIT_S},
            command_line("case_studies.benchmarks.sampling"),
        )


if __name__ == "__main__":
    main()
