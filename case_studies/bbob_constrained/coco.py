"""archeng on COCO's own problem objects, logged by its observer and post-processed by `cocopp`.

The simulator is COCO's problem; archeng has the rows as formulas. Constraints are evaluated once
before each call, as COCO's cost counts evaluations of both.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from case_studies.bbob_constrained.definitions import FUNCTIONS, definition
from case_studies.bbob_constrained.experiment import BUDGET

ALGORITHM = "archeng-exact-constraints"
SIZES, INSTANCES = (2, 5), 3


def main(options: argparse.Namespace, out: Path) -> int:
    """Log and post-process; return the exit code (2: COCO's packages are missing)."""
    try:
        import cocoex  # noqa: F401
    except ImportError:
        print("--coco needs COCO's packages: pip install coco-experiment cocopp", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    sizes, functions = options.sizes or SIZES, options.functions or FUNCTIONS
    folder = logged(out, functions, sizes, range(1, (options.seeds or INSTANCES) + 1))
    print(f"logged in {folder}")
    post_process(folder, out / "ppdata")
    print(f"post-processed: {out / 'ppdata' / 'index.html'}")
    return 0


def logged(
    out: Path, functions: Sequence[int], sizes: Sequence[int], instances: Sequence[int]
) -> Path:
    """Run archeng on all of them under COCO's observer; return the folder of the log."""
    import cocoex

    with _inside(out):
        observer = cocoex.Observer(
            "bbob-constrained", f"result_folder: {ALGORITHM} algorithm_name: {ALGORITHM}"
        )
        folder = Path(observer.result_folder).resolve()
        for n in sizes:
            suite = cocoex.Suite("bbob-constrained", "", f"dimensions:{n}")
            for function in functions:
                for instance in instances:
                    problem = suite.get_problem_by_function_dimension_instance(
                        function, n, instance
                    )
                    problem.observe_with(observer)
                    _solve(problem, function, n, instance)
                    problem.free()
    return folder


def post_process(folder: Path, out: Path) -> None:
    """Make COCO's pages of a log."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for its archives in the internet
        import cocopp

        cocopp.main(["-o", str(out), str(folder)])


def _solve(problem: Any, function: int, n: int, instance: int) -> None:
    def simulator(design: Any) -> float:
        x = np.array(design.x)
        problem.constraint(x)
        return float(problem(x))

    archeng.solve(
        definition(function, n, instance).model(),
        simulator,
        seed=instance,
        max_evaluations=BUDGET * n,
    )


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder: COCO writes below the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
