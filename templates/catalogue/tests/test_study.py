"""Tests of this study: cheap to run before an expensive one."""

import archeng
import numpy as np
import pytest
from model import LENGTH, WIDTH, model
from simulator import bent, points, simulator, tributary

DESIGN = {"section": "IPE 160", "beams": 10, "plate": 5, "grade": "S275", "overhang": 0.5}


def frequency(**changed):
    """Return the frequency of a platform."""
    x = model.flat({**DESIGN, **changed})
    return simulator(archeng.Design(model.variables, x))["frequency"]


def test_the_constraints_leave_room_for_designs():
    designs = archeng.sample_feasible(model, 5, seed=1)
    assert len(designs) == 5
    for design in designs:
        assert isinstance(design["beams"], int)
        assert design["plate"] in (4, 5, 6, 8, 10, 12)
        assert design["section"]["height"] <= 200


def test_lengths_add_up():
    along = points(0.5)
    assert (along[0], along[-1]) == (0.0, LENGTH)
    assert tributary(along).sum() == pytest.approx(LENGTH)
    assert tributary(np.linspace(0, WIDTH, 7)).sum() == pytest.approx(WIDTH)


def test_a_cantilever_bends_as_in_the_books():
    stiffness = bent(1000.0, 2.0)[2:, 2:]  # the first end is clamped
    deflection, slope = np.linalg.solve(stiffness, [3.0, 0.0])
    assert deflection == pytest.approx(3.0 * 2.0**3 / (3 * 1000.0))
    assert slope == pytest.approx(3.0 * 2.0**2 / (2 * 1000.0))


def test_a_beam_on_two_supports_swings_as_in_the_books():
    """With nothing across, all beams swing alike: pi / 2 sqrt(E I / (m L^4))."""
    plate = 4 / 1000
    mass = (7850 * plate + 0.3 * 3500 / 9.81) * WIDTH / 9 + 15.8
    exact = np.pi / 2 * np.sqrt(210e9 * 869e-8 / (mass * LENGTH**4))
    assert frequency(overhang=0.0, plate=4) == pytest.approx(exact, rel=0.02)


def test_a_shorter_span_and_a_larger_section_are_stiffer():
    assert frequency(overhang=0.8) > frequency()
    assert frequency(section="IPE 180") > frequency()
    assert frequency(section="HEA 100") < frequency()


def test_what_is_not_in_the_catalogue_is_refused():
    with pytest.raises(archeng.errors.ModelError, match="IPE 160"):
        model.flat({**DESIGN, "section": "IPE 16"})
