"""Command line: ``python -m case_studies.mixed --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.mixed import comparison
from case_studies.paper.__main__ import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    what = "Count calls if half of the constraints are simulated."
    return run(argv, {comparison.NAME: comparison}, "mixed", what)


if __name__ == "__main__":
    sys.exit(main())
