"""Calls of earlier runs that need not be made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from archeng.codec import decode
from archeng.errors import JournalError, ModelError
from archeng.journal.store import opened_journal
from archeng.model import REAL, Parameter, Translation, Variable, translation
from archeng.records import CallRecord


def finished_designs(
    path: str | Path, variables: Sequence[Variable], parameters: Sequence[Parameter] = ()
) -> list[CallRecord]:
    """Return all well-ended calls in a journal; of several of one design the last.

    Of several simulators those of the last one.

    Not those whose simulator looked at a parameter that has another value now, nor those with a
    row of a table that is gone or has other attributes now; rows are found by their names.

    Raises
    ------
    JournalError
        If the journal has other variables.
    """
    with opened_journal(path) as journal:
        header = journal.header()
        translated = _translation(path, header, variables)
        before = {p["name"]: p["values"] for p in header.get("parameters") or ()}
        now = {p.name: p.values.tolist() for p in parameters}
        found: dict[bytes, CallRecord] = {}
        finest = len(header["options"].get("cost") or (1.0,)) - 1
        for _, call in journal.calls():
            if call.level != finest:
                continue
            if call.good and all(before.get(p) == now.get(p) for p in call.parameters_read):
                x = translated(call.x)
                if x is not None:
                    found[x.tobytes()] = call if x is call.x else replace(call, x=x)
        return list(found.values())


def _translation(
    path: str | Path, header: Mapping[str, Any], variables: Sequence[Variable]
) -> Translation:
    """Return how designs of a journal are read now."""
    names, stored = [n for v in variables for n in v.element_names()], header["element_names"]
    if stored != names:
        raise JournalError(f"{path}: cannot be reused, its variables are {stored}, not {names}.")
    try:
        return translation(_stored_variables(header, variables), variables)
    except ModelError as error:
        raise JournalError(f"{path}: cannot be reused: {error}.") from error


def _stored_variables(header: Mapping[str, Any], like: Sequence[Variable]) -> Sequence[Variable]:
    """Return the variables of a journal; of old journals, which only had real ones, others."""
    if header.get("model") is not None:
        return [Variable.from_data(record) for record in header["model"]["variables"]]
    if header.get("variables") is not None:
        return [decode(Variable, record) for record in header["variables"]]
    return [replace(v, domain=REAL) for v in like]
