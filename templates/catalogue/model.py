"""What can be written down: strength, stiffness and headroom of the platform, and its cost.

Beams come from a catalogue, plates in a few thicknesses, steel in three grades. Values between
those do not exist, and no design with one is simulated. How fast the platform swings comes out of
the simulation: it is an output.
"""

from pathlib import Path

import archeng

HERE = Path(__file__).resolve().parent

LENGTH, WIDTH = 6.0, 9.0  # m; beams run along the length, side by side over the width
LIVE_LOAD, SAFETY = 3500.0, 1.5  # N/m2; -
MODULUS, DENSITY, GRAVITY = 210e9, 7850.0, 9.81  # Pa, kg/m3, m/s2
GRADES = {
    "S235": {"strength": 235e6, "price": 1.45},
    "S275": {"strength": 275e6, "price": 1.52},
    "S355": {"strength": 355e6, "price": 1.61},
}  # Pa, EUR/kg

model = archeng.Model("platform")

section = model.catalogue("section", HERE / "sections.csv", order="inertia")  # a row of the file
beams = model.integer("beams", lower=4, upper=16)  # a whole number
plate = model.choice("plate", [4, 5, 6, 8, 10, 12], unit="mm")  # one of these numbers
grade = model.category("grade", GRADES)  # one of several things without an order
overhang = model.variable("overhang", lower=0.0, upper=1.2, unit="m")  # any number

# what the simulator returns
frequency = model.output("frequency", unit="Hz")

# the attributes of a row are numbers in formulas; those of the file are in cm and mm
inertia, bending = section["inertia"] * 1e-8, section["modulus"] * 1e-6  # m4, m3
thickness = plate / 1000
spacing = WIDTH / (beams - 1)
span = LENGTH - 2 * overhang  # between the supports
deck = LIVE_LOAD + DENSITY * GRAVITY * thickness  # N/m2
load = deck * spacing + GRAVITY * section["mass"]  # N/m, of a beam
allowed = grade["strength"] / SAFETY

model.subject_to(load * span**2 / 8 <= allowed * bending, name="strength between the supports")
model.subject_to(load * overhang**2 / 2 <= allowed * bending, name="strength at the supports")
model.subject_to(5 * load * span**3 / (384 * MODULUS * inertia) <= 1 / 250, name="deflection")
model.subject_to(deck * spacing**2 / 8 <= allowed * thickness**2 / 6, name="strength of the plate")
model.subject_to(section["height"] <= 200, name="headroom")
model.subject_to(frequency >= 7.0, name="nobody feels it swing")

mass = beams * LENGTH * section["mass"] + DENSITY * LENGTH * WIDTH * thickness
model.minimize(grade["price"] * mass + 85 * beams + 350 * overhang, name="cost")
