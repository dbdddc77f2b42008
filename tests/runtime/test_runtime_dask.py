"""A real Dask cluster of worker processes on this machine, one of which is killed."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster
from runtime_helpers import (
    Logged,
    assert_same,
    begun,
    bowl,
    finished,
    line,
    lines,
    reference,
    solve_case,
)
from runtime_helpers import wait_for as wait_until

import archeng
from archeng.errors import ArchengError, ExecutorError, SettingsError

# Dask's own threads and sockets end when they like.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


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


@pytest.mark.parametrize("name", ["target within a generation", "failures", "restarts", "discrete"])
def test_the_same_run_on_a_client(name: str, client: Any) -> None:
    assert_same(solve_case(name, workers=client, delay=0.006), reference(name))
    assert client.submit(int, "3").result() == 3  # it stays open


def test_a_worker_process_is_killed_in_the_middle_of_a_call(client: Any, tmp_path: Path) -> None:
    name, log = "budget within a generation", tmp_path / "log"
    killed: list[str] = []

    def kill() -> None:
        wait_until(lambda: len(begun(log)) >= 8, "the eighth call")
        ended = {words[2] for words in lines(log, "end")}
        under_way = [words for words in lines(log, "begin") if words[2] not in ended]
        pid = (under_way or lines(log, "begin"))[-1][1]
        os.kill(int(pid), signal.SIGKILL)
        killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    result = solve_case(name, workers=client, log=log, delay=0.3)
    killer.join()
    alone = reference(name)
    assert_same(result, alone)
    assert {e.status for e in result.evaluations} == {"ok"}
    pids = [words[1] for words in lines(log, "begin")]
    assert killed[0] in pids[:10]
    assert set(pids[-5:]) - set(killed)
    assert len(begun(log)) >= alone.nfev


def test_the_address_of_a_scheduler(cluster: Any) -> None:
    name = "duplicates"
    assert_same(solve_case(name, workers=cluster.scheduler_address), reference(name))


def test_a_cluster_is_not_a_client(cluster: Any) -> None:
    """Easily confused; the error should say so, and not that an executor broke down."""
    with pytest.raises(SettingsError, match="workers"):
        solve_case("budget within a generation", workers=cluster)


def test_a_time_limit_is_refused(client: Any) -> None:
    with pytest.raises(SettingsError, match="timeout"):
        archeng.solve(line(), bowl, workers=client, timeout=1.0)


def test_no_scheduler_at_that_address() -> None:
    with pytest.raises(ExecutorError, match=r"127\.0\.0\.1:9"):
        archeng.solve(line(), bowl, workers="tcp://127.0.0.1:9", max_evaluations=5)


@pytest.mark.parametrize("address", ["http://localhost:1", "nonsense://here"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ArchengError):
        archeng.solve(line(), bowl, workers=address, max_evaluations=5)


def test_a_client_that_is_closed_leaves_a_journal_that_goes_on_exactly(
    cluster: Any, tmp_path: Path
) -> None:
    name, journal, log = "budget within a generation", tmp_path / "run.db", tmp_path / "log"
    mine = Client(cluster, set_as_default=False)

    def close() -> None:
        wait_until(lambda: len(lines(log, "end")) >= 9, "the ninth answer")
        mine.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(ExecutorError, match="resume"):
        solve_case(name, workers=mine, journal=journal, log=log, delay=0.2)
    closer.join()
    done = finished(journal)
    again = tmp_path / "again"
    assert_same(archeng.resume(journal, Logged("bowl", again)), reference(name))
    assert not set(begun(again)) & set(done)
