"""The model: whatever can be written down before any simulation.

The chip's temperature and the pressure drop come out of the simulation: they are outputs.
Constraints without outputs hold in every design that is simulated.
"""

import archeng

WIDTH, DEPTH = 80.0, 100.0  # mm, of the duct
DENSITY = 2.7e-6  # kg/mm3, aluminium

model = archeng.Model("heat_sink")

height = model.variable("fin_height", lower=10, upper=50, unit="mm")
thickness = model.variable("fin_thickness", lower=0.4, upper=3, unit="mm")
gap = model.variable("fin_gap", lower=1, upper=8, unit="mm")
base = model.variable("base_thickness", lower=3, upper=10, unit="mm")

power = model.parameter("power", 100.0, unit="W")  # other values: archeng run --parameter power=120
air = model.parameter("air", 35.0, unit="°C")

chip = model.output("chip", unit="°C")
pressure_drop = model.output("pressure_drop", unit="Pa")

fins = WIDTH / (thickness + gap)
mass = DENSITY * DEPTH * (WIDTH * base + fins * height * thickness)

model.subject_to(base + height <= 45, name="room above the chip")
model.subject_to(mass <= 0.30, name="mass")
model.subject_to(height <= 14 * gap, name="extrusion: channel")
model.subject_to(height <= 40 * thickness, name="extrusion: fin")

model.subject_to(chip <= 85, name="the chip endures")
model.subject_to(pressure_drop <= 55, name="noise of the fan")

model.minimize((chip - air) / power, name="thermal resistance")
