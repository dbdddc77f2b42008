"""A worker process, started by the process pool.

It takes a function once, then its arguments one by one, over a connection of its own, so that
whatever a simulator prints cannot disturb it. Its standard input is a lifeline: when the
parent dies, however it dies, the line closes and the worker ends, with the programs that
the simulator started. If it cannot, because C code holds the interpreter, the parent's watchdog
does it.
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

from archeng.simulator.process_tree import MARK, kill_tree
from archeng.simulator.programs import kill_programs
from archeng.simulator.watchdog import watchdog

VARIABLE = "ARCHENG_WORKER"
"""Environment variable with the address of the pool; the simulator does not see it."""


def main() -> None:
    """Connect to the parent and serve until the connection closes."""
    settings = json.loads(os.environ.pop(VARIABLE))
    address = settings["address"]
    watchdog.needed = False
    _watch_lifeline()
    place = tuple(address) if isinstance(address, list) else address
    with Client(place, authkey=bytes.fromhex(settings["key"])) as connection:
        connection.send(os.getpid())
        serve(connection)


def serve(connection: Connection[Any, Any]) -> None:
    """Receive the function, then keys and arguments until there is nothing more to receive.

    Messages to the parent are (key, whether all is well, value or traceback); the first one,
    about the function itself, has no key.
    """
    me = os.getpid()
    try:
        sys.path[:], data = connection.recv()
        function = pickle.loads(data)
    except EOFError:
        return
    except BaseException:  # a module that calls sys.exit, ...
        _answer(connection, me, None, False, traceback.format_exc())
        return
    _answer(connection, me, None, True, None)
    while True:
        try:
            key, argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            good, value = True, function(argument)
        except BaseException:
            good, value = False, traceback.format_exc()
        _answer(connection, me, key, good, value)


def _answer(connection: Connection[Any, Any], me: int, key: Any, good: bool, value: Any) -> None:
    """Send a message, unless this is a process that the user's code forked: that one ends."""
    if os.getpid() != me:
        os._exit(1)
    connection.send((key, good, value))


def _watch_lifeline() -> None:
    lifeline = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)

    def watch() -> None:
        while os.read(lifeline, 1):
            pass
        kill_programs()
        kill_tree(os.getpid(), os.environ.get(MARK, ""))
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
