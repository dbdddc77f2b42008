"""How evenly `sample_feasible` covers feasible sets, and how fast: ``make bench-sampling``.

**Coverage.** For each set there are exact uniform samples: by rejection, or by a formula. All
figures are those of the designs divided by the mean of five uniform samples of the same size, in
units of the initial deviations; 1 is as good as a uniform sample, less is more even.

- *energy*: energy distance from 4000 other uniform points (a wrong density, or a missed piece,
  would make it much larger than 1);
- *hole*: distance from the designs of the worst covered one of 2000 other uniform points;
- *gap*: least distance between two designs (here more is better);
- *starts*: energy and hole of the points that a run would begin at (`feasible_points`: repaired
  samples, combinations of pairs, greedy maximin), which is how `sample_feasible` worked before.

"By" says where the points come from: Sobol points of the box, walks from such points, or walks
from repaired points. On boxes there is also the centred L2 discrepancy.

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

SAMPLES, REFERENCE, PROBES = 5, 4000, 2000
CEC = ("g03", "g05", "g13", "g17", "g21", "g23")
LIMIT_S = 10.0
"""Wanted for 1000 points, ten variables, three nonlinear equalities."""

Floats = Any


def energy(a: Floats, b: Floats) -> float:
    """Energy distance between two samples."""
    n, m = len(a), len(b)
    within = 2 * pdist(a).sum() / n**2 + 2 * pdist(b).sum() / m**2
    return float(2 * cdist(a, b).mean() - within)


def hole(points: Floats, probes: Floats) -> float:
    """Return the largest distance of a probe from the nearest point."""
    return float(cdist(probes, points).min(axis=1).max())


def coverage(case: sampling_sets.Case, k: int, seed: int, starts: bool) -> dict[str, Any]:
    """Measure the designs on one set against uniform samples of it."""
    fs = compile_model(case.model)
    scale, rng = deviations(fs), np.random.default_rng(seed)
    designs, seconds, by = timed(fs, k, seed)
    reference, probes = (case.uniform(n, rng) / scale for n in (REFERENCE, PROBES))
    samples = [case.uniform(k, rng) / scale for _ in range(SAMPLES)]
    energies, holes = ([f(s, x) for s in samples] for f, x in ((energy, reference), (hole, probes)))
    z = designs / scale
    record = {
        "set": case.name,
        "n": fs.n,
        "equalities": int(fs.equality.sum()),
        "by": by,
        "points": len(designs),
        "infeasible": sum(not fs.is_feasible(x) for x in designs),
        "energy": energy(z, reference) / float(np.mean(energies)),
        "hole": hole(z, probes) / float(np.mean(holes)),
        "gap": float(pdist(z).min() / np.mean([pdist(s).min() for s in samples])),
        "energy_of_uniform": [e / float(np.mean(energies)) for e in energies],
        "seconds": seconds,
    }
    if starts:
        begin = time.process_time()
        z = feasible_points(Repairer(fs), k, np.random.default_rng(seed)) / scale
        record["starts_seconds"] = time.process_time() - begin
        record["starts_energy"] = energy(z, reference) / float(np.mean(energies))
        record["starts_hole"] = hole(z, probes) / float(np.mean(holes))
    if fs.m == len(fs.bounded):
        unit = [qmc.scale(x, *fs.box(), reverse=True) for x in (designs, *samples * scale)]
        discrepancies = [float(qmc.discrepancy(x)) for x in unit]
        sobol = qmc.Sobol(fs.n, seed=rng).random(2 ** int(np.log2(k)))
        record["discrepancy"] = discrepancies[0] / float(np.mean(discrepancies[1:]))
        record["sobol_discrepancy"] = float(qmc.discrepancy(sobol) / np.mean(discrepancies[1:]))
    return record


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


def report(covered: list[dict[str, Any]], times: list[dict[str, Any]]) -> str:
    """Return the figures in Markdown."""
    header = ["set", "n", "equalities", "by", "energy", "hole", "gap", "s",
              "starts: energy", "hole", "s"]  # fmt: skip
    rows = [
        [r["set"], r["n"], r["equalities"], r["by"], f"{r['energy']:.2f}", f"{r['hole']:.2f}",
         f"{r['gap']:.3g}", f"{r['seconds']:.1f}",
         *(f"{r[key]:.{digits}f}" if key in r else "-" for key, digits in
           (("starts_energy", 1), ("starts_hole", 2), ("starts_seconds", 1)))]
        for r in covered
    ]  # fmt: skip
    text = markdown_table(header, rows)
    means = {
        key: float(np.exp(np.mean(np.log([r[key] for r in covered])))) for key in ("energy", "hole")
    }
    worst = {key: max(covered, key=lambda r: r[key]) for key in means}
    text += "\n\n" + " ".join(
        f"{key.capitalize()}: geometric mean **{mean:.2f}**, largest {worst[key][key]:.2f} "
        f"({worst[key]['set']})."
        for key, mean in means.items()
    )
    spread = [e for r in covered for e in r["energy_of_uniform"]]
    text += (
        f" The energies of single uniform samples lie between {min(spread):.2f} and "
        f"{max(spread):.2f} times their mean. Infeasible designs: "
        f"{sum(r['infeasible'] for r in covered + times)}.\n\n"
    )
    boxes = [r for r in covered if "discrepancy" in r]
    text += markdown_table(
        ["box", "centred L2 discrepancy", "scrambled Sobol"],
        [[r["set"], f"{r['discrepancy']:.3f}", f"{r['sobol_discrepancy']:.3f}"] for r in boxes],
    )
    text += "\n\n" + markdown_table(
        ["model", "n", "equalities", "rows", "by", "points", "different", "infeasible", "s"],
        [[*list(r.values())[:-1], f"{r['seconds']:.1f}"] for r in times],
    )
    return text


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(prog="python -m case_studies.benchmarks.sampling")
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-starts", action="store_true", help="leave out the slow comparison")
    parser.add_argument("--record", metavar="NAME", help="write docs/benchmarks/NAME.md and .json")
    options = parser.parse_args(arguments)
    covered, times = [], []
    for case in sampling_sets.coverage_cases():
        covered.append(coverage(case, options.points, options.seed, not options.no_starts))
        print(f"{case.name} done", flush=True)
    for model in speed_models():
        times.append(speed(model, options.points, options.seed))
        print(f"{model.name} done", flush=True)
    text = report(covered, times)
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
