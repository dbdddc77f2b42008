"""A Dask cluster on this machine, started by its own programs, as on any other cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE = 120.0  # seconds until the cluster must be there


@contextmanager
def dask_cluster(workers: int) -> Iterator[Any]:
    """Give the client of a scheduler with so many worker processes of one thread each.

    Experiments run in processes that may not have children of `multiprocessing`, which a
    `LocalCluster` would need.
    """
    from distributed import Client

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "scheduler.json"
        common = ["--scheduler-file", str(file), "--no-dashboard"]
        limits = ["--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0"]
        commands = (
            ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", *common],
            ["distributed.cli.dask_worker", *limits, "--local-directory", place, *common],
        )
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", *command],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        try:
            with Client(
                scheduler_file=str(file), set_as_default=False, timeout=_PATIENCE
            ) as client:
                client.wait_for_workers(workers, timeout=_PATIENCE)
                yield client
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()
