"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

python .ci/lowest.py [EXTRA ...]    # of the dependencies, and of these extras
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*>=\s*(?P<version>[0-9][0-9a-z.]*)")


def constraints(extras: Sequence[str], project: Path = PROJECT) -> list[str]:
    """Return ``name==version`` for every requirement with a lower bound.

    Raises
    ------
    KeyError
        There is no such extra.
    """
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    requirements = list(table["dependencies"])
    for extra in extras:
        requirements += table["optional-dependencies"][extra]
    bounds = (_BOUND.match(requirement) for requirement in requirements)
    return [f"{bound['name']}=={bound['version']}" for bound in bounds if bound]


if __name__ == "__main__":
    print("\n".join(constraints(sys.argv[1:])))
