"""The methods: each gets a noisy objective and exact constraints, and returns one design.

The others are given the constraints as free functions. What they return is the design that their
documentation recommends under noise; if that violates a constraint, the best call at a feasible
design, as they saw it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import archeng
from case_studies.noise.problems import Trial
from case_studies.peers.adapters.scipy_global import scipy_constraints
from case_studies.shared.suites import Floats


@dataclass
class Answer:
    """What a method returns: a design, and of archeng the interval of its objective."""

    x: Floats | None
    calls: int
    ended: bool  # by itself, before the budget was used up
    interval: tuple[float, float] | None = None
    noise: str = ""


class BudgetError(Exception):
    """The budget is used up."""


@dataclass
class Counted:
    """The noisy objective: counts, remembers the best feasible call, ends with the budget."""

    trial: Trial
    calls: int = 0
    best: tuple[float, Floats | None] = (np.inf, None)
    infeasible: int = 0
    simulate: Callable[[Floats], float] = field(init=False)

    def __post_init__(self) -> None:
        self.simulate = self.trial.simulator()

    def __call__(self, x: Floats) -> float:
        """Return what the simulator says of a design."""
        if self.calls >= self.trial.budget:
            raise BudgetError
        x = np.array(x, dtype=float)
        self.calls += 1
        value = self.simulate(x)
        if not self.trial.feasible(x):
            self.infeasible += 1
        elif value < self.best[0]:
            self.best = (value, x)
        return value

    def answer(self, x: Floats | None, ended: bool) -> Answer:
        """Return a recommended design if it is feasible, else the best feasible call."""
        if x is None or not self.trial.feasible(np.asarray(x, dtype=float)):
            x = self.best[1]
        return Answer(x, self.calls, ended)


def archeng_(trial: Trial) -> Answer:
    """Archeng with its defaults: nobody tells it that there is noise."""
    simulate = trial.simulator()
    result = archeng.solve(
        trial.problem.model,
        lambda design: simulate(design.x),
        start=trial.start,
        max_evaluations=trial.budget,
        seed=trial.seed,
    )
    e = result.estimate
    ended = result.stop_reason is not archeng.StopReason.MAX_EVALUATIONS
    interval = None if e is None else (e.lower, e.upper)
    return Answer(result.x, result.nfev, ended, interval, "" if e is None else e.noise_text)


def pycma_noise(trial: Trial) -> Answer:
    """CMA-ES with an augmented Lagrangian and the NoiseHandler of pycma; returns the mean."""
    import cma

    counted, rows, p = Counted(trial), trial.constraints, trial.problem
    es = cma.CMAEvolutionStrategy(
        trial.start.tolist(),
        0.25,
        {
            "bounds": [p.lower.tolist(), p.upper.tolist()],
            "CMA_stds": (p.upper - p.lower).tolist(),
            "seed": trial.seed + 1,
            "verbose": -9,
        },
    )
    fitness = cma.ConstrainedFitnessAL(
        counted,
        lambda x: rows.excess(np.array(x)).tolist(),
        find_feasible_first=not rows.equalities,
    )
    handler = cma.NoiseHandler(es.N, [1, 1, 30])
    ended = False
    try:
        while not es.stop():
            X, values = es.ask_and_eval(fitness, evaluations=handler.evaluations)
            es.tell(X, values)
            es.sigma *= handler(X, values, fitness, es.ask)
            es.countevals += handler.evaluations_just_done
            fitness.update(es)
        ended = True
    except BudgetError:
        pass
    return counted.answer(np.array(es.result.xfavorite), ended)


def lra_cma(trial: Trial) -> Answer:
    """LRA-CMA-ES of the package cmaes; designs outside are ordered by violation, without a call."""
    import cmaes

    counted, rows, p = Counted(trial), trial.constraints, trial.problem
    width = p.upper - p.lower
    es = cmaes.CMA(
        mean=(trial.start - p.lower) / width,
        sigma=0.25,
        bounds=np.tile([0.0, 1.0], (len(width), 1)),
        seed=trial.seed,
        lr_adapt=True,
    )
    ended, worst, idle = False, 1.0, 0
    try:
        while not es.should_stop() and idle < 2000:
            told, before = [], counted.calls
            for _ in range(es.population_size):
                u = es.ask()
                x = np.clip(p.lower + u * width, p.lower, p.upper)
                outside = float(np.maximum(rows.excess(x), 0.0).sum()) if rows.m else 0.0
                if outside > 0 and not trial.feasible(x):
                    told.append((u, np.inf, outside))
                else:
                    value = counted(x)
                    worst = max(worst, abs(value))
                    told.append((u, value, 0.0))
            es.tell([(u, 1e3 * worst * (1 + out) if np.isinf(f) else f) for u, f, out in told])
            idle = idle + 1 if counted.calls == before else 0
        ended = True
    except BudgetError:
        pass
    return counted.answer(np.clip(p.lower + es.mean * width, p.lower, p.upper), ended)


def cobyqa_(trial: Trial) -> Answer:
    """COBYQA, one start; returns its own best design."""
    import cobyqa
    from scipy.optimize import Bounds

    counted, rows, p = Counted(trial), trial.constraints, trial.problem

    class Rows:
        constraints = rows

    x, ended = None, False
    try:
        found = cobyqa.minimize(
            counted,
            trial.start,
            bounds=Bounds(p.lower, p.upper),
            constraints=scipy_constraints(Rows, exact=True),  # type: ignore[arg-type]
            options={"scale": True, "radius_init": 0.2, "maxfev": trial.budget},
        )
        x, ended = np.array(found.x), counted.calls < trial.budget
    except BudgetError:
        pass
    return counted.answer(x, ended)


def optuna_tpe(trial: Trial) -> Answer:
    """Optuna's TPE with constraints; f is not called at designs that violate them."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    counted, rows, p = Counted(trial), trial.constraints, trial.problem
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=trial.seed))
    names = [f"x{i}" for i in range(len(p.lower))]
    study.enqueue_trial(dict(zip(names, trial.start.tolist(), strict=True)))

    def objective(one: optuna.Trial) -> float:
        triples = zip(names, p.lower, p.upper, strict=True)
        x = np.array([one.suggest_float(name, low, high) for name, low, high in triples])
        excess = rows.excess(x)
        for j, row in enumerate(excess.tolist()):
            one.set_constraint(f"row{j}", row)  # type: ignore[attr-defined]
        return 0.0 if np.any(excess > 0) else counted(x)

    study.optimize(objective, n_trials=trial.budget)
    return counted.answer(None, False)


METHODS: dict[str, Callable[[Trial], Answer]] = {
    "archeng": archeng_,
    "pycma-noise": pycma_noise,
    "lra-cma": lra_cma,
    "cobyqa": cobyqa_,
    "optuna-tpe": optuna_tpe,
}
"""By name. Optuna's sampler with a Gaussian process needs PyTorch, which is not installed."""

PACKAGES = {
    "archeng": "archeng",
    "pycma-noise": "cma",
    "lra-cma": "cmaes",
    "cobyqa": "cobyqa",
    "optuna-tpe": "optuna",
}
