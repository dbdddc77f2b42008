"""The simulator: the program ``truss_solver.py``, called through its input and output files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import archeng
from archeng import read_regex
from case_studies.truss.cases import CASES, TIP_LOAD

PROGRAM = Path(__file__).with_name("truss_solver.py")
OUTPUT = "truss.out"

_NUMBER = r"\s+(\S+)"
_SKIPPED = r" +\S+"  # a column


def build_simulator(name: str, **options: Any) -> archeng.CommandSimulator:
    """Return the simulator of a case.

    Parameters
    ----------
    name : {"sizing", "stiffness", "layout"}
    **options
        For :class:`archeng.CommandSimulator`, such as ``keep="all"``.
    """
    case = CASES[name]
    return archeng.CommandSimulator(
        [sys.executable, "-I", "-S", PROGRAM, "{input}", OUTPUT],  # it needs no packages
        templates={"truss.inp": PROGRAM.with_name(case.template)},
        read=_total("mass"),
        constraints={label: _reader(label) for label in case.limits},
        outputs={
            "largest stress (ksi)": _total("largest_stress"),
            "largest displacement (in)": _total("largest_displacement"),
            "compliance (kip in)": _total("compliance"),
        },
        timeout=60.0,
        **options,
    )


def _reader(label: str) -> Any:
    """Return the reader of a constraint: its first word says what, its number where."""
    number = next(word for word in label.split() if word.isdigit())
    match label.split()[0]:
        case "stress":
            return read_regex(rf"(?m)^bar +{number}{_SKIPPED * 2}{_NUMBER}", OUTPUT)
        case "buckling":
            return read_regex(rf"(?m)^bar +{number}{_SKIPPED * 3}{_NUMBER}", OUTPUT)
        case "displacement":
            return read_regex(rf"(?m)^node +{number}{_SKIPPED}{_NUMBER}", OUTPUT)
    return _Stiffness(_reader(f"displacement of node {number}"))


class _Stiffness:
    """Load over displacement downwards, from the reader of the displacement upwards."""

    def __init__(self, displacement: Any) -> None:
        self._displacement = displacement

    def __call__(self, folder: Path, output: str) -> float:
        return -TIP_LOAD / self._displacement(folder, output)


def _total(word: str) -> Any:
    return read_regex(rf"(?m)^{word}{_NUMBER}", OUTPUT)
