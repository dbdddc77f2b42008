"""``study.toml``: what is read from it, and how wrong ones are refused, line by line."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import MODEL, command, write_study
from hypothesis import given, settings
from hypothesis import strategies as st

import archeng
from archeng.cli.study_file import SECTIONS, Source, key_lines, read_study
from archeng.errors import StudyFileError

FULL = """\
[study]
name = "every-key"
model = "model.py:make_model"
simulator = "sub/simulator.py:call"
sense = "maximize"
simulator_takes = "design"

[run]
max_evaluations = 10
max_cost = 8.5
asynchronous = false
noise = 0.1
confidence = 0.9
max_time = 5
target = -1.5
seed = 0
restarts = 2
population_size = 8
parallel = 6
workers = "threads:3"
timeout = 2.5
retries = { failed = 1, lost = 0 }
max_failures = 0
on_failure = "raise"
journal = "sub/journal.db"
reuse = ["../other/run.db"]
data = ["../other/run.db"]
data_columns = { thickness = "t [mm]" }

[simulated]
stress = { upper = 250e6 }
"first mode" = { lower = 40, upper = 60.5 }

[settings]
proposals = 3
surrogate = "none"
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "s", FULL, MODEL)
    (folder / "sub").mkdir()
    (folder / "sub" / "simulator.py").write_text("call = len\n")
    study = read_study(folder / "study.toml")
    data = tomllib.loads(FULL)
    every = set(SECTIONS["study"] or ()) - {"cost"}  # which is for several simulators
    assert set(data["study"]) == every  # the example has all keys
    assert set(data["run"]) == set(SECTIONS["run"] or ())
    assert study.name == "every-key"
    assert (study.model.path, study.model.name) == (folder / "model.py", "make_model")
    assert isinstance(study.simulator, Source)
    assert study.simulator.path == folder / "sub" / "simulator.py"
    assert study.simulator.name == "call"
    assert study.journal == folder / "sub" / "journal.db"
    assert study.workers is None
    assert study.options == {
        **{k: v for k, v in data["run"].items() if k not in ("journal", "reuse", "data")},
        "sense": "maximize",
        "simulator_takes": "design",
        "reuse": [folder / "../other/run.db"],
        "data": [folder / "../other/run.db"],
        "simulated": {"stress": (None, 250e6), "first mode": (40, 60.5)},
        "settings": archeng.Settings(proposals=3, surrogate="none"),
    }


def test_several_simulators_with_their_cost(tmp_path: Path) -> None:
    text = """[study]
simulator = ["simulator.py:coarse", "simulator.py"]
cost = [0.1, 1.0]
"""
    folder = write_study(tmp_path, text)
    study = read_study(folder / "study.toml")
    assert isinstance(study.simulator, tuple)
    assert [source.name for source in study.simulator] == ["coarse", None]
    assert study.options["cost"] == [0.1, 1.0]
    (folder / "study.toml").write_text(text.replace("[0.1, 1.0]", "[1.0, 0.1]"))
    with pytest.raises(StudyFileError, match=r"study.toml:3: study.cost: .*increase"):
        read_study(folder / "study.toml")


def test_an_empty_file_has_defaults(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "")
    study = read_study(folder / "study.toml")
    assert (study.name, study.options) == (None, {})
    assert study.model.path.name == "model.py"
    assert study.simulator is not None
    assert study.journal == folder / "run.db"
    (folder / "simulator.py").unlink()
    assert read_study(folder / "study.toml").simulator is None


def test_every_setting_is_a_key() -> None:
    assert set(SECTIONS["settings"] or ()) == set(vars(archeng.Settings()))


WRONG = {  # text, line, what the message says
    "unknown key": ("[run]\nseed = 1\nmax_evaluation = 3\n", 3, "Did you mean max_evaluations"),
    "unknown section": ("[run]\nseed = 1\n\n[running]\n", 4, "Did you mean run"),
    "strange key": ("[run]\nzzz = 1\n", 2, "There are max_evaluations, max_cost, max_time"),
    "key without its section": ("\nseed = 1\n", 2, r"belongs into the section \[run\]"),
    "key in another section": ("[study]\nseed = 1\n", 2, r"belongs into the section \[run\]"),
    "section that is a number": ("run = 3\n", 1, r"a section \[run\]"),
    "text for a number": ('[run]\nmax_evaluations = "many"\n', 2, "integer of at least 1"),
    "float for a number": ("[run]\nmax_evaluations = 10.0\n", 2, "integer of at least 1"),
    "truth for a number": ("[run]\nseed = true\n", 2, "integer of at least 0"),
    "too small": ("[run]\n# c\nmax_evaluations = 0\n", 3, "at least 1, got 0"),
    "negative seed": ("[run]\nseed = -1\n", 2, "at least 0, got -1"),
    "small population": ("[run]\npopulation_size = 3\n", 2, "at least 4"),
    "no time": ("[run]\nmax_time = 0\n", 2, "positive seconds"),
    "endless negative time": ("[run]\nmax_time = -inf\n", 2, "positive seconds"),
    "target nan": ("[run]\ntarget = nan\n", 2, "finite number"),
    "workers 0": ("[run]\nworkers = 0\n", 2, "number of processes"),
    "workers -2": ("[run]\nworkers = -2\n", 2, "number of processes"),
    "workers text": ('[run]\nworkers = "many"\n', 2, "number of processes"),
    "workers outside": ('[run]\nworkers = "../c.py:f"\n', 2, "number of processes"),
    "workers missing": ('[run]\nworkers = "cluster.py:f"\n', 2, "no file cluster.py"),
    "retries": ("[run]\nretries = { crashed = 1 }\n", 2, "'failed', 'invalid', 'timed_out'"),
    "on failure": ('[run]\non_failure = "ignore"\n', 2, "one of rank_last, raise"),
    "sense": ('[study]\nsense = "min"\n', 2, "one of minimize, maximize"),
    "name": ('[study]\nname = "../up"\n', 2, "a name of letters"),
    "empty name": ('[study]\nname = ""\n', 2, "a name of letters"),
    "model is no file": ('[study]\nmodel = "model"\n', 2, ".py or .nl file"),
    "model missing": ('[study]\nmodel = "other.py"\n', 2, "no file other.py"),
    "model outside": ('[study]\nmodel = "../model.py"\n', 2, "inside the folder"),
    "model absolute": ('[study]\nmodel = "/tmp/model.py"\n', 2, "inside the folder"),
    "model on another drive": ('[study]\nmodel = "C:\\\\model.py"\n', 2, "inside the folder"),
    "simulator of another kind": ('[study]\nsimulator = "model.nl"\n', 2, ".py file"),
    "journal outside": ('[run]\njournal = "../run.db"\n', 2, "inside the folder"),
    "journal absolute": ('[run]\njournal = "/tmp/run.db"\n', 2, "inside the folder"),
    "journal is the model": ('[run]\njournal = "model.py"\n', 2, "the name of a file"),
    "journal empty": ('[run]\njournal = ""\n', 2, "the name of a file"),
    "reuse is a number": ("[run]\nreuse = 3\n", 2, "a list of paths of journals"),
    "reuse is a table": ('[run]\nreuse = ["calls.csv"]\n', 2, "is a table, not a journal"),
    "limit is a number": ("[simulated]\nstress = 3\n", 2, "limits such as"),
    "no limit": ("[simulated]\nstress = {}\n", 2, "limits such as"),
    "strange limit": ("[simulated]\nstress = { max = 3 }\n", 2, "limits such as"),
    "limit is a text": ('[simulated]\nstress = { upper = "3" }\n', 2, "not a number"),
    "limit nan": ("[simulated]\nstress = { upper = nan }\n", 2, "not a number"),
    "limits the wrong way round": (
        "[simulated]\na = { upper = 1 }\n[simulated.b]\nlower = 3\nupper = 2\n", 3, "below the"
    ),
    "start is a table": ("[start]\nbolts = { value = 8 }\n", 2, "a number, a name"),
    "start is a date": ("[start]\nbolts = 2026-01-01\n", 2, "a number, a name"),
    "start nan": ("[start]\nwidths = [1.0, nan]\n", 2, "a number, a name"),
    "unknown setting": ("[settings]\n\n\nproposal = 2\n", 4, "Did you mean proposals"),
    "wrong setting": ("[settings]\nproposals = 0\n", 2, "integer of at least 1, got 0"),
    "setting of another type": ("[settings]\ntol_x = []\n", 2, "between 0.0 and 1.0"),
    "setting of a handler": ("[settings]\nmax_samples = 9\n", 2, r"\[settings.handler_options\]"),
    "no table of a handler": ("[settings]\nhandler_options = 3\n", 2, "dictionary by name"),
    "list for a handler": ('[settings]\nhandler_options = { a = [1] }\n', 2, "a number, a text"),
    "syntax": ("[run]\nseed = \n", 2, "not valid TOML"),
    "syntax at the end": ("[run]\nseed = 1\n[study\n", 3, "not valid TOML"),
    "key twice": ("[run]\nseed = 1\nseed = 2\n", 3, "not valid TOML"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_files_are_refused_with_the_line(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, line, said = WRONG[kind]
    folder = write_study(tmp_path, text)
    assert command("run", folder, "--quiet") == 2
    shown = capsys.readouterr().err
    assert re.search(said, shown), shown
    assert f"study.toml:{line}: " in shown or f"(at line {line}, column" in shown, shown
    assert not (folder / "run.db").exists()
    assert command("check", folder) == 2


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    folder = write_study(tmp_path, "[run]\nseed = -1\nworker = 2\n[study]\nsense = 3\n")
    with pytest.raises(StudyFileError) as caught:
        read_study(folder / "study.toml")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("has 3 problems:")
    assert [re.search(r"study\.toml:(\d)", line)[1] for line in lines[1:]] == ["2", "3", "5"]  # type: ignore[index]


def test_files_that_are_no_text(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    (folder / "study.toml").write_bytes(b"[run]\n# \xff\n")
    with pytest.raises(StudyFileError, match=r"study\.toml:2: is not UTF-8"):
        read_study(folder / "study.toml")
    (folder / "study.toml").write_bytes(b"\xef\xbb\xbf[run]\r\nseed = 1\r\n\r\nsed = 1\r\n")
    with pytest.raises(StudyFileError, match=r"study\.toml:4: run\.sed"):
        read_study(folder / "study.toml")
    (folder / "study.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(StudyFileError):
        read_study(folder / "study.toml")
    with pytest.raises(StudyFileError, match="cannot be read"):
        read_study(folder / "missing.toml")


@pytest.mark.parametrize("key", ["journal", "model"])
def test_links_do_not_lead_out_of_the_folder(key: str, tmp_path: Path) -> None:
    elsewhere = write_study(tmp_path / "elsewhere")
    folder = write_study(tmp_path / "study", '[run]\njournal = "run.db"\n')
    target = {"journal": "run.db", "model": "model.py"}[key]
    (folder / target).unlink(missing_ok=True)
    os.symlink(elsewhere / target, folder / target)
    with pytest.raises(StudyFileError, match="leads out of the folder"):
        read_study(folder / "study.toml")


# -- lines -----------------------------------------------------------------------------------

KEYS = st.text(min_size=1, max_size=8)
SCALARS = st.one_of(
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)
VALUES: Any = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def quoted(text: str) -> str:
    """A basic string of TOML."""
    found = json.dumps(text, ensure_ascii=True)
    return re.sub(r"(\\ud[89ab]..)(\\ud[c-f]..)", _pair, found).replace("\x7f", "\\u007f")


def _pair(match: re.Match[str]) -> str:
    """JSON writes surrogate pairs, TOML whole characters."""
    return f"\\U{ord(json.loads(f'{chr(34)}{match[0]}{chr(34)}')):08x}"


def written(value: Any, many_lines: bool) -> str:
    if isinstance(value, dict):
        pairs = (f"{quoted(k)} = {written(v, False)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        between = ", # a ] comment\n  " if many_lines else ", "
        return "[" + between.join(written(v, many_lines) for v in value) + "]"
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=4),
    st.booleans(),
)
def test_lines_of_any_document(tables: dict[str, dict[str, Any]], many_lines: bool) -> None:
    lines: list[str] = []
    expected: dict[tuple[str, ...], int] = {}
    for table, pairs in tables.items():
        lines += ["# a comment with [brackets] = 1", ""]
        expected[table,] = len(lines) + 1
        lines.append(f"[ {quoted(table)} ] # {{")
        for key, value in pairs.items():
            expected[table, key] = len(lines) + 1
            lines += f"  {quoted(key)} = {written(value, many_lines)} # ' \"".split("\n")
    text = "\n".join(lines)
    assert tomllib.loads(text) == tables  # the document is what it should be
    found = key_lines(text)
    assert {k: v for k, v in found.items() if k in expected} == expected


def test_lines_of_strings_over_several_lines() -> None:
    text = (
        "a = '''\n[no] = 1\n''''' # two quotes of the text stand before the end\n"
        'b = """\\\n  x\n  \\""" = \\\\"""\n'
        "c.\"d.e\".'f' = [\n  1,\n  { g = 2 },\n]\n"
        "[[h]]\ni = 1\n[h.j]\nk = 2\n[[h]]\ni = 3\n"
    )
    tomllib.loads(text)
    found = key_lines(text)
    assert found["a",] == 1
    assert found["b",] == 4
    assert found["c", "d.e", "f"] == 7
    assert found["h",] == 11
    assert found["h", "j", "k"] == 14


def test_sections_are_documented() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
    text = page.read_text(encoding="utf-8")
    for section, keys in SECTIONS.items():
        assert f"[{section}]" in text
        if section != "settings":
            assert all(f"`{key}`" in text for key in keys or ())
