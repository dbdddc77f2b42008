"""A model with every kind of variable, and a result of designs that were made by hand.

Worker processes import this module by name, so everything that a simulator needs is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from archeng import Design, Model, Result, Status, StopReason
from archeng.model import compile_model
from archeng.records import CallRecord
from archeng.runner.activity import rows_at

SECTIONS = (
    "name,area,mass\nIPE 80,7.64,6.0\nIPE 100,10.3,8.1\nIPE 120,13.2,10.4\nIPE 140,16.4,12.9\n"
)
MATERIALS = {"S355": {"E": 210.0, "rho": 7.85}, "AlMg3": {"E": 70.0, "rho": 2.66}}
DESIGNS: tuple[dict[str, Any], ...] = (
    {"bolts": 12, "plate": 8, "material": "AlMg3", "sections": ["IPE 100", "IPE 120"]},
    {"bolts": 8, "plate": 5, "material": "S355", "sections": ["IPE 140", "IPE 80"]},
    {"bolts": 9, "plate": 6.5, "material": "S355", "sections": ["IPE 140", "IPE 120"]},
)
"""The first one is the best."""


def frame(
    sections: Any = None, materials: Mapping[str, Any] = MATERIALS, start: str | None = "IPE 140"
) -> Model:
    """Integers, yes or no, a list, a category, two rows of a catalogue, and a real number."""
    model = Model("frame")
    bolts = model.integer("bolts", lower=4, upper=16)
    model.binary("stiffener", start=1)
    model.choice("plate", [4, 5, 6.5, 8], unit="mm")
    material = model.category("material", materials)
    rows = table_rows(SECTIONS) if sections is None else sections
    section = model.catalogue("sections", rows, shape=2, start=start)
    model.variable("height", lower=0.5, upper=2.0, unit="m")
    model.subject_to(section["area"][0] * bolts >= 100, name="strength")
    model.subject_to(material["E"] * section["area"][1] >= 800, name="stiffness")
    return model


def table_rows(text: str) -> list[dict[str, Any]]:
    """The rows of a table that is written like a CSV file."""
    named, *rows = text.strip().splitlines()
    columns = named.split(",")
    return [
        {c: v if c == "name" else float(v) for c, v in zip(columns, row.split(","), strict=True)}
        for row in rows
    ]


def design(model: Model, **values: Any) -> Design:
    """A design of the frame; what is not given is that of the best one."""
    given = {"stiffener": 1, "height": 1.25, **DESIGNS[0], **values}
    return Design(model.variables, model.flat(given))


def weight(design: Design) -> float:
    """An objective that uses names, attributes and whole numbers as an engineer would."""
    sections, material = design["sections"], design["material"]
    assert isinstance(design["bolts"], int)
    mass = sum(s["mass"] for s in sections) * material["rho"] * design["height"]
    return float(mass + 0.3 * design["bolts"] + design["plate"] * (2 - design["stiffener"]))


def simulated_frame() -> Model:
    """The same with an output: how fast it swings, and what it weighs as a formula."""
    model = Model("simulated frame")
    bolts = model.integer("bolts", lower=4, upper=16)
    material = model.category("material", MATERIALS)
    section = model.catalogue("section", table_rows(SECTIONS))
    height = model.variable("height", lower=0.5, upper=2.0, unit="m")
    frequency = model.output("frequency", unit="Hz")
    model.subject_to(section["area"] * bolts >= 100, name="strength")
    model.subject_to(frequency >= 4.0, name="frequency")
    model.minimize(material["rho"] * section["mass"] * height + 0.3 * bolts, name="weight")
    return model


def swinging(design: Design) -> dict[str, float]:
    """The output, by the names and attributes that the simulator gets."""
    stiffness = design["material"]["E"] * design["section"]["area"] * design["bolts"] ** 0.5
    return {"frequency": float(stiffness**0.5 / (10 * design["height"] ** 1.5))}


def hand_made(model: Model | None = None, given: Sequence[Mapping[str, Any]] = DESIGNS) -> Result:
    """A result of these designs, without a search."""
    model = frame() if model is None else model
    calls = []
    for k, values in enumerate(given):
        made = design(model, **values)
        calls.append(
            CallRecord(
                index=k, generation=0, restart=0, x=made.x, objective=weight(made), status="ok",
                max_violation=0.0, sampled=made.x, repair_kind="feasible", repair_solver="",
                repair_iterations=0, repair_distance_squared=0.0, kkt_residual=0.0, seconds=0.1,
            )
        )  # fmt: skip
    best = min(calls, key=lambda call: call.objective)
    return Result(
        name=model.name, x=best.x, fun=best.objective, variables=model.variables,
        status=Status.STOPPED, stop_reason=StopReason.MAX_EVALUATIONS, maximize=False,
        evaluations=tuple(calls), history=(), rows=rows_at(compile_model(model), best.x),
        provenance={"seed": 1, "options": {}},
    )  # fmt: skip


def without_design(model: Model) -> Result:
    """A result whose calls have all failed."""
    made = hand_made(model)
    return Result(
        name=model.name, x=np.full(len(made.x), np.nan), fun=float("nan"), variables=made.variables,
        status=Status.NONE, stop_reason=StopReason.MAX_EVALUATIONS, maximize=False, evaluations=(),
        history=(), rows=(), provenance={"seed": 1, "options": {}},
    )  # fmt: skip


def write_sections(folder: Path, text: str = SECTIONS) -> Path:
    """Write the catalogue as a file."""
    path = folder / "sections.csv"
    path.write_text(text, encoding="utf-8")
    return path
