"""Explicit constraints of the reactors: total volume, heating, temperature steps."""

import archeng

TANKS = 3
FEED_TEMPERATURE = 320.0  # K

model = archeng.Model("reactors")

volume = model.variable("volume", shape=TANKS, lower=0.2, upper=2.5, unit="m3")
temperature = model.variable("temperature", shape=TANKS, lower=320, upper=420, unit="K")

total = sum(volume[k] for k in range(TANKS))
heating = sum(volume[k] * (temperature[k] - FEED_TEMPERATURE) for k in range(TANKS))

model.subject_to(total == 3.0, name="total volume", tolerance=1e-6)
model.subject_to(heating <= 55, name="heating")
for k in range(TANKS - 1):
    step = temperature[k + 1] - temperature[k]
    model.subject_to(step, lower=-25, upper=25, name=f"temperature step {k + 1}")
