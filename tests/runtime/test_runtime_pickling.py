"""What can be sent to a worker process, and what is said if it cannot be."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime_helpers import assert_same, bowl, line, own_workers, run_script

import archeng
from archeng import Design
from archeng.errors import ExecutorError, SettingsError

OPTIONS: dict[str, Any] = {"max_evaluations": 14, "seed": 3}

SCRIPT = """
import sys
import archeng

FACTOR = 2.0  # a global of the script

def square(value):  # a function of the script, without any guard
    return FACTOR * value * value

def make_term(shift):
    return lambda value: square(value - shift)  # a closure that is a lambda

class Simulator:
    def __init__(self, *terms):
        self.terms = terms
    def __call__(self, design):
        sys.stdout.write("noise from the simulator\\n")
        return sum(term(value) for term, value in zip(self.terms, design.x))

model = archeng.Model("script")
x = model.variable("x", shape=2, lower=-5, upper=5)
model.subject_to(x[0] + x[1] >= 1)
simulator = Simulator(make_term(0.5), make_term(-1.0))
sent = archeng.solve(model, simulator, workers=2, max_evaluations=12, seed=1, parallel=1)
FACTOR = 2.0
here = archeng.solve(model, simulator, max_evaluations=12, seed=1)
assert [e.status for e in sent.evaluations] == ["ok"] * 12, sent.evaluations[0].message
assert [e.x.tobytes() for e in sent.evaluations] == [e.x.tobytes() for e in here.evaluations]
assert [e.objective for e in sent.evaluations] == [e.objective for e in here.evaluations]
sys.stderr.write("the script ran once\\n")
"""


@pytest.fixture(autouse=True)
def short_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files that nobody else uses; it must be empty afterwards."""
    before = own_workers()
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).glob("archeng-pool-*")) == []
        assert [w for w in own_workers() if w not in before] == []


def test_a_script_without_guard_with_lambdas_closures_and_classes(tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    ended = run_script(script, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("the script ran once") == 1


def test_everything_that_python_can_call() -> None:
    shift = 0.5
    alone = archeng.solve(line(), lambda d: bowl(d) + shift, **OPTIONS)
    sent = archeng.solve(line(), lambda d: bowl(d) + shift, workers=1, **OPTIONS)
    assert_same(sent, alone)


@pytest.mark.parametrize("kind", ["lock", "file", "generator"])
def test_what_cannot_be_sent_is_refused_with_advice(kind: str, tmp_path: Path) -> None:
    with (tmp_path / "mesh").open("w") as file:
        held = {"lock": threading.Lock(), "file": file, "generator": (i for i in range(3))}[kind]
        called = []

        def simulator(design: Design) -> float:
            called.append(design)
            return float(held is not None)

        with pytest.raises(SettingsError) as caught:
            archeng.solve(line(), simulator, workers=2, **OPTIONS)
    text = str(caught.value)
    assert "cannot be sent to a worker process" in text
    assert "inside the function" in text
    assert "threads:N" in text
    assert called == []


@pytest.fixture
def nowhere() -> Iterator[types.ModuleType]:
    """A module that only this process has."""
    module = types.ModuleType("module_of_nowhere")
    exec("def simulator(design):\n    return 1.0\n", module.__dict__)
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def test_a_module_that_workers_cannot_import(nowhere: types.ModuleType) -> None:
    with pytest.raises(ExecutorError) as caught:
        archeng.solve(line(), nowhere.simulator, workers=2, **OPTIONS)
    assert "cannot be unpacked" in str(caught.value)
    assert "No module named 'module_of_nowhere'" in str(caught.value)


class Deadly:
    """Cannot be unpacked: it takes the worker with it."""

    def __getstate__(self) -> dict[str, int]:
        return {"code": 3}

    def __setstate__(self, state: dict[str, int]) -> None:
        os._exit(state["code"])

    def __call__(self, design: Design) -> float:
        return 1.0


def test_a_worker_that_dies_while_it_unpacks_the_simulator() -> None:
    with pytest.raises(ExecutorError):
        archeng.solve(line(), Deadly(), workers=1, **OPTIONS)


def test_a_python_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ExecutorError, match="could not be started"):
        archeng.solve(line(), bowl, workers=2, **OPTIONS)


def test_a_python_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ExecutorError):
        archeng.solve(line(), bowl, workers=2, **OPTIONS)


def test_a_long_path_of_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sockets have short names; clusters often have long paths of temporary files."""
    place = tmp_path / ("a" * 60) / ("b" * 60)
    place.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    result = archeng.solve(line(), bowl, workers=1, **OPTIONS)
    assert result.nfev == OPTIONS["max_evaluations"]


def test_strange_entries_of_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Python ignores what is no text in ``sys.path``; so do workers."""
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path, None, b"bytes", "", "a\udcff"])
    result = archeng.solve(line(), bowl, workers=1, **OPTIONS)
    assert result.nfev == OPTIONS["max_evaluations"]


@pytest.mark.parametrize("workers", ["threads:0", 2])
def test_a_refused_set_up_leaves_no_journal_behind(workers: Any, tmp_path: Path) -> None:
    lock = threading.Lock()
    with pytest.raises(SettingsError):
        archeng.solve(
            line(), lambda d: bowl(d) if lock else 0.0, workers=workers,
            journal=tmp_path / "run.db", **OPTIONS,
        )  # fmt: skip
    result = archeng.solve(line(), bowl, journal=tmp_path / "run.db", **OPTIONS)
    assert result.nfev == OPTIONS["max_evaluations"]


def test_workers_see_the_environment_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that a simulator starts (another Python, say) must not see archeng's own path."""
    monkeypatch.setenv("MY_LICENSE", "27000@server")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    expected = dict(os.environ)

    def simulator(design: Design) -> float:
        mine = dict(os.environ)
        assert mine.pop("ARCHENG_TREE")  # by which a worker's programs are known
        if mine != expected:
            different = {k for k in {*mine, *expected} if mine.get(k) != expected.get(k)}
            raise ValueError(f"different: {sorted(different)}")
        return 1.0

    result = archeng.solve(line(), simulator, workers=1, on_failure="raise", **OPTIONS)
    assert result.nfev > 0
