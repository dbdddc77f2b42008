"""Are claims of convergence true? Every neighbour of a claimed design, solved by IPOPT.

``python -m case_studies.discrete claims`` runs archeng without a target and without restarts. Where
it says *converged*, a referee that knows nothing of archeng looks at the design: with its discrete
values held, and with one or two of them changed to the next one (all others for a category), IPOPT
solves the real variables on the plain formulas, from where they are and from the middle of their
bounds. A claim is false if one of these designs is better by more than `TOLERANCE`.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.benchmarks.record import markdown_table, provenance
from case_studies.discrete.definition import Floats, Problem
from case_studies.discrete.referee import RealPart
from case_studies.discrete.suite import problem

TOLERANCE = 1e-4
"""Relative gain that makes a claim false."""

PAIRS = 200
"""Pairs of changes up to which a claim is about them, too: what archeng's pages say."""

CALLS = 500
"""Budget of a run."""


def neighbours(p: Problem, x: Floats) -> Iterator[list[float]]:
    """Yield the discrete values of the design and of all its neighbours."""
    whole = [i for i, v in enumerate(p.space) if v.levels is not None]
    here = [float(x[i]) for i in whole]
    changes: list[tuple[int, float]] = []
    for k, i in enumerate(whole):
        levels = p.space[i].levels
        assert levels is not None
        at = int(np.flatnonzero(levels == here[k])[0])
        near = range(len(levels)) if not p.space[i].ordered else (at - 1, at + 1)
        changes += [(k, float(levels[j])) for j in near if 0 <= j < len(levels) and j != at]
    pairs = [(a, b) for a, b in itertools.combinations(changes, 2) if a[0] != b[0]]
    yield here
    for moves in [*((c,) for c in changes), *(pairs if len(pairs) <= PAIRS else ())]:
        values = list(here)
        for k, value in moves:
            values[k] = value
        yield values


def best_around(p: Problem, x: Floats) -> float:
    """Return the least objective of the neighbours of a design, and of its own real part."""
    free = [i for i, v in enumerate(p.space) if v.levels is None]
    if not free:
        every = (np.array(values) for values in neighbours(p, x))
        return min((p.objective(full) for full in every if p.legal(full)), default=math.inf)
    once = all(v.ordered for v in p.space)  # else formulas look rows up, and need numbers
    part, best = RealPart(p.source) if once else None, math.inf
    for values in neighbours(p, x):
        part = part if once and part is not None else RealPart(p.source, values)
        if not part.possible(values):
            continue
        for first in (x[free], None):
            f, end = part.solve(values, first)
            if math.isfinite(f) and p.excess(np.array(end)).max(initial=0.0) <= TOLERANCE**2:
                best = min(best, f)
    return best


def judged(name: str, seed: int) -> dict[str, Any]:
    """Run archeng once; return what it says, and what the referee says of that."""
    p, begin = problem(name), time.perf_counter()
    result = archeng.solve(
        p.model(),
        lambda design: p.objective(np.asarray(design.x)),
        seed=seed,
        max_evaluations=CALLS,
    )
    x = np.asarray(result.x)
    entry: dict[str, Any] = {
        "problem": name,
        "seed": seed,
        "calls": result.nfev,
        "seconds": round(time.perf_counter() - begin, 2),
        "claim": result.success,
        "gap": (result.fun - p.optimum) / abs(p.optimum),
        "legal": all(p.legal(np.asarray(call.x)) for call in result.evaluations),
    }
    if result.success:
        entry["gain"] = max((result.fun - best_around(p, x)) / abs(result.fun), 0.0)
    return entry


def main(problems: Sequence[str], seeds: int, out: Path, command: str) -> int:
    """Judge all runs; write claims.json and claims.md."""
    entries = []
    for name, seed in itertools.product(problems, range(seeds)):
        entry = judged(name, seed)
        entries.append(entry)
        print(json.dumps(entry), flush=True)
    false = [e for e in entries if e["claim"] and e["gain"] > TOLERANCE]
    claims = [e for e in entries if e["claim"]]
    rows = []
    for name in problems:
        own = [e for e in entries if e["problem"] == name]
        told = [e for e in own if e["claim"]]
        rows.append([
            name, f"{len(told)} of {len(own)}", str(sum(e["gain"] > TOLERANCE for e in told)),
            f"{max((e['gain'] for e in told), default=0.0):.1e}",
            f"{sum(e['gap'] <= TOLERANCE for e in own)} of {len(own)}",
            f"{np.median([e['calls'] for e in own]):.0f}",
        ])  # fmt: skip
    header = ["problem", "claims", "false", "largest gain", "at the optimum", "calls until the end"]
    text = (
        "# Claims of convergence with discrete variables\n\n"
        f"`{command}`: {len(entries)} runs without target and restarts, {len(claims)} claims, "
        f"**{len(false)} false** (a neighbour is better by more than {TOLERANCE:g}, by IPOPT on "
        f"the plain formulas); {sum(not e['legal'] for e in entries)} runs with an illegal call. "
        "A claim is one of a local optimum: how many runs end at the best known design is "
        f"in the last column but one.\n\n{markdown_table(header, rows)}\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    record = {**provenance(command), "runs": entries}
    (out / "claims.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (out / "claims.md").write_text(text, encoding="utf-8")
    print(text)
    return 0
