"""Explicit constraints of the jib: mass, stress, shape."""

import archeng

SEGMENTS, LENGTH = 4, 500.0  # number, and mm each
LOAD, STRENGTH = 5000.0, 70.0  # N; MPa, fatigue of the welds
DENSITY = 7.85e-6  # kg/mm3, steel

model = archeng.Model("jib")

height = model.variable("height", shape=SEGMENTS, lower=30, upper=250, unit="mm")
width = model.variable("width", shape=SEGMENTS, lower=10, upper=80, unit="mm")

mass = DENSITY * LENGTH * sum(height[k] * width[k] for k in range(SEGMENTS))
model.subject_to(mass <= 60, name="mass")

for k in range(SEGMENTS):
    arm = LENGTH * (SEGMENTS - k)  # from the load to the root of the segment
    model.subject_to(
        6 * LOAD * arm / (width[k] * height[k] ** 2) <= STRENGTH, name=f"stress in segment {k + 1}"
    )
    model.subject_to(height[k] <= 8 * width[k], name=f"stability of segment {k + 1}")

for k in range(SEGMENTS - 1):
    model.subject_to(height[k + 1] <= height[k], name=f"step in height {k + 1}")
    model.subject_to(width[k + 1] <= width[k], name=f"step in width {k + 1}")
