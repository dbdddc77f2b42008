"""Command line of the experiments: ``python -m case_studies.surrogate --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.paper.__main__ import run
from case_studies.paper.harness import Experiment
from case_studies.surrogate import active_set, bipop, transformed

EXPERIMENTS: dict[str, Experiment] = {
    "active-set": active_set,
    "bipop": bipop,
    "transformed": transformed,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment or all of them; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    return run(argv, EXPERIMENTS, "surrogate", "Count the calls that the surrogate saves.")


if __name__ == "__main__":
    sys.exit(main())
