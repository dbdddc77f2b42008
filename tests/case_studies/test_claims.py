"""Claims of convergence: a seeded slice of ``make bench-claims``, and its referee."""

from __future__ import annotations

import numpy as np
import pytest

from case_studies.claims import cooling_chain, experiment
from case_studies.claims.cases import TEXTBOOK, case, names
from case_studies.claims.referee import gap, local_optimum
from case_studies.engineering import problem
from case_studies.greybox import suite as composites


@pytest.mark.parametrize(("name", "seed"), [("spring", 3), ("spring", 5), ("welded_beam", 1)])
def test_textbook_problems_end_at_their_optimum(name: str, seed: int) -> None:
    """All constraints are simulated; the spring of seed 3 was called converged 4 % off."""
    (row,) = experiment.run_task({"suite": "textbook", "problem": name, "seed": seed})
    assert row["claims"]
    assert row["reason"] == "CONVERGED"
    assert row["gap"] < 1e-4
    assert row["above_known"] < 1e-4
    assert row["calls"] < 250
    assert row["infeasible_calls"] == 0


@pytest.mark.parametrize(
    ("suite", "name"), [("mixed", "g04"), ("mixed", "g24"), ("cec2006", "g07")]
)
def test_claims_of_other_suites_are_true(suite: str, name: str) -> None:
    (row,) = experiment.run_task({"suite": suite, "problem": name, "seed": 2})
    assert row["by_itself"]
    assert row["claims"]
    assert row["gap"] < 1e-3


@pytest.mark.parametrize(
    ("name", "seed", "calls"),
    [("welded_beam", 1, 60), ("cb2", 1, 60), ("wing", 2, 120), ("kinetics", 1, 80)],
)
def test_claims_with_formulas_of_outputs_are_true(name: str, seed: int, calls: int) -> None:
    """Explicit objective, largest of outputs, ratio, least squares."""
    (row,) = experiment.run_task({"suite": "greybox", "problem": name, "seed": seed})
    assert row["claims"]
    assert row["gap"] < 1e-4
    assert row["above_known"] < 1e-4
    assert row["calls"] < calls
    assert row["infeasible_calls"] == 0


@pytest.mark.parametrize("name", ["welded_beam", "cb2", "chebyshev_exp", "wing"])
def test_the_referee_knows_optima_of_outputs(name: str) -> None:
    """At the known optimum nothing is left; moved into the box by a tenth, something is."""
    this, known = case("greybox", name), composites.problem(name)
    assert known.x_opt is not None

    def left(x: np.ndarray) -> float:
        value = known.at(x)[1].objective
        begin = x if this.begin is None else this.begin(x)
        return gap(value, local_optimum(this.formulas, begin, value, **this.ipopt))

    assert abs(left(known.x_opt)) < 1e-5
    assert left(known.x_opt + 0.1 * (known.bounds[1] - known.x_opt)) > 1e-3


def test_the_two_variable_tutorial_ends_soon() -> None:
    """min (x-3)^2 + x y + (y+4)^2 - 3, 0 <= x + y <= 10 simulated: x = 7, y = -7, f = -27."""
    import archeng

    for seed in range(4):
        model = archeng.Model("paraboloid")
        model.variable("x", lower=-50, upper=50)
        model.variable("y", lower=-50, upper=50)

        def simulator(design: archeng.Design) -> archeng.Evaluation:
            x, y = design.x
            f = (x - 3) ** 2 + x * y + (y + 4) ** 2 - 3
            return archeng.Evaluation(float(f), constraints={"sum": float(x + y)})

        result = archeng.solve(
            model, simulator, simulated={"sum": (0.0, 10.0)}, seed=seed, max_evaluations=300
        )
        assert result.status is archeng.Status.CONVERGED
        assert result.fun == pytest.approx(-27, rel=1e-4)
        assert result.nfev < 60


@pytest.mark.parametrize("name", TEXTBOOK)
def test_the_referee_confirms_published_optima(name: str) -> None:
    known = problem(name)
    formulas = case("textbook", name).formulas
    found = local_optimum(formulas, known.x_opt, known.f_opt)
    assert abs(gap(known.f_opt, found)) < 1e-5


def test_the_referee_finds_what_is_left() -> None:
    """Moved into the box by a tenth: not an optimum."""
    known = problem("pressure_vessel")
    x = known.x_opt + 0.1 * (known.upper - known.x_opt)
    formulas = case("textbook", "pressure_vessel").formulas
    value = float(known.objective(x))
    assert gap(value, local_optimum(formulas, x, value)) > 1e-2


def test_the_chain_has_its_equalities_and_no_more() -> None:
    this = case("textbook", cooling_chain.NAME)
    assert this.model.n_variables == 18
    assert [c.name for c in this.model.constraints] == [f"balance {k}" for k in range(1, 7)]
    assert set(this.simulated) == set(cooling_chain.SIMULATED)


def test_every_suite_has_problems_and_a_summary() -> None:
    assert {suite: len(names(suite)) > 5 for suite in experiment.SUITES} == dict.fromkeys(
        experiment.SUITES, True
    )
    rows = [
        {
            "suite": "mixed", "problem": "g04", "seed": 1, "claims": 1, "gap": 0.1,
            "above_known": 0.1, "calls": 30, "calls_to_optimum": None, "by_itself": 1,
            "reason": "CONVERGED", "infeasible_calls": 0,
        }
    ]  # fmt: skip
    text = experiment.summary(rows)
    assert "False claims: g04 seed 1 (1.0e-01)" in text
