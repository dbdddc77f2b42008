"""A chain of cooled reactors: 18 variables, 6 explicit equalities, 7 simulated constraints.

Each of six vessels has a volume, a conversion and a cooling duty. The balances that link a vessel
to the one before are written down; peak temperatures and the purity at the end are known to the
simulator only. It was made for this comparison; its optimum is IPOPT's best of 40 starts.
"""

from __future__ import annotations

import casadi as ca

from archeng.model import Model

NAME = "cooling_chain"
STAGES = 6
SIMULATED = (*(f"peak temperature {k}" for k in range(1, STAGES + 1)), "purity")
OPTIMUM = 41.952497

_FEED, _HEAT, _RATE = 2.0, 55.0, 0.9
_HOTTEST = 95.0
_PUREST = 0.97


def whole_model() -> Model:
    """Return the model with all constraints and the objective."""
    model = Model("chain of cooled reactors")
    volume = [model.variable(f"volume {k}", lower=0.2, upper=8.0, unit="m3") for k in _stages()]
    conversion = [model.variable(f"conversion {k}", lower=0.02, upper=0.999) for k in _stages()]
    duty = [model.variable(f"duty {k}", lower=0.5, upper=60.0, unit="kW") for k in _stages()]
    before: object = 0.0
    for k, (v, x, q) in enumerate(zip(volume, conversion, duty, strict=True), start=1):
        temperature = 40 + _HEAT * _FEED * (x - before) - 1.1 * q / (0.3 + v**0.6)
        rate = _RATE * (1 + 0.012 * (temperature - 60) - 1e-4 * (temperature - 60) ** 2)
        made = _FEED * (x - before)
        model.subject_to(made == rate * v * (1 - x) ** 1.3, name=f"balance {k}", tolerance=1e-6)
        peak = temperature + 12 * ca.exp(1.4 * made) / (1 + 0.2 * q)
        model.subject_to(peak <= _HOTTEST, name=f"peak temperature {k}")
        before = x
    model.subject_to(conversion[-1] >= _PUREST, name="purity")
    model.set_objective(
        sum(3.1 * v**0.62 for v in volume) + sum(0.16 * q + 0.004 * q**2 for q in duty)
    )
    return model


def _stages() -> range:
    return range(1, STAGES + 1)
