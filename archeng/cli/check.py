"""``archeng check``: what a model is, and whether it can have a design, before any simulator."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from archeng.cli import flags
from archeng.cli.output import by_name, limits_text, value_text, write, write_json
from archeng.cli.study_file import Source, StudyFile
from archeng.cli.study_import import import_options, opened
from archeng.cli.targets import study_or_file
from archeng.diagnose import Diagnosis, compiled_model, diagnose
from archeng.errors import InfeasibleModelError, ModelError, SettingsError
from archeng.journal import is_database, opened_journal
from archeng.model import (
    REAL,
    Domain,
    FeasibleSet,
    Model,
    RowInfo,
    as_model,
    bound_domains,
    formulas_of,
    model_formulas,
    model_quantities,
    model_variables,
    number,
    refuse_wide,
    text_table,
)
from archeng.options import LIMIT_NAMES, OPTIONS
from archeng.progress import duration
from archeng.runner import solve
from archeng.runner.options import full_start
from archeng.runner.setup import check_limits_and_sense
from archeng.runner.stored import stored_model
from archeng.sampling import deviations
from archeng.simulator import check_simulator

_ALONE = (
    "journal",
    "reuse",
    "data",
    "verbose",
    "callback",
    "max_evaluations",
    "max_time",
    "target",
)
"""Options that the one call of ``--simulate`` does without."""


@flags.command(
    "check",
    """\
  archeng check               the study in this folder
  archeng check --simulate    and one call of its simulator
  archeng check model.py      a Python file with a CasADi or Pyomo model
  archeng check plant.nl      a model written by AMPL, GAMS, JuMP or Pyomo
  archeng check --json | jq .conflicts
""",
)
@flags.target("file")
@flags.object_name
@flags.parameters
@click.option("--seed", type=int, default=0, help="Seed of the search (default 0).")
@flags.switch("--simulate", help="Make one call of the simulator; show its answer and its time.")
@flags.as_json()
def check(
    file: str | None,
    object_name: str | None,
    parameters: dict[str, Any] | None,
    seed: int,
    simulate: bool,
    as_json: bool,
) -> int:
    """Show a model and diagnose its constraints.

    Print variables, parameters, outputs, rows with their kinds, formulas of what is simulated, and
    a diagnosis: a feasible design or a minimal set of conflicting constraints; degrees of freedom,
    redundant and badly scaled rows. Exit code 1 if no feasible design is found. No simulator is
    called, except with --simulate: once, at the first design of the run. FILE is a study's folder,
    study.toml, Python file, .nl file or journal.
    """
    OPTIONS["seed"].checked(seed)
    target = study_or_file(file, "check")
    with contextlib.ExitStack() as stack:
        study = None
        if isinstance(target, StudyFile):
            model, study = stack.enter_context(_of_study(target, object_name, parameters))
        else:
            model = _load_model(target, object_name).with_parameters(parameters)
        fs: FeasibleSet | None = None
        refused: ModelError | None = None
        with contextlib.suppress(InfeasibleModelError):  # the diagnosis says why
            fs, refused = compiled_model(model)
        diagnosis = diagnose(model, seed=seed)
        if not as_json:
            _show(model, fs, diagnosis, study)
        call = None
        if diagnosis.feasible and simulate:
            call = _first_call(target, object_name, parameters)
        if as_json:
            more = {**_quantities(model), "study": study, "first_call": call}
            write_json(diagnosis.to_dict() | {k: v for k, v in more.items() if v is not None})
        elif call is not None:
            write("\n" + "\n".join(_call_lines(call)))
    if not diagnosis.feasible:
        return 1
    _refuse(fs, refused)
    return 0


def _refuse(fs: FeasibleSet | None, error: ModelError | None) -> None:
    """Raise if a run would refuse the model."""
    if error is not None:
        raise error
    if fs is not None:
        refuse_wide(fs)
        deviations(fs)  # refuses a model in which a run cannot tell where to search


def _load_model(path: Path, name: str | None) -> Model:
    """Return the model of an .nl file, of a Python file, or of a journal."""
    if path.suffix == ".py":
        with opened(path, name) as study:
            own = isinstance(study.model, Model)
            more = {} if own else import_options(study.options)
            return as_model(study.model, objective=False, **more)
    if not path.is_file():
        raise ModelError(f"{path}: no such file.")
    if name is not None:
        raise ModelError(f"--object is for Python files, not for {path}.")
    if not is_database(path):
        return as_model(path, objective=False)
    with opened_journal(path) as journal:
        return stored_model(journal.header(), None)


def _show(
    model: Model,
    fs: FeasibleSet | None,
    diagnosis: Diagnosis,
    study: dict[str, Any] | None,
) -> None:
    ignored = study is not None and study["simulator"] is not None and not model.outputs
    head = str(model) if fs is None else _tables(model, fs, not ignored)
    write(f"{head}\n\n{diagnosis}")
    if study is not None:
        lines = (f"  {k}: {v}" for k, v in study.items() if v is not None)
        write("\nstudy:\n" + "\n".join(lines))
    sys.stdout.flush()  # a simulation may follow, and take its time


@contextlib.contextmanager
def _of_study(
    target: StudyFile, name: str | None, parameters: Mapping[str, Any] | None
) -> Iterator[tuple[Model, dict[str, Any]]]:
    """Yield the model of a study, and what its file says; its simulator must be usable."""
    with opened(target, name) as study:
        simulator, model = study.simulator, study.with_parameters(parameters)
        lacks = "" if model.has_objective else "no objective"
        if model.outputs and model.black_box is None:
            lacks = f"the outputs {[output.name for output in model.outputs]}"
        if simulator is None and lacks:
            raise ModelError(
                f"{target.path.name}: there is no simulator, and the model has {lacks}. Put a "
                "function `simulator` into simulator.py."
            )
        if simulator is not None:
            check_simulator(simulator)
        check_model = getattr(simulator, "check_model", None)
        if check_model is not None:
            check_model(model)
        check_limits_and_sense(model, target.options, simulator)
        if "start" in target.options:
            full_start(model, target.options["start"])
        yield model, _study_data(target)


def _simulator_names(given: Source | tuple[Source, ...] | None) -> str | None:
    """Return the files of the simulators."""
    if given is None:
        return None
    return ", ".join(s.path.name for s in (given if isinstance(given, tuple) else (given,)))


def _study_data(study: StudyFile) -> dict[str, Any]:
    options = study.options
    simulated = {name: limits_text(pair) for name, pair in options.get("simulated", {}).items()}
    workers = options.get("workers")
    if study.workers is not None:
        workers = f"{study.workers.path.name}:{study.workers.name}"
    journal = study.journal.relative_to(study.folder)
    return {
        "model": study.model.path.name,
        "simulator": _simulator_names(study.simulator),
        **({"cost": options["cost"]} if "cost" in options else {}),
        **{k: options.get(k) for k in ("sense", *LIMIT_NAMES, "seed")},
        "workers": workers,
        "parameters": options.get("parameters"),
        "simulated": simulated or None,
        "journal": str(journal) + (", exists" if study.journal.exists() else ""),
    }


def _tables(model: Model, fs: FeasibleSet, objective: bool) -> str:
    """Variables as declared; rows as compiled, with their kinds; formulas, also the objective."""
    domains = bound_domains(model.variables)
    rows = [
        (
            info.name,
            f"{info.kind.value} equality" if info.equality else info.kind.value,
            *_limits(low, high, info.equality, domains.get(info.name, REAL)),
            info.source or "-",
        )
        for info, low, high in _rows(fs)
    ]
    text = f"{model.name}: {model.n_variables} variables, {len(rows)} rows\n\n"
    text += model_variables(model.variables)
    text += model_quantities(model.parameters, model.outputs)
    if rows:
        text += "\n\n" + text_table(("row", "kind", "lower", "upper", "source"), rows)
    text += model_formulas(model, objective)
    return text + "".join(f"\nnote: {note}" for note in fs.notes)


def _rows(fs: FeasibleSet) -> Iterator[tuple[RowInfo, float, float]]:
    """Yield all rows with their limits; equations that a run solves are rows here, too."""
    if fs.whole is None:
        yield from zip(fs.rows, fs.lower.tolist(), fs.upper.tolist(), strict=True)
        return
    limits = fs.whole.limits
    for info, low, high in zip(fs.whole.bounds, limits.low, limits.high, strict=True):
        if np.isfinite(low) or np.isfinite(high):
            yield info, low, high
    rows = fs.whole.rows, limits.row_low.tolist(), limits.row_high.tolist()
    yield from zip(*rows, strict=True)


def _quantities(model: Model) -> dict[str, Any]:
    """Return parameters, outputs and formulas of a model as data; None for what it has not."""
    objective, rows = formulas_of(model)
    return {
        "parameters": {p.name: {"value": p.value, "unit": p.unit} for p in model.parameters}
        or None,
        "outputs": {o.name: {"shape": o.shape, "unit": o.unit} for o in model.outputs} or None,
        "objective": objective
        and {
            "name": model.objective_name,
            "sense": model.objective_sense,
            "formula": objective,
        },
        "simulated_formulas": {row.name: row.text for row in rows} or None,
    }


def _limits(low: float, high: float, equality: bool, domain: Domain) -> tuple[str, str]:
    """Limits of a row; of an equality the value and its tolerance."""
    if not equality:
        return domain.bound_shown(low), domain.bound_shown(high)
    middle = (low + high) / 2
    return f"{number(middle)} +- {(high - low) / 2:.3g}", number(middle)


def _first_call(
    target: StudyFile | Path, name: str | None, parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Simulate the first design of a study and return what came of it; nothing is written."""
    if isinstance(target, Path) and target.suffix != ".py":
        raise SettingsError(f"--simulate: {target} has no simulator; name a study or Python file.")
    with opened(target, name) as study, study.workers as workers:
        options = {k: v for k, v in study.options.items() if k not in _ALONE}
        more: dict[str, Any] = {} if workers is None else {"workers": workers}
        more["parameters"] = study.parameters(parameters)
        simulator = study.simulator
        if isinstance(simulator, list | tuple):  # the run is about the last one
            simulator, options = simulator[-1], {**options, "cost": None}
        result = solve(study.model, simulator, max_evaluations=1, **{**options, **more})
        budget = study.options.get("max_evaluations")
    [call] = result.evaluations
    return {
        "seconds": call.seconds,
        "objective": call.objective,
        "objective_name": result.objective_name,
        "design": by_name(result, call.x),
        "constraints": call.constraints,
        "violated": list(call.violated),
        "outputs": call.outputs,
        "units": {output.name: output.unit for output in result.declared_outputs},
        "formulas": {s.name: s.formula for s in result.simulated if s.formula},
        "max_evaluations": budget,
        "seconds_for_the_budget": None if budget is None else budget * call.seconds,
    }


def _call_lines(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that tell of it."""
    yield f"one call of the simulator: {duration(call['seconds'])}"
    name = call["objective_name"]
    yield f"  objective{f' ({name})' * bool(name)} = {call['objective']:.10g}"
    for name, value in call["constraints"].items():
        state = "does not hold here" if name in call["violated"] else "holds here"
        formula = call["formulas"].get(name)
        derived = f": {formula}" * bool(formula)
        yield f"  {name} = {value:.10g} (simulated constraint, {state}{derived})"
    for name, value in call["outputs"].items():
        unit = call["units"].get(name)
        yield f"  {name} = {value}{f' {unit}' * bool(unit)} (output)"
    for name, value in call["design"].items():
        yield f"  at {name} = {value_text(value)}"
    if call["max_evaluations"] is not None:
        total = duration(call["seconds_for_the_budget"])
        yield (
            f"all {call['max_evaluations']} calls of the budget would take {total}, one after the "
            "other"
        )
