"""Small problems with simulated constraints, and what has to be the same in two runs.

Worker processes import this module by name, so everything that a simulator needs is here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archeng import Design, Evaluation, Model, Result, Settings
from archeng.codec import dumps, loads

Vector = NDArray[np.float64]
Limits = Mapping[str, tuple[float | None, float | None]]

AUTO, NONE = Settings(), Settings(surrogate="none")
DISC: Limits = {"size": (None, 4.0)}
DISC_OPTIMUM = float((np.sqrt(13) - 2) ** 2)


def plane(**options: Any) -> Model:
    """Two variables between -5 and 5."""
    model = Model("plane")
    model.variable("x", shape=2, lower=-5, upper=5, **options)
    return model


def gap(x: Vector) -> float:
    """Squared distance from (3, 2)."""
    return float((x[0] - 3) ** 2 + (x[1] - 2) ** 2)


def disc(design: Design) -> Evaluation:
    """Nearest point of a disc of radius 2, which only the simulator knows."""
    x = design.x
    size = float(x @ x)
    outputs = {"sum": float(x.sum()), "where": "in" if size <= 4 else "out", "x": x.tolist()}
    return Evaluation(gap(x), {"size": size}, outputs)


def nameless(design: Design) -> Evaluation:
    """The disc, with a wrong name at every second design or so."""
    e = disc(design)
    return e if int(1e6 * abs(design.x[0])) % 2 else Evaluation(e.objective, {"length": 1.0})


def trace(result: Result) -> dict[str, Any]:
    """Everything of a run that must not depend on where its calls ran and whether it paused."""
    return {
        "calls": [
            (e.index, e.generation, e.x.tobytes(), repr(e.objective), e.status, e.repair_kind)
            for e in result.evaluations
        ],
        "simulated": [(dict(e.constraints), e.violated) for e in result.evaluations],
        "outputs": [dict(e.outputs) for e in result.evaluations],
        "repairs": [(e.repair_rows, e.repair_multipliers) for e in result.evaluations],
        "best": (result.x.tobytes(), repr(result.fun), result.simulated, dict(result.outputs)),
        "stop": (result.stop_reason, result.status, result.nfev),
    }


def assert_same(one: Result, two: Result) -> None:
    """Compare part by part: a failure then says which part differs."""
    a, b = trace(one), trace(two)
    for part in a:
        assert a[part] == b[part], part


def as_version_2(path: Path) -> None:
    """Turn a journal into what the version before simulated constraints wrote."""
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE calls DROP COLUMN details")
    for table in ("header", "calls", "generations", "state"):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
    connection.execute("DROP TABLE candidates")
    (text,) = connection.execute("SELECT value FROM header WHERE key = 'options'").fetchone()
    options = loads(text)
    del options["simulated"]
    connection.execute("UPDATE header SET value = ? WHERE key = 'options'", (dumps(options),))
    (text,) = connection.execute("SELECT value FROM state").fetchone()
    state = loads(text)
    restarts = state.pop("restarts")
    state |= {"n_restarts": restarts["number"], "ended": restarts["ended"]}
    connection.execute("UPDATE state SET value = ?", (dumps(state),))
    connection.execute("PRAGMA user_version = 2")
    connection.commit()
    connection.close()


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)
