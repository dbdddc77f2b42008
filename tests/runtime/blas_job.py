"""Seeded runs, a digest of all designs of each; started with several numbers of BLAS threads."""

from __future__ import annotations

import hashlib

import casadi as ca
import numpy as np

import archeng
from archeng import Design, Evaluation, Model, Result, Settings
from case_studies.benchmarks.models import rotated_box
from case_studies.cec2006 import problem


def digest(result: Result) -> str:
    return hashlib.sha256(b"".join(e.x.tobytes() for e in result.evaluations)).hexdigest()[:16]


def far(design: Design) -> float:
    return float(np.sum((design.x + 1) ** 2))


def simulated() -> Result:
    model = Model("beam")
    x = model.variable("x", shape=4, lower=0.1, upper=2)
    model.subject_to(ca.sum1(x) >= 2, name="sum")

    def simulator(design: Design) -> Evaluation:
        x = np.asarray(design["x"])
        return Evaluation(float(np.sum(x**2)), constraints={"load": float(np.prod(x))})

    return archeng.solve(
        model, simulator, simulated={"load": (0.1, None)}, max_evaluations=40, seed=4
    )


def main() -> None:
    g07, alone = problem("g07"), Settings(surrogate="none")
    runs = {
        "g07, as in the paper": archeng.solve(
            g07.model, g07.objective, max_evaluations=200, seed=1, settings=Settings.paper()
        ),
        "g07": archeng.solve(g07.model, g07.objective, max_evaluations=30, seed=1),
        "simulated constraint": simulated(),
        "rotated box, n = 40": archeng.solve(rotated_box(40), far, max_evaluations=70, seed=1),
        "rotated box, n = 100": archeng.solve(
            rotated_box(100), far, max_evaluations=60, seed=1, settings=alone
        ),
    }
    points = archeng.sample_feasible(rotated_box(100), 20, seed=1).x
    for name, result in runs.items():
        print(name, digest(result))
    print("sampled, n = 100", hashlib.sha256(points.tobytes()).hexdigest()[:16])


if __name__ == "__main__":
    main()
