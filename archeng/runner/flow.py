"""`Flow`: the candidates of an asynchronous run that are made, on their way, or back.

Pure: a frozen state, which is part of the `RunState`, and what follows from it. Candidates have
numbers, in the order in which they were made. Those that CMA-ES sampled and that are back wait in
``back`` until there are enough of them for it to learn from. It learns from what is back, whoever
was sampled with it: a slow candidate belongs to the generation in which it comes back. If CMA-ES
has learned since it was sampled, it is taken as a solution from outside, its step clipped in
Mahalanobis length [H11].

[H11] N. Hansen, Injecting External Solutions Into CMA-ES, 2011, arXiv:1110.4181.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from archeng.distribution import Floats
from archeng.handlers import Population, Search
from archeng.repair import Repair
from archeng.surrogate import clipped


@dataclass(frozen=True, eq=False)
class Sent:
    """A candidate, with its place in an asynchronous run.

    Attributes
    ----------
    number : int
        In the order in which candidates were made, from 1.
    generation, restart : int
        That were open when it was made.
    updates : int
        How often CMA-ES had learned then.
    sampled : ndarray, shape (n,)
    repair : Repair
    proposed : bool
        By a model; CMA-ES does not learn from it.
    main : bool
        Whether it is the first one of its generation, for which the handler waits.
    follows : int or None
        Number of the candidate with the same design whose call it waits for, if there is one.
    """

    number: int
    generation: int
    restart: int
    updates: int
    sampled: Floats
    repair: Repair
    proposed: bool
    main: bool = False
    follows: int | None = None


@dataclass(frozen=True, eq=False)
class Back:
    """A candidate that is back, and the number of its call in the run; None: it has no design."""

    sent: Sent
    call: int | None


@dataclass(frozen=True, eq=False)
class Flow:
    """All candidates that are made and not yet learned from.

    Attributes
    ----------
    made : int
        Candidates so far.
    asked : bool
        Whether the handler was asked for the candidates of the open generation; then idle workers
        get others.
    proposing : bool
        Whether that generation is one of proposals.
    waiting : tuple of Sent
        That no worker has begun.
    away : tuple of Sent
        That are being simulated.
    back : tuple of Back
        Sampled ones, in the order in which they came back.
    judged : tuple of Back
        Proposals of the open generation that are back, and earlier ones that are better than all.
    found : bool
        Whether a proposal is the best design and CMA-ES has not heard of it.
    """

    made: int = 0
    asked: bool = False
    proposing: bool = False
    waiting: tuple[Sent, ...] = ()
    away: tuple[Sent, ...] = ()
    back: tuple[Back, ...] = ()
    judged: tuple[Back, ...] = ()
    found: bool = False

    @property
    def under_way(self) -> int:
        """Calls that are under way."""
        return sum(sent.follows is None for sent in self.away)

    def with_made(
        self, population: Population, generation: int, restart: int, updates: int
    ) -> Flow:
        """Return it with more candidates, which wait."""
        first = not self.asked
        new = tuple(
            Sent(
                number=self.made + 1 + k,
                generation=generation,
                restart=restart,
                updates=updates,
                sampled=sampled,
                repair=repair,
                proposed=population.proposed,
                main=first and k == 0,
            )
            for k, (sampled, repair) in enumerate(
                zip(population.sampled, population.repairs, strict=True)
            )
        )
        return replace(
            self,
            made=self.made + len(new),
            asked=True,
            proposing=population.proposed if first else self.proposing,
            waiting=(*self.waiting, *new),
        )

    def begun(self, sent: Sent, follows: int | None = None) -> Flow:
        """Return it after the first one that waits has begun."""
        sent = replace(sent, follows=follows)
        return replace(self, waiting=self.waiting[1:], away=(*self.away, sent))

    def came_back(
        self,
        sents: Sequence[Sent],
        call: int | None,
        generation: int,
        restart: int,
        better: bool = False,
    ) -> Flow:
        """Return it after candidates came back together: those with the same design.

        ``generation`` and ``restart`` are open now; ``better``: than all before. Nothing is learned
        from those of an earlier restart but what the models see, and from proposals of an earlier
        generation neither, unless they are better.
        """
        numbers = {sent.number for sent in sents}
        new = [Back(sent, call) for sent in sents if sent.restart == restart]
        proposals = [b for b in new if b.sent.proposed]
        return replace(
            self,
            waiting=tuple(s for s in self.waiting if s.number not in numbers),
            away=tuple(s for s in self.away if s.number not in numbers),
            back=(*self.back, *(b for b in new if not b.sent.proposed)),
            judged=(
                *self.judged,
                *(b for b in proposals if better or b.sent.generation == generation),
            ),
            found=self.found or (better and bool(proposals)),
        )

    def together(self, number: int) -> list[Sent]:
        """Return a candidate that is away, and those that wait for the same call."""
        return [s for s in self.away if number in (s.number, s.follows)]

    def leader(self, x: Floats) -> int | None:
        """Return the number of the candidate whose call of this very design is under way."""
        same = x.tobytes()
        for sent in self.away:
            if sent.follows is None and sent.repair.x.tobytes() == same:
                return sent.number
        return None

    def closed(self, told: Sequence[Back]) -> Flow:
        """Return it after a generation was learned from; what nobody has begun is forgotten."""
        numbers = {b.sent.number for b in told}
        return replace(
            self,
            asked=False,
            proposing=False,
            waiting=(),
            back=tuple(b for b in self.back if b.sent.number not in numbers),
            judged=(),
            found=self.found and not self.proposing,
        )


def population_of(told: Sequence[Back], search: Search) -> Population:
    """Return candidates that are back as a population of the present distribution."""
    if told[0].sent.proposed:
        points = np.array([b.sent.sampled for b in told])
        return Population(points, tuple(b.sent.repair for b in told), proposed=True)
    members = [_present(b.sent, search) for b in told]
    return Population(np.array([s.sampled for s in members]), tuple(s.repair for s in members))


def _present(sent: Sent, search: Search) -> Sent:
    """Return a candidate of an earlier distribution as one from outside, clipped.

    With categories, whose distances are no lengths, it is taken as it was.
    """
    d = search.distribution
    if sent.updates == search.state.generation or d.change_costs is not None:
        return sent
    sampled = clipped(search, sent.sampled)
    distance = d.distance_squared(sent.repair.x, sampled)
    return replace(sent, sampled=sampled, repair=replace(sent.repair, distance_squared=distance))
