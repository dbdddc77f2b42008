"""Runs of a study with several seeds: each is saved when it is done and not run again.

The file is JSON: ``provenance``, what all seeds share (their set-up), and ``seeds``, one record
for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from case_studies.benchmarks.record import provenance

Curve = list[tuple[int, float]]
"""Pairs (calls, best objective after so many calls), one for each improvement."""


@dataclass(frozen=True, kw_only=True)
class SeedRecord:
    """What came of one seed; studies add what else they keep.

    Attributes
    ----------
    seed : int
    curve : list of (calls, objective)
        Best objective after so many calls.
    """

    seed: int
    curve: Curve

    def calls_to(self, objective: float, sign: float = 1.0) -> int | None:
        """Return after how many calls a design was at least this good; None if never.

        ``sign`` is -1 if the objective is maximised.
        """
        return next((n for n, best in self.curve if sign * best <= sign * objective), None)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the record that JSON holds."""
        curve = [(int(calls), float(best)) for calls, best in data["curve"]]
        return cls(**{**data, "curve": curve})


Record = TypeVar("Record", bound=SeedRecord)


class SeedFile(Generic[Record]):
    """The records of the seeds of one set-up.

    Parameters
    ----------
    path : Path
        Of the JSON file. Seeds that an earlier start has finished are read from it.
    record : type
        The dataclass of a record.
    shared : mapping
        What all seeds share, by its name in the file.
    command : str
        The command that makes the file.
    packages : sequence of str
        Packages whose versions are saved, too.
    indent : int, optional
        Of the JSON.

    Raises
    ------
    ValueError
        The file cannot be read, or holds seeds of another set-up.
    """

    def __init__(
        self,
        path: Path,
        record: type[Record],
        shared: Mapping[str, Any],
        command: str,
        packages: Sequence[str] = (),
        indent: int | None = None,
    ) -> None:
        self.path = path
        self._shared, self._command, self._packages = dict(shared), command, packages
        self._indent = indent
        self.records: list[Record] = self._read(record) if path.exists() else []

    def missing(self, seeds: Iterable[int]) -> list[int]:
        """Return the seeds that have no record yet."""
        done = {record.seed for record in self.records}
        return [seed for seed in seeds if seed not in done]

    def add(self, record: Record) -> None:
        """Take a record and save the file, which is whole at any time."""
        self.records.append(record)
        self.records.sort(key=lambda r: r.seed)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        versions = {name: version(name) for name in self._packages}
        data = {
            "provenance": {**provenance(self._command), **versions},
            **self._shared,
            "seeds": [asdict(r) for r in self.records],
        }
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(data, indent=self._indent) + "\n", encoding="utf-8")
        new.replace(self.path)

    def _read(self, record: type[Record]) -> list[Record]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            shared = {key: data[key] for key in self._shared}
            records = [record.from_data(seed) for seed in data["seeds"]]
        except (ValueError, KeyError, TypeError) as error:
            problem = f"{self.path} cannot be read ({error!r})"
            raise ValueError(f"{problem}: delete it or choose another --out.") from error
        if shared != self._shared:
            raise ValueError(f"{self.path} holds runs of another set-up: choose another --out.")
        return records


def improvements(calls: Iterable[tuple[float, bool]], sign: float = 1.0) -> Curve:
    """Return the curve of a run from objective and acceptability of each of its calls.

    ``sign`` is -1 if the objective is maximised.
    """
    steps: Curve = []
    for k, (objective, acceptable) in enumerate(calls, start=1):
        if acceptable and (not steps or sign * objective < sign * steps[-1][1]):
            steps.append((k, objective))
    return steps
