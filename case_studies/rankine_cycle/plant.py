"""What is given: the heat source, the cooling water, the machines and what they cost.

The case is a geothermal plant of about a megawatt. Efficiencies, heat transfer coefficients and
the price of the wells are round, typical numbers; the cost correlations are those of Turton
et al. (README.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

ESCALATION = 800 / 397
"""From the price level of the correlations (CEPCI 397, 2001) to that of about 2023."""

CORRELATIONS = {
    "turbine": ((2.7051, 1.4398, -0.1776), 3.5),
    "pump": ((3.3892, 0.0536, 0.1538), 1.89 + 1.35 * 1.6),
    "exchanger": ((4.3247, -0.3030, 0.1634), 1.63 + 1.66),
}
"""K1, K2, K3 of the purchase price, and the factor to the installed price (carbon steel)."""


def _coefficients() -> Mapping[str, float]:
    values = {
        "preheat": 900.0,
        "boil": 1200.0,
        "superheat": 400.0,
        "desuperheat": 300.0,
        "condense": 1000.0,
        "subcool": 600.0,
        "recuperate": 250.0,
    }
    return MappingProxyType(values)


@dataclass(frozen=True)
class Plant:
    """Constants of the case, in SI units."""

    fluid: str = "R245fa"
    brine_inlet: float = 423.15
    brine_flow: float = 20.0
    brine_pressure: float = 10e5
    coolant_inlet: float = 288.15
    coolant_pressure: float = 3e5
    coolant_head: float = 1.5e5
    turbine_efficiency: float = 0.80
    pump_efficiency: float = 0.70
    generator_efficiency: float = 0.96
    motor_efficiency: float = 0.95
    wells: float = 4.0e6  # $, wells and pipes of the brine
    heat_transfer: Mapping[str, float] = field(default_factory=_coefficients)  # W/(m2 K)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "heat_transfer": dict(self.heat_transfer)}


PLANT = Plant()


def bare_module_cost(kind: str, size: Any, log10: Callable[[Any], Any] = math.log10) -> Any:
    """Installed price in $ of a turbine or pump (kW) or a shell-and-tube exchanger (m2).

    ``log10`` is that of CasADi if the size is a formula.
    """
    (k1, k2, k3), factor = CORRELATIONS[kind]
    decades = log10(size)
    return ESCALATION * factor * 10 ** (k1 + k2 * decades + k3 * decades**2)


def cost_per_power(
    plant: Plant,
    flows: tuple[Any, Any],
    work: Any,
    area: Any,
    wells: Any,
    log10: Callable[[Any], Any] = math.log10,
) -> Any:
    """Investment in $ per kW of net power, of numbers or of formulas.

    Parameters
    ----------
    plant : Plant
    flows : tuple
        Working fluid and cooling water, kg/s.
    work : sequence of three
        In kJ per kg: of the turbine and of the pump per kg of working fluid, of the other pump per
        kg of cooling water.
    area : sequence of three
        Of the heat exchangers, m2.
    wells : float
        Price of the wells, $.
    log10 : callable
    """
    fluid, coolant = flows
    turbine, pump, lift = fluid * work[0], fluid * work[1], coolant * work[2]
    net = plant.generator_efficiency * turbine - (pump + lift) / plant.motor_efficiency
    machines = (("turbine", turbine), ("pump", pump), ("pump", lift))
    bought = sum(bare_module_cost(kind, size, log10) for kind, size in machines)
    bought += sum(bare_module_cost("exchanger", area[k], log10) for k in range(3))
    return (wells + bought) / net
