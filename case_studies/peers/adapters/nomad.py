"""NOMAD 4 (mesh adaptive direct search), package ``PyNomadBBO``.

Set-up. All defaults (quadratic model search, ORTHO N+1 QUAD). ``nomad`` treats the one-sided rows
with the progressive barrier (PB), which the user guide advises for constraints that may be
violated on the way; it calls f everywhere. ``nomad-eb`` uses the extreme barrier (EB), which is
meant for constraints that must hold: f is not called at a design that violates one. Both begin
again from the next start with another seed when the mesh has converged. A failed call is reported
as such.

NOMAD ignores exceptions of the blackbox. To stop it, the blackbox sends the process the signal
that Ctrl-C sends, which NOMAD handles, and NOMAD's message is thrown away.
"""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import PyNomad

from case_studies.peers.case import Case
from case_studies.peers.recorder import Finished
from case_studies.shared.quiet import quiet

SEEDS = 10_000
"""NOMAD draws as many random numbers as the seed says before it begins: a large one takes long."""

UNSEEN = 1e20
"""Objective of a design at which f is not called because a barrier rejects it anyway."""


def progressive_barrier(case: Case) -> None:
    """All rows PB."""
    _solve(case, "PB")


def extreme_barrier(case: Case, *options: str) -> None:
    """All rows EB; f is called at feasible designs only. ``options`` are further ones of NOMAD."""
    _solve(case, "EB", *options)


def _solve(case: Case, barrier: str, *further: str) -> None:
    box = _Blackbox(case, skip_infeasible=barrier == "EB")
    for x0 in case.starts():
        options = [
            f"DIMENSION {case.n}",
            "BB_OUTPUT_TYPE " + " ".join(["OBJ", *[barrier] * case.constraints.n_excess]),
            f"MAX_EVAL {10**9}" if barrier == "EB" else f"MAX_BB_EVAL {case.objective.calls_left}",
            f"SEED {case.new_seed() % SEEDS}",
            "DISPLAY_DEGREE 0",
            *further,
        ]
        with _quiet():
            PyNomad.optimize(box, x0.tolist(), case.lower.tolist(), case.upper.tolist(), options)
        if box.error is not None:
            raise box.error


class _Blackbox:
    """The function that NOMAD calls; it keeps what has been raised."""

    def __init__(self, case: Case, skip_infeasible: bool) -> None:
        self._case, self._skip = case, skip_infeasible
        self.error: BaseException | None = None

    def __call__(self, point: Any) -> int:
        """Set the outputs of a point; 1 if it could be evaluated, else 0."""
        if self.error is not None:
            return 0
        try:
            x = np.array([point.get_coord(i) for i in range(point.size())])
            rows = self._case.constraints.excess(x)
            skipped = self._skip and bool((rows > 0).any())
            value = UNSEEN if skipped else self._case.objective(x)
        except (Finished, Exception) as error:
            self.error = error
            signal.raise_signal(signal.SIGINT)
            return 0
        if not math.isfinite(value):
            return 0
        point.setBBO(" ".join(repr(float(v)) for v in (value, *rows)).encode())
        return 1


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Throw away what C++ prints, and give Ctrl-C back to Python afterwards."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        with quiet():
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
