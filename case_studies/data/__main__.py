"""Command line: ``python -m case_studies.data --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.data import designs, load_cases
from case_studies.paper.__main__ import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run an experiment or all; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    what = "Count simulator calls with and without earlier data."
    return run(argv, {e.NAME: e for e in (designs, load_cases)}, "data", what)


if __name__ == "__main__":
    sys.exit(main())
