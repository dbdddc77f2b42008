"""A worker process, started by the process pool.

It takes a function once, then its arguments one by one, over a connection of its own, so that
whatever a simulator prints cannot disturb it. Its standard input is a lifeline: when the
parent dies, however it dies, the line closes and the worker ends, with the programs that
the simulator started.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import traceback
from multiprocessing.connection import Client, Connection
from typing import Any

from archeng.simulator.groups import kill_groups

VARIABLE = "ARCHENG_WORKER"
"""Environment variable with the address of the pool; the simulator does not see it."""


def main() -> None:
    """Connect to the parent and serve until the connection closes."""
    settings = json.loads(os.environ.pop(VARIABLE))
    address = settings["address"]
    _watch_lifeline()
    place = tuple(address) if isinstance(address, list) else address
    with Client(place, authkey=bytes.fromhex(settings["key"])) as connection:
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
