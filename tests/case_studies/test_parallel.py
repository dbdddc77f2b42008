"""The benchmark of widths: its clock, its problems, and one run of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from case_studies.parallel import parallel, slept
from case_studies.parallel.cases import CASES
from case_studies.parallel.durations import duration, makespan


def test_the_clock() -> None:
    assert makespan([1.0] * 8, 8) == 1.0
    assert makespan([1.0] * 9, 8) == 2.0
    assert makespan([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert makespan([], 4) == 0.0


def test_durations_have_a_mean_of_one_and_are_those_of_the_design() -> None:
    points = np.random.default_rng(1).standard_normal((4000, 2))
    seconds = [duration("lognormal", x, 1) for x in points]
    assert np.mean(seconds) == pytest.approx(1.0, abs=0.1)
    assert np.quantile(seconds, 0.9) > 10 * np.quantile(seconds, 0.1)
    assert duration("lognormal", points[0], 1) == seconds[0]
    assert duration("fixed", points[0], 1) == 1.0


def test_the_same_calls_on_the_clock() -> None:
    rows = parallel.run_task({"problem": "welded beam", "width": 8, "seed": 1})
    fixed, other = rows
    assert fixed["reached"]
    assert fixed["calls"] == other["calls"]
    assert fixed["generations"] < fixed["seconds"] - fixed["own_seconds"] + 1e-9
    assert 0 < fixed["busy"] <= 1
    assert "welded beam" in parallel.summary(rows)


def test_slow_simulators_can_be_sent() -> None:
    again = pickle.loads(pickle.dumps(slept.Slow("waves", "fixed", 1)))
    assert isinstance(again, slept.Slow)
    tasks = slept.tasks(2, quick=False)
    assert {task["problem"] for task in tasks} <= set(CASES)
    assert {task["place"] for task in tasks} == {"threads", "dask"}
