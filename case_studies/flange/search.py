"""The reference by exhaustion: ``python -m case_studies.flange.search`` writes it.

All combinations of parts are made, the cheapest first. Cost grows with the bolt circle, and so does
the lever of the bolts, so each has the least circle that the rules allow. All that is limited grows
with the preload, so each has the least preload that keeps the gasket tight, found by halving an
interval. The first combination that is within all limits is the best. Wider circles are tried as
well, in all cheaper combinations.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from case_studies.flange import data
from case_studies.flange.ring import Ring
from case_studies.flange.rules import Parts, beyond_limits, broken_rules, cost

HALVINGS = 30  # of the interval of preloads
WIDER = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Millimetres by which the bolt circle is widened, where the cost still is below the best."""
TOO_LOOSE = {"the gasket is not seated", "the preload is less than the load"}
"""Rules that a larger preload can mend."""
LEAKS = "gasket pressure in operation"
"""The limit that a larger preload can mend."""


def combinations() -> Iterator[Parts]:
    """Yield every combination of parts, with the least bolt circle and the least preload."""
    low, high = data.NUMBER
    for bolt, n, gasket, width, plate, steel in itertools.product(
        data.bolts(), range(low, high + 1), data.GASKETS, data.WIDTHS, data.THICKNESSES, data.STEELS
    ):
        parts = Parts(bolt, n, gasket, width, plate, steel, 0.0, data.PRELOAD[0])
        circle = parts.least_circle * (1 + 1e-12)  # not below by rounding
        yield replace(parts, bolt_circle=circle)


def tight(parts: Parts) -> bool:
    """Whether the preload is enough, whatever else it does."""
    if TOO_LOOSE.intersection(broken_rules(parts)):
        return False
    return LEAKS not in beyond_limits(parts, Ring(parts.joint()).solve())


def good(parts: Parts) -> Parts | None:
    """Return the parts with the least preload that is enough, if they satisfy everything."""
    low, high = data.PRELOAD
    if set(broken_rules(replace(parts, preload=high))) & TOO_LOOSE:
        return None  # before anything is simulated
    if not tight(replace(parts, preload=high)):
        return None
    if not tight(replace(parts, preload=low)):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if tight(replace(parts, preload=middle)) else (middle, high)
        low = high
    found = replace(parts, preload=low)
    if broken_rules(found) or beyond_limits(found, Ring(found.joint()).solve()):
        return None
    return found


def legal(parts: Parts) -> bool:
    """Whether some preload satisfies the explicit rules."""
    return any(
        not broken_rules(replace(parts, preload=data.PRELOAD[0] + k * 0.005)) for k in range(91)
    )


def exhaust() -> tuple[Parts, Sequence[Parts], int]:
    """Return the cheapest joint within all limits, the cheaper combinations, and how many in all.

    Raises
    ------
    RuntimeError
        No joint satisfies everything.
    """
    every = sorted(combinations(), key=cost)
    for k, parts in enumerate(every):
        best = good(parts)
        if best is None:
            continue
        for cheaper in every[:k]:
            for more in WIDER:
                wider = replace(cheaper, bolt_circle=cheaper.bolt_circle + more)
                if cost(wider) >= cost(best):
                    break
                best = good(wider) or best
        return best, every[:k], len(every)
    raise RuntimeError("no joint satisfies everything")


def main() -> None:
    """Search and write ``reference.json``."""
    best, cheaper, total = exhaust()
    reference = {
        "cost": cost(best),
        "design": asdict(best),
        "state": asdict(Ring(best.joint()).solve()),
        "method": f"exhaustion (python -m case_studies.flange.search): {total} combinations of "
        f"parts, of which {len(cheaper)} are cheaper; {sum(map(legal, cheaper))} of these satisfy "
        "the explicit rules, none the simulated limits, with the least bolt circle or one up to "
        "15 mm wider, and the least preload that is enough",
    }
    text = json.dumps(reference, indent=1) + "\n"
    Path(__file__).with_name("reference.json").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
