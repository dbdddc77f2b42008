"""`read_journal`: the result of a run as its journal tells it, also while the run goes on.

Neither simulator nor study file is needed: the model is in the journal. Nothing is written, and
nobody is kept from writing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from archeng.checks import file_path
from archeng.codec import decode, dumps
from archeng.distribution import Distribution, initial_distribution
from archeng.errors import ArchengError, JournalError
from archeng.journal import Journal, is_still, readable
from archeng.ledger import Ledger
from archeng.model import FeasibleSet, Variable
from archeng.records import Generation
from archeng.result import Result
from archeng.runner.loading import load
from archeng.runner.options import Options
from archeng.runner.outcome import Account, VariablesOnly, make_result
from archeng.runner.standing import Standing
from archeng.runner.stored import (
    check_designs,
    stored_model,
    stored_parameters,
    stored_set,
    stored_texts,
    with_latest_choice,
)
from archeng.sampling import deviations
from archeng.settings import Settings
from archeng.strategy import StopReason

NO_MODEL = (
    "the model has parts that a journal cannot hold (CasADi MX functions): explicit constraints "
    "and what blocks the design are not known here"
)


def read_journal(path: str | Path) -> Result:
    """Return the result of a run from its journal, also while another process writes it.

    It is what ``solve`` returned, or would return if the run stopped now. The file is only read.

    Parameters
    ----------
    path : path
        The file that ``solve(..., journal=...)`` writes.

    Returns
    -------
    Result
        ``result.ended`` is False if the run has not ended: then ``stop_reason`` is ``RUNNING``
        (a process writes the journal) or ``CUT_OFF`` (none does, and it did not say that it
        ended), and ``status`` is ``SO_FAR`` unless there is no acceptable design or the target is
        reached. ``provenance`` holds the versions that the run began with. If the journal
        cannot hold the model (CasADi MX functions), ``rows`` and ``activity`` are empty and
        ``provenance["incomplete"]`` says so.

    Raises
    ------
    JournalError
        There is no such file, or it is damaged, foreign, or of another version.
    """
    return JournalReader(path).result()


class JournalReader:
    """Reads a journal again and again; what does not change is read once."""

    def __init__(self, path: str | Path) -> None:
        self.path = file_path("journal", path, JournalError)
        self._created: Any = None
        self._feasible_set: FeasibleSet | None = None

    def result(self) -> Result:
        """Return the result as the journal stands now."""
        if is_still(self.path):
            result = self._read(still=True)
            if is_still(self.path):
                return result
        return self._read(still=False)

    def _read(self, still: bool) -> Result:
        with contextlib.closing(Journal.read(self.path, still)) as journal:
            running = journal.running  # before the reading: what ends meanwhile is read as well
            try:
                with readable(self.path), journal.moment():
                    return self._told(journal, running)
            except JournalError:
                raise
            except ArchengError as error:  # what the file holds makes no sense
                raise JournalError(f"{self.path}: the file is damaged ({error}).") from error

    def _told(self, journal: Journal, running: bool) -> Result:
        header, latest = with_latest_choice(journal), journal.latest()
        standing = Standing.of(journal.state())
        options = Options(**{**header["options"], **latest.get("limits", {})})
        fs, calls = self._model(header), list(journal.calls())
        if fs is not None:
            check_designs(self.path, fs, (stored.call for stored in calls))
        space = fs or VariablesOnly(
            str(header["name"]), _variables(header), stored_parameters(header)
        )
        texts = stored_texts(header)
        ledger = Ledger(
            space,
            options.limits(texts),
            maximize=options.sense == "maximize",
            budget=options.max_evaluations,
            formulas=None if fs is None else fs.formulas,
            costs=options.costs,
            max_cost=options.max_cost,
        )
        load(ledger, self.path, journal.generations(), calls, standing.generation)
        ledger.add_unfinished()
        last = latest.get("generation")
        if not running and last is not None and last["generation"] == len(ledger.generations):
            ledger.generations.append(decode(Generation, last))
        best = ledger.best
        if fs is not None and best is not None:
            fs.begin_at(best.x)
        reason = reason_of(standing, latest, options, ledger, running)
        provenance = {
            **header["versions"],
            **{name: header[name] for name in ("created", "machine", "fingerprint")},
            "elapsed": standing.elapsed,
            "last_noted": latest.get("at"),
        }
        if fs is None:
            provenance["incomplete"] = NO_MODEL
        result = make_result(
            Account(
                feasible_set=space,
                texts=texts,
                ledger=ledger,
                options=options,
                settings=Settings.from_stored(header["settings"]),
                seed=int(header["seed"]),
                stop_reason=reason,
                wide=_wide(header, space),
                n_restarts=standing.n_restarts,
                ended=standing.ended,
                noisy=standing.noisy,
            )
        )
        return replace(result, provenance={**result.provenance, **provenance})

    def _model(self, header: Mapping[str, Any]) -> FeasibleSet | None:
        """Return the compiled model of the journal; None if it is not in it."""
        if header["model"] is None:
            return None
        key = (header["created"], header["fingerprint"], dumps(header.get("choice")))
        if self._feasible_set is None or key != self._created:
            self._feasible_set = stored_set(header, stored_model(header, None))
            self._created = key
        return self._feasible_set


def reason_of(
    standing: Standing,
    latest: Mapping[str, Any],
    options: Options,
    ledger: Ledger,
    running: bool,
) -> StopReason:
    """Return why the run ended, or that it has not.

    Journals of earlier versions do not say why a run ended; what can be told of them is whether
    the target is reached or the budget is used up.
    """
    if standing.stop_reason is not None:
        return standing.stop_reason
    if running:
        return StopReason.RUNNING
    if latest.get("reason") is not None:
        return StopReason[latest["reason"]]
    best = ledger.best_acceptable
    if best is not None and options.reached(best.objective):
        return StopReason.TARGET
    if ledger.calls_left == 0:
        return StopReason.MAX_EVALUATIONS
    late = options.max_time is not None and standing.elapsed >= options.max_time
    return StopReason.MAX_TIME if late else StopReason.CUT_OFF


def _wide(header: Mapping[str, Any], space: FeasibleSet | VariablesOnly) -> Distribution:
    """Return the initial distribution; that of other independents is the default one."""
    if header["wide"] is None and isinstance(space, FeasibleSet):
        return initial_distribution(np.zeros(space.n), deviations(space))
    return decode(Distribution, header["wide"])


def _variables(header: Mapping[str, Any]) -> tuple[Variable, ...]:
    """Return the variables as declared; those of older journals have only their names."""
    declared = header.get("variables")
    if declared is not None:
        return tuple(decode(Variable, v) for v in declared)
    open_, unset = np.array([np.inf]), np.array([np.nan])
    return tuple(
        Variable(str(name), (), -open_, open_, unset, unset) for name in header["element_names"]
    )
