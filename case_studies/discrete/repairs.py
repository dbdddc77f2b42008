"""Repairs by branch and bound: their time, how many are proven nearest, and what referees say.

For each of twenty sets (`sets.py`) samples are drawn around a design of the set, with a random
covariance matrix, and repaired. Bonmin and SCIP are asked for the same distance, for some of the
samples and within a limit of time. Times are of the processor. A repair *agrees* if its squared
distance is that of a referee that says it has proven its own, up to 1e-4 (relative, or absolute
below 1); it is *nearer* if a referee found something farther only, and *farther* if it found
something nearer.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from archeng.distribution import Distribution
from archeng.model import compile_model
from archeng.repair import RepairKind, make_repairer
from case_studies.benchmarks.record import markdown_table, provenance
from case_studies.discrete.definition import Floats
from case_studies.discrete.nearest import Answer, Bonmin, by_scip
from case_studies.discrete.sets import SETS, Set

SAMPLES, QUICK_SAMPLES = 20, 3
"""Repairs of each set."""

REFEREED = 2
"""So many of them, not feasible as they are, are shown to the referees."""

BONMIN_MOST = 10
"""Integers up to which Bonmin is asked: beyond it takes minutes and does not keep to a limit."""

SAME = 1e-4
"""Difference of squared distances that counts as none."""

FAILED = "failed"
"""The kind of a repair that found no design."""

SPREAD = {True: 0.7, False: 2.0}
"""Standard deviation of samples, for binaries and for integers."""


@dataclass(frozen=True)
class Repaired:
    """One repair, beside what the referees said.

    Attributes
    ----------
    model : str
    sample : int
    kind : str
        How it was repaired.
    seconds, distance_squared : float
    proven, feasible : bool
        What archeng says of it; whether it is feasible by the matrices of the set.
    scip, bonmin : float or None
        Squared distances of the referees that proved theirs, None if not asked or not proven.
    scip_seconds, bonmin_seconds : float or None
    """

    model: str
    sample: int
    kind: str
    seconds: float
    distance_squared: float
    proven: bool
    feasible: bool
    scip: float | None = None
    bonmin: float | None = None
    scip_seconds: float | None = None
    bonmin_seconds: float | None = None


def metric(set_: Set, seed: int) -> Distribution:
    """Return a random normal distribution around the design of a set."""
    rng = np.random.default_rng(seed)
    factor = np.eye(set_.n) + 0.3 * rng.standard_normal((set_.n, set_.n))
    sigma = SPREAD[bool(set_.upper[0] == 1.0)]
    return Distribution(set_.inside, sigma, factor, np.linalg.inv(factor))


def study(name: str, samples: int, refereed: int) -> list[Repaired]:
    """Repair samples of one set, and ask the referees for the first of them."""
    set_ = SETS[name]()
    around = metric(set_, seed=1)
    fs = compile_model(set_.model())
    repairer = make_repairer(fs, archeng.Settings(), around)
    integers = int(set_.integer.sum())
    bonmin = Bonmin(set_) if refereed and integers <= BONMIN_MOST else None
    inverse = around.inverse_factor / around.sigma
    rng = np.random.default_rng(2)
    found = []
    for k in range(samples):
        x = around.mean + around.sigma * around.steps(rng.standard_normal(set_.n))
        begin = time.process_time()
        repair = repairer.repair(x, around)
        seconds = time.process_time() - begin
        ask = refereed > 0 and repair.kind is not RepairKind.FEASIBLE
        more = _asked(set_, bonmin, x, inverse) if ask else {}
        refereed -= ask
        found.append(
            Repaired(
                model=name,
                sample=k,
                kind=repair.kind.value,
                seconds=seconds,
                distance_squared=float(repair.distance_squared),
                proven=bool(repair.proven),
                feasible=set_.meets(repair.x),
                **more,
            )
        )
    return found


def _asked(set_: Set, bonmin: Bonmin | None, x: Floats, inverse: Floats) -> dict[str, Any]:
    begin = time.process_time()
    first = by_scip(set_, x, inverse)
    middle = time.process_time()
    said: dict[str, Any] = {"scip": _proven(first), "scip_seconds": middle - begin}
    if bonmin is not None:
        said["bonmin"] = _proven(bonmin.ask(x, inverse))
        said["bonmin_seconds"] = time.process_time() - middle
    return said


def _proven(answer: Answer) -> float | None:
    return answer.distance_squared if answer.proven else None


def verdict(repair: Repaired) -> str:
    """Return ``agrees``, ``nearer`` or ``farther``; empty without two answers to compare."""
    answers = [a for a in (repair.scip, repair.bonmin) if a is not None]
    if not answers or repair.kind == FAILED:
        return ""
    least = min(answers)
    gap = (repair.distance_squared - least) / max(1.0, least)
    if abs(gap) <= SAME:
        return "agrees"
    return "farther" if gap > 0 else "nearer"


def table(repairs: Sequence[Repaired]) -> str:
    """Return one line for each set, and one for all."""
    lines = []
    for name in [*dict.fromkeys(r.model for r in repairs), "all"]:
        group = [r for r in repairs if name in ("all", r.model)]
        verdicts = [v for r in group if (v := verdict(r))]
        times = [1e3 * r.seconds for r in group]
        referees = [
            _milliseconds([r.scip_seconds for r in group]),
            _milliseconds([r.bonmin_seconds for r in group]),
        ]
        lines.append(
            [
                name,
                len(group),
                f"{np.median(times):.2g}",
                f"{max(times):.2g}",
                f"{np.mean([r.proven and r.kind != FAILED for r in group]):.0%}",
                sum(r.kind == FAILED for r in group),
                sum(r.kind != FAILED and not r.feasible for r in group),
                f"{verdicts.count('agrees')}/{len(verdicts)}",
                verdicts.count("nearer"),
                verdicts.count("farther"),
                sum(r.proven and verdict(r) == "farther" for r in group),
                *referees,
            ]
        )
    header = ["set", "repairs", "median, ms", "worst, ms", "proven nearest", "no answer",
              "infeasible", "agree with a referee", "nearer", "farther", "farther though proven",
              "SCIP, median ms", "Bonmin, median ms"]  # fmt: skip
    return markdown_table(header, lines)


def _milliseconds(seconds: Sequence[float | None]) -> str:
    known = [1e3 * s for s in seconds if s is not None]
    return f"{np.median(known):.0f}" if known else ""


def main(samples: int | None, out: Path, command: str, quick: bool = False) -> int:
    """Repair samples of all sets, print the table and save the record."""
    number = samples or (QUICK_SAMPLES if quick else SAMPLES)
    names = list(SETS)[:3] if quick else list(SETS)
    facts = provenance(command)  # before the work: the sources may change meanwhile
    repairs: list[Repaired] = []
    for name in names:
        repairs += study(name, number, min(number, REFEREED))
        print(f"{name}: done", file=sys.stderr)
    text = table(repairs)
    print(text)
    out.mkdir(parents=True, exist_ok=True)
    notes = "\n".join(f"- {key}: `{value}`" for key, value in facts.items())
    page = f"# Repairs by branch and bound\n\n{(__doc__ or '').strip()}\n\n{text}\n\n"
    page += f"## How it was made\n\n{notes}\n"
    (out / "repair.md").write_text(page, encoding="utf-8")
    record = {"provenance": facts, "repairs": [_finite(asdict(r)) for r in repairs]}
    (out / "repair.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: repair.md, repair.json in {out}")
    return 0


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, which has no NaN."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
