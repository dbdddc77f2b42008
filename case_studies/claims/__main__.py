"""Command line: ``python -m case_studies.claims --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from case_studies.claims import experiment
from case_studies.paper.__main__ import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code (2: bad arguments, 130: Ctrl-C)."""
    what = "Judge the claims of convergence of archeng's runs."
    return run(argv, {experiment.NAME: experiment}, "claims", what)


if __name__ == "__main__":
    sys.exit(main())
