"""One table of options: whatever has options has those of the table."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import archeng
from archeng.cli.main import commands
from archeng.cli.study_file import SECTIONS
from archeng.errors import SettingsError
from archeng.options import LIMIT_NAMES, OPTION_NAMES, OPTIONS, RESUME_NAMES, OnResume
from archeng.runner.options import Options, Runtime
from archeng.simulator import FailurePolicy

FUNCTIONS = {
    archeng.solve: (OPTION_NAMES, {"model", "simulator", "import_arguments"}),
    archeng.resume: (RESUME_NAMES, {"journal", "simulator"}),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures_have_the_names_and_defaults_of_the_table(function: Any) -> None:
    names, more = FUNCTIONS[function]
    parameters = inspect.signature(function).parameters
    assert set(parameters) == set(names) | more
    for name in names:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == OPTIONS[name].default, name


@pytest.mark.parametrize("function", FUNCTIONS)
def test_docstrings_say_each_option_in_a_line(function: Any) -> None:
    doc = inspect.getdoc(function) or ""
    section = doc.split("Parameters\n----------\n")[1].split("\n\n")[0]
    for name in FUNCTIONS[function][0]:
        option = OPTIONS[name]
        assert f"{name} : {option.kind}\n    {option.help}" in section
        assert len(option.help) < 92
        assert option.help.endswith(".")


def test_every_option_is_read_by_something() -> None:
    """A new line of the table without a reader would be taken and forgotten."""
    read = {f.name for kind in (Options, Runtime, FailurePolicy) for f in fields(kind)}
    of_run = {"verbose", "seed", "start", "sigma", "settings", "parameters"}
    assert read - {"policy", "progress"} | of_run == set(OPTION_NAMES)


def test_what_may_change_when_a_run_goes_on() -> None:
    assert set(LIMIT_NAMES) == {"max_evaluations", "max_cost", "max_time", "target"}
    assert {"seed", "sense", "simulated", "journal"} & set(RESUME_NAMES) == set()
    for option in OPTIONS.values():
        assert option.solve or option.on_resume is not OnResume.FIXED


@pytest.mark.parametrize(("command", "names"), [("run", OPTION_NAMES), ("resume", RESUME_NAMES)])
def test_flags_are_those_of_the_table(command: str, names: tuple[str, ...]) -> None:
    flags: dict[str, Any] = {p.name: p for p in commands.commands[command].params}
    expected = {name for name in names if OPTIONS[name].flag}
    own = {"object_name", "force", "output", "quiet", "as_json", "study", "journal", "help"}
    assert expected <= set(flags)
    assert set(flags) - expected <= own
    for name in expected:
        assert flags[name].help == OPTIONS[name].help
        assert flags[name].opts == [OPTIONS[name].flag_name]
        each = ("--parameter", "--data-column")
        assert OPTIONS[name].flag_name in (f"--{name.replace('_', '-')}", *each)


def test_keys_of_a_study_are_those_of_the_table() -> None:
    own = {"study": {"name", "model", "simulator"}, "run": set()}
    for section, more in own.items():
        expected = {o.name for o in OPTIONS.values() if o.section == section}
        assert set(SECTIONS[section] or ()) == expected | more


def test_the_pyomo_solver_takes_those_of_the_table() -> None:
    with pytest.raises(SettingsError) as caught:
        pyo.SolverFactory("archeng").solve(pyo.ConcreteModel(), options={"nonsense": 1})
    names = str(caught.value).split("It takes ")[1].rstrip(".").split(", ")
    expected = {o.name for o in OPTIONS.values() if o.pyomo}
    assert set(names) == expected | {"scale", "tolerance", "gradients", "independent"}


@pytest.mark.parametrize("name", OPTIONS)
def test_defaults_pass_their_own_check(name: str) -> None:
    OPTIONS[name].checked(OPTIONS[name].default)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("name", [o.name for o in OPTIONS.values() if o.kind.startswith("int")])
def test_integers_are_alike_everywhere(name: str, kind: Any) -> None:
    OPTIONS[name].checked(kind(5))
    for wrong in (True, 5.0, "5", -2):
        with pytest.raises(SettingsError, match=name):
            OPTIONS[name].checked(wrong)


@pytest.mark.parametrize("name", [o.name for o in OPTIONS.values() if o.words])
def test_words(name: str) -> None:
    option = OPTIONS[name]
    for word in option.words:
        assert option.checked(word) == word
    with pytest.raises(SettingsError, match=rf"Did you mean {option.words[0]}\?"):
        option.checked(option.words[0] + "s")
