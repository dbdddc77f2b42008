"""Text ``.nl`` files written by hand in the way AMPL writes them, and a hostile reader."""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import archeng
from archeng.errors import ArchengError
from archeng.model import Model

# Rows: -7 <= x0 t + x2 <= 8; 3 x1 - t <= 9; x0 - x2 = 2.5; x1 >= -3; x2 free, with the common
# expressions t = x1^2 + 2 x0 and w = x0 x1. Maximise w x2 + 4 x1.
AMPL = """\
g3 0 1 0\t# problem two
 3 5 1 1 1\t# vars, constraints, objectives, ranges, eqns
 2 1\t# nonlinear constraints, objectives
 0 0\t# network constraints: nonlinear, linear
 2 3 2\t# nonlinear vars in constraints, objectives, both
 0 0 0 1\t# linear network variables; functions; arith, flags
 0 0 0 0 0\t# discrete variables: binary, integer, nonlinear (b,c,o)
 9 3\t# nonzeros in Jacobian, gradients
 0 0\t# max name lengths: constraints, variables
 0 1 0 0 1\t# common exprs: b,c,o,c1,o1
S0 1 priority
0 5
V3 1 1\t#nl(t)
0 2
o5\t#^
v1\t#x
n2
C0\t#nl1
o2
v0
v3
C1
o16
v3
V4 0 6
o2
v0
v1
C2\t#l1
n0
C3
n0
C4
n0
O0 1\t#profit
o2
v4
v2
d1
0 1.5
x2
0 1.25
2 -.5
r\t#5 ranges (rhs's)
0 -7 8
1 9
4 2.5
2 -3
3
b\t#3 bounds (on variables)
0 0.5 4
2 0.1
3
k2\t#intermediate Jacobian column lengths
3
6
J0 3
0 0
1 0
2 1
J1 2
0 0
1 3
J2 2
0 1
2 -1
J3 1
1 1
J4 1
2 1
G0 3
0 0
1 4
2 0
"""


def ampl_rows(x: Any) -> dict[str, float]:
    """Return the rows of `AMPL` that have limits."""
    t = x[1] ** 2 + 2 * x[0]
    return {"c0": x[0] * t + x[2], "c1": 3 * x[1] - t, "c2": x[0] - x[2], "c3": x[1]}


def ampl_objective(x: Any) -> float:
    """Return the objective of `AMPL`."""
    return float(x[0] * x[1] * x[2] + 4 * x[1])


def with_header(line: int, text: str, source: str = AMPL) -> str:
    """Replace one header line (1 is the first) of a file."""
    lines = source.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def fingerprint(model: Model) -> str:
    """Everything an import can get wrong, at one point."""
    x = np.full(model.n_variables, 0.7)
    rows = [(e.name, e.value, e.lower, e.upper) for e in model.violations(x)]
    starts = [(v.name, v.start.tolist()) for v in model.variables]
    goal = model.objective_function()(x) if model.has_objective else None
    return repr((rows, starts, goal, model.objective_sense))


def outcomes(files: list[bytes], *, seconds: int = 3, objective: bool = True) -> list[str]:
    """Read files in another process: a hang or a crash ends that process, not the tests.

    Each outcome is ``model ...``, ``error ...`` (an ArchengError), ``exception ...`` or
    ``died ...``.
    """
    found: list[str] = []
    while len(found) < len(files):
        left = [base64.b64encode(f).decode() for f in files[len(found) :]]
        done = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps({"files": left, "seconds": seconds, "objective": objective}),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(archeng.__file__).parents[1])},
        )
        found += [line[3:] for line in done.stdout.splitlines() if line.startswith("=> ")]
        if done.returncode:
            found.append(f"died with code {done.returncode}: {done.stderr[-200:]}")
    return found


def _main() -> None:
    with contextlib.suppress(ImportError, ValueError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    task = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.nl"
        for text in task["files"]:
            path.write_bytes(base64.b64decode(text))
            faulthandler.dump_traceback_later(task["seconds"], exit=True)
            try:
                found = "model " + fingerprint(archeng.from_nl(path, objective=task["objective"]))
            except ArchengError as error:
                found = f"error {error}"
            except Exception as error:
                found = f"exception {type(error).__name__}: {error}"
            faulthandler.cancel_dump_traceback_later()
            print("\n=> " + found.replace("\n", " | "), flush=True)


if __name__ == "__main__":
    _main()
