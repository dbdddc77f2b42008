"""Runs in processes of their own, to be killed and interrupted."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from runtime_helpers import CASES, PATIENCE, Logged, environment, solve_case, wait_for

import archeng


class Runs:
    """A process that has imported archeng and forks a fresh one for every run.

    Importing takes longer than most runs. A forked run is a process of its own, in a group of its
    own, that can be killed.
    """

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp")
        self.place = Path(self._place.name)  # of the temporary files of all runs
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment(), "TMPDIR": self._place.name},
            text=True,
        )
        self._pids: list[int] = []

    def start(self, **job: Any) -> int:
        """Begin a run (see `_job`) and return the number of its process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job, default=str) + "\n")
        self._process.stdin.flush()
        self._pids.append(int(self._process.stdout.readline()))
        return self._pids[-1]

    def kill(self, pid: int) -> None:
        """Kill a run as a power cut would, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # A zombie's other threads may still hold its files.
        wait_for(lambda: not psutil.pid_exists(pid), "the end of a killed process")

    def close(self) -> None:
        for pid in self._pids:
            self.kill(pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(PATIENCE)
        self._place.cleanup()


def _serve() -> None:
    """Fork one process for each line of standard input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    for text in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            _job(**json.loads(text))
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _job(
    what: str,
    journal: str | None,
    log: str | None,
    case: str = "budget within a generation",
    delay: float = 0.0,
    program: list[str] | None = None,
    file_limit: int | None = None,
    outcome: str | None = None,
    errors: str | None = None,
    **options: Any,
) -> None:
    """Solve or resume; leave the outcome in a file."""
    if errors is not None:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if options.get("workers") == "forked:2":
        context = multiprocessing.get_context("fork")
        options["workers"] = ProcessPoolExecutor(2, mp_context=context)
    simulator: Any = Logged(CASES[case].get("objective", "bowl"), log, delay)
    if program is not None:
        simulator = archeng.CommandSimulator(
            program, read=archeng.read_regex(r"(\d+)"), keep="none"
        )
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))
    try:
        if what == "resume":
            assert journal is not None
            result = archeng.resume(journal, simulator, **options)
        else:
            result = solve_case(case, simulator=simulator, journal=journal, **options)
        found: dict[str, Any] = {
            "stop": result.stop_reason.name,
            "nfev": result.nfev,
            "fun": result.fun,
            "calls": [e.x.tobytes().hex() for e in result.evaluations],
        }
    except BaseException as error:
        found = {"error": type(error).__name__, "message": str(error)}
    if outcome is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        Path(f"{outcome}.new").write_text(json.dumps(found))
        Path(f"{outcome}.new").rename(outcome)


def outcome_of(path: Path) -> dict[str, Any]:
    """Wait for what a run leaves at its end."""
    return dict(json.loads(wait_for(lambda: path.is_file() and path.read_text(), "the outcome")))


if __name__ == "__main__":
    _serve()
