"""One side of a comparison: a journal, read and summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from archeng.cli.journals import best_call, reading, status_data
from archeng.model import differences
from archeng.records import CallRecord

_OPTIONS = (
    "sense", "max_evaluations", "max_time", "target", "restarts", "population_size",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """A run as far as its journal knows it.

    Attributes
    ----------
    label : str
        How it is called in tables.
    header, status : mapping
        What the journal holds of the set-up; where the run stands.
    calls : tuple of CallRecord
    own_seconds, elapsed : float
        Time spent on repairs and on the strategy; time from the beginning to the last finished
        generation.
    """

    label: str
    path: Path
    header: Mapping[str, Any]
    status: Mapping[str, Any]
    calls: tuple[CallRecord, ...]
    own_seconds: float
    elapsed: float

    @property
    def maximize(self) -> bool:
        """Whether larger objectives are better."""
        return bool(self.header["options"]["sense"] == "maximize")

    @cached_property
    def _best(self) -> CallRecord | None:
        return best_call(self.calls, self.maximize)

    @property
    def best(self) -> float | None:
        """The best objective of a design that satisfies everything."""
        return None if self._best is None else self._best.objective

    @property
    def found_at(self) -> int | None:
        """The number of that call, from 1."""
        return None if self._best is None else self._best.index + 1

    @property
    def design(self) -> dict[str, float]:
        """The best design by name."""
        if self._best is None:
            return {}
        return dict(zip(self.header["element_names"], map(float, self._best.x), strict=True))

    @property
    def state(self) -> str:
        """Running, stopped, or why it ended."""
        reason = self.status["stop_reason"]
        return str(self.status["state"]) + (f": {reason.lower()}" if reason else "")

    @property
    def n_calls(self) -> int:
        """Simulator calls."""
        return int(self.status["calls"])

    @property
    def n_failed(self) -> int:
        """Calls that did not end well."""
        return sum(not e.good for e in self.calls)

    @property
    def n_infeasible(self) -> int:
        """Calls at designs that violate explicit constraints."""
        return int(self.status["infeasible_calls"])

    @property
    def simulator_seconds(self) -> float:
        """Time in the simulator."""
        return float(self.status["simulator_seconds"])

    @property
    def limits(self) -> dict[str, tuple[float | None, float | None]]:
        """Limits of the simulated constraints."""
        stored = self.header["options"].get("simulated") or {}
        return {name: (low, high) for name, (low, high) in stored.items()}

    def constraint(self, name: str) -> float | None:
        """Return a simulated constraint at the best design."""
        return None if self._best is None else self._best.constraints.get(name)

    def violated(self, name: str) -> int | None:
        """Return how many calls violated a simulated constraint."""
        return sum(name in e.violated for e in self.calls) if name in self.limits else None

    def data(self) -> dict[str, Any]:
        """Return the run as plain data."""
        return {
            **self.status,
            "label": self.label,
            "failed_calls": self.n_failed,
            "archeng_seconds": self.own_seconds,
            "elapsed_seconds": self.elapsed,
            "violated_calls": {name: self.violated(name) for name in self.limits},
        }


def read_side(path: Path, label: str) -> Side:
    """Read a journal."""
    with reading(path) as journal:
        generations = journal.generations()
        return Side(
            label=label,
            path=path,
            header=journal.header(),
            status=status_data(journal),
            calls=tuple(stored.call for stored in journal.calls()),
            own_seconds=sum(
                float(g["repair_seconds"]) + float(g["strategy_seconds"]) for g in generations
            ),
            elapsed=float(journal.state()["elapsed"]),
        )


def changes(one: Side, other: Side) -> list[str]:
    """Say how the set-up of a run differs from that of another."""
    a, b = one.header, other.header
    found = _model_changes(a, b)
    found += _unequal("", {k: a["options"].get(k) for k in _OPTIONS}, b["options"])
    found += _unequal("", {"seed": a["seed"]}, b)
    found += _unequal("simulated ", one.limits, other.limits)
    found += _unequal("setting ", a["settings"], b["settings"])
    return found + _unequal("version of ", a["versions"], b["versions"])


def _model_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    if a["fingerprint"] == b["fingerprint"]:
        return []
    if a["model"] is None or b["model"] is None:
        return ["the model"]
    return [f"model: {text}" for text in differences(a["model"], b["model"])] or ["the model"]


def _unequal(prefix: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    keys = dict.fromkeys([*a, *(b if prefix else ())])
    return [
        f"{prefix}{k}: {_short(a.get(k))} became {_short(b.get(k))}"
        for k in keys
        if a.get(k) != b.get(k)
    ]


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join('-' if v is None else f'{v:g}' for v in value)})"
    return "none" if value is None else f"{value}"
