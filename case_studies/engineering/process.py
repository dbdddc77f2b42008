"""Process engineering: gas transmission, two reactors in series, alkylation."""

from __future__ import annotations

import casadi as ca

from archeng.model import Model
from case_studies.engineering.definition import Definition, Floats

EQUALITY_TOLERANCE = 1e-7
"""Half-width of the mass balances; `f_opt` belongs to exact balances."""

# -- gas transmission compressor -------------------------------------------------------------


def _gas_compressor() -> Model:
    model = Model("gas transmission compressor")
    model.variable("distance between stations", lower=20, upper=50, unit="miles")
    ratio = model.variable("compression ratio", lower=1, upper=10)
    model.variable("pipe diameter", lower=20, upper=50, unit="in")
    drop = model.variable("ratio squared less one", lower=0.1, upper=60)
    model.subject_to((drop + 1) / ratio**2 <= 1, name="pressure drop")
    return model


def _gas_compressor_cost(x: Floats) -> float:
    distance, ratio, diameter, drop = x
    pipe = 8.61e5 * distance**0.5 * ratio * diameter ** (-2 / 3) * drop**-0.5
    stations = (7.72e8 * ratio**0.219 - 765.43e6) / distance
    return pipe + 3.69e4 * diameter + stations


# -- two reactors in series ------------------------------------------------------------------

_K1, _K3 = 0.09755988, 0.0391908  # 1/s: A to B and B to C in the first reactor
_K2, _K4 = 0.99 * _K1, 0.9 * _K3  # the same in the second


def _reactor_network() -> Model:
    model = Model("two reactors in series")
    a1, a2, b1, b2 = (
        model.variable(f"concentration of {name}", lower=0, upper=1, unit="mol/l")
        for name in ("A after 1", "A after 2", "B after 1", "B after 2")
    )
    v1 = model.variable("residence time 1", lower=1e-5, upper=16, unit="s")
    v2 = model.variable("residence time 2", lower=1e-5, upper=16, unit="s")
    balances = {
        "balance of A in 1": a1 - 1 + _K1 * a1 * v1,
        "balance of A in 2": a2 - a1 + _K2 * a2 * v2,
        "balance of A and B in 1": b1 + a1 - 1 + _K3 * b1 * v1,
        "balance of A and B in 2": b2 - b1 + a2 - a1 + _K4 * b2 * v2,
    }
    for name, balance in balances.items():
        model.subject_to(balance == 0, name=f"{name} (mol/l)", tolerance=EQUALITY_TOLERANCE)
    model.subject_to(ca.sqrt(v1) + ca.sqrt(v2) <= 4, name="capital (s^0.5)")
    return model


def _reactor_network_yield(x: Floats) -> float:
    return -x[3]


# -- alkylation ------------------------------------------------------------------------------


def _alkylation() -> Model:
    model = Model("alkylation")
    olefin = model.variable("olefin feed", lower=1500, upper=2000, unit="bbl/d")
    acid = model.variable("acid addition", lower=1, upper=120, unit="klb/d")
    alkylate = model.variable("alkylate yield", lower=3000, upper=3500, unit="bbl/d")
    strength = model.variable("acid strength", lower=85, upper=93, unit="%")
    octane = model.variable("octane number", lower=90, upper=95)
    ratio = model.variable("isobutane to olefin", lower=3, upper=12)
    performance = model.variable("performance number", lower=145, upper=162)

    # The mass balances, solved for what is not a variable.
    makeup = 1.22 * alkylate - olefin  # isobutane, bbl / d
    recycle = ratio * olefin - makeup  # isobutane, bbl / d
    dilution = (98000 / strength - 1000) * acid / alkylate

    # Regressions of plant data: prediction over value, and how far it may be from one.
    regressions = {
        "yield": (olefin * (1.12 + 0.13167 * ratio - 0.00667 * ratio**2) / alkylate, 0.99),
        "octane": (
            (57.425 + 1.098 * ratio - 0.038 * ratio**2 + 0.325 * strength) / octane,
            0.99,
        ),
        "performance": ((3 * octane - 133) / performance, 0.99),
        "dilution": ((35.82 - 0.222 * performance) / dilution, 0.9),
    }
    for name, (quotient, least) in regressions.items():
        model.subject_to(quotient, lower=least, upper=1 / least, name=f"regression of {name}")
    model.subject_to(makeup, lower=0, upper=2000, name="isobutane makeup (bbl/d)")
    model.subject_to(recycle, lower=0, upper=16000, name="isobutane recycle (bbl/d)")
    model.subject_to(dilution, lower=1.2, upper=4, name="acid dilution")
    return model


def _alkylation_loss(x: Floats) -> float:
    olefin, acid, alkylate, _, octane, ratio, _ = x
    makeup = 1.22 * alkylate - olefin
    cost = 5.04 * olefin + 3.36 * makeup + 0.035 * (ratio * olefin - makeup) + 10.0 * acid
    return cost - 0.063 * alkylate * octane


DEFINITIONS: dict[str, Definition] = {
    "gas_compressor": Definition(
        "Gas transmission compressor of least cost", _gas_compressor, _gas_compressor_cost
    ),
    "reactor_network": Definition(
        "Two reactors in series, most of the intermediate product",
        _reactor_network,
        _reactor_network_yield,
    ),
    "alkylation": Definition(
        "Alkylation unit of greatest profit (with changed sign)", _alkylation, _alkylation_loss
    ),
}
"""Definition of each problem of this module."""
