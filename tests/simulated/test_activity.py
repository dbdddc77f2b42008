"""What blocks the design: counts of repairs, active constraints, gains and their errors."""

import casadi as ca
import numpy as np
import pytest

import archeng
from archeng.errors import SettingsError
from archeng.outcomes import Limits, PastCalls
from archeng.surrogate import Frame, gradients, multipliers

PRICE = (np.sqrt(13) - 2) / 2  # d f* / d limit of the disc problem below


def disc(explicit: bool) -> archeng.Model:
    """A square, with a disc of radius 2 if it is explicit."""
    model = archeng.Model("disc")
    x = model.variable("x", shape=2, lower=-5, upper=5)
    if explicit:
        model.subject_to(ca.sumsqr(x) <= 4, name="disc")
    return model


def bowl(design: archeng.Design) -> float:
    x = design.x
    return float((x[0] - 3) ** 2 + (x[1] - 2) ** 2)


def by_name(result: archeng.Result) -> dict:
    return {a.name: a for a in result.activity}


def test_gain_of_an_explicit_constraint_is_its_multiplier():
    result = archeng.solve(disc(True), bowl, seed=1, max_evaluations=200)
    found = by_name(result)["disc"]
    assert found.active
    assert found.gain == pytest.approx(PRICE, rel=1e-3)
    assert found.certain
    assert not by_name(result)["bounds of x[0]"].active
    assert by_name(result)["bounds of x[0]"].gain == 0


def test_gain_of_a_simulated_constraint_is_its_multiplier():
    def simulator(design):
        return archeng.Evaluation(bowl(design), {"disc": float(design.x @ design.x)})

    result = archeng.solve(
        disc(False), simulator, simulated={"disc": (None, 4.0)}, seed=1, max_evaluations=200
    )
    found = by_name(result)["disc"]
    assert found.kind == "simulated"
    assert found.active
    assert found.gain == pytest.approx(PRICE, rel=1e-3)
    assert found.repaired == sum("disc" in e.violated for e in result.evaluations) > 0


def test_gain_predicts_what_a_relaxed_limit_brings():
    def solved(limit):
        model = archeng.Model("disc")
        x = model.variable("x", shape=2, lower=-5, upper=5)
        model.subject_to(ca.sumsqr(x) <= limit, name="disc")
        return archeng.solve(model, bowl, seed=1, max_evaluations=200)

    before, after = solved(4.0), solved(4.01)
    gain = by_name(before)["disc"].gain
    assert before.fun - after.fun == pytest.approx(0.01 * gain, rel=0.02)


def test_gain_is_positive_when_maximising():
    result = archeng.solve(
        disc(True), lambda d: -bowl(d), sense="maximize", seed=1, max_evaluations=200
    )
    assert by_name(result)["disc"].gain == pytest.approx(PRICE, rel=1e-3)


def test_counts_are_those_of_the_records():
    settings = archeng.Settings(surrogate="none")
    result = archeng.solve(disc(True), bowl, seed=2, max_evaluations=80, settings=settings)
    position = [row.name for row in result.rows].index("disc")
    repaired = [
        e
        for e in result.evaluations
        if e.repair_kind in ("nearest", "intersection") and position in e.repair_rows
    ]
    found = by_name(result)["disc"]
    assert found.repaired == len(repaired) > 10
    assert found.share == pytest.approx(len(repaired) / len(result.evaluations))
    distances = np.sqrt([e.repair_distance_squared for e in repaired])
    assert found.distance == pytest.approx(np.median(distances))
    assert found.multiplier > 0


def test_multiplier_of_a_projection_is_the_saving_per_unit():
    """Half the squared distance to a half-plane falls by the multiplier per unit of its limit."""
    from archeng.distribution import initial_distribution
    from archeng.model import compile_model
    from archeng.repair import Repairer

    def repaired(limit):
        model = archeng.Model("plane")
        x = model.variable("x", shape=2, lower=-50, upper=50)
        model.subject_to(3 * x[0] + 4 * x[1] <= limit, name="plane")
        repairer = Repairer(compile_model(model))
        return repairer.repair(np.array([4.0, 5.0]), initial_distribution(np.zeros(2), np.ones(2)))

    before, after = repaired(1.0), repaired(1.0 + 1e-4)
    saved = (before.distance_squared - after.distance_squared) / 2 / 1e-4
    assert len(before.active) == len(before.multipliers) == 1
    assert before.multipliers[0] == pytest.approx(saved, rel=1e-3)


def test_too_few_calls_are_said_to_be_too_few():
    result = archeng.solve(disc(True), bowl, seed=1, max_evaluations=3)
    active = [a for a in result.activity if a.active]
    assert all(np.isnan(a.gain) for a in active)
    if active:
        assert "not estimated" in str(result)


def test_table_names_what_blocks_and_figures_are_drawn():
    result = archeng.solve(disc(True), bowl, seed=1, max_evaluations=200)
    text = str(result)
    assert "what blocks the design" in text
    assert "gain per unit relaxed" in text
    assert result.plot("activity").axes[0].patches
    with pytest.raises(SettingsError, match="no simulated constraints"):
        result.plot("simulated")


def test_activity_survives_a_file(tmp_path):
    result = archeng.solve(disc(True), bowl, seed=1, max_evaluations=60)
    result.save(tmp_path / "r.json")
    again = archeng.Result.load(tmp_path / "r.json")
    assert len(again.activity) == len(result.activity)
    for a, b in zip(again.activity, result.activity, strict=True):
        assert (a.name, a.repaired, a.active) == (b.name, b.repaired, b.active)
        np.testing.assert_equal((a.gain, a.gain_error), (b.gain, b.gain_error))


def test_no_design_no_activity():
    run = archeng.Run(disc(True), max_evaluations=5, seed=1)
    assert run.result().activity == ()


def test_multipliers_of_a_vertex():
    outward = np.array([[1.0, 0.0], [0.0, 2.0]])
    mu = multipliers(np.array([-3.0, -4.0]), outward, np.zeros(2, dtype=bool))
    np.testing.assert_allclose(mu, [3.0, 2.0])


def test_multiplier_of_a_limit_that_does_not_block_is_zero():
    outward = np.array([[1.0, 0.0], [0.0, 1.0]])
    mu = multipliers(np.array([-3.0, 4.0]), outward, np.zeros(2, dtype=bool))
    np.testing.assert_allclose(mu, [3.0, 0.0])


def test_multiplier_of_an_equality_may_have_any_sign():
    mu = multipliers(np.array([5.0, 0.0]), np.array([[1.0, 0.0]]), np.ones(1, dtype=bool))
    np.testing.assert_allclose(mu, [-5.0])


def test_gradients_of_a_quadratic_are_exact_where_the_data_determine_them():
    rng = np.random.default_rng(0)
    H, g = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, -2.0])
    points = rng.standard_normal((20, 2))
    points[0] = 0.1, 0.2

    def f(x):
        return x @ g + 0.5 * x @ H @ x

    values = np.array([f(x) for x in points])
    simulated = (points @ np.array([3.0, 1.0]))[:, None]
    frame = Frame(points[0], np.eye(2), np.eye(2))
    limits = Limits(("c",), np.array([-np.inf]), np.array([1.0]))
    found = gradients(frame, PastCalls(points, values, simulated), limits, None)
    np.testing.assert_allclose(found.objective, g + H @ points[0], rtol=1e-5)
    quadratics = found.others[-30:]
    np.testing.assert_allclose(quadratics, np.tile(found.objective, (30, 1)), rtol=1e-3)
    np.testing.assert_allclose(found.simulated, [[3.0, 1.0]], rtol=1e-5)


def test_gradients_need_enough_designs():
    frame = Frame(np.zeros(2), np.eye(2), np.eye(2))
    known = PastCalls(np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([0.0, 1, 2]))
    assert gradients(frame, known, Limits(), None) is None


def test_directions_without_data_are_uncertain():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((20, 3))
    points[:, 2] = 1.0  # every design is at a limit of the third variable
    values = points[:, 0] + points[:, 1] ** 2
    frame = Frame(points[0], np.eye(3), np.eye(3))
    found = gradients(frame, PastCalls(points, values), Limits(), None)
    assert np.std(found.others[:, 2]) > 0.3 * np.linalg.norm(found.objective)
    assert np.std(found.others[:, 0]) < 0.1 * np.linalg.norm(found.objective)
