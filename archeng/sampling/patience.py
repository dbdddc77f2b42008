"""How long the search for a first feasible design may take, and what is said meanwhile."""

from __future__ import annotations

import logging
import time

logger = logging.getLogger("archeng")

SEARCH_SECONDS = 120.0
"""A search that has found nothing by then is ended, unless ``max_time`` says otherwise."""
_QUIET = 10.0  # seconds before the first message; each further one after three times as long


class Patience:
    """A limit on the time without a feasible design.

    Parameters
    ----------
    name : str
        Of the model, for messages.
    max_time : float, optional
        The user's limit, in seconds from now. It also ends the search for further designs.
    """

    def __init__(self, name: str, max_time: float | None = None) -> None:
        self._name, self._max_time = name, max_time
        self._begin, self._next = time.monotonic(), _QUIET

    @property
    def limit(self) -> float:
        """Seconds."""
        return SEARCH_SECONDS if self._max_time is None else self._max_time

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._begin

    @property
    def ended(self) -> bool:
        """Whether the time is up."""
        return self.seconds >= self.limit

    def over(self, found: int, attempts: int) -> bool:
        """Whether to end the search now, with so many designs found in so many attempts.

        Without a limit by the user, a search that has found a design goes on as ever, so that a run
        does not depend on the speed of the machine.
        """
        if not found and self.seconds >= self._next:
            self._next *= 3
            logger.warning(
                "no feasible design of %s found yet (%.0f s, %d attempts); the search ends after "
                "%.0f s", self._name, self.seconds, attempts, self.limit,
            )  # fmt: skip
        return self.ended and (not found or self._max_time is not None)
