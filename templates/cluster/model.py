"""Explicit constraints of the suspension: frequency, damping, room."""

import archeng
import casadi as ca

BODY, WHEEL = 320.0, 42.0  # kg, a quarter of the car
TYRE = 190e3  # N/m
GRAVITY = 9.81  # m/s2

model = archeng.Model("suspension")

spring = model.variable("spring", lower=10, upper=50, unit="kN/m")
bump = model.variable("bump_damping", lower=0.2, upper=4, unit="kN s/m")
rebound = model.variable("rebound_damping", lower=0.2, upper=6, unit="kN s/m")
gap = model.variable("stop_gap", lower=0.02, upper=0.12, unit="m")

frequency = ca.sqrt(1000 * spring / BODY) / (2 * ca.pi)
ratio = 1000 * (bump + rebound) / 2 / (2 * ca.sqrt(1000 * spring * BODY))
sag = BODY * GRAVITY / (1000 * spring)

model.subject_to(frequency >= 1.1, name="natural frequency, lowest")
model.subject_to(frequency <= 1.9, name="natural frequency, highest")
model.subject_to(ratio >= 0.2, name="damping ratio, least")
model.subject_to(ratio <= 0.5, name="damping ratio, most")
model.subject_to(rebound >= 1.2 * bump, name="rebound is harder than bump")
model.subject_to(rebound <= 3.5 * bump, name="but not by too much")
model.subject_to(sag + gap <= 0.19, name="room for the spring")
