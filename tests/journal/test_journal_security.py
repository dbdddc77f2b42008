"""Journals and results are data. Whatever is in them, reading them runs no code."""

from __future__ import annotations

import ast
import base64
import contextlib
import json
import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import bowl, line, solve_case

import archeng
from archeng import Result
from archeng.cli import main
from archeng.errors import ArchengError, ResultFileError

NAME = "budget within a generation"
PACKAGE = Path(archeng.__file__).parent
DEEP = "[" * 200_000


class Bomb:
    """Whoever unpickles it creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


def payloads(marker: Path) -> dict[str, Any]:
    """Texts (or bytes) that some careless reader would run."""
    bomb = pickle.dumps(Bomb(marker))
    command = f"touch {marker}"
    return {
        "pickle": bomb,
        "pickle in an array": json.dumps(
            {"float64": base64.b64encode(bomb).decode(), "shape": [len(bomb) // 8]}
        ),
        "jsonpickle": json.dumps({"py/reduce": [{"py/function": "os.system"}, [command]]}),
        "python": f"__import__('os').system({command!r})",
        "python in JSON": json.dumps(f"__import__('os').system({command!r})"),
        "number": "3",
        "null": "null",
        "list": "[]",
        "dictionary": "{}",
        "too deep": DEEP,
    }


PAYLOADS = list(payloads(Path("marker")))
HEADER = ("model", "options", "settings", "seed", "wide", "element_names", "versions")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "run.db"
    solve_case(NAME, journal=path)
    return path


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


def changed(good: Path, folder: Path, statement: str, *values: Any) -> Path:
    """A copy with other contents, and no checksums: whoever forges them can forge these too."""
    path = Path(shutil.copy(good, folder))
    connection = sqlite3.connect(path)
    for table in ("header", "calls", "generations", "state", "candidates"):
        connection.execute(f"UPDATE {table} SET checksum = NULL")
    assert connection.execute(statement, values).rowcount > 0
    connection.commit()
    connection.close()
    return path


def assert_harmless(path: Path, marker: Path) -> None:
    """Every reader refuses with an error of archeng, or does not need what is wrong."""
    uses: list[Callable[[], Any]] = [
        lambda: archeng.resume(path, bowl, max_evaluations=36),
        lambda: archeng.solve(line(), bowl, reuse=[path], max_evaluations=3),
        lambda: main(["status", str(path)]),
        lambda: main(["export", str(path)]),
    ]
    for use in uses:
        with contextlib.suppress(ArchengError):
            use()
        assert not marker.exists()


@pytest.mark.parametrize("payload", [p for p in PAYLOADS if p not in ("number", "list")])
@pytest.mark.parametrize("key", HEADER)
def test_headers(good: Path, key: str, payload: str, tmp_path: Path, marker: Path) -> None:
    text = payloads(marker)[payload]
    path = changed(good, tmp_path, "UPDATE header SET value = ? WHERE key = ?", text, key)
    assert_harmless(path, marker)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_states_and_generations(good: Path, payload: str, tmp_path: Path, marker: Path) -> None:
    text = payloads(marker)[payload]
    assert_harmless(changed(good, tmp_path, "UPDATE state SET value = ?", text), marker)
    statement = "UPDATE generations SET record = ? WHERE generation = 2"
    assert_harmless(changed(good, tmp_path, statement, text), marker)


@pytest.mark.parametrize("payload", ["pickle", "python"])
@pytest.mark.parametrize("column", ["x", "sampled", "objective", "status", "message", "seconds"])
@pytest.mark.parametrize("generation", [0, 5])
def test_calls(
    good: Path, column: str, payload: str, generation: int, tmp_path: Path, marker: Path
) -> None:
    statement = f"UPDATE calls SET {column} = ? WHERE generation = ? AND position = 1"
    path = changed(good, tmp_path, statement, payloads(marker)[payload], generation)
    assert_harmless(path, marker)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rng", {"bit_generator": "os.system", "state": "touch marker"}),
        ("rng", {}),
        ("restarts", {}),
        ("restarts.ended", ["__class__"]),
        ("restarts.number", "__import__('os')"),
        ("restarts.number", -1),
        ("generation", 10**30),
        ("generation", -1),
        ("stop_reason", "__class__"),
        ("search", {}),
        ("search.anchor", [1, 2]),
        ("search.state", {"__class__": 1}),
        ("search.population_size", "os.system"),
        ("restarts.bipop", {"__class__": 1}),
        ("restarts.regime", {"population_size": "os.system"}),
        ("restarts.points", ["os.system"]),
        ("elapsed", None),
    ],
)
def test_parts_of_the_state(good: Path, key: str, value: Any, tmp_path: Path, marker: Path) -> None:
    connection = sqlite3.connect(good)
    state = json.loads(connection.execute("SELECT value FROM state").fetchone()[0])
    connection.close()
    *parents, last = key.split(".")
    part = state
    for parent in parents:
        part = part[parent]
    assert last in part
    part[last] = value
    path = changed(good, tmp_path, "UPDATE state SET value = ?", json.dumps(state))
    assert_harmless(path, marker)


@pytest.mark.parametrize(
    "operations",
    [
        [["__import__('os').system", "touch marker"]],
        [["eval", 0]],
        [["variable", 0], ["call", 0]],
        [["variable", 0], ["vertcat", 0, 0]],
        [["variable", 0], ["assertion", 0, 0]],
        [["variable", 0], ["dump", 0]],
        [["variable", 0], ["add", 0, 0, 0]],
        [["variable", 0], ["add", 0]],
        [["variable", 0], ["sin", 0, 0]],
        [["variable", 0], ["add"]],
        [["variable", 0], ["add", 0, 1]],
        [["variable", 0], ["add", 0, -1]],
        [["variable", 0], ["add", 0, "0"]],
        [["variable", 0], ["add", 0, 1e9]],
        [["variable", 10**20]],
        [["variable", -1]],
        [["variable", "0; import os"]],
        [["number", 10**400]],
        [["number", "os"]],
        [["number", [1, 2]]],
        [[["number"], 1]],
        [[]],
        [None],
        "variable",
        {"variable": 0},
        7,
    ],
)
def test_operations_of_the_model(good: Path, operations: Any, tmp_path: Path, marker: Path) -> None:
    connection = sqlite3.connect(good)
    query = "SELECT value FROM header WHERE key = 'model'"
    data = json.loads(connection.execute(query).fetchone()[0])
    connection.close()
    data["operations"] = operations
    last = len(operations) - 1 if isinstance(operations, list) else 0
    data["constraints"][0]["rows"][0] = [last, None, 1.0]  # true for a formula that became 0
    statement = "UPDATE header SET value = ? WHERE key = 'model'"
    path = changed(good, tmp_path, statement, json.dumps(data))
    with pytest.raises(ArchengError):
        archeng.resume(path, bowl, max_evaluations=36)
    assert_harmless(path, marker)


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("key", ["x", "fun", "variables", "evaluations", "provenance", "status"])
def test_results(key: str, payload: str, tmp_path: Path, marker: Path) -> None:
    path = tmp_path / "result.json"
    solve_case(NAME, max_evaluations=8).save(path)
    data = json.loads(path.read_text())
    text = payloads(marker)[payload]
    data[key] = text.decode("latin-1") if isinstance(text, bytes) else text
    path.write_text(json.dumps(data))
    if key != "provenance":
        with pytest.raises(ResultFileError):
            Result.load(path)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ResultFileError):
        Result.load(path)
    assert not marker.exists()


FORBIDDEN = {"pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib", "yaml", "runpy"}
DATA_READERS = [
    *sorted((PACKAGE / "journal").glob("*.py")),
    *sorted((PACKAGE / "runner").glob("*.py")),
    PACKAGE / "result.py",
    PACKAGE / "records.py",
    PACKAGE / "model" / "portable.py",
    PACKAGE / "cli" / "journals.py",
]


@pytest.mark.parametrize("path", DATA_READERS, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_readers_of_data_cannot_run_code(path: Path) -> None:
    assert path.is_file()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not {a.name.split(".")[0] for a in node.names} & FORBIDDEN
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN
        if isinstance(node, ast.Name):
            assert node.id not in {"eval", "exec", "compile", "__import__"}
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"loads_pickle", "import_module", "deserialize"}
        if isinstance(node, ast.keyword):
            assert node.arg != "allow_pickle"
