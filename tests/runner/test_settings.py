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
        ("handler_options", 3),
        ("handler_options", {1: 2}),
        ("handler_options", {"max_samples": [1]}),
        ("handler_options", {"max_samples": np.nan}),
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


def test_what_handlers_have_for_themselves() -> None:
    """Their options were settings once; error and old journals lead to where they are now."""
    options = {"max_samples": np.int64(9)}
    settings = Settings(handler="resampling", handler_options=options)
    assert settings.handler_options == {"max_samples": 9}
    assert settings == Settings(handler="resampling", handler_options={"max_samples": 9})
    assert hash(settings) == hash(Settings(handler="resampling"))
    with pytest.raises(
        SettingsError, match=r'handler="resampling", handler_options=\{"max_samples'
    ):
        Settings(max_samples=9)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("stored", "options"),
    [
        ({}, {}),
        ({"handler": "arch", "max_samples": 500, "ranking_probability": 0.45}, {}),
        ({"handler": "resampling", "max_samples": 500}, {}),
        (
            {"handler": "resampling", "max_samples": 7, "ranking_probability": 0.3},
            {"max_samples": 7},
        ),
        (
            {"handler": "stochastic-ranking", "ranking_probability": 0.3},
            {"ranking_probability": 0.3},
        ),
        ({"handler": "resampling", "handler_options": {"max_samples": 8}}, {"max_samples": 8}),
    ],
)
def test_settings_of_earlier_journals(stored: dict[str, Any], options: dict[str, Any]) -> None:
    settings = Settings.from_stored(stored)
    assert settings.handler_options == options
    assert Settings.from_stored(dataclasses.asdict(settings)) == settings
    assert settings.handler == stored.get("handler", "arch")


def test_every_setting_is_declared_and_documented() -> None:
    for f in dataclasses.fields(Settings):
        assert set(f.metadata) == {"check", "help"}
        assert f"{f.name} : " in (Settings.__doc__ or "")
        assert f.metadata["help"] in (Settings.__doc__ or "")
