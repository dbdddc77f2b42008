"""Makes the journals of ``tests/pins/journals`` with the version that is installed.

They were made before the state of a run was one tree (journal format 4), to be read by later
versions: ``python tests/pins/earlier_journals.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pinned_runs import LIMITS, PAPER, BreaksOnce, beam, bowl, disc, weld, weld_cost

import archeng


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    archeng.solve(beam(), weld_cost, max_evaluations=60, seed=2, journal=folder / "converged.db")
    archeng.solve(
        disc(), bowl, max_evaluations=40, seed=1, settings=PAPER, journal=folder / "budget.db"
    )
    for name, model, simulator, options in (
        ("broken.db", beam(), weld, {"simulated": LIMITS, "seed": 15}),
        ("broken_paper.db", disc(), bowl, {"settings": PAPER, "seed": 15}),
    ):
        try:
            archeng.solve(
                model,
                BreaksOnce(simulator, 33),
                max_evaluations=60,
                on_failure="raise",
                journal=folder / name,
                **options,
            )
        except archeng.errors.SimulatorError:
            continue
        raise AssertionError(f"{name}: the run was to break")


if __name__ == "__main__":
    main()
