"""One BLAS thread for archeng's own numerics, the user's number everywhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from threadpoolctl import get_cached_controller, threadpool_info, threadpool_limits

import archeng
from archeng import Design, Model, Run
from archeng.blas import one_thread
from archeng.distribution import Distribution, initial_distribution
from archeng.model import compile_model
from archeng.repair import Repairer

HERE = Path(__file__).resolve().parent
CHOSEN = 2  # BLAS threads of the user, on any machine
PATIENCE = 60.0


def threads() -> set[int]:
    """Numbers of threads of the BLAS libraries that archeng uses; others may have only one."""
    return {
        i["num_threads"]
        for i in get_cached_controller().info()
        if i["user_api"] == "blas" and re.search("numpy|scipy|casadi", i["filepath"])
    }


@pytest.fixture(autouse=True)
def chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two BLAS threads, whatever the machine or its environment says, also where one is loaded."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", str(CHOSEN))
    with threadpool_limits(limits=CHOSEN, user_api="blas"):
        assert threads() == {CHOSEN}
        yield
        assert threads() == {CHOSEN}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[int]]]:
    """Numbers of threads with which distances are computed, in runs, repairs and samples alike."""
    numbers: list[set[int]] = []
    whiten = Distribution.whiten

    def spy(self: Distribution, difference: Any) -> Any:
        numbers.append(threads())
        return whiten(self, difference)

    monkeypatch.setattr(Distribution, "whiten", spy)
    yield numbers
    assert numbers
    assert all(n == {1} for n in numbers)


def plate() -> Model:
    model = Model("plate")
    x = model.variable("x", shape=3, lower=0, upper=4)
    model.subject_to(x[0] * x[1] >= 1, name="area")
    model.subject_to(ca.sumsqr(x) <= 9, name="ball")
    return model


def bowl(design: Design) -> float:
    return float(np.sum((design.x - 0.5) ** 2))


# -- where ---------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, "threads:2"])
def test_simulator_and_callback_have_the_threads_of_the_user(
    seen: list[set[int]], workers: Any
) -> None:
    there: list[set[int]] = []

    def simulator(design: Design) -> float:
        there.append(threads())
        return bowl(design)

    result = archeng.solve(
        plate(),
        simulator,
        max_evaluations=30,
        seed=1,
        workers=workers,
        callback=lambda run: there.append(threads()),
    )
    assert len(there) > result.nfev
    assert all(n == {CHOSEN} for n in there)


def test_a_simulator_may_choose_another_number() -> None:
    """As one that calls threadpool_limits itself; the number stays what it made it."""
    there: list[set[int]] = []

    def simulator(design: Design) -> float:
        there.append(threads())
        threadpool_limits(limits=3, user_api="blas")
        return bowl(design)

    archeng.solve(plate(), simulator, max_evaluations=20, seed=1)
    assert there[0] == {CHOSEN}
    assert all(n == {3} for n in there[1:])
    threadpool_limits(limits=CHOSEN, user_api="blas")


def test_ask_and_tell(seen: list[set[int]]) -> None:
    run = Run(plate(), max_evaluations=20, seed=1)
    while not run.stopped:
        candidates = run.ask()
        assert threads() == {CHOSEN}
        run.tell([c.design and bowl(c.design) for c in candidates])
        assert threads() == {CHOSEN}
    run.close()


@pytest.mark.parametrize(
    "function",
    [
        lambda model: archeng.sample_feasible(model, 4, seed=1),
        lambda model: archeng.diagnose(model),
        lambda model: archeng.minimize(np.sum, np.ones(2), bounds=[(0, 4)] * 2, seed=1),
    ],
    ids=["sample_feasible", "diagnose", "minimize"],
)
def test_public_functions(seen: list[set[int]], function: Callable[[Model], Any]) -> None:
    function(plate())


def test_repairs_without_a_run(seen: list[set[int]]) -> None:
    """As a worker process makes them."""
    around = initial_distribution(np.zeros(3), np.ones(3))
    repairs = Repairer(compile_model(plate())).repair_all(np.zeros((2, 3)), around)
    assert all(repair.feasible for repair in repairs)


def test_pycma(seen: list[set[int]]) -> None:
    pycma = pytest.importorskip("archeng.adapters.pycma")
    arch = pycma.Arch.start(plate(), {"verbose": -9, "seed": 1})
    there: list[set[int]] = []
    arch.run(lambda design: there.append(threads()) or bowl(design), max_evaluations=30)
    assert all(n == {CHOSEN} for n in there)


def test_the_blas_of_ipopt_is_seen() -> None:
    """CasADi brings one of its own, loaded with the solver and without a module of Python."""
    settings = archeng.Settings(repair_solver="ipopt")
    archeng.solve(plate(), bowl, max_evaluations=10, seed=1, settings=settings)
    files = [Path(i["filepath"]).name for i in threadpool_info() if i["user_api"] == "blas"]
    assert any("casadi" in name for name in files)
    with one_thread:
        assert threads() == {1}


# -- nesting, errors, threads, processes -----------------------------------------------------


def test_nested_and_after_an_error() -> None:
    @one_thread
    def inner() -> None:
        assert threads() == {1}
        raise ValueError("inside")

    with one_thread:
        with pytest.raises(ValueError, match="inside"):
            inner()
        assert threads() == {1}
    assert threads() == {CHOSEN}


def test_two_threads_of_python() -> None:
    """The first to come leaves first: the second still computes on one thread."""
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    inside: list[set[int]] = []

    def first() -> None:
        with one_thread:
            first_is_in.set()
            assert second_is_in.wait(PATIENCE)
        first_is_out.set()

    def second() -> None:
        assert first_is_in.wait(PATIENCE)
        with one_thread:
            second_is_in.set()
            assert first_is_out.wait(PATIENCE)
            inside.append(threads())

    both = [threading.Thread(target=f) for f in (first, second)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(PATIENCE)
    assert inside == [{1}]
    assert threads() == {CHOSEN}


def test_two_runs_at_once_are_the_runs_alone(seen: list[set[int]]) -> None:
    def solved(seed: int) -> Any:
        return archeng.solve(plate(), bowl, max_evaluations=40, seed=seed)

    alone = {seed: solved(seed) for seed in (1, 2)}
    together: dict[int, Any] = {}
    both = [threading.Thread(target=lambda s=s: together.update({s: solved(s)})) for s in alone]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(PATIENCE)
    for seed, result in alone.items():
        x = [e.x for e in together[seed].evaluations]
        assert np.array_equal(x, [e.x for e in result.evaluations])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_while_another_thread_computes() -> None:
    """The lock and the count of the parent's threads are not the child's."""
    code = """
import os, threading
import numpy
from archeng.blas import one_thread
inside = threading.Event()
def compute():
    with one_thread:
        one_thread._lock.acquire()  # the worst moment
        inside.set()
        threading.Event().wait()
threading.Thread(target=compute, daemon=True).start()
inside.wait()
child = os.fork()
if child == 0:
    with one_thread:
        pass
    os._exit(7)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE).returncode == 7


# -- the same run ----------------------------------------------------------------------------


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_designs() -> None:
    """Without the limit, the runs with 40 and 100 variables differ."""
    outputs = {}
    for number in ("1", "4"):
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
        environment["OPENBLAS_NUM_THREADS"] = number
        job = [sys.executable, str(HERE / "blas_job.py")]
        environment["PYTHONPATH"] = str(HERE.parents[1])
        outputs[number] = subprocess.check_output(job, env=environment, text=True, timeout=240)
    assert "rotated box, n = 100" in outputs["1"]
    assert len(set(outputs.values())) == 1, outputs
