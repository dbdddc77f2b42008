"""Real simulators beside the peers: the black boxes of the case studies, as flat vectors.

The explicit constraints are those of each study's model in its black form. What only the simulator
knows (lift and moment of the airfoil, pressures, stresses and displacements) is a penalty for all
methods: the sum of the violations relative to their limits, times ``WEIGHT`` and the optimum. So a
method without simulated constraints can take part; archeng, which has them and formulas of outputs,
is not used here as it should be: how it then does is in the README of each study. A call that
raises is a failed call.

=====================  ==========================================================
problem                simulator
=====================  ==========================================================
``wind_farm``          py_wake, 16 turbines
``airfoil``            NeuralFoil with a transonic correction, lift over drag
``rankine_cycle``      CoolProp, cost per power
``fuel_blend``         Cantera, cost per heat
``water_network``      EPANET, two loops, cost
``truss``              an external program, ten bars, mass
=====================  ==========================================================
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import archeng
from archeng.model import Model
from archeng.simulator.design import Design
from case_studies.shared.suites import BoxProblem, Floats, frozen, look_up

WEIGHT = 5.0
"""Of the penalty: a violation by one percent costs five percent of the optimum."""

Limits = Mapping[str, tuple[float | None, float | None]]


@dataclass
class BlackBox:
    """The simulator of a study, called with flat vectors; made when it is first called."""

    make: Callable[[], tuple[Callable[[Any], Any], Limits, float]]
    model: Model
    best: float
    _made: Any = field(default=None, repr=False)

    def __call__(self, x: ArrayLike) -> float:
        """Return the objective, to be minimised, with the penalty."""
        if self._made is None:
            self._made = self.make()
        simulate, limits, sign = self._made
        answer = simulate(
            Design(self.model.variables, np.asarray(x, dtype=float), self.model.parameters)
        )
        if not isinstance(answer, archeng.Evaluation):
            return sign * float(answer)
        excess = 0.0
        for name, (low, high) in limits.items():
            value = float(answer.constraints[name])
            for limit, over in ((low, -1.0), (high, 1.0)):
                if limit is not None:
                    excess += max(0.0, over * (value - limit)) / (abs(limit) or 1.0)
        value = answer.objective
        return math.nan if value is None else sign * float(value) + WEIGHT * self.best * excess


@dataclass(frozen=True)
class _Study:
    """Model, simulator (with its limits and the sign of its objective), optimum; package."""

    package: str
    build: Callable[[], Model]
    make: Callable[[], tuple[Callable[[Any], Any], Limits, float]]
    best: Callable[[], tuple[float, str]]


def _of(module: str) -> Any:
    return importlib.import_module(f"case_studies.{module}")


def _wind() -> tuple[Callable[[Any], Any], Limits, float]:
    return _of("wind_farm.simulator").MinusAnnualEnergy(16), {}, 1.0


def _airfoil() -> tuple[Callable[[Any], Any], Limits, float]:
    cases, simulator = _of("airfoil.cases"), _of("airfoil.simulator")
    case = cases.CASES["transonic"]
    return simulator.SectionDrag(case), cases.simulated_limits(case), case.sign


def _water() -> tuple[Callable[[Any], Any], Limits, float]:
    simulator = _of("water_network.simulator").PipeNetwork("two_loop", "cost", "black")
    return simulator, _of("water_network.networks").simulated_limits(simulator.net), 1.0


def _truss() -> tuple[Callable[[Any], Any], Limits, float]:
    simulator = _of("truss.simulator").build_simulator("sizing", "black", keep="none")
    return simulator, _of("truss.cases").CASES["sizing"].limits, 1.0


def _known(study: str, *keys: str, sign: float = 1.0) -> Callable[[], tuple[float, str]]:
    """Return where the best known value is read from: the study's ``reference.json``."""

    def read() -> tuple[float, str]:
        import json
        from pathlib import Path

        path = Path(__file__).parents[1] / study / "reference.json"
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        for key in keys:
            value = value[key]
        return sign * float(value), f"case_studies/{study}/reference.json"

    return read


_STUDIES = {
    "wind_farm": _Study(
        "py_wake",
        lambda: _of("wind_farm.model").build_model(16),
        _wind,
        lambda: (-418_924.4, "IEA Wind Task 37, best with gradients"),
    ),
    "airfoil": _Study(
        "neuralfoil",
        lambda: _of("airfoil.model").build_model(form="black"),
        _airfoil,
        _known("airfoil", "optima", "transonic", "objective", sign=-1.0),
    ),
    "rankine_cycle": _Study(
        "CoolProp",
        lambda: _of("rankine_cycle.model").build_model(form="black"),
        lambda: (_of("rankine_cycle.simulator").SpecificCost(), {}, 1.0),
        _known("rankine_cycle", "optimum", "cost"),
    ),
    "fuel_blend": _Study(
        "cantera",
        lambda: _of("fuel_blend.model").build_model(form="black"),
        lambda: (_of("fuel_blend.simulator").HeatCost(), {}, 1.0),
        _known("fuel_blend", "optimum", "cost"),
    ),
    "water_network": _Study(
        "wntr",
        lambda: _of("water_network.model").build_model("two_loop", aim="cost", form="black"),
        _water,
        _known("water_network", "optima", "two_loop", "cost", "objective"),
    ),
    "truss": _Study(
        "",
        lambda: _of("truss.model").build_model("sizing", "black"),
        _truss,
        lambda: (_of("truss.reference").reference("sizing").mass, "case_studies/truss"),
    ),
}


def names() -> list[str]:
    """Names of the studies whose simulator is installed."""
    return [n for n, s in _STUDIES.items() if not s.package or _installed(s.package)]


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def problem(name: str) -> BoxProblem:
    """Build a problem with a fresh model and simulator (``KeyError`` if there is none)."""
    study = look_up(_STUDIES, name, "real")
    model = study.build()
    lower: Floats = np.concatenate([v.lower for v in model.variables])
    upper: Floats = np.concatenate([v.upper for v in model.variables])
    best, source = study.best()
    return BoxProblem(
        name=name,
        model=model,
        objective=BlackBox(study.make, model, abs(best)),
        lower=frozen(lower),
        upper=frozen(upper),
        f_opt=best,
        x_opt=frozen(np.full(len(lower), np.nan)),
        source=source,
    )
