"""Sweeps, ``data=`` and sensitivities: what runs with other parameters have learned."""

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import JournalError, ModelError, SettingsError

N = 4
FORCES = np.linspace(1.0, 3.0, N)
PRICES = np.linspace(1.0, 2.0, N)


def frame(load: float = 1.0, limit: float = 4.0, price: float = 2.0) -> archeng.Model:
    """Areas of bars; forces over areas are stresses, their sum a displacement."""
    model = archeng.Model("frame")
    area = model.variable("area", lower=0.1, upper=10, shape=N)
    model.parameter("load", load, unit="kN")
    most = model.parameter("limit", limit, unit="mm")
    cost = model.parameter("price", price)
    stress = model.output("stress", shape=N)
    shift = model.output("shift")
    model.subject_to(stress <= 1.0, name="strength")
    model.subject_to(shift / most <= 1.0, name="stiffness")
    model.minimize(cost * ca.dot(ca.DM(PRICES), area), name="cost")
    return model


def simulate(design: archeng.Design) -> dict[str, Any]:
    area, load = design["area"], design.parameters["load"]
    helped = 0.2 * np.roll(area, 1) / (area + np.roll(area, 1))
    return {"stress": load * FORCES / area * (1 - helped), "shift": float(np.sum(FORCES / area))}


def optimum(load: float, limit: float, price: float) -> float:
    """Return the least cost by IPOPT on the formulas."""
    a = ca.SX.sym("a", N)
    before = ca.vertcat(a[N - 1], a[: N - 1])
    stress = load * ca.DM(FORCES) / a * (1 - 0.2 * before / (a + before))
    g = ca.vertcat(stress, ca.sum1(ca.DM(FORCES) / a) / limit)
    nlp = {"x": a, "f": price * ca.dot(ca.DM(PRICES), a), "g": g}
    solver = ca.nlpsol("s", "ipopt", nlp, {"print_time": False, "ipopt.print_level": 0})
    return float(solver(x0=5.0, lbx=0.1, ubx=10, lbg=-np.inf, ubg=1.0)["f"])


@pytest.mark.slow
def test_a_sweep_learns_from_one_load_to_the_next() -> None:
    loads = [0.6, 0.8, 1.0, 1.2, 1.4]
    options = {"parameters": {"load": loads}, "seed": 1, "max_evaluations": 150}
    alone = archeng.sweep(frame(), simulate, learn=False, **options)
    together = archeng.sweep(frame(), simulate, **options)
    for load, result in zip(loads, together, strict=True):
        assert result.fun == pytest.approx(optimum(load, 4.0, 2.0), rel=1e-4)
        assert result.status is archeng.Status.CONVERGED
        assert result.design.parameters["load"] == load
    assert together.nfev < 0.75 * alone.nfev
    assert together.nfev == sum(result.nfev for result in together)
    assert "1.4" in str(together)
    assert list(together.to_pandas()["load"]) == loads


def test_a_parameter_that_only_formulas_read_needs_few_calls() -> None:
    first = archeng.solve(frame(), simulate, seed=1, max_evaluations=150)
    again = archeng.solve(
        frame(),
        simulate,
        parameters={"limit": 5.0},
        data=[first],
        start=first.x,
        seed=1,
        max_evaluations=150,
    )
    assert again.fun == pytest.approx(optimum(1.0, 5.0, 2.0), rel=1e-4)
    assert again.nfev < 0.7 * first.nfev


@pytest.mark.slow
def test_runs_with_data_go_on_exactly(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.db"
    archeng.solve(frame(), simulate, seed=1, max_evaluations=40, journal=earlier)
    options = {"parameters": {"load": 1.1}, "data": earlier, "seed": 2}
    whole = archeng.solve(frame(), simulate, max_evaluations=14, workers=2, parallel=1, **options)
    path = tmp_path / "run.db"
    archeng.solve(frame(), simulate, max_evaluations=6, journal=path, **options)
    earlier.unlink()  # what it taught is in the journal
    resumed = archeng.resume(path, simulate, max_evaluations=14)
    assert np.array_equal([e.x for e in resumed.evaluations], [e.x for e in whole.evaluations])


def test_sensitivities_are_those_of_the_optimum() -> None:
    result = archeng.solve(frame(), simulate, seed=1, max_evaluations=150)
    by_name = {s.name: s for s in result.sensitivities}
    step = 1e-4
    for name, point in {"limit": (1.0, 4.0 + step, 2.0), "price": (1.0, 4.0, 2.0 + step)}.items():
        true = (optimum(*point) - optimum(1.0, 4.0, 2.0)) / step
        assert by_name[name].slope == pytest.approx(true, rel=2e-2)
        assert by_name[name].complete
        assert by_name[name].error <= 0.1 * abs(true)
    assert not by_name["load"].complete
    assert by_name["load"].slope == 0.0
    assert "by formulas alone" in str(result)


def test_a_row_that_became_a_bound_has_its_sensitivity() -> None:
    model = archeng.Model("box")
    x = model.variable("x", lower=0, upper=10, shape=2)
    least = model.parameter("least", 1.5)
    model.subject_to(x[0] >= least, name="least x")
    model.maximize(-3 * x[0] - (x[1] - 2) ** 2)
    result = archeng.solve(model, seed=1, max_evaluations=60)
    (only,) = result.sensitivities
    assert only.slope == pytest.approx(-3.0, rel=1e-3)


def test_a_sweep_keeps_journals_and_goes_on(tmp_path: Path) -> None:
    calls = []

    def counted(design: archeng.Design) -> dict[str, Any]:
        calls.append(design.x)
        return simulate(design)

    folder = tmp_path / "loads"
    points = [{"load": 1.0}, {"load": 1.1}]
    first = archeng.sweep(
        frame(), counted, parameters=points, journal=folder, seed=1, max_evaluations=30
    )
    made = len(calls)
    again = archeng.sweep(
        frame(), counted, parameters=points, journal=folder, seed=1, max_evaluations=30
    )
    assert len(calls) == made == first.nfev
    assert [r.fun for r in again] == [r.fun for r in first]
    with pytest.raises(JournalError, match=r"another folder"):
        archeng.sweep(frame(), counted, parameters={"load": [3.0]}, journal=folder)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"load": 1.0}, {"load": []}, {"load": [1.0], "limit": [4.0, 5.0]}, [], [{}], "load"],
)
def test_nonsense_for_a_sweep_is_refused(parameters: Any) -> None:
    with pytest.raises(SettingsError, match="parameters must be"):
        archeng.sweep(frame(), simulate, parameters=parameters)


def test_values_of_a_sweep_are_checked_before_the_first_call() -> None:
    with pytest.raises(ModelError, match="finite"):
        archeng.sweep(frame(), lambda d: 1 / 0, parameters={"load": [1.0, np.nan]})
    with pytest.raises(ModelError, match="no parameters"):
        archeng.sweep(frame(), lambda d: 1 / 0, parameters={"lod": [1.0]})


def test_data_of_something_else_are_refused() -> None:
    other = archeng.Model("other")
    y = other.variable("y", lower=0, upper=1)
    other.minimize(other.output("z") + y)
    result = archeng.solve(other, lambda d: {"z": 1.0}, seed=1, max_evaluations=5)
    with pytest.raises(SettingsError, match=r"data: result 'other' has the variables \['y'\]"):
        archeng.solve(frame(), simulate, data=[result])
    for wrong in (3, [3], "old.csv"):
        with pytest.raises(SettingsError, match=r"data|cannot be read"):
            archeng.solve(frame(), simulate, data=wrong)
