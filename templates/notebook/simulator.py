"""The simulator: steady state of stirred tanks in a row. Replace it by yours.

Reactions of van de Vusse: A -> B (wanted), B -> C, 2 A -> D.
"""

import math

import archeng

FLOW, FEED = 2.0, 5.0  # m3/h, kmol/m3 of A
GAS = 8.314e-3  # kJ/(mol K)
RATES = {"AB": (9.0, 58.0), "BC": (1.1, 82.0), "AAD": (0.22, 48.0)}
"""At 370 K in 1/h (AAD: m3/(kmol h)), and activation energy in kJ/mol."""


def simulator(design):
    """Return the yield of B: kmol of B for each kmol of A that was fed."""
    a, b = FEED, 0.0
    for volume, temperature in zip(design["volume"], design["temperature"], strict=True):
        a, b = tank(a, b, volume / FLOW, temperature)
    return archeng.Evaluation(
        objective=b / FEED, outputs={"conversion": 1 - a / FEED, "selectivity": b / (FEED - a)}
    )


def rate(reaction, temperature):
    """Return the rate constant of a reaction (Arrhenius)."""
    at_370, energy = RATES[reaction]
    return at_370 * math.exp(-energy / GAS * (1 / temperature - 1 / 370))


def tank(a, b, time, temperature):
    """Return concentrations of A and B at the outlet of a tank with a residence time in h."""
    ab, bc, aad = (rate(reaction, temperature) for reaction in ("AB", "BC", "AAD"))
    linear, square = 1 + time * ab, 2 * time * aad
    left = 2 * a / (linear + math.sqrt(linear**2 + 4 * square * a))  # of A
    return left, (b + time * ab * left) / (1 + time * bc)
