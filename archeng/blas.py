"""`one_thread`: archeng's own numerics on one BLAS thread, the user's code on as many as before.

The matrices of a run are small. A BLAS that shares them among threads waits for its threads longer
than it computes, on busy cores twenty times as long, and with another number of threads its sums
are rounded differently. So functions that compute, and call neither simulator nor callback, are
marked with ``@one_thread``; everything else sees the number of threads that the user has chosen.
To enter and leave costs ten microseconds, so whole steps of a generation are marked, not products.

Most BLAS libraries have one number of threads for the whole process. It is restored when the last
thread of Python leaves: with two runs in two threads, a simulator may find one BLAS thread while
the other run computes.
"""

from __future__ import annotations

import os
import threading
from contextlib import ContextDecorator
from functools import cache
from typing import Any

from threadpoolctl import (
    OpenBLASController,
    get_cached_controller,
    register,
    reset_cached_controller,
)


class _CasadiBlas(OpenBLASController):  # type: ignore[misc]
    """The OpenBLAS in CasADi's wheel, which IPOPT uses; threadpoolctl does not know its name."""

    filename_prefixes = ("libcasadi-tp-openblas",)


register(_CasadiBlas)


class _OneThread(ContextDecorator):
    """Context and decorator that may be nested; its state is per thread and per process."""

    def __init__(self) -> None:
        self._own = _OfThread()
        self._after_fork()

    def _after_fork(self) -> None:
        """Begin in a new process, where only the thread that forked lives on."""
        self._lock = threading.Lock()
        self._inside = int(self._own.depth > 0)  # threads of Python that compute now
        self._shared: dict[Any, int] = getattr(self, "_shared", {})

    def __enter__(self) -> None:
        own = self._own
        own.depth += 1
        if own.depth == 1:
            with self._lock:
                self._inside += 1
                self._limit(own)

    def __exit__(self, *error: object) -> None:
        own = self._own
        own.depth -= 1
        if own.depth == 0:
            with self._lock:
                self._inside -= 1
                _restore(own.before)
                if self._inside == 0:
                    _restore(self._shared)

    def look_again(self) -> None:
        """Say that a BLAS may have been loaded, as SciPy's and IPOPT's are when needed first."""
        reset_cached_controller()
        if self._own.depth > 0:
            with self._lock:
                self._limit(self._own)

    def _limit(self, own: _OfThread) -> None:
        for library in get_cached_controller().lib_controllers:
            if library.user_api != "blas" or library.num_threads == 1:
                continue
            by_thread = getattr(library, "threading_layer", "") == "openmp"  # each has its number
            before = own.before if by_thread else self._shared
            before.setdefault(library, library.num_threads)
            _set(library, 1)


class _OfThread(threading.local):
    """Of one thread of Python: how deep it is inside, and its own numbers of BLAS threads."""

    depth = 0

    def __init__(self) -> None:
        self.before: dict[Any, int] = {}


def _restore(before: dict[Any, int]) -> None:
    for library, count in before.items():
        _set(library, count)
    before.clear()


def _set(library: Any, count: int) -> None:
    """Set a number of threads; threadpoolctl lets only one thread do so until it gives that up."""
    OpenBLASController.clear_controlling_thread(force=True)
    library.set_num_threads(count)
    OpenBLASController.clear_controlling_thread(force=True)


one_thread = _OneThread()


@cache
def scipy_linalg() -> Any:
    """Return SciPy's linear algebra, with its own BLAS on one thread from its first call."""
    import scipy.linalg  # here, because it takes longer to import than archeng

    one_thread.look_again()
    return scipy.linalg


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_thread._after_fork)
