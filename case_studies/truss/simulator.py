"""The simulator: the program ``truss_solver.py``, called through its input and output files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import archeng
from archeng import read_regex
from case_studies.shared.forms import Form
from case_studies.truss.cases import CASES
from case_studies.truss.model import OF_TIP, OUTPUTS, TIP

PROGRAM = Path(__file__).with_name("truss_solver.py")
INPUT, OUTPUT = "truss.inp", "truss.out"

_NUMBER = r"\s+(\S+)"
_SKIPPED = r" +\S+"  # a column


def build_simulator(name: str, form: Form = "grey", **options: Any) -> archeng.CommandSimulator:
    """Return the simulator of a case that goes with the model of the same form.

    Parameters
    ----------
    name : {"sizing", "stiffness", "sections", "layout"}
    form : {"grey", "direct", "black"}
        What it reads: outputs of the model, or the objective and the simulated constraints.
    **options
        For :class:`archeng.CommandSimulator`, such as ``keep="all"``.
    """
    case, bars = CASES[name], range(1, len(CASES[name].bars) + 1)
    black = form == "black"
    asked = {
        what: _Several([_reader(f"{what} {k}") for k in (TIP if what in OF_TIP else bars)])
        for what in OUTPUTS[form][name]
    }
    return archeng.CommandSimulator(
        [sys.executable, "-I", "-S", PROGRAM, "{input}", OUTPUT],  # it needs no packages
        templates={INPUT: PROGRAM.with_name(case.template)},
        read=_total("mass") if black else None,
        constraints={label: _reader(label) for label in case.limits} if black else None,
        outputs={
            **asked,
            "largest stress (ksi)": _total("largest_stress"),
            "largest displacement (in)": _total("largest_displacement"),
            "compliance (kip in)": _total("compliance"),
        },
        timeout=60.0,
        **options,
    )


def _reader(label: str) -> Any:
    """Return the reader of a value: the first word says what, the number where."""
    number = next(word for word in label.split() if word.isdigit())
    match label.split()[0]:
        case "force":
            return read_regex(rf"(?m)^bar +{number}{_SKIPPED}{_NUMBER}", OUTPUT)
        case "stress":
            return read_regex(rf"(?m)^bar +{number}{_SKIPPED * 2}{_NUMBER}", OUTPUT)
        case "buckling":
            return read_regex(rf"(?m)^bar +{number}{_SKIPPED * 3}{_NUMBER}", OUTPUT)
        case "displacement":
            return read_regex(rf"(?m)^node +{number}{_SKIPPED}{_NUMBER}", OUTPUT)
    return _Stiffness(_reader(f"displacement of node {number}"))


class _Several:
    """Several values as one output."""

    def __init__(self, readers: list[Any]) -> None:
        self._readers = readers

    def __call__(self, folder: Path, output: str) -> list[float]:
        return [read(folder, output) for read in self._readers]


class _Stiffness:
    """Load over displacement downwards, from the reader of the displacement upwards."""

    def __init__(self, displacement: Any) -> None:
        self._displacement = displacement
        self._load = read_regex(r"(?m)^load +2 +0 +-(\S+)", INPUT)

    def __call__(self, folder: Path, output: str) -> float:
        return -self._load(folder, output) / self._displacement(folder, output)


def _total(word: str) -> Any:
    return read_regex(rf"(?m)^{word}{_NUMBER}", OUTPUT)
