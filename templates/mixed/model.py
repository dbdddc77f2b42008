"""What can be written down: limits of the wall, its cost, and how hot each material may get.

The temperatures and the heat flux come out of the simulation: they are outputs. Formulas with
outputs in them are simulated constraints; all others hold in every design that is simulated.
"""

import archeng

LAYERS = ("dense_brick", "insulating_brick", "calcium_silicate", "mineral_wool")
DENSITY = {
    "dense_brick": 2100.0,
    "insulating_brick": 800.0,
    "calcium_silicate": 280.0,
    "mineral_wool": 120.0,
}  # kg/m3
PRICE = {
    "dense_brick": 0.9,
    "insulating_brick": 1.6,
    "calcium_silicate": 6.0,
    "mineral_wool": 3.0,
}  # EUR/kg
ENDURES = {
    "insulating_brick": 1080.0,
    "calcium_silicate": 900.0,
    "mineral_wool": 600.0,
}  # degrees Celsius
YEARS, HOURS = 8.0, 7000.0  # of service; a year

model = archeng.Model("furnace_wall")

thickness = {
    "dense_brick": model.variable("dense_brick", lower=0.06, upper=0.30, unit="m"),
    "insulating_brick": model.variable("insulating_brick", lower=0.05, upper=0.30, unit="m"),
    "calcium_silicate": model.variable("calcium_silicate", lower=0.0, upper=0.20, unit="m"),
    "mineral_wool": model.variable("mineral_wool", lower=0.0, upper=0.20, unit="m"),
}

# parameters: numbers that change from study to study, see [parameters] in study.toml
heat_price = model.parameter("heat_price", 0.035, unit="EUR/kWh")
furnace = model.parameter("furnace", 1150.0, unit="°C")

# outputs: what the simulator returns
hot_side = model.output("hot_side", unit="°C", shape=len(LAYERS))  # of each layer
shell = model.output("shell", unit="°C")
flux = model.output("heat_flux", unit="W/m2")

# without outputs: explicit, never violated in a call
total = sum(thickness.values())
weight = sum(DENSITY[name] * t for name, t in thickness.items())
model.subject_to(total <= 0.45, name="thickness of the wall")
model.subject_to(weight <= 420, name="weight on the frame")
model.subject_to(
    thickness["dense_brick"] >= 0.25 * thickness["insulating_brick"] + 0.04, name="strength"
)

# with outputs: simulated constraints
for name, limit in ENDURES.items():
    model.subject_to(hot_side[LAYERS.index(name)] <= limit, name=f"{name} endures")
model.subject_to(shell <= 75, name="nobody gets burnt")

material = sum(PRICE[name] * DENSITY[name] * t for name, t in thickness.items()) / YEARS
heat = flux / 1000 * HOURS * heat_price
model.minimize(material + heat, name="yearly cost")
