"""`RunState`: everything that a run needs to go on, beside its calls (see `archeng.ledger`).

One frozen tree. :mod:`archeng.codec` writes it to the journal and reads it back, field by field;
only what the stopping tests remember is stored in pieces, one with each generation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from archeng.codec import OMITTED, decode, encode
from archeng.distribution import Floats
from archeng.handlers import Population, Search
from archeng.model import Choice
from archeng.runner.flow import Flow
from archeng.runner.levels import Levels
from archeng.strategy import Bipop, History, Regime, StopReason


@dataclass(frozen=True, eq=False)
class Restarts:
    """Which restart it is, how the earlier ones ended, and where the next ones begin.

    Attributes
    ----------
    number : int
        Of the present restart, from 0.
    ended : tuple of StopReason
        Why each of the earlier ones ended, and the last one of a run that has ended.
    bipop, regime
        Calls spent by large and small restarts; the population and budget of this one.
    points : tuple of ndarray, shape (n,)
        Feasible points prepared for the next ones.
    calls_before : int
        Simulator calls before this one.
    """

    number: int
    ended: tuple[StopReason, ...]
    bipop: Bipop
    regime: Regime
    points: tuple[Floats, ...]
    calls_before: int


@dataclass(frozen=True, eq=False)
class RunState:
    """A run between two generations.

    Attributes
    ----------
    generation : int
        Generations finished.
    restarts : Restarts
    search : Search
        Of the present restart, with the distribution of CMA-ES and what the handler remembers.
    tests : History
        What the stopping tests remember of the present restart.
    rng : numpy.random.Generator
        The only source of randomness; it moves on with each draw.
    stop_reason : StopReason or None
        Why the search has ended; None while it goes on, or was only stopped from outside.
    elapsed : float
        Seconds since the run began.
    anchor : ndarray or None
        Full vector at which the solution of equations begins; None: where the run began, or there
        is nothing to solve.
    choice : Choice or None
        The independent variables, if they are no longer those with which the run began.
    flow : Flow or None
        The candidates on their way, of an asynchronous run.
    levels : Levels or None
        Which of several simulators is searched; None if there is one.
    """

    generation: int
    restarts: Restarts
    search: Search
    tests: History
    rng: np.random.Generator
    stop_reason: StopReason | None = None
    elapsed: float = 0.0
    anchor: Floats | None = field(default=None, metadata=OMITTED)
    choice: Choice | None = field(default=None, metadata=OMITTED)
    flow: Flow | None = field(default=None, metadata=OMITTED)
    levels: Levels | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, eq=False)
class OpenedState:
    """A run whose next generation has been sampled: the search after that, and the candidates.

    Sampled again on another processor they could differ by rounding, and then calls that had
    finished would belong to no candidate. So they are stored before their first call, without
    CMA-ES itself if sampling leaves it as it was, as it does for most handlers.
    """

    generation: int
    search: Search
    rng: np.random.Generator
    population: Population


def stored(state: RunState) -> dict[str, Any]:
    """Return the state as plain data, but for the memory of the stopping tests."""
    data: dict[str, Any] = encode(state, without=("tests",))
    return data


def restored(data: Any, kind: type[Search], tests: History) -> RunState:
    """Return the state out of plain data; ``kind`` is the type of the handler's search."""
    return decode(RunState, data, search=decode(kind, data["search"]), tests=tests)


def stored_opened(opened: OpenedState, before: Search) -> dict[str, Any]:
    """Return an opened generation as plain data; ``before`` is the search that sampled it."""
    data: dict[str, Any] = encode(opened, without=("search",))
    same = opened.search.state is before.state
    return {**data, "search": encode(opened.search, without=("state",) if same else ())}


def reopened(data: Any, before: Search) -> OpenedState:
    """Return the opened generation out of plain data; ``before`` is the search that sampled it."""
    known = {} if "state" in data["search"] else {"state": before.state}
    return decode(OpenedState, data, search=decode(type(before), data["search"], **known))
