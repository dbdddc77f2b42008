"""Where archeng meets other packages, one module for each of them.

``minimize`` speaks SciPy; ``openmdao``, ``optuna`` and ``pycma`` import the package of their name,
which is an optional extra, and are imported by the user only.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from archeng.errors import MissingPackageError


def needed(package: str, extra: str) -> ModuleType:
    """Import a package, or say which extra of archeng brings it.

    Raises
    ------
    MissingPackageError
        It is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f"{package} cannot be imported ({error}); it comes with pip install 'archeng[{extra}]'."
        ) from error
