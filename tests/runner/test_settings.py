"""`Settings`: frozen, keyword-only, checked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from archeng import Settings
from archeng.errors import ArchengError, SettingsError


def test_defaults_are_valid_and_equal() -> None:
    assert Settings() == Settings()
    assert Settings().repair_solver == "auto"
    assert Settings().intersection_first is True
    assert Settings().stop_tests is True


def test_paper_differs_from_the_defaults_in_four_points() -> None:
    paper = Settings.paper()
    assert paper.square_root == "symmetric"
    assert paper.restart_shares == "equal"
    assert paper.reuse_designs is False
    assert paper.surrogate == "none"
    default = dataclasses.replace(
        paper,
        square_root="covariant",
        restart_shares="adaptive",
        reuse_designs=True,
        surrogate="auto",
    )
    assert default == Settings()


def test_frozen_and_keyword_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().margin = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Settings("auto")  # type: ignore[misc]
    with pytest.raises(SettingsError, match=r"no option margine\. Did you mean margin\?"):
        Settings(margine=0.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "options",
    [
        {"repair_solver": "sqp"},
        {"repair_solver": "ipopt"},
        {"margin": 0.0},
        {"margin": 1e-3},
        {"tol_x": 0},
        {"tol_objective": np.inf},
        {"max_condition": np.inf},
        {"start_candidates": 1},
        {"stop_tests": False},
        {"surrogate": "none"},
    ],
)
def test_values_at_the_edge_are_valid(options: dict[str, Any]) -> None:
    settings = Settings(**options)
    ((name, value),) = options.items()
    assert getattr(settings, name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repair_solver", "snopt"),
        ("repair_solver", None),
        ("repair_solver", ["qp"]),
        ("square_root", "cholesky"),
        ("margin", -1e-12),
        ("margin", 1.1e-3),
        ("margin", np.nan),
        ("margin", "small"),
        ("margin", None),
        ("tol_x", -1),
        ("tol_x", 2),
        ("tol_objective", -1e-3),
        ("tol_objective", np.nan),
        ("max_condition", 0.5),
        ("max_condition", np.nan),
        ("ipopt_max_iterations", 0),
        ("ipopt_max_iterations", 2.5),
        ("start_candidates", 0),
        ("start_candidates", -3),
        ("start_candidates", 1.0),
        ("start_candidates", True),
        ("start_candidates", "20"),
        ("handler", "penalty"),
        ("simulator_defined_everywhere", "no"),
        ("max_samples", 0),
        ("ranking_probability", 1.5),
        ("stop_tests", "no"),
        ("reuse_designs", "no"),
        ("surrogate", "no"),
        ("surrogate", None),
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings(**{name: value})


def test_settings_error_is_an_archeng_error_and_a_value_error() -> None:
    assert issubclass(SettingsError, ArchengError)
    assert issubclass(SettingsError, ValueError)
