"""Command line: ``python -m case_studies.dimension --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.dimension import calls, metrics, repairs
from case_studies.paper.__main__ import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    what = "Calls and time per call from 20 to 1000 variables, beside other packages."
    return run(argv, {e.NAME: e for e in (repairs, metrics, calls)}, "dimension", what)


if __name__ == "__main__":
    sys.exit(main())
