"""Templates and arguments of `CommandSimulator`: mistakes are reported before any call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archeng
from archeng import CommandSimulator, Design, Model, read_json, read_regex
from archeng.errors import SettingsError
from archeng.simulator import CallStatus, call

NUMBER = read_regex(r"(\S+)")
ECHO = {"read": NUMBER, "keep": "none"}


def model() -> Model:
    model = Model("names")
    model.variable("t", lower=1, upper=2)
    model.variable("w", shape=2, lower=0, upper=1)
    model.variable("W", shape=(2, 2), lower=0, upper=1)
    model.variable("b.x[3]", lower=0, upper=1)
    return model


def design() -> Design:
    return Design(model().variables, np.array([1.5, 0.25, 0.75, 0.1, 0.2, 0.3, 0.4, 0.625]))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("{{t}}", "1.5"),
        ("{{ t }}", "1.5"),
        ("{{t:.3f}}", "1.500"),
        ("{{t:10.2e}}", "  1.50e+00"),
        ("{{t:+g}}", "+1.5"),
        ("{{w[0]}} {{w[1]}}", "0.25 0.75"),
        ("{{W[0,0]}} {{W[1,0]}} {{W[0,1]}} {{W[1,1]}}", "0.1 0.2 0.3 0.4"),
        ("{{b.x[3]}}", "0.625"),
        ("{t} { {t} }", "{t} { {t} }"),
        ("a\n{{t}}\n\tb\\n", "a\n1.5\n\tb\\n"),
        ("größe {{t}} µm", "größe 1.5 µm"),
        ("{{t}}{{t}}", "1.51.5"),
    ],
)
@pytest.mark.parametrize("as_path", [False, True])
def test_fields(field: str, text: str, as_path: bool, tmp_path: Path) -> None:
    template: str | Path = field
    if as_path:
        template = tmp_path / "input.template"
        template.write_text(field, encoding="utf-8")
    elif "{{" not in field:
        template = field + "\n"
        text += "\n"
    program = CommandSimulator(
        ["cat", "{input}"], templates={"input.txt": template},
        read=lambda folder, output: float(output == text), keep="none",
    )  # fmt: skip
    program.check_variables(model().variables)
    outcome = call(program, design())
    assert outcome.objective == 1.0, outcome.message


@pytest.mark.parametrize(
    "options",
    [
        {"templates": {"a.inp": "{{thickness}}"}},
        {"templates": {"a.inp": "{{w[2]}}"}},
        {"templates": {"a.inp": "{{w[0}}"}},
        {"templates": {"a.inp": "{{ }} {{T}}"}},
        {"templates": {"a.inp": "{{w}}"}},  # two numbers: which one?
        {"templates": {"a.inp": "{{t:nonsense}}"}},
        {"templates": {"a.inp": "{{t:d}}"}},
        {"command": ["echo", "{{thickness}}"]},
        {"command": ["echo", "x={{W}}"]},
    ],
)
def test_fields_that_the_model_does_not_have(options: dict[str, Any]) -> None:
    command = options.pop("command", ["cat", "{input}"])
    with pytest.raises(SettingsError) as caught:
        archeng.solve(model(), CommandSimulator(command, **ECHO, **options), max_evaluations=3)
    assert "a.inp" in str(caught.value) or "command" in str(caught.value)


@pytest.mark.parametrize(
    ("command", "templates"),
    [
        (["cat", "{input}"], {}),
        (["cat", "{input}"], {"a": "{{t}}", "b": "{{t}}"}),
        (["cat", "{c}"], {"a": "{{t}}"}),
        (["cat", "{t}"], {"a": "{{t}}"}),
        ("cat {input}", {"a": "{{t}}"}),
        ([], {}),
        (["cat"], {"folder/a": "{{t}}"}),
        (["cat"], {"..": "{{t}}"}),
        (["cat"], {"/etc/a": "{{t}}"}),
        (["cat"], {"": "{{t}}"}),
        (["cat"], {"stdout.txt": "{{t}}"}),  # the program's own output goes there
        (["cat"], {"a": "no such file.inp"}),
        (["cat"], {"a": Path("/nowhere/a.inp")}),
        (["cat"], {"a": Path("/tmp")}),
    ],
)
def test_bad_commands_and_templates(command: Any, templates: Any) -> None:
    with pytest.raises(SettingsError):
        CommandSimulator(command, templates=templates, **ECHO)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("keep", "some"),
        ("keep", True),
        ("read", None),
        ("read", "mass"),
        ("timeout", 0),
        ("timeout", -1.0),
        ("timeout", "1"),
        ("timeout", float("nan")),
        ("ok_exit_codes", 0),
        ("ok_exit_codes", ["0"]),
        ("environment", {"THREADS": 4}),
        ("environment", ["A=1"]),
    ],
)
def test_bad_options(option: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=option):
        CommandSimulator(["true"], **{**ECHO, option: value})


def test_a_template_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "mesh.bin").write_bytes(b"\xff\xfe\x00{{t}}")
    with pytest.raises(SettingsError, match="mesh"):
        CommandSimulator(["cat"], templates={"a": tmp_path / "mesh.bin"}, **ECHO)


def test_names_in_the_command(tmp_path: Path) -> None:
    program = CommandSimulator(
        ["sh", "-c", 'test "$1" = "$PWD/b.inp" -a "$2" = "$PWD" -a "$3" = "-x1.5" && cat "$4"',
         "sh", "{b.inp}", "{directory}", "-x{{t}}", "{directory}/a.inp"],
        templates={"a.inp": "{{t}}", "b.inp": "{{w[0]}}"}, **ECHO,
    )  # fmt: skip
    outcome = call(program, design())
    assert (outcome.status, outcome.objective) == (CallStatus.OK, 1.5), outcome.message


def test_a_template_is_read_once(tmp_path: Path) -> None:
    """A worker on another machine may not see the file."""
    path = tmp_path / "a.inp"
    path.write_text("{{t}}")
    program = CommandSimulator(["cat", "{input}"], templates={"a.inp": path}, **ECHO)
    path.unlink()
    assert call(program, design()).objective == 1.5


def test_a_relative_directory_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = CommandSimulator(["echo", "1"], read=NUMBER, keep="all", directory="calls")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    call(program, design())
    assert len(list((tmp_path / "calls").iterdir())) == 1


def test_calls_get_fresh_directories(tmp_path: Path) -> None:
    program = CommandSimulator(
        ["sh", "-c", "ls | wc -l; touch mine"], read=NUMBER, keep="all", directory=tmp_path
    )
    assert [call(program, design()).objective for _ in range(3)] == [2.0] * 3  # stdout, stderr
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("pattern", ["mass", "(a)(b)", "mass = (", "(?:x)"])
def test_bad_patterns(pattern: str) -> None:
    with pytest.raises(SettingsError):
        read_regex(pattern)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("m = 1.5", 1.5),
        ("m = 1\nm = 2\nm = 3", 3.0),
        ("m = 1.5D+02", 150.0),
        ("m = 1.5d+02", 150.0),
        ("m = -1.5D-02", -0.015),
        ("m = 1e3", 1000.0),
    ],
)
def test_regex(output: str, value: float, tmp_path: Path) -> None:
    assert read_regex(r"m = (\S+)")(tmp_path, output) == value


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("objective", '{"objective": 3}', 3.0),
        ("a.b.c", '{"a": {"b": {"c": 1.25}}}', 1.25),
        ("loads.1.x", '{"loads": [0, {"x": 7}]}', 7.0),
        ("a.0", '{"a": {"0": 5}}', 5.0),
        ("objective", '{"objective": "2.5"}', 2.5),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_json(key: str, text: str, value: float, in_file: bool, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(text)
    reader = read_json(key, file="out.json" if in_file else None)
    assert reader(tmp_path, "" if in_file else text) == value
