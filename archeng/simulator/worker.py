"""A worker process: ``python -m archeng.simulator.worker``, started by the process pool.

It takes a function once, then its arguments one by one, over a connection of its own, so that
whatever a simulator prints cannot disturb it. Its standard input is a lifeline: when the
parent dies, however it dies, the line closes and the worker ends, with the programs that
the simulator started.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from multiprocessing.connection import Client, Connection
from typing import Any

from archeng.simulator.groups import kill_groups


def main() -> None:
    """Connect to the parent and serve until the connection closes."""
    address, key = os.environ["ARCHENG_POOL"], bytes.fromhex(os.environ.pop("ARCHENG_POOL_KEY"))
    _watch_lifeline()
    with Client(address, authkey=key) as connection:
        connection.send(os.getpid())
        serve(connection)


def serve(connection: Connection[Any, Any]) -> None:
    """Receive the function, then its arguments until there is nothing more to receive."""
    try:
        sys.path[:], data = connection.recv()
        function = pickle.loads(data)
    except EOFError:
        return
    except Exception:
        connection.send(traceback.format_exc())
        return
    connection.send(None)
    while True:
        try:
            argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, function(argument))
        except Exception:
            answer = (False, traceback.format_exc())
        connection.send(answer)


def _watch_lifeline() -> None:
    lifeline = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)

    def watch() -> None:
        while os.read(lifeline, 1):
            pass
        kill_groups()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
