"""A small study to see archeng at work: ``python -m archeng.demo``.

A tin of 330 ml with as little sheet metal as possible. The volume and the shape are explicit
constraints; the area of the sheet plays the expensive simulator.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from archeng.model import Model
from archeng.result import Result
from archeng.runner import solve
from archeng.simulator import Design


def tin() -> Model:
    """Variables and explicit constraints of the tin."""
    model = Model("tin")
    r = model.variable("radius", lower=1, upper=10, unit="cm")
    h = model.variable("height", lower=1, upper=30, unit="cm")
    model.subject_to(math.pi * r**2 * h == 330, name="volume", tolerance=0.01, source="demo.py")
    model.subject_to(h >= 2.5 * r, name="shape", source="demo.py")
    return model


def sheet(design: Design) -> float:
    """Area of sheet metal in cm^2, seams of 3 mm included."""
    r, h = design["radius"], design["height"]
    return float(2 * math.pi * (r + 0.3) ** 2 + (2 * math.pi * r + 0.3) * h)


def demo(seed: int = 1, verbose: bool = False) -> Result:
    """Design the tin."""
    return solve(tin(), sheet, max_evaluations=200, seed=seed, verbose=verbose)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the model, progress and the result; 0 if the design has converged."""
    parser = argparse.ArgumentParser(prog="python -m archeng.demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sys.stdout.write(f"{tin()}\n\n")
    result = demo(options.seed, verbose=True)
    sys.stdout.write(f"{result}\n")
    return 0 if result.success else 1


if __name__ == "__main__":
    sys.exit(main())
