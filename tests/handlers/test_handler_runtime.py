"""Every handler with everything that a run can do: journals, workers, restarts, files, plots."""

from __future__ import annotations

import functools
import io
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from handlers_helpers import (
    OUTSIDE,
    SEARCHES,
    SINGLES,
    SearchName,
    assert_same,
    bowl,
    box,
    designs,
    digest,
    fragile,
    model_for,
    settings_of,
    solved,
    wedge,
)

import archeng
from archeng import Design, Result, Run, StopReason

pytestmark = pytest.mark.slow

BUDGET = 50
UNENDING = {"stop_tests": False}  # a model of the objective ends some of these runs soon
every_handler = pytest.mark.parametrize("handler", SEARCHES)


@functools.cache
def reference(handler: SearchName) -> Result:
    """One call after the other in this process, without a journal."""
    return solved(handler, max_evaluations=BUDGET, changes=UNENDING)


def calls_of(handler: SearchName) -> int:
    """Budget of `restarted`: the populations of self-adaptation are larger."""
    return 300 if handler == "lccmsa-es" else 120


@functools.cache
def restarted(handler: SearchName) -> Result:
    """Converges very soon, so that restarts begin soon; some calls fail."""
    tol_x = 0.6 if handler in SINGLES else 0.999
    return solved(
        handler,
        simulator=fragile,
        max_evaluations=calls_of(handler),
        restarts=30,
        seed=0,
        changes={"tol_x": tol_x},
    )


def test_the_model_of_the_objective_proposes_in_these_runs() -> None:
    """Otherwise the runs that are called assisted would be those of ARCH."""
    for result in (reference("assisted"), restarted("assisted")):
        assert sum("proposed" in g.repairs for g in result.history) >= 10
    assert not any("proposed" in g.repairs for g in reference("arch").history)


# -- journals -----------------------------------------------------------------------------------


@every_handler
def test_a_journal_does_not_change_the_run(handler: SearchName, tmp_path: Path) -> None:
    result = solved(handler, max_evaluations=BUDGET, journal=tmp_path / "run.db", changes=UNENDING)
    assert_same(result, reference(handler))
    assert_same(archeng.resume(tmp_path / "run.db", bowl), result)


@every_handler
@pytest.mark.parametrize("first", [2, 31])
def test_a_run_goes_on_with_a_larger_budget(
    handler: SearchName, first: int, tmp_path: Path
) -> None:
    solved(handler, max_evaluations=first, journal=tmp_path / "run.db", changes=UNENDING)
    settings = settings_of(handler, **UNENDING)
    again = archeng.resume(tmp_path / "run.db", bowl, settings=settings, max_evaluations=BUDGET)
    assert_same(again, reference(handler))


class Dying:
    """A simulator that copies the journal in the middle of some of its calls.

    The copies are what a process that is killed in such a call leaves behind.
    """

    def __init__(self, journal: Path, moments: tuple[int, ...]) -> None:
        self.journal, self.moments, self.calls = journal, moments, 0

    def __call__(self, design: Design) -> float:
        self.calls += 1
        if self.calls in self.moments:
            for suffix in ("", "-wal"):
                shutil.copy(f"{self.journal}{suffix}", f"{self.dead(self.calls)}{suffix}")
        return fragile(design)

    def dead(self, call: int) -> Path:
        return self.journal.with_name(f"dead{call}.db")


@every_handler
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    handler: SearchName, tmp_path: Path
) -> None:
    dying = Dying(tmp_path / "run.db", (20, 39))
    whole = solved(
        handler, simulator=dying, max_evaluations=45, journal=dying.journal, changes=UNENDING
    )
    for moment in dying.moments:
        calls: list[bytes] = []

        def simulator(design: Design, calls: list[bytes] = calls) -> float:
            calls.append(design.x.tobytes())
            return fragile(design)

        assert_same(archeng.resume(dying.dead(moment), simulator), whole)
        assert calls == designs(whole)[moment - 1 :]  # what had finished is not simulated again


def test_another_handler_is_not_the_run_of_the_journal(tmp_path: Path) -> None:
    solved("arch", max_evaluations=10, journal=tmp_path / "run.db")
    with pytest.raises(archeng.errors.JournalError, match="handler: 'arch' became 'resampling'"):
        archeng.resume(tmp_path / "run.db", bowl, settings=settings_of("resampling"))


# -- the same run in other ways -----------------------------------------------------------------


@every_handler
def test_another_seed_is_another_run(handler: SearchName) -> None:
    """That the same seed is the same run, most other tests here say."""
    other = solved(handler, max_evaluations=12, seed=4, changes=UNENDING)
    assert designs(other)[-1] != designs(reference(handler))[11]


@every_handler
def test_ask_and_tell_make_the_calls_of_solve(handler: SearchName) -> None:
    settings = settings_of(handler, **UNENDING)
    run = Run(model_for(handler), seed=3, max_evaluations=BUDGET, settings=settings)
    while not run.stopped:
        candidates = run.ask()
        assert all(c.design is not None or not c.repair.feasible for c in candidates)
        run.tell([None if c.design is None else bowl(c.design) for c in candidates])
    assert_same(run.result(), reference(handler))


@pytest.mark.parametrize("handler", ["arch", "assisted", "al", "xcma-es-ach", *SINGLES])
def test_threads_make_the_calls_of_one_process(handler: SearchName) -> None:
    result = solved(
        handler, max_evaluations=BUDGET, workers="threads:2", parallel=1, changes=UNENDING
    )
    assert_same(result, reference(handler))


# -- failures, restarts, budgets ----------------------------------------------------------------


@every_handler
def test_failed_calls_now_and_then(handler: SearchName) -> None:
    result = solved(handler, simulator=fragile, max_evaluations=250, changes=UNENDING)
    statuses = Counter(e.status for e in result.evaluations)
    assert statuses["invalid"] > 10
    assert result.fun < 3  # the optimum is 2
    good = [e.objective for e in result.evaluations if e.good and e.feasible]
    assert result.fun == min(good)


@every_handler
def test_a_first_design_that_fails_does_not_end_the_run(handler: SearchName) -> None:
    first: list[bytes] = []

    def simulator(design: Design) -> float:
        first.append(design.x.tobytes())
        return float("nan") if design.x.tobytes() == first[0] else bowl(design)

    result = solved(handler, simulator=simulator, max_evaluations=150, changes=UNENDING)
    assert not result.evaluations[0].good
    assert result.fun < 5
    assert result.nfev == 150


@every_handler
def test_bipop_restarts(handler: SearchName) -> None:
    result = restarted(handler)
    assert result.nfev == calls_of(handler)
    assert result.history[-1].restart >= 1
    assert result.stop_reason is StopReason.MAX_EVALUATIONS
    sizes = {g.restart: g.population_size for g in result.history}
    if handler in SINGLES:
        assert set(sizes.values()) == {1}
    else:
        assert sizes[1] == 2 * sizes[0]
    best = next(e for e in result.evaluations if e.objective == result.fun)
    assert best.feasible


@every_handler
@pytest.mark.parametrize("budget", [1, 8])
def test_the_budget_is_used_up_exactly(handler: SearchName, budget: int) -> None:
    calls: list[Design] = []

    def simulator(design: Design) -> float:
        calls.append(design)
        return bowl(design)

    result = solved(handler, simulator=simulator, max_evaluations=budget, changes=UNENDING)
    assert len(calls) == result.nfev == budget
    assert result.stop_reason is StopReason.MAX_EVALUATIONS
    assert designs(result) == designs(reference(handler))[:budget]


@every_handler
def test_a_target_stops_at_once(handler: SearchName) -> None:
    whole = reference(handler)
    target = sorted({e.objective for e in whole.evaluations if e.feasible})[1]
    result = solved(handler, max_evaluations=BUDGET, target=target, changes=UNENDING)
    assert result.stop_reason is StopReason.TARGET
    assert result.fun <= target
    assert result.evaluations[-1].objective == result.fun
    assert designs(result) == designs(whole)[: result.nfev]


@pytest.mark.parametrize("handler", ["resampling", "death-penalty"])
def test_a_search_that_lost_the_feasible_set_ends(handler: SearchName) -> None:
    """No sample is feasible, so no call is made and the budget is never used up."""
    model = wedge()
    x = model.symbols
    model.subject_to(x[0] + x[1] + x[2], lower=3, upper=3 + 1e-7, name="slab")
    changes = {"handler_options": {"max_samples": 10}} if handler == "resampling" else {}
    result = solved(handler, model, max_evaluations=50, changes=changes)
    assert result.stop_reason is not StopReason.MAX_EVALUATIONS
    assert result.nfev < 50
    assert "wedge" in str(result)


# -- what is shown and stored -------------------------------------------------------------------


@every_handler
def test_results_are_saved_and_loaded(handler: SearchName, tmp_path: Path) -> None:
    result = restarted(handler)
    result.save(tmp_path / "result.json")
    loaded = Result.load(tmp_path / "result.json")
    assert_same(loaded, result)
    assert str(loaded) == str(result)
    assert loaded.n_infeasible_calls == result.n_infeasible_calls
    chosen = settings_of(handler)
    assert loaded.provenance["settings"]["handler"] == chosen.handler
    assert loaded.provenance["settings"]["surrogate"] == chosen.surrogate


@every_handler
def test_alpha_belongs_to_arch(handler: SearchName) -> None:
    alphas = np.array([g.alpha for g in reference(handler).history])
    assert np.all(np.isnan(alphas)) != settings_of(handler).handler.startswith("arch")


@pytest.mark.parametrize("handler", ["arch", "assisted", "al", *SINGLES])
def test_plots_can_be_drawn(handler: SearchName) -> None:
    """With alpha and without, with proposals, with infeasible calls, with single candidates."""
    image = io.BytesIO()
    restarted(handler).plot("search").savefig(image, dpi=20)
    assert image.tell() > 1000
    assert len(restarted(handler).plot("convergence").axes) == 2


@every_handler
def test_progress_is_shown(handler: SearchName, capsys: pytest.CaptureFixture[str]) -> None:
    result = solved(handler, max_evaluations=BUDGET, verbose=True, changes=UNENDING)
    assert_same(result, reference(handler))
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"{BUDGET}/{BUDGET} calls" in last
    assert f"best {result.fun:.8g}" in last
    assert "active" in last


@pytest.mark.parametrize("handler", OUTSIDE)
def test_progress_does_not_call_samples_repaired(
    handler: SearchName, capsys: pytest.CaptureFixture[str]
) -> None:
    result = solved(handler, box(3, 3), max_evaluations=BUDGET, verbose=True)
    assert result.history[-1].repairs.get("unrepaired", 0) > 0
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "repaired" not in last
    assert "infeasible" in last


def test_the_failing_designs_are_spread_evenly() -> None:
    """Otherwise the tests above would say little."""
    points = np.random.default_rng(0).standard_normal((600, 3))
    share = np.mean([digest(x) % 6 == 1 for x in points])
    assert 0.12 < share < 0.22
