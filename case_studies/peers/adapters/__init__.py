"""The methods by name. A new one is a function ``solve(case)`` and a line in `METHODS`.

An adapter sets a method up as its documentation recommends, and runs it until the recorder
raises `Finished`; local methods begin again from ``case.starts()``. It may return earlier, and it
lets errors through. Its module is imported when it runs, so that it can import its package.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import archeng

NOT_INSTALLED = "not installed"


@dataclass(frozen=True)
class Method:
    """One entry of the comparison.

    Attributes
    ----------
    name : str
        In ``--methods`` and in the tables.
    package : str
        The distribution on PyPI that has to be installed.
    adapter : str
        ``module:function`` below ``folder``.
    strict : bool
        Whether it has to meet all constraints exactly and equalities to archeng's own
        tolerance. The others are allowed the tolerance of the suite.
    folder : str
        The package of the adapter's module.
    """

    name: str
    package: str
    adapter: str
    strict: bool = False
    folder: str = __name__

    @property
    def solve(self) -> Callable[[Any], None]:
        """Return the adapter; this imports its package."""
        module, function = self.adapter.split(":")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package, while it is imported
            imported = importlib.import_module(f"{self.folder}.{module}")
        found: Callable[[Any], None] = getattr(imported, function)
        return found

    @property
    def version(self) -> str:
        """Return the version of its package, or that it is not installed.

        archeng's has a fingerprint of its source, which changes more often than its number.
        """
        if self.package == "archeng":
            return f"{archeng.__version__}+{fingerprint(Path(archeng.__file__).parent)}"
        try:
            return version_of(self.package)
        except PackageNotFoundError:
            return NOT_INSTALLED

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return self.version != NOT_INSTALLED


@cache
def fingerprint(folder: Path) -> str:
    """Return eight digits that change with any Python file below a folder."""
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("archeng", "archeng", "arch:default", strict=True),
        Method("archeng-paper", "archeng", "arch:paper", strict=True),
        Method("pycma", "cma", "pycma:solve"),
        Method("cobyqa", "cobyqa", "quadratic_models:solve"),
        Method("nomad", "PyNomadBBO", "nomad:progressive_barrier"),
        Method("nomad-eb", "PyNomadBBO", "nomad:extreme_barrier"),
        Method("scipy-de", "scipy", "scipy_global:differential_evolution"),
        Method("scipy-cobyla", "scipy", "scipy_local:cobyla"),
        Method("scipy-trust-constr", "scipy", "scipy_local:trust_constr"),
        Method("slsqp-fd", "scipy", "exact_constraints:slsqp"),
        Method("ipopt-fd", "casadi", "exact_constraints:ipopt"),
        Method("gp", "scikit-learn", "gaussian_process:solve"),
        Method("pymoo-isres", "pymoo", "stochastic_ranking:solve"),
        Method("nevergrad", "nevergrad", "never_grad:solve"),
        Method("optuna-tpe", "optuna", "tpe:solve"),
    )
}
