"""How far a reader has to jump to follow one plain ARCH generation.

Runs two generations of ARCH (``Settings(surrogate="none")``, population of the default size, with a
journal) on a model with five variables, a linear and a curved constraint, and profiles the second
(``sys.setprofile``, first thread only). Only the public interface is used, so that the same script
counts any version of the package::

    python tests/architecture/generation_flow.py [--repo CHECKOUT] [--list]

What is counted:

* *functions*: the named functions and methods of ``archeng`` that were entered at least once.
  Lambdas, comprehensions and generator expressions belong to the function in which they stand; what
  ``dataclass`` generates (an ``__init__`` without a file) is not counted;
* *files*: the files of ``archeng`` in which they stand;
* *jumps*: calls from a function of one file of ``archeng`` into one of another file, each time
  they happen (a generator counts each time it is entered again); code of other packages between the
  two (``functools``, SciPy calling back) is looked through. Returns are not jumps.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


@dataclass
class Flow:
    """What one generation touched."""

    package: Path
    functions: set[CodeType] = field(default_factory=set)
    jumps: Counter[tuple[str, str]] = field(default_factory=Counter)

    def is_ours(self, code: CodeType) -> bool:
        """Whether it is a named function in a file of the package."""
        return code.co_filename.startswith(f"{self.package}/") and not code.co_name.startswith("<")

    def entered(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Count a call; the function for :func:`sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not self.is_ours(code):
            return
        self.functions.add(code)
        caller = frame.f_back
        while caller is not None and not self.is_ours(caller.f_code):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.jumps[caller.f_code.co_filename, code.co_filename] += 1

    @property
    def files(self) -> set[str]:
        """The files of the functions."""
        return {code.co_filename for code in self.functions}

    def summary(self) -> str:
        """The three figures."""
        return (
            f"{len(self.files)} files, {len(self.functions)} functions, "
            f"{self.jumps.total()} file-to-file jumps"
        )

    def pairs(self) -> str:
        """Every pair of files with its jumps, most first."""
        rows = [
            f"{count:5d}  {self.short(caller)} -> {self.short(called)}"
            for (caller, called), count in self.jumps.most_common()
        ]
        return "\n".join(rows)

    def short(self, file: str) -> str:
        """The path of a file inside the package."""
        return str(Path(file).relative_to(self.package))


def five_plates(archeng: Any) -> Any:
    """Five thicknesses; one row is linear, one is curved."""
    model = archeng.Model("plates")
    plates = [
        model.variable(f"plate {i}", lower=1.0, upper=12.0, start=4.0, unit="mm") for i in range(5)
    ]
    model.subject_to(sum(plates) >= 20.0, name="strength")
    model.subject_to(sum(t * t for t in plates) >= 60.0, name="stiffness")
    return model


def mass(design: Any) -> float:
    """An objective that pulls towards both rows; it reads the design once, as an array."""
    return float(sum(i * thickness**2 for i, thickness in enumerate(design.x, start=1)))


def one_generation(folder: Path) -> Flow:
    """Profile the second generation of a run that keeps a journal in ``folder``."""
    archeng = importlib.import_module("archeng")
    flow = Flow(Path(archeng.__file__).parent)
    run = archeng.Run(
        five_plates(archeng),
        mass,
        seed=1,
        max_evaluations=1000,
        settings=archeng.Settings(surrogate="none"),
        journal=folder / "flow.journal",
    )
    try:
        run.step()
        sys.setprofile(flow.entered)
        try:
            run.step()
        finally:
            sys.setprofile(None)
    finally:
        run.close()
    return flow


def main(arguments: list[str] | None = None) -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(description="Count what one plain ARCH generation touches.")
    parser.add_argument(
        "--repo",
        type=Path,
        default=Path(__file__).resolve().parents[2],
        help="the checkout to count (default: this one)",
    )
    parser.add_argument("--list", action="store_true", help="print the pairs of files, too")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(options.repo.resolve()))
    with tempfile.TemporaryDirectory() as folder:
        flow = one_generation(Path(folder))
    print(f"{flow.package}: {flow.summary()}")
    if options.list:
        print(flow.pairs())


if __name__ == "__main__":
    main()
