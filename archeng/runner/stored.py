"""What a journal holds of a run: the header, the state, and how a changed set-up is refused."""

from __future__ import annotations

import hashlib
import json
import logging
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from archeng.codec import decode, encode
from archeng.distribution import Distribution, diagonal_distribution, initial_distribution
from archeng.errors import JournalError, ModelError
from archeng.handlers import Search
from archeng.journal import Journal
from archeng.ledger import Ledger
from archeng.model import (
    Choice,
    FeasibleSet,
    FormulaTexts,
    Model,
    Parameter,
    as_model,
    compile_model,
    differences,
    from_data,
    is_pyomo,
    serialized,
    to_data,
)
from archeng.model.lattice import Lattice
from archeng.options import LIMIT_NAMES
from archeng.records import CallRecord, Generation
from archeng.runner.loading import load
from archeng.runner.moved import moved, numerics, versions
from archeng.runner.options import Options
from archeng.runner.state import OpenedState, RunState, reopened, restored
from archeng.settings import Settings
from archeng.strategy import History, StopReason, initial_state

logger = logging.getLogger("archeng")


def stored_form(model: Model) -> tuple[Model, dict[str, Any] | None]:
    """Return the model as it will come out of the journal, and its data (None if it cannot be).

    A run with a journal uses this form from the beginning, so that it and its continuation
    compute with the very same formulas.
    """
    data = to_data(model)
    if data is None:
        return model, None
    data = json.loads(json.dumps(data))
    return _same_black_box(from_data(data), model), data


def _same_black_box(model: Model, other: Model | None) -> Model:
    """Return the first model; data hold formulas, the functions are those of the other model."""
    model.black_box = None if other is None else other.black_box
    return model


def header(
    model: Model,
    data: Mapping[str, Any] | None,
    options: Options,
    settings: Settings,
    seed: int,
    wide: Distribution,
    own_objective: bool,
    texts: FormulaTexts | None,
) -> dict[str, Any]:
    """Return what is stored once, when a run begins."""
    return {
        "name": model.name,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "numerics": numerics(),
        "machine": platform.node(),
        "seed": seed,
        "options": {k: v for k, v in asdict(options).items() if k != "callback"},
        "settings": asdict(settings),
        "element_names": model.element_names(),
        "own_objective": own_objective,
        "wide": encode(wide),
        "model": data,
        "variables": [encode(v) for v in model.variables] if data is None else None,
        "parameters": [p.to_data() for p in model.parameters],
        "independents": [model.element_names()[i] for i in model.independents],
        "formulas": None if texts is None else encode(texts),
        "fingerprint": fingerprint(model, data),
        **_about_black_box(model),
    }


def stored_texts(stored: Mapping[str, Any]) -> FormulaTexts | None:
    """Return the formulas of a journal as they are shown; older journals have none."""
    texts = stored.get("formulas")
    return None if texts is None else decode(FormulaTexts, texts)


def stored_parameters(stored: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a journal with their values; older journals have none."""
    return tuple(Parameter.from_data(p) for p in stored.get("parameters") or ())


def with_stored_parameters(model: Model, stored: Mapping[str, Any]) -> Model:
    """Return a model with the parameters of a journal, which count in a run that goes on.

    Those that the journal has not, or has with another shape, stay: they make another model.
    """
    before = {p.name: p for p in stored_parameters(stored)}
    changed = {}
    for p in model.parameters:
        old = before.get(p.name, p)
        if old.shape == p.shape and not np.array_equal(old.values, p.values):
            changed[p.name] = old.value
            logger.warning(
                "the run goes on with %s = %s of its journal, not with %s of the model",
                p.name,
                old.value,
                p.value,
            )
    return model.with_parameters(changed) if changed else model


def _about_black_box(model: Model) -> dict[str, Any]:
    """Return what it takes to import the model again, if it has black boxes of its own."""
    if model.black_box is None:
        return {}
    names = list(getattr(model.black_box, "names", ()))
    return {"black_boxes": {"names": names, "objective": model.has_objective}}


def given_model(stored: Mapping[str, Any], source: Any) -> Model | None:
    """Return what the user gives as the model of a journal; imported as it was, if it must be.

    An imported model has the parameters, the named independent variables and the black boxes of
    the journal.
    """
    if source is None:
        return None
    model, boxes = source, stored.get("black_boxes")
    if not isinstance(source, Model):
        named = stored.get("independents") or None
        if named is not None:
            logger.info("independent variables are those of the journal: %s", ", ".join(named))
        model = as_model(
            source,
            objective=stored["own_objective"] if boxes is None else boxes["objective"],
            parameters=tuple(p.name for p in stored_parameters(stored)),
            independent=named,
            **({} if boxes is None or is_pyomo(source) else {"black_boxes": boxes["names"]}),
        )
    return with_stored_parameters(model, stored)


def check_black_box(stored: Mapping[str, Any], model: Model) -> None:
    """Raise if the run of a journal called black boxes that are not there any more."""
    boxes = stored.get("black_boxes")
    if boxes is not None and model.black_box is None:
        names = ", ".join(map(repr, boxes["names"]))
        raise JournalError(
            f"The run called the black box {names} of its model, and a journal cannot hold "
            "functions: pass the model again, model=pyomo_model, model=opti or "
            "model=archeng.from_opti(opti, black_boxes=[...]) (or from_nlp)."
        )


def fingerprint(model: Model, data: Mapping[str, Any] | None) -> str:
    """Return a hash of the model: of its data, or of its function as CasADi writes it."""
    text = json.dumps(data, sort_keys=True) if data is not None else serialized(model)
    return hashlib.sha256(text.encode()).hexdigest()


def stored_model(stored: Mapping[str, Any], given: Model | None) -> Model:
    """Return the model of a journal; if one is given, it must be the same.

    Raises
    ------
    JournalError
        If they differ (it says how), or the journal cannot hold the model and none is given.
    """
    data = stored["model"]
    if data is None:
        if given is None:
            raise JournalError(
                "The model of this journal has parts that cannot be stored (CasADi MX or Python "
                "functions): pass it again as model=."
            )
        if fingerprint(given, to_data(given)) != stored["fingerprint"]:
            raise JournalError("The model is not the one of the journal.")
        return given
    if given is not None:
        new = to_data(given)
        found = ["the whole model"] if new is None else differences(data, new)
        if found:
            raise JournalError(
                "The model is not the one of the journal; what differs: " + "; ".join(found)
            )
    try:
        return _same_black_box(from_data(data), given)
    except ModelError as error:
        raise JournalError(str(error)) from error


def stored_set(stored: Mapping[str, Any], model: Model) -> FeasibleSet:
    """Return the feasible set of a journal, with the independent variables that its run had."""
    choice = stored.get("choice")
    if choice is None:
        return compile_model(model, eliminate=False)
    return compile_model(model, choice=decode(Choice, choice))


def with_latest_choice(journal: Journal) -> dict[str, Any]:
    """Return the header, with the independent variables that the run had last.

    ``wide`` is left out if they are not those with which it began.
    """
    stored, latest = journal.header(), journal.state().get("choice")
    return stored if latest is None else {**stored, "choice": latest, "wide": None}


def stored_settings(stored: Mapping[str, Any], given: Settings | None) -> Settings:
    """Return the settings of a journal; if some are given, they must be the same."""
    settings = Settings.from_stored(stored["settings"])
    if given is not None and given != settings:
        old, new = asdict(settings), asdict(given)
        found = [f"{k}: {old[k]!r} became {new[k]!r}" for k in old if old[k] != new[k]]
        raise JournalError(
            "The settings are not those of the journal; what differs: " + "; ".join(found)
        )
    return settings


def latest_note(
    options: Options,
    reason: StopReason | None = None,
    history: Sequence[Generation] = (),
    closed: bool = False,
) -> dict[str, Any]:
    """Return what a process notes in the journal: its limits, and how it ended.

    ``closed``: it closed the file, with or without a reason to stop.

    The last generation is part of it: one that was cut short by the budget is not among the
    finished ones, because a longer run would complete it.
    """
    return {
        "limits": {name: getattr(options, name) for name in LIMIT_NAMES},
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "reason": None if reason is None else reason.name,
        "closed": closed,
        "generation": encode(history[-1]) if history else None,
    }


def restore(
    journal: Journal, ledger: Ledger, feasible_set: FeasibleSet, kind: type[Search]
) -> RunState:
    """Return the state after the journal's last finished generation, and fill the ledger.

    ``kind`` is the type of the handler's search.
    """
    data, calls = journal.state(), list(journal.calls())
    check_designs(journal.path, feasible_set, (stored.call for stored in calls))
    more = load(ledger, journal.path, journal.generations(), calls, int(data["generation"]))
    here = data["restarts"]["number"], (data.get("levels") or {"level": ledger.finest})["level"]
    generations = zip(more, ledger.generations, strict=True)
    tests = [entry["tests"] for entry, g in generations if (g.restart, g.level) == here]
    state = restored(data, kind, History.of(filter(None, tests)))
    _check_shapes(state.search, feasible_set.n, feasible_set.lattice)
    if state.anchor is not None:
        feasible_set.begin_at(state.anchor)
    return state


def reopen(journal: Journal, state: RunState) -> OpenedState | None:
    """Return the generation that had begun after the state; None if there was none."""
    data = journal.candidates()
    if data is None or data["generation"] != state.generation:
        return None
    opened, n = reopened(data, state.search), len(state.search.anchor)
    known = state.search.state.discrete
    _check_shapes(opened.search, n, None if known is None else known.lattice)
    if opened.population.sampled.shape != (len(opened.population.repairs), n):
        raise ValueError("the candidates are not of this model")
    return opened


def reopen_stream(journal: Journal, state: RunState, ledger: Ledger) -> list[Any]:
    """Return the candidates that an asynchronous run made since the state, as plain data.

    If all calls of its beginning failed, they are forgotten: to use them would only repeat the
    error with which the run ended.
    """
    failed = [p for p, call in ledger.unfinished.items() if not call.good]
    if state.generation == 0 and failed and len(failed) == len(ledger.unfinished):
        journal.drop_calls(0, failed)
        ledger.unfinished = {}
    data = journal.candidates()
    if data is None or data["generation"] != state.generation:
        return []
    return list(data["made"])


def _check_shapes(search: Search, n: int, lattice: Lattice | None) -> None:
    """Raise if arrays that every search has are not those of n variables, some on a lattice."""
    begun = initial_distribution(np.zeros(n), np.ones(n))
    if search.state.distribution.is_diagonal:
        begun = diagonal_distribution(begun)
    fresh = initial_state(begun, lattice)
    state, pairs = search.state, [(search.anchor, np.zeros(n))]
    records: list[tuple[Any, Any]] = [(state, fresh), (state.distribution, fresh.distribution)]
    if state.discrete is not None and fresh.discrete is not None:
        have_discrete, like_discrete = state.discrete, fresh.discrete
        records += [(have_discrete, like_discrete), (have_discrete.lattice, like_discrete.lattice)]
        records += [(have_discrete.categories, like_discrete.categories)]
    elif state.discrete is not fresh.discrete:
        raise ValueError("its discrete variables are not those of the model")
    for have, like in records:
        pairs += [(getattr(have, f.name), getattr(like, f.name)) for f in fields(like)]
    for array, like_array in pairs:
        if _shape(array) != _shape(like_array):
            raise ValueError(f"an array has shape {_shape(array)}, not {_shape(like_array)}")


def _shape(value: Any) -> tuple[Any, ...]:
    """Return the shape of an array, or of each of several."""
    return tuple(map(_shape, value)) if isinstance(value, tuple) else np.shape(value)


def check_designs(path: Path, feasible_set: FeasibleSet, calls: Iterable[CallRecord]) -> None:
    """Raise if stored designs are not of this model: another length, or no values of variables.

    Raises
    ------
    JournalError
    """
    fs = feasible_set
    kept = fs.free[fs.bounded]
    lower, upper = fs.lower[: len(kept)], fs.upper[: len(kept)]
    for e in calls:
        same = e.x.shape == e.sampled.shape == fs.template.shape
        if same and np.isfinite(e.x).all():
            inside = np.all((lower <= e.x[kept]) & (e.x[kept] <= upper))
            inside &= fs.lattice is None or fs.lattice.contains(fs.reduce(e.x))
            if inside or not e.feasible:
                continue
        raise JournalError(
            f"{path}: the file is damaged (a call of generation {e.generation} has a design that "
            "the model does not allow)."
        )


def note_resumed(journal: Journal, options: Options, calls: int) -> None:
    """Note that a process goes on with a run, and say what may be different or lost."""
    if journal.lost_log:
        logger.warning(
            "%s: the run was cut off, and the file %s-wal that belongs to it is not here: calls "
            "of its last moments may be missing and are made again. Copy both files together.",
            journal.path,
            journal.path.name,
        )
    move = moved(journal.header(), journal.moves(), calls)
    if move is not None:
        changes = "; ".join(move["changes"])
        logger.warning("the run may not go on exactly, rounding may differ: %s", changes)
        journal.add_move(move)
    journal.note(latest_note(options))
