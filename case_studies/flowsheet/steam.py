"""Properties of water and steam as polynomials: ``python -m case_studies.flowsheet.steam``.

They were fitted to CoolProp; ``steam.json`` holds coefficients, ranges and the largest errors.
They work on numbers and on Pyomo variables. Pressures in bar, temperatures in K, enthalpies in
kJ/kg, entropies in kJ/(kg K).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("steam.json")
SATURATED = (
    "temperature",
    "liquid enthalpy",
    "liquid entropy",
    "vapour enthalpy",
    "vapour entropy",
)
SATURATED_RANGE = 0.025, 25.0  # bar
STEAM_RANGE = 1.0, 190.0, 890.0  # bar, bar, K: from saturation on, but above
LIVE = 60.0, 720.0  # bar: only above that many K
DEGREE = 6
GAS = 0.461526  # kJ/(kg K)
SIZES = 50.0, 600.0
"""Bar and K by which pressures and temperatures of steam are divided."""


def saturated(name: str, p: Any, log: Callable[[Any], Any]) -> Any:
    """Property at saturation, one of `SATURATED`, at a pressure."""
    u, value = log(p), 0.0
    for c in reversed(_fits()[name]["coefficients"]):
        value = value * u + c
    return value


def steam(name: str, t: Any, p: Any, log: Callable[[Any], Any]) -> Any:
    """Enthalpy or entropy of superheated steam."""
    terms = steam_terms(t, p)
    value = sum(c * term for c, term in zip(_fits()[name]["coefficients"], terms, strict=True))
    return value if name == "enthalpy" else value - GAS * log(p)


def steam_terms(t: Any, p: Any) -> list[Any]:
    """Return an ideal gas, polynomial in T, and corrections p and p**2 with powers of 1/T."""
    q, r = p / SIZES[0], t / SIZES[1]
    first = [q / r**k for k in (0, 2, 4, 7, 11)]
    second = [q**2 / r**k for k in (3, 8, 14)]
    return [1.0 + 0.0 * q, r, r**2, r**3, *first, *second, q**3 / r**16]


@cache
def _fits() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["fits"]
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, print the errors and write the file."""
    import CoolProp
    from CoolProp.CoolProp import PropsSI

    fits = {}
    p = np.exp(np.linspace(*np.log(SATURATED_RANGE), 80))
    letters = {"temperature": ("T", 1), "liquid enthalpy": ("H", 0), "liquid entropy": ("S", 0)}
    letters |= {"vapour enthalpy": ("H", 1), "vapour entropy": ("S", 1)}
    for name in SATURATED:
        letter, quality = letters[name]
        y = PropsSI(letter, "P", 1e5 * p, "Q", quality, "Water") / (1 if letter == "T" else 1e3)
        fits[name] = _fit(np.vander(np.log(p), DEGREE + 1, increasing=True), y)
    low, high, hottest = STEAM_RANGE
    points = [
        (t, q)
        for q in np.exp(np.linspace(np.log(low), np.log(high), 40))
        for t in np.linspace(_coldest(PropsSI, q), hottest, 40)
    ]
    t, q = np.array(points).T
    terms = np.stack(steam_terms(t, q), axis=1)
    for name, letter in (("enthalpy", "H"), ("entropy", "S")):
        y = PropsSI(letter, "T", t, "P", 1e5 * q, "Water") / 1e3
        fits[name] = _fit(terms, y + (GAS * np.log(q) if letter == "S" else 0.0))
    facts = {
        "source": f"fitted to CoolProp {CoolProp.__version__}, HEOS, Water",
        "command": "python -m case_studies.flowsheet.steam",
        "ranges": {"saturated, bar": SATURATED_RANGE, "steam, bar, bar, K": STEAM_RANGE},
    }
    lines = ",\n".join(f'  "{name}": {json.dumps(fit)}' for name, fit in fits.items())
    head = json.dumps(facts, indent=1)[:-2]
    FILE.write_text(f'{head},\n "fits": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    for name, fit in fits.items():
        print(f"{name:16s} error <= {fit['error']}")
    return 0


def _coldest(properties: Any, p: float) -> float:
    """Least temperature of the fit at a pressure."""
    return LIVE[1] if p > LIVE[0] else properties("T", "P", 1e5 * p, "Q", 1, "Water") + 2.0


def _fit(matrix: Any, y: Any) -> dict[str, Any]:
    """Least squares; coefficients to ten digits and the largest error."""
    scale = np.linalg.norm(matrix, axis=0)
    found = np.linalg.lstsq(matrix / scale, y, rcond=None)[0] / scale
    coefficients = [float(f"{c:.10g}") for c in found]
    error = float(np.abs(matrix @ coefficients - y).max())
    return {"error": float(f"{error:.2g}"), "coefficients": coefficients}


if __name__ == "__main__":
    sys.exit(main())
