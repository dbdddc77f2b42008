"""What the runs are compared with: known optima and published designs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from case_studies.engineering import problem


@dataclass(frozen=True)
class Published:
    """A design from the literature; ``x`` in the order of the model."""

    label: str
    mass: float
    x: tuple[float, ...]
    variant: str
    source: str


@dataclass(frozen=True)
class Reference:
    """The best known design of a case, and in a few words how it was found."""

    mass: float
    x: tuple[float, ...]
    published: tuple[Published, ...]
    how: str = "with formulas and gradients"


@cache
def reference(name: str) -> Reference:
    """Return the reference of a case; sizing and stiffness are the same problem."""
    if name in ("sizing", "stiffness"):
        known = problem("ten_bar_truss")
        published = tuple(
            Published("Haftka and Gurdal 1992", p.f, tuple(p.x.tolist()), p.variant, p.source)
            for p in known.published
            if p.x is not None
        )
        return Reference(known.f_opt, tuple(known.x_opt.tolist()), published)
    path = Path(__file__).with_name("reference.json")
    data = json.loads(path.read_text(encoding="utf-8"))[name]
    published = tuple(Published(**{**p, "x": tuple(p["x"])}) for p in data["published"])
    how = {"how": data["how"]} if "how" in data else {}
    return Reference(data["mass"], tuple(data["x"]), published, **how)
