"""What ``noise=`` takes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from archeng.errors import SettingsError
from archeng.noise import Noise, checked_noise, weights_of


def test_what_it_means() -> None:
    assert checked_noise("noise", None) is None
    assert checked_noise("noise", 0.3) == {"objective": Noise(0.3)}
    assert checked_noise("noise", "5%") == {"objective": Noise(0.05, relative=True)}
    assert checked_noise("noise", "0.3") == {"objective": Noise(0.3)}
    by_name = checked_noise("noise", {"objective": 0, "σ": "2 %"})
    assert by_name == {"objective": Noise(0.0), "σ": Noise(0.02, relative=True)}


@pytest.mark.parametrize("value", [-1, "x", "-5%", True, [1], float("nan"), {"objective": "a"}])
def test_what_is_refused_is_named(value: object) -> None:
    with pytest.raises(SettingsError, match=r"noise.*standard deviation.*5%"):
        checked_noise("noise", value)


def test_relative_noise_at_zero_has_a_least_size() -> None:
    weights = weights_of(True, np.array([0.0, 10.0]))
    assert weights[0] == pytest.approx(1e-6 * weights[1])
    assert Noise(0.05, relative=True).at(-200.0) == pytest.approx(10.0)
