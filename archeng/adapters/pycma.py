"""ARCH around pycma: ``cma.CMAEvolutionStrategy`` asks and tells, archeng repairs and ranks.

ARCH changes CMA-ES only in the ranking of the candidates, so it fits around any CMA-ES::

    import cma
    from archeng.adapters.pycma import Arch

    es = cma.CMAEvolutionStrategy(x0, sigma0)
    arch = Arch(es, model)
    while not es.stop():
        designs = arch.ask()
        arch.tell([simulator(design) if design else None for design in designs])
    print(arch.best)

Samples, step size, covariance matrix, options and stopping tests are pycma's. The repair in the
metric of its distribution, alpha and the total ranking are archeng's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archeng.blas import one_thread
from archeng.checks import needed
from archeng.distribution import Distribution, Floats
from archeng.errors import SettingsError, SimulatorError
from archeng.handlers.arch import adapt_alpha, begin, repair_population
from archeng.ledger import Ledger
from archeng.model import FeasibleSet, as_model, compile_model, refuse_wide
from archeng.outcomes import Limits
from archeng.ranking import total_order
from archeng.repair import Repairer
from archeng.runner.dispatcher import call_record
from archeng.runner.generation import OpenGeneration, open_generation
from archeng.sampling import deviations, feasible_points
from archeng.settings import Settings
from archeng.simulator import Call, Design, Gate, call, check_simulator, told

cma: Any = needed("cma", "cma")

_REMEMBERED = 500  # designs among which repeated ones are looked for


@dataclass(frozen=True)
class Best:
    """The best design so far, and its objective."""

    design: Design
    objective: float


class Arch:
    """Constraint handling for a `cma.CMAEvolutionStrategy`.

    Parameters
    ----------
    es : cma.CMAEvolutionStrategy
        Over the free variables of the model, in their order. Bounds, integers, fixed and
        scaled variables belong into the model, not into its options.
    model : Model, or whatever :func:`archeng.solve` takes
    settings : Settings, optional
        Of the repair.
    seed : int
        For the search of a first feasible design, if the mean of ``es`` cannot be repaired.

    Raises
    ------
    SettingsError
        The strategy handles constraints itself or has another number of variables, or the model
        has discrete ones.
    InfeasibleModelError
        No feasible design was found.
    """

    @one_thread
    def __init__(
        self, es: Any, model: Any, *, settings: Settings | None = None, seed: int = 0
    ) -> None:
        self.es = es
        self._set = _compiled(model)
        _check(es, self._set.n, self._set.free_names)
        self._settings = settings or Settings()
        self._repairer = Repairer(self._set, self._settings)
        self._gate = Gate(self._set)
        distribution = distribution_of(es)
        first = self._repairer.repair(distribution.mean, distribution)
        if first.feasible:
            anchor = first.x
        else:
            anchor = feasible_points(self._repairer, 1, np.random.default_rng(seed))[0]
        self._search = begin(distribution, anchor, int(es.popsize))
        weights = np.array(es.sp.weights.positive_weights, dtype=float)
        self._weights = weights / weights.sum()
        self._sampled: list[Any] = []
        self._generation: OpenGeneration | None = None
        self._n_generations = 0
        self._limits = Limits()  # no simulated constraints: pycma ranks by the objective
        self._ledger = Ledger(self._set, self._limits, reuse_designs=True)

    @classmethod
    def start(
        cls,
        model: Any,
        options: Mapping[str, Any] | None = None,
        *,
        settings: Settings | None = None,
        seed: int = 0,
    ) -> Arch:
        """Make the strategy too, with start and initial deviations of the model.

        Without declared starts it begins at a feasible design.

        Parameters
        ----------
        model : Model, or whatever :func:`archeng.solve` takes
        options : mapping, optional
            Of ``cma.CMAEvolutionStrategy``, such as ``{"popsize": 20, "seed": 3}``.
        settings : Settings, optional
        seed : int
            Of the search for the first feasible design.
        """
        fs = _compiled(model)
        width = deviations(fs)
        sigma = float(np.exp(np.mean(np.log(width))))
        first = fs.start
        if not np.all(np.isfinite(first)):
            rng = np.random.default_rng(seed)
            first = feasible_points(Repairer(fs, settings or Settings()), 1, rng)[0]
        stds = list(width / sigma)
        es = cma.CMAEvolutionStrategy(list(first), sigma, {"CMA_stds": stds, **(options or {})})
        return cls(es, model, settings=settings, seed=seed)

    @property
    def alpha(self) -> float:
        """Ranking coefficient."""
        return self._search.alpha

    @property
    def d_m(self) -> float:
        """Normalised repair distance of the mean."""
        return self._search.d_m

    @property
    def n_calls(self) -> int:
        """Designs simulated; designs that come up again are not counted."""
        return self._ledger.n_calls

    @property
    def best(self) -> Best | None:
        """The best design so far; ``es.result.xbest`` is a sample and may be infeasible."""
        best = self._ledger.best
        return None if best is None else Best(Design(self._set.variables, best.x), best.objective)

    def known(self, design: Design) -> float | None:
        """Return the objective of a design that was told before (NaN: it failed), else None."""
        before = self._ledger.find(design)
        return None if before is None else before.objective

    @one_thread
    def ask(self) -> list[Design | None]:
        """Sample, adapt alpha, repair: one feasible design for each sample.

        None where no feasible design was found: tell None for it.
        """
        if self._generation is not None:
            raise SettingsError("ask() again before tell(): tell the objectives first.")
        self._sampled = self.es.ask()
        distribution = distribution_of(self.es)
        search = replace(self._search, state=replace(self._search.state, distribution=distribution))
        self._search = adapt_alpha(search, self._repairer, self._weights)
        before = self._ledger.arrays().points[-_REMEMBERED:]
        population = repair_population(
            self._search,
            self._repairer,
            np.array(self._sampled, dtype=float),
            before if self._settings.reuse_designs and len(before) else None,
        )
        self._generation = open_generation(
            self._n_generations, 0, population, 0.0, self._set, self._ledger, outside=False
        )
        designs = [candidate.design for candidate in self._generation.candidates]
        for design in designs:
            if design is not None:
                self._gate.check(design.x)
        return [None if d is None else d.copy() for d in designs]  # what is recorded stays here

    def tell(self, objectives: Sequence[Any]) -> None:
        """Rank the candidates and let pycma learn from them as sampled.

        None or NaN: the simulation failed; it ranks last in the objective. What is told of a design
        that was told before is not used. pycma is told the sorted objectives in the order of the
        total ranking, so that its tests on objectives keep their meaning.
        """
        generation = self._generation
        if generation is None:
            raise SettingsError("tell() without ask(): there are no open candidates.")
        if len(objectives) != generation.size:
            raise SettingsError(
                f"tell() got {len(objectives)} objectives for {generation.size} candidates."
            )
        self._learn(generation, {p: told(objectives[p]) for p in generation.positions})

    @one_thread
    def _learn(self, generation: OpenGeneration, outcomes: Mapping[int, Call]) -> None:
        """Take the outcomes of the new designs, by position; rank all candidates."""
        for position, outcome in outcomes.items():
            record = call_record(generation, position, outcome, 0.0, self._limits, np.nan)
            self._ledger.add(record)
        values = generation.outcomes({}, self._ledger, 1.0).objectives
        order = total_order(values, generation.population.distances_squared(), self.alpha)
        self.es.tell(self._sampled, list(stand_ins(values, order)))
        self._generation = None
        self._n_generations += 1

    def run(
        self, simulator: Callable[[Design], Any], *, max_evaluations: int | None = None
    ) -> Best | None:
        """Ask, simulate and tell until pycma stops or the budget is used up.

        A design that comes up again is not simulated again. An exception is a failed call.

        Raises
        ------
        SimulatorError
            All calls of the first generation failed.
        """
        check_simulator(simulator)
        while not self.es.stop():
            designs = self.ask()
            generation = self._generation
            assert generation is not None
            positions = generation.positions
            if max_evaluations is not None and self.n_calls + len(positions) > max_evaluations:
                self._generation = None  # pycma does not learn from half a generation
                break
            outcomes = {p: call(simulator, d) for p in positions if (d := designs[p]) is not None}
            failures = [c.message.strip() for c in outcomes.values() if not c.good]
            if self.n_calls == 0 and failures and len(failures) == len(outcomes):
                raise SimulatorError(f"All {len(failures)} first calls failed: {failures[0]}")
            self._learn(generation, outcomes)
        return self.best


def distribution_of(es: Any) -> Distribution:
    """Return the distribution that pycma samples from, sigma^2 C with its coordinate scaling."""
    n = len(es.mean)
    scaling = np.asarray(es.sigma_vec.scaling, dtype=float) * np.ones(n)
    factor = scaling[:, None] * np.stack([es.sm.transform(e) for e in np.eye(n)], axis=1)
    inverse = np.stack([es.sm.transform_inverse(e) for e in np.diag(1 / scaling)], axis=1)
    return Distribution(np.array(es.mean, dtype=float), float(es.sigma), factor, inverse)


def stand_ins(objectives: Floats, order: Any) -> Floats:
    """Values (k,) that sort like ``order`` and are, but for ties, the objectives themselves.

    The i-th candidate of the order gets the i-th smallest objective, a failed one (NaN) the
    largest, each the least bit above the one before.
    """
    finite = np.sort(objectives[np.isfinite(objectives)])
    worst = finite[-1] if len(finite) else 0.0
    values = np.concatenate((finite, np.full(len(objectives) - len(finite), worst)))
    for i in range(1, len(values)):
        values[i] = max(values[i], np.nextafter(values[i - 1], np.inf))
    result = np.empty(len(values))
    result[order] = values
    return result


def _compiled(model: Any) -> FeasibleSet:
    """Compile a model of real variables; dependent ones only if independents were named."""
    own = as_model(model, objective=False)
    fs = compile_model(own, eliminate=bool(own.independents))
    refuse_wide(fs)
    if fs.lattice is not None:
        names = [fs.free_names[i] for i in fs.lattice.positions]
        raise SettingsError(
            f"pycma samples real numbers, and {', '.join(names)} are discrete: use "
            "archeng.solve(), whose strategy knows the values that they may take."
        )
    return fs


def _check(es: Any, n: int, names: Sequence[str]) -> None:
    if not isinstance(es, cma.CMAEvolutionStrategy):
        raise SettingsError(f"es must be a cma.CMAEvolutionStrategy, got {type(es).__name__}.")
    if len(es.mean) != n:
        raise SettingsError(
            f"The strategy has {len(es.mean)} variables, the model has {n} free ones: "
            f"{', '.join(names)}."
        )
    if es.boundary_handler.has_bounds():
        raise SettingsError("pycma must not handle bounds: leave them to the model.")
    if not es.gp.isidentity or len(es.opts["integer_variables"]) > 0:
        raise SettingsError(
            "pycma must not transform variables (fixed, scaled, integer): use CMA_stds for scales, "
            "and fix variables in the model."
        )
