"""``archeng check``: what a model is, and whether it can have a design, before any simulator."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archeng.cli.first_call import first_call, first_call_lines
from archeng.cli.load import load_model
from archeng.cli.open_study import opened
from archeng.cli.plain import write_json
from archeng.cli.study_file import StudyFile
from archeng.cli.target import study_or_file
from archeng.diagnose import Diagnosis, diagnose
from archeng.errors import InfeasibleModelError, ModelError, SimulatorError
from archeng.model import (
    FeasibleSet,
    Model,
    as_model,
    compile_model,
    model_variables,
    number,
    refuse_wide,
    text_table,
)
from archeng.plain_text import visible
from archeng.options import OPTIONS
from archeng.sampling import deviations


def check(options: argparse.Namespace) -> int:
    """Print the model and its diagnosis."""
    OPTIONS["seed"].checked(options.seed)
    target = study_or_file(options.file, "check")
    with contextlib.ExitStack() as stack:
        study = None
        if isinstance(target, StudyFile):
            model, study = stack.enter_context(_of_study(target, options.object))
        else:
            model = load_model(str(target), options.object)
        fs: FeasibleSet | None = None
        with contextlib.suppress(InfeasibleModelError):  # the diagnosis says why
            fs = compile_model(model)
        diagnosis = diagnose(model, seed=options.seed)
        if not options.json:
            _show(model, fs, diagnosis, study)
        call = None
        if diagnosis.feasible and options.simulate:
            call = first_call(target, options.object)
        if options.json:
            more = {"study": study, "first_call": call}
            write_json(diagnosis.to_dict() | {k: v for k, v in more.items() if v is not None})
        elif call is not None:
            sys.stdout.write(visible("\n" + "\n".join(first_call_lines(call)) + "\n"))
        if not diagnosis.feasible:
            return 1
        if fs is not None:
            refuse_wide(fs)
            deviations(fs)  # refuses a model in which a run cannot tell where to search
        return 0


def _show(
    model: Model,
    fs: FeasibleSet | None,
    diagnosis: Diagnosis,
    study: dict[str, Any] | None,
) -> None:
    head = str(model) if fs is None else _tables(model, fs)
    sys.stdout.write(visible(f"{head}\n\n{diagnosis}\n"))
    if study is not None:
        lines = (f"  {k}: {v}" for k, v in study.items() if v is not None)
        sys.stdout.write("\nstudy:\n" + "\n".join(lines) + "\n")
    sys.stdout.flush()  # a simulation may follow, and take its time


@contextlib.contextmanager
def _of_study(target: StudyFile, name: str | None) -> Iterator[tuple[Model, dict[str, Any]]]:
    """Yield the model of a study, and what its file says; its simulator must be usable."""
    with opened(target, name) as study:
        simulator = study.simulator
        model = as_model(study.model, objective=simulator is None)
        if simulator is None and not model.has_objective:
            raise ModelError(
                f"{target.path.name}: there is no simulator, and the model has no objective. Put "
                "a function `simulator` into simulator.py."
            )
        if simulator is not None and not callable(simulator):
            raise SimulatorError(f"The simulator must be a function, got {simulator!r}.")
        check_variables = getattr(simulator, "check_variables", None)
        if check_variables is not None:
            check_variables(model.variables)
        yield model, _study_data(target)


def _study_data(study: StudyFile) -> dict[str, Any]:
    options = study.options
    simulated = {
        name: " and ".join(
            f"{sign} {value:g}"
            for sign, value in zip((">=", "<="), limits, strict=True)
            if value is not None
        )
        for name, limits in options.get("simulated", {}).items()
    }
    workers = options.get("workers")
    if study.workers is not None:
        workers = f"{study.workers.path.name}:{study.workers.name}"
    journal = study.journal.relative_to(study.folder)
    return {
        "model": study.model.path.name,
        "simulator": None if study.simulator is None else study.simulator.path.name,
        "sense": options.get("sense"),
        "max_evaluations": options.get("max_evaluations"),
        "max_time": options.get("max_time"),
        "target": options.get("target"),
        "seed": options.get("seed"),
        "workers": workers,
        "simulated": simulated or None,
        "journal": str(journal) + (", exists" if Path(study.journal).exists() else ""),
    }


def _tables(model: Model, fs: FeasibleSet) -> str:
    """Variables as declared; rows as compiled, with their kinds."""
    rows = [
        (
            info.name,
            f"{info.kind.value} equality" if info.equality else info.kind.value,
            *_limits(low, high, info.equality),
            info.source or "-",
        )
        for info, low, high in zip(fs.rows, fs.lower, fs.upper, strict=True)
    ]
    text = f"{model.name}: {model.n_variables} variables, {len(rows)} rows\n\n"
    text += model_variables(model.variables)
    if rows:
        text += "\n\n" + text_table(("row", "kind", "lower", "upper", "source"), rows)
    return text + "".join(f"\nnote: {note}" for note in fs.notes)


def _limits(low: float, high: float, equality: bool) -> tuple[str, str]:
    """Limits of a row; of an equality the value and its tolerance."""
    if not equality:
        return number(low), number(high)
    middle = (low + high) / 2
    return f"{number(middle)} +- {(high - low) / 2:.3g}", number(middle)
