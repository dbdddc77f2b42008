"""Putting the parts of a run together: ledger, search, and who makes the calls."""

from __future__ import annotations

from typing import Any

from archeng.errors import SettingsError
from archeng.ledger import Ledger
from archeng.repair import make_repairer
from archeng.runner.dispatcher import Dispatcher
from archeng.runner.handlers import make_handler
from archeng.runner.ladder import LadderSearch
from archeng.runner.options import Options
from archeng.runner.restarting import RestartingSearch, Starts
from archeng.runner.setup import Setup
from archeng.runner.switching import SwitchingSearch
from archeng.runner.team import RepairTeam
from archeng.simulator import Evaluator, Gate, make_pool, process_count


def assemble(setup: Setup) -> tuple[Ledger, RestartingSearch, RepairTeam]:
    """Make ledger, search, and who repairs; the solvers of the repair are compiled here."""
    options, settings, limits = setup.options, setup.settings, setup.limits
    search, team = make_search(setup)
    ledger = Ledger(
        setup.feasible_set,
        limits,
        maximize=options.sense == "maximize",
        budget=options.max_evaluations,
        reuse_designs=settings.reuse_designs,
        earlier=setup.earlier,
        formulas=setup.feasible_set.formulas,
        lessons=setup.lessons,
        teachers=setup.teachers,
        costs=options.costs,
        max_cost=options.max_cost,
    )
    return ledger, search, team


def make_search(setup: Setup) -> tuple[RestartingSearch, RepairTeam]:
    """Make the search, and who repairs."""
    options, settings, limits = setup.options, setup.settings, setup.limits
    repairer = make_repairer(setup.feasible_set, settings, setup.wide)
    team = RepairTeam(repairer, process_count(setup.runtime.workers))
    search = search_type(setup)(
        make_handler(
            repairer,
            team,
            settings,
            setup.wide,
            limits,
            taught=setup.lessons is not None,
            width=options.parallel,
            asynchronous=options.asynchronous,
            noise=options.noise,
            confidence=options.confidence,
            population_size=options.population_size,
        ),
        Starts(repairer, setup.wide, settings.start_candidates, options.max_time),
        settings,
        limits,
        options.population_size,
        options.restarts,
        options.parallel,
        **level_options(options),
    )
    return search, team


def search_type(setup: Setup) -> type[RestartingSearch]:
    """Return the search for one simulator, or for several."""
    if setup.options.cost is None:
        return RestartingSearch
    if "alike" in setup.settings.handler_options:
        raise SettingsError("alike= knows nothing of several simulators; leave one of them out.")
    models = setup.settings.handler == "arch" and setup.settings.surrogate != "none"
    return LadderSearch if models else SwitchingSearch


def level_options(options: Options) -> dict[str, Any]:
    """Return what a search with several simulators has to know."""
    if options.cost is None:
        return {}
    return {"costs": options.cost}


def make_dispatcher(
    setup: Setup, ledger: Ledger, search: RestartingSearch, begin: float
) -> Dispatcher:
    """Start the workers, if there is a simulator; ``begin`` is the run's, by `time.monotonic`."""
    runtime, asked = setup.runtime, setup.asked
    evaluator = None
    if setup.simulator is not None:
        pool = make_pool(runtime.workers, setup.simulator, runtime.policy.timeout)
        evaluator = Evaluator(pool, runtime.policy, asked)
    gate = Gate(setup.feasible_set, search.handler.outside)
    on_failure = None if runtime.progress is None else runtime.progress.failed
    return Dispatcher(gate, ledger, evaluator, asked, begin, on_failure)
