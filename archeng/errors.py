"""Every error that archeng raises on purpose.

All derive from :class:`ArchengError`. Messages name the value that was given, what was
expected, and what to do about it. Each class has an ``id``, such as ``ARCH-JOURNAL``, which
``archeng explain`` looks up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

__all__ = [
    "ArchengError",
    "DataError",
    "ExecutorError",
    "GateError",
    "InfeasibleModelError",
    "JournalError",
    "MissingPackageError",
    "ModelError",
    "ResultFileError",
    "SettingsError",
    "SimulationTimeoutError",
    "SimulatorError",
    "StudyFileError",
    "UnsupportedModelError",
]


class ArchengError(Exception):
    """Base of all errors raised by archeng.

    Attributes
    ----------
    id : str
        Stable name of this kind of error; command line and tracebacks show it.
    """

    id: ClassVar[str] = "ARCH"

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        words = re.findall("[A-Z][a-z]*", cls.__name__.removesuffix("Error"))
        cls.id = "-".join(["ARCH", *words]).upper()

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.add_note(f"[{self.id}] `archeng explain {self.id}` says what to do.")


class ModelError(ArchengError, ValueError):
    """The model is not well formed: a bad bound, relation, name or coefficient."""


class InfeasibleModelError(ModelError):
    """No design was found that satisfies every explicit constraint.

    Attributes
    ----------
    conflicts : tuple of str
        Names (with source lines) of the constraints that could not be satisfied together,
        as far as the search could tell. A local search cannot prove emptiness.
    """

    def __init__(self, message: str, conflicts: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.conflicts = tuple(conflicts)


class UnsupportedModelError(ModelError):
    """A model has parts that archeng cannot import.

    Attributes
    ----------
    problems : dict
        Full name of each component (or segment of a file) to the reasons.
    """

    def __init__(self, what: str, problems: Mapping[str, Sequence[str]]) -> None:
        self.problems = {name: tuple(reasons) for name, reasons in problems.items()}
        lines = [f"  {name}: {why}" for name, reasons in self.problems.items() for why in reasons]
        super().__init__(f"{what} cannot be imported:\n" + "\n".join(lines))


class SettingsError(ArchengError, ValueError):
    """An option of ``solve``, ``Run`` or ``Settings`` has a value that makes no sense."""


class DataError(SettingsError):
    """Earlier data cannot be used; the message has file, line and column."""


class StudyFileError(ArchengError, ValueError):
    """A study's folder or its ``study.toml`` is wrong; the message has the lines."""


class SimulatorError(ArchengError):
    """The simulator cannot be used: not callable, or too many of its calls went wrong.

    Nothing that was simulated is lost: ``evaluations`` holds every call so far.
    """

    def __init__(self, message: str, evaluations: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.evaluations = tuple(evaluations)


class SimulationTimeoutError(ArchengError):
    """Raised inside a simulator: the program that it runs took too long and was killed."""


class ExecutorError(ArchengError):
    """The workers cannot be started, or the executor broke down."""


class JournalError(ArchengError):
    """A journal cannot be used: damaged, foreign, in use, full, or of another run."""


class MissingPackageError(ArchengError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class GateError(ArchengError):
    """A design that violates an explicit constraint was about to be simulated.

    This is a bug in archeng, or a vector changed by hand between ``ask`` and ``tell``: the
    simulator has *not* been called.
    """


class ResultFileError(ArchengError, ValueError):
    """A file is not a result that archeng saved, or is damaged."""
