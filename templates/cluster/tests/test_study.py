"""Tests of this study: cheap to run before an expensive one."""

import archeng
import simulator as road_and_car
from cluster import workers
from model import model

DESIGN = {"spring": 25.0, "bump_damping": 1.0, "rebound_damping": 2.0, "stop_gap": 0.06}


def test_the_constraints_leave_room_for_designs():
    assert len(archeng.sample_feasible(model, 5, seed=1)) == 5


def test_a_flat_road_shakes_nobody(monkeypatch):
    monkeypatch.setattr(road_and_car, "road", lambda x: 0.0)
    assert road_and_car.drive(DESIGN) == (0.0, 0.0, 0.0)


def test_a_soft_spring_is_more_comfortable():
    soft, _, _ = road_and_car.drive(DESIGN)
    hard, _, _ = road_and_car.drive({**DESIGN, "spring": 40.0})
    assert soft < hard


def test_the_cluster_takes_calls():
    with workers() as client:
        assert client.submit(lambda: 6 * 7).result() == 42
