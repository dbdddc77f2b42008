"""The flange: the ring model against closed formulas, the model against NumPy, runs, command."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace

import numpy as np
import pytest
from study_commands import refused, run_twice

import archeng
from archeng.model import compile_model
from case_studies.flange import (
    Parts,
    RingModel,
    beyond_limits,
    broken_rules,
    build_model,
    cost,
    data,
    ring,
)
from case_studies.flange.__main__ import main
from case_studies.flange.search import good
from case_studies.flange.study import Record, reference, run_seed

BEST = Parts(**reference()["design"])


def random_parts(k: int, seed: int) -> list[Parts]:
    """Designs on both sides of the rules."""
    rng = np.random.default_rng(seed)

    def of(values):
        return values[rng.integers(len(values))]

    found = []
    for _ in range(k):
        parts = Parts(
            bolt=of(list(data.bolts())[2:7]),
            bolts=int(rng.integers(6, 25)),
            gasket=of(list(data.GASKETS)),
            gasket_width=of(data.WIDTHS),
            plate=of(data.THICKNESSES),
            steel=of(list(data.STEELS)),
            bolt_circle=0.0,
            preload=rng.uniform(*data.PRELOAD),
        )
        circle = parts.least_circle * rng.choice([0.99, 1.0001, 1.05])
        found.append(replace(parts, bolt_circle=float(circle)))
    return found


def design_of(parts: Parts) -> dict:
    return {name.replace("_", " "): value for name, value in asdict(parts).items()}


def flat(model: archeng.Model, parts: Parts) -> np.ndarray:
    design = design_of(parts)
    return np.array([v.domain.number(v.name, design[v.name]) for v in model.variables])


# -- the ring model -----------------------------------------


def test_many_bolts_are_a_ring_that_turns_as_a_whole():
    """Closed form: (E I / R^2 + pipe) theta is the moment of bolts and gasket about R."""
    joint = replace(BEST.joint(), bolts=400, hole=1e-6, preload=1000.0)
    outer = joint.bolt_circle + 2 * 1.3e-6
    mean = (outer + 207) / 4
    width = (outer - 207) / 2
    inner, spring = 207 / 2 + 4, 2 * joint.gasket_modulus / joint.gasket_thickness
    stiffness = 210e3 * width * joint.thickness**3 / 12 / mean**2 + ring._pipe()
    r, weights = np.polynomial.legendre.leggauss(8)
    r, weights = inner + joint.gasket_width * (r + 1) / 2, joint.gasket_width * weights / 2
    bed = spring * weights * r / mean
    lever = r - mean
    matrix = [
        [bed.sum(), bed @ lever],
        [bed @ lever, bed @ lever**2 + stiffness],
    ]
    line = 400 * 1000.0 / (2 * np.pi * mean)
    w, theta = np.linalg.solve(matrix, [line, line * (joint.bolt_circle / 2 - mean)])
    model = ring.Ring(joint)
    assembled, _, _ = model.states()
    np.testing.assert_allclose(ring.shapes().turn @ assembled, theta, rtol=1e-4)
    np.testing.assert_allclose(ring.shapes().w @ assembled, w, rtol=1e-4)
    assert (spring * (w + theta * lever)).min() > 0  # all of the gasket is pressed
    stress = 210e3 * joint.thickness / 2 * theta / mean
    assert model._stress(assembled) == pytest.approx(stress, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_in_balance(seed):
    solved = 0
    for parts in random_parts(20, seed):
        model = ring.Ring(parts.joint())
        assembled, operating, force = model.states()
        half = np.pi / parts.bolts
        pushed = data.PRESSURE * (207 / 2 + 4) ** 2 / 2 * half
        assert model.gasket_force(assembled) == pytest.approx(parts.bolt_force / 2, rel=1e-6)
        assert model.gasket_force(operating) == pytest.approx(force / 2 - pushed, rel=1e-6, abs=1)
        solved += 1
    assert solved == 20


def test_more_elements_change_little(monkeypatch):
    coarse = asdict(ring.Ring(BEST.joint()).solve())
    monkeypatch.setattr(ring, "ELEMENTS", 32)
    ring.shapes.cache_clear()
    fine = asdict(ring.Ring(BEST.joint()).solve())
    monkeypatch.undo()
    ring.shapes.cache_clear()
    for name, value in fine.items():  # the largest values are taken at points within elements
        assert coarse[name] == pytest.approx(value, rel=0.02), name


def test_what_grows_with_the_preload():
    low, high = (asdict(ring.Ring(replace(BEST, preload=u).joint()).solve()) for u in (0.5, 0.6))
    assert all(high[name] > low[name] for name in high)


# -- model and referee -----------------------------------------


def test_the_referee_agrees_with_the_model():
    model = build_model()
    feasible_set = compile_model(model)
    legal = 0
    for parts in random_parts(600, seed=1):
        feasible = feasible_set.is_feasible(flat(model, parts))
        assert feasible == (not broken_rules(parts)), parts
        legal += feasible
    assert 30 < legal < 400


def test_cost_and_limits_are_those_of_the_referee():
    model = build_model()
    formulas, inside = compile_model(model).formulas, 0
    simulator = RingModel()
    for parts in [BEST, *random_parts(60, seed=2)]:
        outputs = simulator(design_of(parts)).outputs
        z = np.array([outputs[output.name] for output in model.outputs])
        value, rows = formulas.at(flat(model, parts), z)
        assert value == pytest.approx(cost(parts), rel=1e-12)
        beyond = beyond_limits(parts, ring.Ring(parts.joint()).solve())
        assert (rows > [0, 0, 0.3, 0, 0]).sum() == len(beyond)
        inside += not beyond
    assert inside >= 1


def test_the_referee_knows_the_catalogues():
    for change in (
        {"bolt": "M14"},
        {"bolts": 5},
        {"bolts": 7.5},
        {"gasket": "cork"},
        {"gasket_width": 9},
        {"plate": 28.0},
        {"steel": "S275"},
    ):
        (words,) = broken_rules(replace(BEST, **change))
        assert words.endswith("is not in the catalogue")
    assert broken_rules(BEST) == []
    assert broken_rules(replace(BEST, preload=0.66)) == ["the preload is out of its bounds"]
    narrow = replace(BEST, bolt_circle=BEST.bolt_circle - 0.001)
    assert broken_rules(narrow) == ["bolts, gasket and weld have no room"]


def test_bolts_are_those_of_the_standards():
    rows = data.bolts()
    assert list(rows) == [f"M{d}" for d in (6, 8, 10, 12, 16, 20, 24, 27, 30, 33, 36)]
    for name, row in rows.items():
        d, pitch = float(name[1:]), row["pitch"]
        assert row["diameter"] == d
        area = np.pi / 4 * (d - 0.9382 * pitch) ** 2  # ISO 898-1
        assert row["stress_area"] == pytest.approx(area, rel=6e-3)
        assert d < row["hole"] < row["washer"] < row["spacing"]
        assert row["flats"] < row["washer"]


def test_the_simulator_counts_and_can_be_pickled():
    simulator = RingModel()
    first = simulator(design_of(BEST))
    simulator(design_of(replace(BEST, preload=0.7)))
    assert (simulator.n_calls, simulator.n_illegal) == (2, 1)
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy(design_of(BEST)).outputs == first.outputs


# -- the reference -----------------------------------------


def test_the_reference_is_what_it_says():
    known = reference()
    state = ring.Ring(BEST.joint()).solve()
    assert cost(BEST) == pytest.approx(known["cost"], rel=1e-12)
    assert asdict(state) == pytest.approx(known["state"], rel=1e-9)
    assert beyond_limits(BEST, state) == []


def test_no_single_other_part_is_cheaper():
    """A slice of the exhaustion: one part changed, with the least circle and preload."""
    changes = {
        "bolt": list(data.bolts()),
        "bolts": range(6, 25),
        "gasket": list(data.GASKETS),
        "gasket_width": data.WIDTHS,
        "plate": data.THICKNESSES,
        "steel": list(data.STEELS),
    }
    tried, possible = 0, 0
    for name, values in changes.items():
        for value in values:
            parts = replace(BEST, **{name: value})
            parts = replace(parts, bolt_circle=parts.least_circle * (1 + 1e-12))
            if parts == BEST:
                continue
            found = good(parts)
            tried += 1
            possible += found is not None
            assert found is None or cost(found) > cost(BEST)
    assert tried > 40
    assert possible > 5


# -- runs -----------------------------------------


@pytest.mark.slow
def test_one_seed_finds_a_cheap_joint_without_an_illegal_call():
    record = run_seed(3, 25)
    assert (record.calls, record.illegal, record.failed) == (25, 0, 0)
    assert record.holds
    parts = Parts(**record.design)
    assert broken_rules(parts) == []
    assert beyond_limits(parts, ring.Ring(parts.joint()).solve()) == []
    assert cost(parts) == pytest.approx(record.cost, rel=1e-9)
    assert reference()["cost"] * (1 - 1e-9) <= record.cost < 1.1 * reference()["cost"]
    assert Record.from_data(json.loads(json.dumps(record.__dict__))) == record


@pytest.mark.slow
def test_without_models_no_call_is_illegal_either():
    simulator = RingModel()
    result = archeng.solve(
        build_model(),
        simulator,
        max_evaluations=60,
        seed=2,
        settings=archeng.Settings(surrogate="none"),
    )
    assert (result.nfev, simulator.n_calls, simulator.n_illegal) == (60, 60, 0)
    assert len({tuple(e.x) for e in result.evaluations}) > 30


@pytest.mark.slow
def test_command_line(tmp_path, capsys):
    out = tmp_path / "new" / "flange"
    arguments = ["--seeds", "1", "--calls", "15", "--out", str(out)]
    shown, data = run_twice(main, arguments, out / "flange_grey.json", capsys)
    assert "- calls at designs that are illegal or in no catalogue: 0 of 15" in shown.out
    assert "| optimum by exhaustion | 78.358 | 7 M12 | graphite, 8 mm | S355, 30 mm |" in shown.out
    assert "15/15 calls" in shown.err
    assert data["seeds"][0]["calls"] == 15
    arguments[3] = "16"
    assert "choose another --out" in refused(main, arguments, capsys)
