"""Seeded runs make the very same simulator calls as when they were pinned.

Where rounding may differ (another processor, BLAS or version than those of the pins), the first
designs are compared to six digits instead of all of them bit for bit.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from pinned_runs import PINS, RUNS, numerics, pin

STORED = json.loads(PINS.read_text())


def test_every_run_is_pinned() -> None:
    assert list(STORED["runs"]) == list(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_the_same_calls(name: str) -> None:
    here, stored = pin(RUNS[name]()), STORED["runs"][name]
    for now, then in zip(here["first"], stored["first"], strict=True):
        np.testing.assert_allclose(now, then, rtol=1e-6, atol=1e-6)
    if numerics() == STORED["numerics"]:
        assert (here["calls"], here["sha256"]) == (stored["calls"], stored["sha256"])
