"""Whole runs on models with outputs, judged by IPOPT on the formulas and by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng import Design, Evaluation, Model, Status, StopReason

Floats = np.ndarray
Z = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A grey problem, and the same for the referee and as a black box.

    ``outputs(x, m)`` are those of a design with the functions of NumPy or CasADi;
    ``formulas(x, z)`` the objective, to be minimised, and rows (value, lower, upper).
    """

    build: Callable[[], Model]
    outputs: Callable[[Any, Any], dict[str, Any]]
    formulas: Callable[[Any, Z], tuple[Any, list[tuple[Any, float, float]]]]
    box: tuple[float, float]
    n: int
    calls: int  # ceiling
    explicit: int = 0  # how many of the rows are explicit; they come first
    options: dict[str, Any] = field(default_factory=dict)
    pieces: Callable[[Any, Z], list[Any]] | None = None  # if the objective is the largest of them
    sign: float = 1.0  # -1: archeng maximises


def box_model(name: str, n: int, low: float, high: float) -> tuple[Model, Any]:
    model = Model(name)
    return model, model.variable("x", shape=n, lower=low, upper=high)


# -- least squares: two exponentials, eight residuals --------------------------------------------

TIMES = np.linspace(0.2, 3, 8)
MEASURED = 3 * np.exp(-0.7 * TIMES) + 1.4 * np.exp(-2.1 * TIMES) + 0.02 * np.cos(9 * TIMES)


def fit_model() -> Model:
    model, x = box_model("fit", 4, 0.1, 4.0)
    model.subject_to(x[1] + 0.3 <= x[3], name="order")
    curve = model.output("curve", shape=len(TIMES))
    model.minimize(ca.sumsqr(curve - ca.DM(MEASURED)))
    return model


FIT = Case(
    fit_model,
    lambda x, m: {"curve": [x[0] * m.exp(-x[1] * t) + x[2] * m.exp(-x[3] * t) for t in TIMES]},
    lambda x, z: (
        sum((a - b) ** 2 for a, b in zip(z["curve"], MEASURED, strict=True)),
        [(x[3] - x[1], 0.3, np.inf)],
    ),
    (0.1, 4.0), 4, 90, explicit=1,
)  # fmt: skip

# -- the largest of outputs ----------------------------------------------------------------------


def stress_of(x: Any, m: Any) -> dict[str, Any]:
    a, b, c = x[0], x[1], x[2]
    return {"stress": [9 / (a * b), 4 / (b * c) + 0.3 * a, m.exp(0.5 * c) / a]}


def largest_model() -> Model:
    model, x = box_model("largest", 3, 0.5, 4.0)
    model.subject_to(x[0] * x[1] + x[2] <= 9, name="mass")
    model.minimize(ca.mmax(model.output("stress", shape=3)), name="largest stress")
    return model


LARGEST = Case(
    largest_model,
    stress_of,
    lambda x, z: (None, [(x[0] * x[1] + x[2], -np.inf, 9.0)]),
    (0.5, 4.0), 3, 60, explicit=1, pieces=lambda x, z: list(z["stress"]),
)  # fmt: skip

# -- a ratio, maximised --------------------------------------------------------------------------


def wing_of(x: Any, m: Any) -> dict[str, Any]:
    area, angle = x[0], x[1]
    lift = area * (0.3 + 1.1 * m.sin(0.25 * angle))
    return {"lift": lift, "drag": 0.4 + 0.03 * area**1.5 + 0.08 * lift**2 / area}


def wing_model() -> Model:
    model, _ = box_model("wing", 2, 0.3, 6.0)
    lift, drag = model.output("lift"), model.output("drag")
    model.subject_to(drag <= 0.62, name="thrust")
    model.maximize(lift / drag, name="glide ratio")
    return model


RATIO = Case(
    wing_model,
    wing_of,
    lambda x, z: (-z["lift"] / z["drag"], [(z["drag"], -np.inf, 0.62)]),
    (0.3, 6.0), 2, 45, sign=-1.0,
)  # fmt: skip

# -- an explicit objective; two-sided and equality rows of outputs --------------------------------


def tube_of(x: Any, m: Any) -> dict[str, Any]:
    a, b, c = x[0], x[1], x[2]
    return {"flow": a**2 * m.sqrt(b + 0.1 * c), "loss": [b / a + 0.1 * c, m.exp(0.2 * c) / b]}


def tube_model() -> Model:
    model, x = box_model("tube", 3, 0.5, 5.0)
    flow, loss = model.output("flow"), model.output("loss", shape=2)
    model.subject_to(flow == 4.0, name="flow", tolerance=1e-3)
    model.subject_to(loss[0] + loss[1], lower=1.6, upper=2.2, name="loss")
    model.subject_to(loss[1] * x[2] <= 2.5, name="heat")
    model.minimize(3 * x[0] + x[1] ** 2 + 4 / x[2], name="price")
    return model


TUBE = Case(
    tube_model,
    tube_of,
    lambda x, z: (
        3 * x[0] + x[1] ** 2 + 4 / x[2],
        [
            (z["flow"], 4.0 - 1e-3, 4.0 + 1e-3),
            (z["loss"][0] + z["loss"][1], 1.6, 2.2),
            (z["loss"][1] * x[2], -np.inf, 2.5),
        ],
    ),
    (0.5, 5.0), 3, 90,
)  # fmt: skip

CASES = {"least squares": FIT, "largest": LARGEST, "ratio": RATIO, "rows": TUBE}


def simulator_of(case: Case) -> Callable[[Design], dict[str, Any]]:
    def simulator(design: Design) -> dict[str, Any]:
        return {name: np.asarray(v, float) if isinstance(v, list) else float(v)
                for name, v in case.outputs(design.x, np).items()}  # fmt: skip

    return simulator


def totals(case: Case, x: Floats) -> tuple[float, list[tuple[Any, float, float]]]:
    """Objective, to be minimised, and rows at a design by NumPy."""
    z = case.outputs(x, np)
    f, rows = case.formulas(x, z)
    return (max(case.pieces(x, z)) if case.pieces is not None else f), rows


def optimum(case: Case) -> float:
    """Least objective that IPOPT finds from twelve starts, outputs put into the formulas."""
    x, t = ca.SX.sym("x", case.n), ca.SX.sym("t")
    z = case.outputs(ca.vertsplit(x), ca)
    f, rows = case.formulas(ca.vertsplit(x), z)
    g, low, high = (list(part) for part in zip(*rows, strict=True))
    for piece in case.pieces(x, z) if case.pieces is not None else []:
        f, g, low, high = t, [*g, piece - t], [*low, -np.inf], [*high, 0.0]
    nlp = {"x": ca.vertcat(x, t), "f": f + 0 * t, "g": ca.vertcat(*g)}
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10,
                                              "bound_relax_factor": 0.0}}  # fmt: skip
    solver = ca.nlpsol("referee", "ipopt", nlp, options)
    best, rng = np.inf, np.random.default_rng(0)
    for _ in range(12):
        begin = np.append(rng.uniform(*case.box, case.n), 1.0)
        bounds = {
            "lbx": np.append(np.full(case.n, case.box[0]), -1e3),
            "ubx": np.append(np.full(case.n, case.box[1]), 1e3),
        }
        end = solver(x0=begin, lbg=low, ubg=high, **bounds)
        if solver.stats()["success"]:
            best = min(best, float(end["f"]))
    assert np.isfinite(best)
    return best


def assert_never_infeasible(case: Case, result: archeng.Result) -> None:
    """By NumPy: bounds and explicit rows in every call."""
    for e in result.evaluations:
        assert np.all((e.x >= case.box[0] - 1e-9) & (e.x <= case.box[1] + 1e-9))
        for value, low, high in totals(case, e.x)[1][: case.explicit]:
            assert low - 1e-8 <= value <= high + 1e-8
    assert result.n_infeasible_calls == 0


def black_run(case: Case, seed: int, most: int) -> archeng.Result:
    """The same problem without formulas: objective and rows are what the simulator returns."""
    grey = case.build()
    model, x = Model("black"), grey.symbols
    y = model.variable("x", shape=case.n, lower=case.box[0], upper=case.box[1])
    for constraint in grey.constraints:
        for row in constraint.rows:
            expression = ca.substitute(ca.SX(row.expression), x, y)
            model.subject_to(expression, lower=row.lower, upper=row.upper)
    _, rows = totals(case, np.full(case.n, 1.0))
    simulated = {f"row {k}": tuple(float(v) if np.isfinite(v) else None for v in row[1:])
                 for k, row in enumerate(rows) if k >= case.explicit}  # fmt: skip

    def simulator(design: Design) -> Evaluation:
        f, found = totals(case, design.x)
        values = {name: float(found[int(name[4:])][0]) for name in simulated}
        return Evaluation(float(f), constraints=values)

    return archeng.solve(
        model, simulator, simulated=simulated or None, seed=seed, max_evaluations=most
    )


def first_call(case: Case, result: archeng.Result, goal: float) -> float:
    """Number of the first call with all rows met and an objective of at most the goal."""
    for k, e in enumerate(result.evaluations, start=1):
        f, rows = totals(case, e.x)
        if f <= goal and all(a - 1e-6 <= v <= b + 1e-6 for v, a, b in rows):
            return k
    return np.inf


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_optimum_is_found_and_claimed(name: str, seed: int) -> None:
    case = CASES[name]
    best = optimum(case)
    result = archeng.solve(
        case.build(), simulator_of(case), seed=seed, max_evaluations=200, **case.options
    )
    assert case.sign * result.fun == pytest.approx(best, rel=1e-4)
    f, rows = totals(case, result.x)
    assert f == pytest.approx(case.sign * result.fun, rel=1e-12)
    assert all(low - 1e-6 <= value <= high + 1e-6 for value, low, high in rows)
    assert_never_infeasible(case, result)
    assert result.nfev <= case.calls
    assert result.status is Status.CONVERGED
    assert result.stop_reason is StopReason.CONVERGED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["least squares", "largest", "rows"])
def test_formulas_save_calls(name: str) -> None:
    """To within 0.01 %, with the same seeds: no more calls than with the total as a black box."""
    case, grey, black = CASES[name], [], []
    best = optimum(case)
    goal = best + 1e-4 * abs(best)
    for seed in (1, 2, 3):
        run = archeng.solve(case.build(), simulator_of(case), seed=seed, max_evaluations=150)
        grey.append(first_call(case, run, goal))
        black.append(first_call(case, black_run(case, seed, 150), goal))
    assert np.isfinite(grey).all()
    assert np.median(grey) <= np.median(black)


# -- what else a simulator may return ------------------------------------------------------------


def spring_of(x: Floats) -> tuple[float, float, float]:
    """Objective, and two outputs."""
    u, v = x
    return float((u - 2) ** 2 + (v - 2) ** 2 + 0.2 * np.sin(u * v)), float(u**2 + v), float(u * v)


def referee_of(rows: Callable[[Any, Any], list[tuple[Any, float, float]]]) -> float:
    """Least objective of the spring under rows of the two outputs."""
    case = Case(
        Model, lambda x, m: {},
        lambda x, z: ((x[0] - 2) ** 2 + (x[1] - 2) ** 2 + 0.2 * ca.sin(x[0] * x[1]),
                      rows(x[0] ** 2 + x[1], x[0] * x[1])),
        (0.0, 3.0), 2, 0,
    )  # fmt: skip
    return optimum(case)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_black_objective_with_rows_by_formulas(seed: int) -> None:
    """The model has no formula to minimise: the simulator returns the objective."""
    model, _ = box_model("spring", 2, 0.0, 3.0)
    force, travel = model.output("force"), model.output("travel")
    model.subject_to(force + travel <= 4, name="sum")
    model.subject_to(travel / force >= 0.5, name="ratio")

    def simulator(design: Design) -> Evaluation:
        f, a, b = spring_of(design.x)
        return Evaluation(f, outputs={"force": a, "travel": b})

    result = archeng.solve(model, simulator, seed=seed, max_evaluations=150)
    best = referee_of(lambda a, b: [(a + b, -np.inf, 4.0), (b - 0.5 * a, 0.0, np.inf)])
    assert result.fun == pytest.approx(best, rel=1e-4)
    assert result.status is Status.CONVERGED
    assert result.nfev <= 60
    _, a, b = spring_of(result.x)
    assert a + b <= 4 + 1e-6
    assert b / a >= 0.5 - 1e-6


@pytest.mark.parametrize("seed", [1, 2])
def test_simulated_limits_beside_formulas(seed: int) -> None:
    """One constraint is a formula of an output, another one a number that comes back."""
    model, _ = box_model("spring", 2, 0.0, 3.0)
    model.subject_to(2 * model.output("force") <= 5, name="force twice")

    def simulator(design: Design) -> Evaluation:
        f, a, b = spring_of(design.x)
        return Evaluation(f, outputs={"force": a}, constraints={"travel": b})

    result = archeng.solve(
        model, simulator, simulated={"travel": (1.4, None)}, seed=seed, max_evaluations=150
    )
    best = referee_of(lambda a, b: [(a, -np.inf, 2.5), (b, 1.4, np.inf)])
    assert result.fun == pytest.approx(best, rel=1e-4)
    assert result.status is Status.CONVERGED
    assert result.nfev <= 60


def beam_with_slopes(design: Design) -> Evaluation:
    """Gradients of the curve, and of nothing else."""
    x = design.x
    u, v, w = x
    squares = np.array([u**2 + v * w, np.exp(0.5 * v) - u, np.sin(w) + u * v])
    slopes = np.array([[2 * u, w, v], [-1, 0.5 * np.exp(0.5 * v), 0], [v, u, np.cos(w)]])
    return Evaluation(
        outputs={"curve": squares, "weight": float(np.exp(0.3 * u) + v**2 + w)},
        gradients={"curve": slopes},
    )


def beam_without(design: Design) -> Evaluation:
    return Evaluation(outputs=beam_with_slopes(design).outputs)


@pytest.mark.slow
def test_gradients_of_some_outputs_save_calls() -> None:
    """Least squares with gradients of the residuals, and a limit without."""
    model, _ = box_model("beam", 3, -0.9, 2.0)
    curve, weight = model.output("curve", shape=3), model.output("weight")
    model.subject_to(weight <= 2.2, name="weight")
    model.minimize(0.5 + ca.sumsqr(curve - ca.DM([1.2, 0.4, 0.3])))

    def rows(x: Any, z: Z) -> tuple[Any, list[tuple[Any, float, float]]]:
        f = (x[0] ** 2 + x[1] * x[2] - 1.2) ** 2 + (ca.exp(0.5 * x[1]) - x[0] - 0.4) ** 2
        f = 0.5 + f + (ca.sin(x[2]) + x[0] * x[1] - 0.3) ** 2
        return f, [(ca.exp(0.3 * x[0]) + x[1] ** 2 + x[2], -np.inf, 2.2)]

    best = optimum(Case(Model, lambda x, m: {}, rows, (-0.9, 2.0), 3, 0))
    with_, without = [], []
    for seed in (1, 2, 3):
        for calls, simulator in ((with_, beam_with_slopes), (without, beam_without)):
            result = archeng.solve(model, simulator, seed=seed, max_evaluations=150)
            assert result.status is Status.CONVERGED
            assert result.fun == pytest.approx(best, rel=1e-4)
            calls.append(result.nfev)
    assert np.median(with_) < np.median(without)


def test_guarded_roots_are_no_obstacle() -> None:
    """sqrt(fmax(z, 0)) is flat where z < 0: the run begins there, and finds its end."""
    model, x = box_model("guarded", 2, -2.0, 2.0)
    z = model.output("z")
    model.minimize(1 + ca.sumsqr(x - 0.5) + ca.sqrt(ca.fmax(z, 0)))

    def simulator(design: Design) -> dict[str, float]:
        return {"z": float(design.x[0] + design.x[1] ** 2 - 3)}  # negative around the optimum

    result = archeng.solve(model, simulator, seed=1, max_evaluations=100)
    assert result.fun == pytest.approx(1.0, abs=1e-5)
    assert result.nfev <= 60


@pytest.mark.slow
def test_thousands_of_residuals() -> None:
    """A sum of 1500 squares is compiled and minimised."""
    model, _ = box_model("many", 2, 0.0, 3.0)
    times = np.linspace(0, 4, 1500)
    measured = 2 * np.exp(-0.8 * times)
    model.minimize(ca.sumsqr(model.output("curve", shape=1500) - ca.DM(measured)))

    def simulator(design: Design) -> dict[str, Floats]:
        return {"curve": design.x[0] * np.exp(-design.x[1] * times)}

    result = archeng.solve(model, simulator, seed=1, max_evaluations=12)
    assert result.fun < 1.0
    assert len(result.evaluations) <= 12
