"""One run of one method on one instance, judged by COCO's own values.

A target is hit as in COCO's log: by the first call whose ``max(f - f_opt, 0)`` plus all violations
is at most the target. Targets are 51 from 1e2 to 1e-8, equally far apart in their logarithms.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from case_studies.bbob_constrained.definitions import LIMIT, Definition, definition
from case_studies.bbob_constrained.methods import SOLVERS, Start
from case_studies.paper.results import Row, Task
from case_studies.peers.constraints import Constraints, compiled
from case_studies.peers.recorder import Finished, Floats, Recorder

TARGETS = 10 ** np.linspace(2, -8, 51)
SLACK = 1e-8
"""Total violation with which a design of a peer still counts as feasible: the last target."""

IPOPT = {
    "print_time": False,
    "ipopt": {
        "print_level": 0,
        "sb": "yes",
        "max_iter": 300,
        "max_cpu_time": 20.0,
        "tol": 1e-10,
        "bound_relax_factor": 1e-10,
    },
}
ROW_ERROR = 1e-8
"""Of IPOPT's solution, relative to the length of a row."""


class Log(Recorder):
    """A recorder that keeps every design and its value."""

    def __init__(self, of: Definition, budget: int, seconds: float) -> None:
        self.designs: list[Floats] = []
        self.values: list[float] = []
        self.of = of

        def feasible(x: Floats) -> bool:
            return float(np.maximum(of.rows(x), 0).sum()) <= SLACK

        target = of.f_opt + float(TARGETS[-1])
        super().__init__(self._kept, feasible, target=target, budget=budget, seconds=seconds)

    def _kept(self, x: Floats) -> float:
        value = self.of.objective(x)
        self.designs.append(x)
        self.values.append(value)
        return value


@dataclass(frozen=True)
class Judged:
    """What a run has reached.

    Attributes
    ----------
    violation : ndarray, shape (k,)
        Sum of the violated rows at each call, of COCO's values if ``by_coco``.
    gap : ndarray, shape (k,)
        f - f_opt at each call.
    """

    violation: Floats
    gap: Floats
    by_coco: bool

    def best(self) -> float:
        """Return the least gap at a feasible design."""
        return float(np.min(self.gap[self.violation <= SLACK], initial=np.inf))

    def hits(self) -> str:
        """Return the calls that hit the targets, the first ones of 51, with blanks between."""
        reached = np.minimum.accumulate(np.maximum(self.gap, 0) + self.violation)
        return " ".join(str(int(np.argmax(reached <= t)) + 1) for t in TARGETS if reached[-1] <= t)


def judged(of: Definition, log: Log) -> Judged:
    """Judge all calls by COCO's own program, or by our formulas where it is not installed."""
    problem = coco_problem(of)
    values, rows = [], []
    for x, value in zip(log.designs, log.values, strict=True):
        values.append(value if problem is None else problem(x))
        rows.append(of.rows(x) if problem is None else np.asarray(problem.constraint(x)))
    outside = [np.maximum(g, 0).sum() + np.maximum(np.abs(x) - LIMIT, 0).sum()
               for g, x in zip(rows, log.designs, strict=True)]  # fmt: skip
    return Judged(np.array(outside), np.array(values) - of.f_opt, problem is not None)


def coco_problem(of: Definition) -> Any:
    """Return COCO's own problem, None without its package."""
    try:
        import cocoex
    except ImportError:
        return None
    suite = cocoex.Suite("bbob-constrained", "", f"dimensions:{of.n}")
    return suite.get_problem_by_function_dimension_instance(of.function, of.n, of.instance)


def case(of: Definition, budget: int, seconds: float, seed: int) -> tuple[Start, Log]:
    """Return what a method gets, and the log of its calls."""
    model = of.model()
    fs = compiled(model)
    log = Log(of, budget, seconds)
    rng = np.random.default_rng([of.function, of.n, of.instance, seed])
    return Start(model, fs, Constraints(fs, log.tick), log, of.start, rng, seed), log


def run_task(task: Task) -> list[Row]:
    """Run a task; errors of a method end up in its row."""
    of = definition(int(task["function"]), int(task["n"]), int(task["instance"]))
    given, log = case(of, int(task["budget"]) * of.n, float(task["seconds"]), int(task["instance"]))
    found, error = None, ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = SOLVERS[str(task["method"])](given)
        except Finished:
            pass
        except Exception as raised:
            if log.stop == "ended":  # else only what the end of the run has led to
                error = f"{type(raised).__name__}: {raised}"[:200]
    overhead = log.overhead_ms()
    result = judged(of, log)
    claimed = found is not None and bool(found.success)
    return [
        {
            **task,
            "kind": of.kind,
            "rows": len(of.b),
            "calls": log.calls,
            "infeasible": int((result.violation > 0).sum()),
            "violation": float(result.violation.max(initial=0.0)),
            "first_feasible": int(np.argmax(result.violation <= SLACK)) + 1
            if np.any(result.violation <= SLACK)
            else None,
            "f_opt": of.f_opt,
            "by_coco": int(result.by_coco),
            "gap": result.best(),
            "hits": result.hits(),
            "claimed": int(claimed),
            "gain": local_gain(of, np.asarray(found.x)) if claimed and found else None,
            "overhead_ms": None if overhead is None else round(overhead, 3),
            "stop": log.stop if found is None else found.stop_reason.name.lower(),
            "error": error,
        }
    ]


def local_gain(of: Definition, x: Floats) -> float:
    """Return how much IPOPT, on the formulas, gains from a design; 0 if it finds nothing.

    It searches in the space that is not bent, where everything is smooth: T is increasing entry by
    entry, so boxes stay boxes and local optima local optima.
    """
    z = ca.SX.sym("z", of.n)
    at = z + of.optimum if of.kind == "linear slope" else z
    size = np.linalg.norm(of.A, axis=1)
    rows = (ca.mtimes(ca.DM(of.A), z) - of.b) / size
    solver = ca.nlpsol("referee", "ipopt", {"x": z, "f": of.of_z(at), "g": rows}, IPOPT)
    low, high, start = (of.bend(v) for v in (-LIMIT, LIMIT, x))
    found = solver(x0=start, lbx=low, ubx=high, lbg=-np.inf, ubg=0.0)
    if not np.isfinite(float(found["f"])) or float(ca.mmax(found["g"])) > ROW_ERROR:
        return 0.0
    return max(of.objective(x) - float(found["f"]), 0.0)
