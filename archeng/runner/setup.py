"""`Setup`: what a run needs and never changes, made from the user's options or from a journal."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from archeng.checks import unknown_options
from archeng.codec import decode, encode
from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError
from archeng.journal import Journal, finished_designs
from archeng.model import (
    IMPORT_OPTIONS,
    FeasibleSet,
    FormulaTexts,
    Model,
    Sense,
    as_model,
    check_import_options,
    compile_model,
    has_objective,
    refuse_wide,
)
from archeng.options import FOREIGN_NAMES, OPTION_NAMES, OPTIONS, RESUME_NAMES
from archeng.outcomes import Lessons, Limits, Teacher
from archeng.runner.lessons import EarlierData, is_replay, learn
from archeng.runner.options import (
    Options,
    Runtime,
    full_start,
    split_options,
    start_distribution,
    start_point,
)
from archeng.runner.simulators import make_simulator
from archeng.runner.stored import (
    check_black_box,
    given_model,
    header,
    stored_form,
    stored_model,
    stored_set,
    stored_settings,
    with_latest_choice,
)
from archeng.settings import Settings
from archeng.simulator import Asked, Call, CallStatus, Simulator, declared_width

logger = logging.getLogger("archeng")

FIXED_BY_THE_JOURNAL = {
    name: "A run that goes on keeps that of its journal."
    for name in (*OPTION_NAMES, *IMPORT_OPTIONS)
    if name not in RESUME_NAMES
}
"""Options of :func:`archeng.solve` that :func:`archeng.resume` does not have, and why."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that is fixed when a run begins."""

    model: Model
    simulator: Simulator | None
    feasible_set: FeasibleSet
    texts: FormulaTexts | None  # of objective and rows that are formulas
    options: Options
    settings: Settings
    runtime: Runtime
    seed: int
    start: Floats | None  # where a new run begins, before it is repaired
    wide: Distribution  # the initial one of the search, around the start or else the origin
    earlier: dict[bytes, Call]  # that earlier runs have finished, by the bytes of their vector
    lessons: Lessons | None  # what they have learned about the outputs
    teachers: tuple[Teacher, ...]  # and about objective and constraints, or other sources have
    header: dict[str, Any]  # what a journal stores once

    @cached_property
    def limits(self) -> Limits:
        """Limits of all simulated constraints."""
        return self.options.limits(self.feasible_set.formulas)

    @cached_property
    def asked(self) -> Asked:
        """What is asked of the simulator."""
        return asked(self.feasible_set, self.options)


def asked(feasible_set: FeasibleSet, options: Options) -> Asked:
    """Return what is asked of the simulator."""
    return Asked(feasible_set, tuple(options.simulated), options.sign, len(options.costs) - 1)


def new_setup(
    source: Any,
    simulator: Any,
    seed: int | None,
    start: Any,
    sigma: Any,
    parameters: Any,
    settings: Settings | None,
    keywords: Mapping[str, Any],
) -> Setup:
    """Check and prepare what the user passed to ``solve`` or ``Run``."""
    chosen, runtime, rest = split_options(keywords)
    check_import_options("solve()", rest, OPTION_NAMES, FOREIGN_NAMES)
    settings = OPTIONS["settings"].checked(settings)
    OPTIONS["seed"].checked(seed)
    values = OPTIONS["parameters"].checked(parameters)
    model = as_model(source, objective=simulator is None, parameters=tuple(values), **rest)
    model = model.with_parameters(values) if values else model
    own = simulator is None and model.has_objective and not model.outputs
    if simulator is not None and not model.has_objective and has_objective(source):
        logger.info("the objective of Pyomo model %s is ignored: a simulator is given", source)
    chosen["sense"] = checked_sense(model, chosen.get("sense"), own)
    if chosen.get("parallel") is None:
        chosen["parallel"] = declared_width(runtime.workers)
    options = Options(**chosen)
    data = None
    if runtime.journal is not None:
        model, data = stored_form(model)
    call = make_simulator(model, simulator, source, runtime.simulator_takes, own, options.cost)
    feasible_set = _compiled(model, settings)
    _check_names(model, options)
    texts = _texts(model, feasible_set, own)
    number = int(np.random.SeedSequence(seed).entropy)  # type: ignore[arg-type]
    known = _earlier(model, runtime, asked(feasible_set, options))
    learned = _learned(runtime, model, feasible_set, options, number)
    first, wide = _begin(model, feasible_set, start, sigma, learned)
    return Setup(
        model=model,
        simulator=call,
        feasible_set=feasible_set,
        texts=texts,
        options=options,
        settings=settings,
        runtime=runtime,
        seed=number,
        start=first,
        wide=wide,
        earlier=known,
        lessons=learned.lessons,
        teachers=learned.teachers,
        header=header(model, data, options, settings, number, wide, own, texts)
        | learned.stored()
        | {"choice": encode(feasible_set.choice)}
        if runtime.journal is not None
        else {},
    )


def _begin(
    model: Model, feasible_set: FeasibleSet, start: Any, sigma: Any, learned: EarlierData
) -> tuple[Floats | None, Distribution]:
    """Return where the run begins, if that is known, and the initial distribution."""
    first = start_point(model, feasible_set, start)
    if start is not None:
        feasible_set.begin_at(full_start(model, start))
    wide = start_distribution(model, feasible_set, sigma)
    if start is None:
        first = learned.start_in(wide, first)
    return first, wide if first is None else replace(wide, mean=first)


def _learned(
    runtime: Runtime, model: Model, feasible_set: FeasibleSet, options: Options, seed: int
) -> EarlierData:
    """Return what earlier data teach, and journals to reuse of runs that were not the same."""
    others = [path for path in runtime.reuse if not is_replay(path, seed)]
    return learn(
        (*runtime.data, *others),
        runtime.data_columns,
        feasible_set,
        options.limits(feasible_set.formulas),
        options.sign,
        model.objective_name,
    )


def checked_sense(model: Model, given: Any, own: bool) -> Sense:
    """Return whether a run minimises or maximises; a model with a formula of outputs says it.

    ``own``: there is no simulator, only the model's own objective.
    """
    sense: Sense | None = OPTIONS["sense"].checked(given)
    by_formula = model.has_objective and (own or bool(model.outputs))
    if sense is None:
        return model.objective_sense if by_formula else "minimize"
    if by_formula and not own and sense != model.objective_sense:
        raise SettingsError(
            f"sense={sense!r}, but the objective of the model is a formula to "
            f"{model.objective_sense}: leave sense out, or change the model."
        )
    return sense


def check_limits_and_sense(model: Model, options: Mapping[str, Any], simulator: Any) -> None:
    """Raise if ``simulated`` or ``sense`` of the options contradict the model."""
    own = simulator is None and not model.outputs
    checked_sense(model, options.get("sense"), own)
    _check_names(model, Options(simulated=options.get("simulated", {})))


def _check_names(model: Model, options: Options) -> None:
    """Raise if ``simulated=`` has the name of a row.

    Models without outputs may have an explicit row of that name, as they always could.
    """
    if model.outputs:
        options.check_names([name for c in model.declared for name in c.row_names()])


def stored_setup(
    journal: Journal,
    simulator: Any,
    source: Any,
    settings: Settings | None,
    limits: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> Setup:
    """Prepare the run of a journal again; ``limits`` that are not None replace the stored ones."""
    stored = with_latest_choice(journal)
    chosen, runtime, rest = split_options(keywords)
    if settings is not None:
        OPTIONS["settings"].checked(settings)
    unknown = [*chosen.keys() - {"callback"}, *rest]
    if unknown:
        raise SettingsError(
            unknown_options("resume()", unknown, RESUME_NAMES, FIXED_BY_THE_JOURNAL)
        )
    model = stored_model(stored, given_model(stored, source))
    if simulator is None:
        check_black_box(stored, model)
    options = Options(
        **{**stored["options"], "callback": chosen.get("callback")}
        | {k: v for k, v in limits.items() if v is not None}
    )
    settings = stored_settings(stored, settings)
    feasible_set = stored_set(stored, model)
    return Setup(
        model=model,
        simulator=make_simulator(
            model, simulator, source, runtime.simulator_takes, stored["own_objective"], options.cost
        ),
        feasible_set=feasible_set,
        texts=_texts(model, feasible_set, stored["own_objective"]),
        options=options,
        settings=settings,
        runtime=runtime,
        seed=int(stored["seed"]),
        start=None,
        wide=start_distribution(model, feasible_set, None)
        if stored["wide"] is None
        else decode(Distribution, stored["wide"]),
        earlier=_earlier(model, runtime, asked(feasible_set, options)),
        lessons=decode(Lessons, stored["lessons"]) if stored.get("lessons") else None,
        teachers=()
        if stored["wide"] is None  # they speak of the variables that were independent at first
        else tuple(decode(Teacher, one) for one in stored.get("teachers", ())),
        header=dict(stored),
    )


def _compiled(model: Model, settings: Settings) -> FeasibleSet:
    feasible_set = compile_model(model, eliminate=settings.elimination != "never")
    refuse_wide(feasible_set)
    for note in feasible_set.notes:
        logger.debug("%s", note)
    implied = [row.name for row in feasible_set.rows if row.implied]
    if implied:
        logger.warning(
            "%s can only hold at their limits: they are equalities, with a tolerance",
            ", ".join(implied),
        )
    return feasible_set


def _texts(model: Model, feasible_set: FeasibleSet, own: bool) -> FormulaTexts | None:
    """Return what is shown of formulas; ``own``: the model's own objective is all there is."""
    if feasible_set.formulas is not None:
        return feasible_set.formulas.texts
    if not own:
        return None
    (objective,) = model.formula_texts()
    return FormulaTexts((), (), objective, model.objective_name)


def _earlier(model: Model, runtime: Runtime, wanted: Asked) -> dict[bytes, Call]:
    """Return the calls that earlier runs finished, with objective and simulated constraints.

    Those that lack one, or were made with other parameters that the simulator looked at, are left
    out: their designs have to be simulated again.
    """
    calls: dict[bytes, Call] = {}
    fs = wanted.feasible_set
    formula = fs.formulas
    for path in runtime.reuse:
        for e in finished_designs(path, model.variables, model.parameters):
            if fs.dependents is not None and np.any(fs.violations_in_full(e.x)):
                continue  # its equations were others
            if all(name in e.constraints for name in wanted.simulated):
                outcome = Call(
                    CallStatus.REUSED,
                    math.nan if formula is not None and formula.objective else e.objective,
                    constraints={name: e.constraints[name] for name in wanted.simulated},
                    outputs=e.outputs,
                    gradients=e.gradients,
                    parameters_read=e.parameters_read,
                    seconds=0.0,
                )
                outcome = wanted.completed(outcome, e.x)
                if outcome.good:
                    calls[e.x.tobytes()] = outcome
    return calls
