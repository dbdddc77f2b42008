"""The simulator: a quarter of a car on a road, integrated step by step. Replace it by yours."""

import math
import random

import archeng
from model import BODY, GRAVITY, TYRE, WHEEL

SPEED, SECONDS, STEP = 20.0, 7.0, 0.004  # m/s, s, s
STOP = 4e6  # N/m2: the bump stop gets stiffer the more it is pressed
BUMPS = (60.0, 110.0)  # m

_random = random.Random(1)
WAVES = [
    (1.6e-3 * n**-1.0 * 0.4, 2 * math.pi * n, _random.uniform(0, 2 * math.pi))
    for n in (0.05 * 1.35**k for k in range(14))
]  # amplitude in m, wave number in 1/m, phase: a road of class C


def road(x):
    """Return the height of the road in m after x metres."""
    height = sum(a * math.sin(k * x + phase) for a, k, phase in WAVES)
    for begin in BUMPS:
        if begin <= x <= begin + 3:
            height += 0.05 * math.sin(math.pi * (x - begin) / 3) ** 2
    return height


def simulator(design):
    """Return comfort and road holding in one number; the smaller the better."""
    body, tyre, travel = drive(design)
    return archeng.Evaluation(
        objective=body + 2.5 * tyre,
        outputs={"body_acceleration": body, "tyre_load_variation": tyre, "travel": travel},
    )


def drive(design):
    """Return acceleration of the body (RMS), relative load variation of the tyre, and travel."""
    spring, gap = 1000 * design["spring"], design["stop_gap"]
    bump, rebound = 1000 * design["bump_damping"], 1000 * design["rebound_damping"]
    load = (BODY + WHEEL) * GRAVITY

    def forces(body, body_speed, wheel, wheel_speed, ground):
        closing, speed = wheel - body, wheel_speed - body_speed
        force = spring * closing + (bump if speed > 0 else rebound) * speed
        if closing > gap:
            force += STOP * (closing - gap) ** 2
        return force, max(TYRE * (ground - wheel), -load)  # the wheel may lift off

    state = [0.0, 0.0, 0.0, 0.0]
    accelerations = tyres = travel = 0.0
    steps = round(SECONDS / STEP)
    for k in range(steps):
        begin, middle, end = (road(SPEED * (k + part) * STEP) for part in (0, 0.5, 1))
        slopes = []
        for part, ground in ((0, begin), (0.5, middle), (0.5, middle), (1, end)):
            before = slopes[-1] if slopes else [0.0] * 4
            body, body_speed, wheel, wheel_speed = (
                s + part * STEP * d for s, d in zip(state, before, strict=True)
            )
            strut, tyre = forces(body, body_speed, wheel, wheel_speed, ground)
            slopes.append([body_speed, strut / BODY, wheel_speed, (tyre - strut) / WHEEL])
        state = [
            s + STEP / 6 * (a + 2 * b + 2 * c + d)
            for s, a, b, c, d in zip(state, *slopes, strict=True)
        ]
        accelerations += slopes[0][1] ** 2
        tyres += forces(*state, end)[1] ** 2
        travel = max(travel, abs(state[2] - state[0]))
    return math.sqrt(accelerations / steps), math.sqrt(tyres / steps) / load, travel
