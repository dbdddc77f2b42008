"""Calls on a Dask cluster. The only module that knows Dask; needs ``archeng[dask]``."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from archeng.checks import needed
from archeng.errors import ExecutorError, SettingsError
from archeng.simulator.call import Simulator, call
from archeng.simulator.pools import Executor, Futures

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "inproc")
_PORT = 8786  # where a scheduler listens unless it is told otherwise
_CONNECT_SECONDS = 10.0  # in which somebody must answer there


class _DaskFuture:
    """A Dask future with the part of the `concurrent.futures` interface that pools use."""

    def __init__(self, client: Any, future: Any) -> None:
        self._client, self._future = client, future
        self.result = future.result

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        self._future.add_done_callback(lambda _: function(self))

    def cancel(self) -> bool:
        """Cancel unless a worker is already at it."""
        running = {key for keys in self._client.processing().values() for key in keys}
        if self._future.key in running or self._future.done():
            return False
        self._future.cancel()
        return True


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
    return Futures(
        lambda design: _DaskFuture(client, client.submit(call, simulator, design, pure=False)),
        lambda: None if client is workers else client.close(),
    )


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
