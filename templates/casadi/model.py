"""Explicit constraints: what can be written down before any simulation."""

import archeng

WIDTH, DEPTH = 80.0, 100.0  # mm, of the duct
DENSITY = 2.7e-6  # kg/mm3, aluminium

model = archeng.Model("heat_sink")

height = model.variable("fin_height", lower=10, upper=50, unit="mm")
thickness = model.variable("fin_thickness", lower=0.4, upper=3, unit="mm")
gap = model.variable("fin_gap", lower=1, upper=8, unit="mm")
base = model.variable("base_thickness", lower=3, upper=10, unit="mm")

fins = WIDTH / (thickness + gap)
mass = DENSITY * DEPTH * (WIDTH * base + fins * height * thickness)

model.subject_to(base + height <= 45, name="room above the chip")
model.subject_to(mass <= 0.30, name="mass")
model.subject_to(height <= 14 * gap, name="extrusion: channel")
model.subject_to(height <= 40 * thickness, name="extrusion: fin")
