"""`Standing`: where a stored run stood, as far as readers of its journal care."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archeng.codec import decode
from archeng.strategy import StopReason
from archeng.surrogate import NoisyState


@dataclass(frozen=True)
class Standing:
    """Where a stored run stood after its last finished generation, as far as readers care."""

    generation: int
    elapsed: float
    stop_reason: StopReason | None
    n_restarts: int
    ended: tuple[StopReason, ...]
    noisy: NoisyState | None = None  # the search under noise, if there is one

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Standing:
        """Return it out of the state in a journal, also one of an earlier version."""
        if "restarts" in data:
            number, ended = data["restarts"]["number"], data["restarts"]["ended"]
        else:
            number, ended = data["n_restarts"], data["ended"]
        reason, noisy = data["stop_reason"], data.get("search", {}).get("noisy")
        return cls(
            generation=int(data["generation"]),
            elapsed=float(data["elapsed"]),
            stop_reason=None if reason is None else StopReason[reason],
            n_restarts=int(number),
            ended=tuple(StopReason[name] for name in ended),
            noisy=None if not noisy else decode(NoisyState, noisy),
        )
