"""Command line: ``python -m case_studies.parallel --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.paper.__main__ import run
from case_studies.parallel import cluster, parallel, slept, wide


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    what = "Time and calls to a target if several calls are made at a time."
    experiments = {e.NAME: e for e in (parallel, slept, cluster, wide)}
    return run(argv, experiments, "parallel", what)


if __name__ == "__main__":
    sys.exit(main())
