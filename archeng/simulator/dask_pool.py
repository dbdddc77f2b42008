"""Calls on a Dask cluster. The only module that knows Dask; needs ``archeng[dask]``."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from archeng._version import __version__
from archeng.checks import needed
from archeng.errors import ExecutorError, SettingsError
from archeng.simulator.call import Call, CallStatus, Simulator
from archeng.simulator.packed import Packed
from archeng.simulator.pools import HEED_SECONDS, Executor, Futures

logger = logging.getLogger("archeng")

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "inproc")
_PORT = 8786  # where a scheduler listens unless it is told otherwise
_CONNECT_SECONDS = 10.0  # in which somebody must answer there
_RECONNECT_SECONDS = 60.0  # in which a scheduler that is gone must be back
_NO_SCHEDULER = (
    "The Dask scheduler is gone, and with it the calls that were under way. Finished calls are "
    "kept; with a journal, start a cluster and go on by archeng.resume(journal, simulator, "
    "workers=client)."
)
_PROBE = """
def probe():
    import sys
    try:
        import archeng
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {"archeng": archeng.__version__, "python": "%d.%d" % sys.version_info[:2]}
"""


class _DaskPool(Futures):
    """Calls as tasks of a Dask scheduler.

    How many workers there are is the scheduler's affair: it gets as many tasks as there are calls
    to be made, so that an adaptive cluster grows, and gives tasks of a lost worker to others.
    """

    def __init__(self, client: Any, simulator: Simulator, own: bool) -> None:
        packed = Packed(simulator)
        super().__init__(
            lambda design: _DaskFuture(client, client.submit(packed, design, pure=False)),
            client.close if own else lambda: None,
            size=_threads_now(client),
        )
        self._client, self._alone = client, 0.0

    def next(self) -> tuple[int, Call] | None:
        """Return one outcome; an ExecutorError if the scheduler is gone."""
        key_and_call = super().next()
        if key_and_call is None and self._lost:
            raise ExecutorError(_NO_SCHEDULER)
        return key_and_call

    def _waited(self) -> None:
        """Look after the scheduler while nothing ends; a client may try to reach it for ever."""
        if self._client.status == "running":
            self._alone = 0.0
            return
        self._alone += HEED_SECONDS
        if self._alone >= _RECONNECT_SECONDS or self._client.status in ("closed", "closing"):
            raise ExecutorError(_NO_SCHEDULER)

    @property
    def _lost(self) -> bool:
        return bool(self._client.status != "running")

    def cancel_waiting(self) -> None:
        """Forget the calls that no worker has begun; one question for all of them."""
        with contextlib.suppress(Exception):  # of a client that is closed already
            running = {key for keys in self._client.processing().values() for key in keys}
            waiting = {
                key: future.task
                for key, future in self._open.items()
                if future.task.key not in running and not future.task.done()
            }
            self._client.cancel(list(waiting.values()))
            for key in waiting:
                self._open.pop(key, None)


class _DaskFuture:
    """A Dask future with the part of the `concurrent.futures` interface that pools use."""

    def __init__(self, client: Any, task: Any) -> None:
        self._client, self.task = client, task

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        self.task.add_done_callback(lambda _: function(self))

    def result(self) -> Any:
        """Return the outcome; a call whose workers died again and again is lost.

        Raises
        ------
        ExecutorError
            If a worker cannot import archeng.
        """
        from distributed.scheduler import KilledWorker

        try:
            return self.task.result()
        except KilledWorker as error:
            message = (
                f"{error.allowed_failures + 1} workers died, one after the other, with this design "
                f"(the last one at {getattr(error.last_worker, 'address', '?')}). Does the "
                "simulator need more memory than they have?"
            )
            return Call(CallStatus.LOST, message=message)
        except ImportError:
            check_workers_of(self._client)  # that have come since the run began
            raise


def _is_dask(workers: Any) -> bool:
    """Whether ``workers=`` is something of Dask's or the address of a scheduler."""
    if isinstance(workers, str):
        return "://" in workers
    return type(workers).__module__.split(".")[0] == "distributed"


def _dask_pool(workers: Any, simulator: Simulator, timeout: float | None) -> Futures:
    """Return a pool on a ``distributed.Client`` (left open) or a scheduler's address."""
    needed("distributed", "dask", SettingsError)
    import distributed

    client: Any = workers
    if isinstance(workers, str):
        _check_address(workers)
        try:
            client = distributed.Client(  # type: ignore[no-untyped-call]
                workers, set_as_default=False, timeout="20s"
            )
        except Exception as error:  # Dask raises all kinds, AssertionError among them
            raise ExecutorError(f"No Dask scheduler answers at {workers}: {error}") from error
    elif not isinstance(workers, distributed.Client):
        raise SettingsError(
            f"workers must be the client, not a {type(workers).__name__}: pass "
            "distributed.Client(cluster)."
        )
    own = client is not workers
    try:
        check_workers_of(client)
        return _DaskPool(client, simulator, own)
    except BaseException:
        if own:
            client.close()
        raise


def _check_address(address: str) -> None:
    """Raise unless somebody listens there: a client that fails to connect leaves threads behind."""
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        raise SettingsError(
            f"workers={address!r}: the address of a Dask scheduler begins with "
            f"{', '.join(f'{s}://' for s in _SCHEMES)}."
        )
    if parts.scheme in ("tcp", "tls"):
        try:
            place = parts.hostname or "", parts.port or _PORT
            socket.create_connection(place, _CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            raise ExecutorError(f"No Dask scheduler answers at {address}: {error}") from error


def check_workers_of(client: Any) -> None:
    """Raise if a worker of a cluster cannot import archeng; warn of another version.

    If there is no worker yet, a task is waited for: an adaptive cluster begins to grow.
    """
    found = client.run(_probe(), on_error="return")
    if not found:
        logger.info("the cluster has no worker yet; waiting for the first one")
        client.submit(_probe(), pure=False).result()
        found = client.run(_probe(), on_error="return")
    without = {where: said for where, said in found.items() if not isinstance(said, dict)}
    if without:
        where, said = next(iter(without.items()))
        raise ExecutorError(
            f"{len(without)} of {len(found)} Dask workers cannot import archeng, such as {where}: "
            f"{said}. Install the same version there: pip install 'archeng[dask]=={__version__}', "
            "in the environment in which the workers start. No simulator was called there."
        )
    mine = _probe()()
    others = {where: said for where, said in found.items() if said != mine}
    if others:
        where, said = next(iter(others.items()))
        logger.warning(
            "%d of %d Dask workers have other versions, such as %s: %s, and here %s; outcomes may "
            "differ, or calls may fail",
            *(len(others), len(found), where, said, mine),
        )


def _probe() -> Callable[[], Any]:
    """Return a function that says what a worker has; it travels by value, without archeng."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_PROBE, names)
    return names["probe"]  # type: ignore[no-any-return]


def _threads_now(workers: Any) -> int | None:
    """Return the threads of a client's cluster as it is now; None for an address, or if it fails.

    A cluster that grows later has few of them, or none: users say ``parallel=`` then.
    """
    if isinstance(workers, str) or not hasattr(workers, "nthreads"):
        return None
    return sum(workers.nthreads().values()) or None


DASK = Executor(
    "a Dask client or the address of a Dask scheduler", _is_dask, _dask_pool, width=_threads_now
)
