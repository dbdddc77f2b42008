"""`solve` with simulated constraints: known optima, with the model of the objective and without."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from simulated_helpers import AUTO, DISC, DISC_OPTIMUM, NONE, Limits, Vector, disc, gap, plane

import archeng
from archeng import Design, Evaluation, Model, Result, Settings, Status, StopReason

Row = tuple[float, float, float]
Answer = tuple[float, dict[str, float]]

BOTH = pytest.mark.parametrize("settings", [AUTO, NONE], ids=["auto", "none"])
ENDS = {
    "auto": {StopReason.CONVERGED},
    "none": {StopReason.TOL_OBJECTIVE, StopReason.TOL_X, StopReason.EQUAL_OBJECTIVES},
}
ROUNDING = 1e-12


def nothing(x: Vector) -> Sequence[Row]:
    return ()


@dataclass(frozen=True)
class Case:
    """A problem: explicit rows in NumPy, what is simulated, the optimum, ceilings on calls.

    ``calls``: until the accuracy is reached, with the model of the objective and without.
    """

    model: Callable[[], Model]
    simulate: Callable[[Vector], Answer]
    limits: Limits
    optimum: float
    calls: tuple[int, int]
    rows: Callable[[Vector], Sequence[Row]] = nothing
    accuracy: float = 1e-4


class Checked:
    """A simulator that checks explicit rows with formulas that archeng has never seen."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.designs: list[bytes] = []

    def __call__(self, design: Design) -> Evaluation:
        x = np.array(design)
        self.designs.append(x.tobytes())
        for value, lower, upper in self._case.rows(x):
            assert lower - ROUNDING <= value <= upper + ROUNDING
        objective, constraints = self._case.simulate(x)
        return Evaluation(objective, constraints, {"first": x[0]})


def size(x: Vector) -> Answer:
    return gap(x), {"size": float(x @ x)}


def ring(x: Vector) -> Answer:
    return float((x[0] - 0.2) ** 2 + (x[1] - 0.1) ** 2), {"size": float(x @ x)}


def fragile(x: Vector) -> Answer:
    """Undefined, in three ways, where a coordinate is small."""
    if x[0] < -1:
        raise ArithmeticError("no mesh")
    if x[1] < -1:
        return math.nan, {"size": float(x @ x)}
    if x[0] > 4:
        return gap(x), {"size": math.nan}
    return size(x)


def target(x: Vector) -> Answer:
    return 1.0, {"size": float(x @ x), "difference": float(x[0] - x[1])}


def one(x: Vector) -> Answer:
    return float(x[0] ** 2), {"power": float(np.exp(x[0]))}


def several(x: Vector) -> Answer:
    """Rosen and Suzuki's problem; its three constraints are simulated."""
    a, b, c, d = x
    f = a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d
    g = {
        "g1": a**2 + b**2 + c**2 + d**2 + a - b + c - d,
        "g2": a**2 + 2 * b**2 + c**2 + 2 * d**2 - a - d,
        "g3": 2 * a**2 + b**2 + c**2 + 2 * a - b - d,
    }
    return float(f), {k: float(v) for k, v in g.items()}


def line() -> Model:
    model = Model("line")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[0] + x[1] == 1, name="sum", tolerance=1e-6)
    return model


def below() -> Model:
    model = Model("below")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    model.subject_to(x[1] <= 0.5, name="low")
    return model


def space(n: int) -> Callable[[], Model]:
    def model() -> Model:
        made = Model("space")
        made.variable("x", shape=n, lower=-5, upper=5)
        return made

    return model


def box(x: Vector) -> list[Row]:
    return [(float(v), -5.0, 5.0) for v in x]


# On the line x + y = 1 the circle of 0.75 is met at x = (2 + sqrt 2) / 4.
MEETING = (2 + math.sqrt(2)) / 4

CASES = {
    "disc": Case(plane, size, DISC, DISC_OPTIMUM, (25, 900), box),
    "outside of a disc and inside of another": Case(
        plane, ring, {"size": (1.0, 2.0)}, (1 - math.hypot(0.2, 0.1)) ** 2, (40, 1500), box
    ),
    "infeasible start": Case(lambda: plane(start=[4, 4]), size, DISC, DISC_OPTIMUM, (25, 900), box),
    "explicit equality": Case(
        line,
        size,
        {"size": (None, 0.75)},
        (MEETING - 3) ** 2 + (1 - MEETING - 2) ** 2,
        (15, 450),
        lambda x: [(float(x[0] + x[1] - 1), -1e-6, 1e-6), *box(x)],
    ),
    "explicit and simulated together": Case(
        below,
        size,
        DISC,
        (math.sqrt(3.75) - 3) ** 2 + 1.5**2,
        (30, 1000),
        lambda x: [(float(x[1]), -5.0, 0.5), *box(x)],
    ),
    "failing simulator": Case(plane, fragile, DISC, DISC_OPTIMUM, (35, 900), box),
    "feasibility": Case(
        plane, target, {"size": (None, 0.01), "difference": (0.05, None)}, 1.0, (20, 260), box
    ),
    "one variable": Case(space(1), one, {"power": (math.e, None)}, 1.0, (20, 400), box),
    "not binding": Case(plane, size, {"size": (None, 20.0)}, 0.0, (25, 400), box),
    "three constraints": Case(
        space(4),
        several,
        {"g1": (None, 8.0), "g2": (None, 10.0), "g3": (None, 5.0)},
        -44.0,
        (80, 1200),
        box,
        accuracy=1e-2,
    ),
}


def check(case: Case, settings: Settings, simulator: Checked, result: Result) -> None:
    """All that holds for every one of them."""
    assert result.n_infeasible_calls == 0
    assert [e.x.tobytes() for e in result.evaluations] == simulator.designs
    assert result.fun == pytest.approx(case.optimum, abs=case.accuracy)
    assert [(s.name, (s.lower, s.upper)) for s in result.simulated] == [
        (name, (-np.inf if low is None else low, np.inf if high is None else high))
        for name, (low, high) in case.limits.items()
    ]
    assert all(s.holds and s.lower <= s.value <= s.upper for s in result.simulated)
    objective, constraints = case.simulate(result.x)
    assert result.fun == objective
    assert {s.name: s.value for s in result.simulated} == constraints
    assert result.outputs == {"first": result.x[0]}
    assert result.fun == min(e.objective for e in result.evaluations if e.acceptable)
    most = case.calls[0 if settings.surrogate == "auto" else 1]
    reached = (
        e.index + 1
        for e in result.evaluations
        if e.acceptable and e.objective - case.optimum <= case.accuracy
    )
    assert next(reached) <= most


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_found(name: str, settings: Settings) -> None:
    case = CASES[name]
    simulator = Checked(case)
    budget = (case.calls[0] if settings.surrogate == "auto" else case.calls[1]) + 5
    result = archeng.solve(
        case.model(),
        simulator,
        simulated=case.limits,
        settings=settings,
        seed=1,
        max_evaluations=budget,
    )
    check(case, settings, simulator, result)


@BOTH
@pytest.mark.parametrize("name", ["disc", "one variable", "feasibility"])
def test_a_run_without_a_budget_ends(name: str, settings: Settings) -> None:
    case = CASES[name]
    result = archeng.solve(
        case.model(),
        Checked(case),
        simulated=case.limits,
        settings=settings,
        seed=2,
        max_evaluations=4000,
    )
    assert result.stop_reason in ENDS[settings.surrogate]
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.fun == pytest.approx(case.optimum, abs=case.accuracy)
    assert result.nfev <= (80 if settings.surrogate == "auto" else 2600)


def test_a_search_that_ends_at_a_violating_design_has_not_converged() -> None:
    case = CASES["failing simulator"]
    result = archeng.solve(
        case.model(), Checked(case), simulated=case.limits, seed=2, max_evaluations=100
    )
    assert not result.success or result.fun == pytest.approx(case.optimum, abs=case.accuracy)


# -- no design satisfies all constraints --------------------------------------------------------


@BOTH
def test_a_constraint_that_is_never_satisfied(settings: Settings) -> None:
    result = archeng.solve(
        plane(), disc, simulated={"size": (None, -1.0)}, settings=settings, seed=2,
        max_evaluations=45,
    )  # fmt: skip
    assert result.status is Status.VIOLATING
    assert not result.success
    assert result.n_infeasible_calls == 0
    sizes = [e.constraints["size"] for e in result.evaluations]
    (only,) = result.simulated
    assert (only.name, only.value, only.lower, only.upper) == ("size", min(sizes), -np.inf, -1.0)
    assert not only.holds
    assert only.value < 0.2
    best = result.evaluations[int(np.argmin(sizes))]
    assert (result.fun, result.x.tobytes()) == (best.objective, best.x.tobytes())
    assert result.outputs == best.outputs
    assert all(e.violated == ("size",) and not e.acceptable for e in result.evaluations)
    assert all(math.isnan(g.best) for g in result.history)
    text = str(result)
    assert f"VIOLATED by {only.value + 1:.3g}" in text
    assert f"{result.nfev} of {result.nfev} calls violated a simulated constraint" in text
    assert Status.VIOLATING.value in text.splitlines()[0]


@BOTH
def test_the_least_violating_design_violates_the_fewest_constraints(settings: Settings) -> None:
    limits: Limits = {"size": (None, 4.0), "never": (None, 0.0)}

    def simulator(design: Design) -> Evaluation:
        x = design.x
        return Evaluation(gap(x), {"size": float(x @ x), "never": 1 + float(x[0] - x[1]) ** 2})

    result = archeng.solve(
        plane(), simulator, simulated=limits, settings=settings, seed=1, max_evaluations=60
    )
    assert result.status is Status.VIOLATING
    assert [(s.name, s.holds) for s in result.simulated] == [("size", True), ("never", False)]
    counts = {len(e.violated) for e in result.evaluations}
    assert counts == {1, 2}
    fewest = [e for e in result.evaluations if len(e.violated) == 1]
    least = min(e.constraints["never"] for e in fewest)
    assert result.simulated[1].value == least
    assert f"VIOLATED by {least:.3g}" in str(result)


def test_a_violating_design_becomes_the_best_only_until_another_satisfies_all() -> None:
    run = archeng.Run(plane(), simulated=DISC, seed=1, max_evaluations=200, settings=NONE)
    values = iter([9.0, 7.0, 3.0, 8.0, 2.0, 5.0])
    objectives = iter([0.0, 0.0, 50.0, 0.0, 60.0, 0.0])
    run.tell([Evaluation(next(objectives), {"size": next(values)}) for _ in run.ask()])
    assert run.best is not None
    assert (run.best.index, run.best.objective) == (2, 50.0)
    assert run.result().status is Status.STOPPED


# -- targets ------------------------------------------------------------------------------------


@BOTH
def test_a_violating_design_does_not_reach_the_target(settings: Settings) -> None:
    result = archeng.solve(
        plane(start=[3, 2]), disc, simulated=DISC, settings=settings, seed=1,
        max_evaluations=60, target=DISC_OPTIMUM - 0.5,
    )  # fmt: skip
    assert min(e.objective for e in result.evaluations) < DISC_OPTIMUM - 0.5
    assert result.stop_reason is not StopReason.TARGET
    assert result.status is Status.STOPPED
    assert not result.success


@BOTH
def test_an_acceptable_design_reaches_the_target(settings: Settings) -> None:
    result = archeng.solve(
        plane(start=[3, 2]), disc, simulated=DISC, settings=settings, seed=1,
        max_evaluations=200, target=DISC_OPTIMUM + 0.3,
    )  # fmt: skip
    assert (result.stop_reason, result.status) == (StopReason.TARGET, Status.TARGET)
    assert result.evaluations[-1].acceptable
    assert result.fun == result.evaluations[-1].objective <= DISC_OPTIMUM + 0.3
    assert not any(
        e.acceptable and e.objective <= DISC_OPTIMUM + 0.3 for e in result.evaluations[:-1]
    )


def test_several_proposals_at_a_time_keep_workers_busy() -> None:
    """Beside the next step, designs in the directions that are known least."""
    one = archeng.solve(plane(), disc, simulated=DISC, seed=5, max_evaluations=60)
    four = archeng.solve(
        plane(),
        disc,
        simulated=DISC,
        seed=5,
        max_evaluations=60,
        settings=archeng.Settings(proposals=4),
    )
    assert max(g.repairs.get("proposed", 0) for g in one.history) == 1
    assert max(g.repairs.get("proposed", 0) for g in four.history) > 1
    assert four.fun == pytest.approx(one.fun, rel=1e-4)
