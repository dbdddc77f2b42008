"""What may happen to a Dask cluster: it grows, workers die or lack archeng, the scheduler dies."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from runtime_helpers import append, bowl, digest, line, lines

import archeng
from archeng import Evaluation, Settings
from archeng.errors import ExecutorError

# Dask's own threads and sockets end when they like.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
PLAIN = Settings(surrogate="none")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        host="127.0.0.1",
        silence_logs=logging.CRITICAL,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with Client(cluster, set_as_default=False) as opened:
        yield opened


def test_an_asynchronous_run_of_which_a_worker_is_killed(client: Any, tmp_path: Path) -> None:
    """The call is made again elsewhere, and nothing else."""
    log = tmp_path / "log"

    def simulator(design: Any) -> float:
        first = not log.exists()
        append(log, f"begin {os.getpid()}")
        if not first and len(lines(log)) == 9:
            os._exit(1)  # the worker, with its call
        time.sleep(0.02)
        return bowl(design)

    result = archeng.solve(
        line(), simulator, workers=client, asynchronous=True, max_evaluations=25, seed=1,
        settings=PLAIN,
    )  # fmt: skip
    assert [e.status for e in result.evaluations] == ["ok"] * 25
    assert 25 < len(lines(log)) < 29  # also a call that waited there


def test_a_design_that_kills_its_workers_is_a_failed_call() -> None:
    def deadly(design: Any) -> float:
        if digest(design.x) % 8 == 6:
            os._exit(1)
        return bowl(design)

    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1",
            silence_logs=logging.CRITICAL,
        ) as own,
        Client(own, set_as_default=False) as mine,
    ):  # fmt: skip
        result = archeng.solve(
            line(), deadly, workers=mine, max_evaluations=10, retries=0, seed=1, settings=PLAIN
        )
    lost = [e for e in result.evaluations if e.status == "lost"]
    assert len(result.evaluations) == 10
    assert lost
    assert "2 workers died" in lost[0].message


def test_workers_without_archeng(client: Any) -> None:
    calls: list[Any] = []
    client.run(_hide)
    try:
        with pytest.raises(ExecutorError, match=r"2 of 2 .* tcp://127.*pip install"):
            archeng.solve(line(), calls.append, workers=client, max_evaluations=5)
    finally:
        client.run(_show)
    assert not calls


def _hide() -> None:
    sys.modules["archeng.hidden"], sys.modules["archeng"] = sys.modules["archeng"], None  # type: ignore[assignment]


def _show() -> None:
    sys.modules["archeng"] = sys.modules.pop("archeng.hidden")


def test_other_versions_are_warned_of(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    client.run(_version, "0.0.1")
    try:
        archeng.solve(line(), bowl, workers=client, max_evaluations=4, settings=PLAIN)
    finally:
        client.run(_version, archeng.__version__)
    assert "'archeng': '0.0.1'" in caplog.text


def _version(text: str) -> None:
    sys.modules["archeng"].__version__ = text  # type: ignore[attr-defined]


def test_a_cluster_that_grows_from_nothing() -> None:
    sizes: set[int] = set()
    with LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address=":0", processes=False,
        silence_logs=logging.CRITICAL,
    ) as own:  # fmt: skip
        own.adapt(minimum=0, maximum=3, interval="50ms", target_duration="100ms")
        with Client(own, set_as_default=False) as mine:
            result = archeng.solve(
                line(), _slow, workers=mine, parallel=6, asynchronous=True, max_evaluations=40,
                seed=1, settings=PLAIN, callback=lambda _: sizes.add(len(own.workers)),
            )  # fmt: skip
    assert len(result.evaluations) == 40
    assert max(sizes) > 1


def _slow(design: Any) -> float:
    time.sleep(0.05)
    return bowl(design)


def test_fields_stay_where_they_were_computed(client: Any) -> None:
    """As docs/how-to/clusters.md has it: an output names a dataset of the cluster."""
    result = archeng.solve(
        line(), _with_field, workers=client, max_evaluations=4, seed=1, settings=PLAIN
    )
    best = min(result.evaluations, key=lambda e: e.objective)
    field = client.get_dataset(best.outputs["field"]).result()
    np.testing.assert_array_equal(field, best.x * np.ones((1000, 2)))
    for e in result.evaluations:
        client.unpublish_dataset(e.outputs["field"])


def _with_field(design: Any) -> Evaluation:
    from uuid import uuid4

    from distributed import worker_client

    field, name = design.x * np.ones((1000, 2)), f"field-{uuid4()}"
    with worker_client() as client:
        client.publish_dataset(client.scatter(field), name=name)
    return Evaluation(bowl(design), outputs={"field": name})
