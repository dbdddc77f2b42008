"""Explicit constraints of the wall: thickness and weight."""

import archeng

LAYERS = ("dense_brick", "insulating_brick", "calcium_silicate", "mineral_wool")
DENSITY = {
    "dense_brick": 2100.0,
    "insulating_brick": 800.0,
    "calcium_silicate": 280.0,
    "mineral_wool": 120.0,
}  # kg/m3

model = archeng.Model("furnace_wall")

thickness = {
    "dense_brick": model.variable("dense_brick", lower=0.06, upper=0.30, unit="m"),
    "insulating_brick": model.variable("insulating_brick", lower=0.05, upper=0.30, unit="m"),
    "calcium_silicate": model.variable("calcium_silicate", lower=0.0, upper=0.20, unit="m"),
    "mineral_wool": model.variable("mineral_wool", lower=0.0, upper=0.20, unit="m"),
}
total = sum(thickness.values())
weight = sum(DENSITY[name] * t for name, t in thickness.items())

model.subject_to(total <= 0.45, name="thickness of the wall")
model.subject_to(weight <= 420, name="weight on the frame")
model.subject_to(
    thickness["dense_brick"] >= 0.25 * thickness["insulating_brick"] + 0.04, name="strength"
)
