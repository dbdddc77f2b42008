"""``archeng check --simulate``: the one call with which a run would begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from archeng.cli.open_study import opened
from archeng.cli.study_file import StudyFile
from archeng.errors import SettingsError
from archeng.progress import duration
from archeng.runner import solve

_NOT_HERE = ("journal", "reuse", "verbose", "callback", "max_evaluations", "max_time", "target")


def first_call(target: StudyFile | Path, name: str | None) -> dict[str, Any]:
    """Simulate the first design of a study and return what came of it; nothing is written.

    Raises
    ------
    SimulatorError
        If the call does not end well; it has the simulator's own words.
    """
    if isinstance(target, Path) and target.suffix != ".py":
        raise SettingsError(f"--simulate: {target} has no simulator; name a study or Python file.")
    with opened(target, name) as study, study.workers as workers:
        options = {k: v for k, v in study.options.items() if k not in _NOT_HERE}
        more = {} if workers is None else {"workers": workers}
        result = solve(study.model, study.simulator, max_evaluations=1, **{**options, **more})
        budget = study.options.get("max_evaluations")
    [call] = result.evaluations
    names = [n for v in result.variables for n in v.element_names()]
    return {
        "seconds": call.seconds,
        "objective": call.objective,
        "design": dict(zip(names, call.x, strict=True)),
        "constraints": call.constraints,
        "violated": list(call.violated),
        "outputs": call.outputs,
        "max_evaluations": budget,
        "seconds_for_the_budget": None if budget is None else budget * call.seconds,
    }


def first_call_lines(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that tell of it."""
    yield f"one call of the simulator: {duration(call['seconds'])}"
    yield f"  objective = {call['objective']:.10g}"
    for name, value in call["constraints"].items():
        state = "does not hold here" if name in call["violated"] else "holds here"
        yield f"  {name} = {value:.10g} (simulated constraint, {state})"
    for name, value in call["outputs"].items():
        yield f"  {name} = {value} (output)"
    for name, value in call["design"].items():
        yield f"  at {name} = {value:.10g}"
    if call["max_evaluations"] is not None:
        total = duration(call["seconds_for_the_budget"])
        yield (
            f"all {call['max_evaluations']} calls of the budget would take {total}, one after the "
            "other"
        )
