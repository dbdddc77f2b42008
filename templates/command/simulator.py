"""The simulator: a program, its input file and its output file. Put yours here."""

import sys
from pathlib import Path

import archeng

HERE = Path(__file__).resolve().parent

simulator = archeng.CommandSimulator(
    [sys.executable, "-S", HERE / "program" / "beam.py", "{input}"],
    templates={"beam.inp": HERE / "program" / "beam.inp.template"},
    read=archeng.read_regex(r"tip deflection *= *(\S+)", file="beam.out"),
    outputs={
        "mass": archeng.read_regex(r"mass *= *(\S+)", file="beam.out"),
        "largest_stress": archeng.read_regex(r"largest stress *= *(\S+)", file="beam.out"),
    },
    timeout=60,  # seconds
    keep="failed",
    directory=HERE / "failed",
)
