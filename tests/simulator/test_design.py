"""`Design`: what the simulator gets. By name, in shape, read-only."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import numpy as np
import pytest

from archeng import Design, Model


@pytest.fixture
def design() -> Design:
    model = Model()
    model.variable("t", lower=0, upper=9, unit="mm")
    model.variable("w", shape=3)
    model.variable("W", shape=(2, 3))
    model.variable("one", shape=1)
    return Design(model.variables, np.arange(11.0))


def test_is_a_mapping_in_declaration_order(design: Design) -> None:
    assert isinstance(design, Mapping)
    assert list(design) == ["t", "w", "W", "one"]
    assert len(design) == 4
    assert "w" in design
    assert "x" not in design
    assert set(design.keys()) == {"t", "w", "W", "one"}
    assert design.get("nonsense", 7) == 7


def test_values_have_the_declared_shape(design: Design) -> None:
    assert design["t"] == 0.0
    assert isinstance(design["t"], float)
    np.testing.assert_array_equal(design["w"], [1, 2, 3])
    np.testing.assert_array_equal(design["W"], [[4, 6, 8], [5, 7, 9]])
    np.testing.assert_array_equal(design["one"], [10])
    assert dict(design)["one"].shape == (1,)


def test_flat_vector_and_numpy_conversion(design: Design) -> None:
    np.testing.assert_array_equal(design.x, np.arange(11))
    np.testing.assert_array_equal(np.asarray(design), np.arange(11))
    assert np.asarray(design, dtype=int).dtype == int
    assert np.sum(design) == 55


def test_a_converted_array_is_the_users_own(design: Design) -> None:
    array = np.array(design)
    array[:] = -1
    assert design.x[3] == 3


def test_nothing_can_be_changed(design: Design) -> None:
    with pytest.raises(ValueError, match="read-only"):
        design.x[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        design["w"][0] = 5
    with pytest.raises(ValueError, match="read-only"):
        design["W"][0, 0] = 5
    with pytest.raises(TypeError):
        design["t"] = 5  # type: ignore[index]
    with pytest.raises(AttributeError):
        design.color = "red"  # type: ignore[attr-defined]


def test_the_vector_cannot_be_replaced(design: Design) -> None:
    with pytest.raises(AttributeError):
        design.x = np.zeros(11)


def test_does_not_follow_the_array_it_was_made_from() -> None:
    model = Model()
    model.variable("x", shape=2)
    x = np.array([1.0, 2.0])
    made = Design(model.variables, x)
    x[:] = 99
    np.testing.assert_array_equal(made["x"], [1, 2])


def test_unknown_name_lists_the_known_ones(design: Design) -> None:
    with pytest.raises(KeyError, match=r"'thickness' is not a variable; there are t, w, W, one"):
        design["thickness"]


def test_pickle_round_trip_is_exact_and_still_read_only(design: Design) -> None:
    copy = pickle.loads(pickle.dumps(design))
    assert isinstance(copy, Design)
    assert copy.x.tobytes() == design.x.tobytes()
    np.testing.assert_array_equal(copy["W"], design["W"])
    with pytest.raises(ValueError, match="read-only"):
        copy.x[0] = 1


def test_repr_shows_names_and_values() -> None:
    model = Model()
    model.variable("t")
    model.variable("w", shape=2)
    text = repr(Design(model.variables, np.array([1.5, 2.0, 3.0])))
    assert text == "Design(t=1.5, w=array([2., 3.]))"
