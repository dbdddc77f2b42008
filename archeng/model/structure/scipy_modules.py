"""Modules of SciPy that are imported when they are first used: they take longer than archeng."""

from __future__ import annotations

import importlib
from typing import Any


class _Module:
    """A module by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, item: str) -> Any:
        return getattr(importlib.import_module(self._name), item)


sparse: Any = _Module("scipy.sparse")
csgraph: Any = _Module("scipy.sparse.csgraph")
linalg: Any = _Module("scipy.linalg")
