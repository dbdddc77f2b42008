r"""`NoisySearch`: a search where the simulator does not say the same twice.

The luckiest of many calls is no good design. So nothing here looks at single values: objective and
simulated constraints are regressed on many designs (:mod:`archeng.surrogate.estimates`), and the
best design is the one with the best *estimate*. From one design to the next:

1. The minimum of the regression in the trust region over the exact feasible set is where the
   optimum is expected. If it is far from the best design, and promises a gain, it is simulated.
2. Else, what is not known well enough is the slope g there. With second derivatives H on the
   directions that active rows leave free, the value lost by not being at the optimum is

   .. math:: \tfrac12 \operatorname{tr} ( H^{-1} \operatorname{cov} g ).

   The design that lowers it most is simulated next: among feasible designs near and far the one
   with the largest :math:`c^T H^{-1} c / (\operatorname{var} f + \sigma^2)`, c the covariance of
   its value with g. That is an experiment of least loss (L-optimal, [F72]), and the opposite of
   simulating the optimum again and again: values there say little about slopes.
3. If random functions that fit as well lose less at the best design, on average, than its value is
   known to, no further gain can be seen. Then the best design is simulated a few times more. If
   these calls agree with its estimate, the search has ended; if not, the trust region was too
   large.

[F72] V. V. Fedorov, Theory of Optimal Experiments, 1972 (ISBN 978-0-12-250750-2), section 2.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.noise import Noise
from archeng.outcomes import Limits, PastCalls
from archeng.repair import Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.choice import SmoothModel
from archeng.surrogate.constrained import best_step
from archeng.surrogate.data import Frame, frame_at
from archeng.surrogate.estimates import Estimates, Manner, estimates
from archeng.surrogate.geometry import explicit_rows, feasible_near, right_vectors, room_at
from archeng.surrogate.minimise import lowest


class NoisyKind(StrEnum):
    """Why designs are simulated."""

    OPTIMUM = "optimum"  # it is expected there
    LEARN = "learn"  # they tell most about the slope at the optimum
    CONFIRM = "confirm"  # repeats of the best design


@dataclass(frozen=True, eq=False)
class NoisyTrial:
    """Designs (k, n) that are simulated next, and what is expected of the first."""

    kind: NoisyKind
    designs: Floats
    expected: float = 0.0
    deviation: float = 0.0  # of a simulated value from that, noise included
    at_edge: bool = False  # whether it is at the edge of the trust region


@dataclass(frozen=True, eq=False)
class NoisyState:
    """State of the search. Radius in deviations of the initial search distribution."""

    centre: Floats  # best design by its estimate (n,)
    radius: float
    objective: float = 0.0  # estimated there ...
    deviation: float = 0.0  # ... how well that is known ...
    noise: float = 0.0  # ... and the deviation of single values
    turn: int = 0  # designs that were simulated
    manners: tuple[Manner, ...] | None = None
    found: int = 0  # turn in which these were found out
    trial: NoisyTrial | None = None  # what is simulated next
    moved: int = 0  # turn in which the expected optimum was simulated
    reach: float = 1.0  # how far designs to learn from may be, in radii
    checked: int = 0  # turn of the last look at what random functions lose
    ended: bool = False


class NoisySearch:
    """Makes the next state of the search. It remembers nothing."""

    def __init__(
        self,
        repairer: Repairer,
        limits: Limits,
        wide: Distribution,
        confidence: float,
        given: Mapping[str, Noise] | None,
    ) -> None:
        self._repairer, self._limits, self._wide = repairer, limits, wide
        self._confidence, self._given = confidence, given

    def begin(self, past: PastCalls, position: int, radius: float) -> NoisyState:
        """Begin at a known design."""
        centre = past.points[position]
        return NoisyState(centre, radius)

    def judged(self, noisy: NoisyState, designs: Floats, objectives: Floats) -> NoisyState:
        """Return the state after designs (k, n) were simulated; NaN where the simulation failed.

        Those of the trial, unless others came back first.
        """
        trial = noisy.trial
        after = replace(noisy, trial=None, turn=noisy.turn + len(objectives))
        if trial is None or not np.array_equal(designs[0], trial.designs[0]):
            return after
        level = noisy.objective + c.NOISY_LEVEL * noisy.noise
        if trial.kind is NoisyKind.LEARN:
            low = float(np.mean(objectives <= level))
            factor = c.NOISY_REACH**low * (1 / c.NOISY_REACH) ** (2 * (1 - low))
            return replace(after, reach=min(noisy.reach * factor, 1.0))
        after = replace(after, moved=after.turn)
        values = objectives if trial.kind is NoisyKind.CONFIRM else objectives[:1]
        values = values[np.isfinite(values)]
        if not len(values):
            return replace(after, radius=c.NOISY_SHORTER * noisy.radius)
        surprise = abs(float(np.mean(values)) - trial.expected)
        deviation = trial.deviation
        if surprise > c.NOISY_SURPRISE * deviation or float(np.mean(values)) > level:
            return replace(after, radius=c.NOISY_SHORTER * noisy.radius)
        if trial.kind is NoisyKind.CONFIRM:
            return replace(after, ended=True)
        if trial.at_edge:
            return replace(after, radius=min(c.NOISY_LONGER * noisy.radius, c.NOISY_LARGEST))
        return after

    def advanced(
        self, noisy: NoisyState, past: PastCalls, rng: np.random.Generator, width: int = 1
    ) -> NoisyState:
        """Return the state with designs to simulate next, ``width`` at most."""
        noisy, now = self._estimated(noisy, past)
        if now is None:
            return self._sampled(noisy, rng, width)
        noisy = replace(noisy, radius=min(noisy.radius, c.NOISY_BEYOND * now.extent))
        optimum = self._minimum(now, noisy, now.objective.model)
        if optimum is None:
            optimum = noisy.centre
        move = self._move(now, noisy, past, optimum)
        if move is not None:
            noisy, more = self._learning(now, noisy, optimum, rng, width - 1)
            return replace(noisy, trial=replace(move, designs=np.array([optimum, *more])))
        if noisy.turn - noisy.checked >= c.NOISY_CHECK + len(optimum) // 2:
            noisy = replace(noisy, checked=noisy.turn)
            if self._nothing_to_see(now, noisy, rng):
                return replace(noisy, trial=self._confirming(now, noisy))
        noisy, designs = self._learning(now, noisy, optimum, rng, width)
        if not len(designs):
            return self._sampled(noisy, rng, width)
        return replace(noisy, trial=NoisyTrial(NoisyKind.LEARN, np.array(designs)))

    # -- estimates ----------------------------------------------------------------------------

    def _estimated(self, noisy: NoisyState, past: PastCalls) -> tuple[NoisyState, Estimates | None]:
        """Regress around the centre; now and then the manner is found out anew."""
        frame = frame_at(self._wide, noisy.centre)
        again = noisy.manners is None or noisy.turn - noisy.found >= c.NOISY_AGAIN
        manners = None if again else noisy.manners
        level = None
        if noisy.noise > 0:
            level = noisy.objective + c.NOISY_LEVEL * noisy.noise
        with np.errstate(all="ignore"):
            now = estimates(
                frame, past, self._limits, self._confidence, self._given, manners, level
            )
        if now is None:
            return noisy, None
        best = now.best(past)
        (value,), (deviation,) = now.values(past.points[best][None])
        noisy = replace(
            noisy,
            centre=past.points[best],
            objective=float(value),
            deviation=float(deviation),
            noise=now.noise().at(float(value)),
        )
        return replace(noisy, manners=now.manners, found=noisy.turn) if again else noisy, now

    # -- designs ------------------------------------------------------------------------------

    def _minimum(self, now: Estimates, noisy: NoisyState, model: SmoothModel) -> Floats | None:
        """Return the minimum (n,) of a function in the trust region; None if there is none."""
        frame, fs = now.frame, self._repairer.feasible_set
        frame = frame_at(self._wide, noisy.centre)
        if not len(self._limits):
            starts = [noisy.centre]
            found = lowest(
                _Moved(model, now.coordinates(noisy.centre)),
                frame,
                now.scale,
                self._repairer,
                starts,
                noisy.radius,
            )
            return None if found is None else found.x
        models = now.models()
        _, deviations = now.rows(noisy.centre[None])
        start = now.frame.coordinates(noisy.centre)
        margins = now.quantile * deviations[0]
        v, _ = best_step(models, fs, noisy.radius, margins, c.LOCAL_WEIGHT, start)
        return self._feasible(now.frame, now.frame.design(now.scale * v))

    def _move(
        self, now: Estimates, noisy: NoisyState, past: PastCalls, optimum: Floats
    ) -> NoisyTrial | None:
        """Return a trial of the expected optimum, if it is a new design that promises much."""
        frame = now.frame
        near = frame.nearest(optimum, past.points) / noisy.radius
        v, here = now.coordinates(optimum), now.coordinates(noisy.centre)
        step = (
            frame.distance(optimum)
            if here @ here == 0
            else float(np.linalg.norm(frame.coordinates(optimum) - frame.coordinates(noisy.centre)))
        )
        at_edge = step > c.NOISY_EDGE * noisy.radius
        gain, deviation = now.objective.difference(here, v)
        promising = at_edge or gain > c.NOISY_PROMISING * deviation
        due = noisy.turn - noisy.moved >= c.NOISY_DUE and near > c.NOISY_APART
        if not gain > 0 or not (due or (promising and near > c.NOISY_NEW)):
            return None
        value, spread = now.objective.value(v)
        total = now.units[0] * np.sqrt(spread**2 + now.noise_variance(v))
        expected = now.offsets[0] + now.units[0] * value
        return NoisyTrial(NoisyKind.OPTIMUM, optimum[None], expected, float(total), at_edge)

    def _confirming(self, now: Estimates, noisy: NoisyState) -> NoisyTrial:
        """Return repeats of the best design."""
        v, k = now.coordinates(noisy.centre), c.NOISY_REPEATS
        value, spread = now.objective.value(v)
        deviation = now.units[0] * np.sqrt(spread**2 + now.noise_variance(v) / k)
        designs = np.tile(noisy.centre, (k, 1))
        expected = now.offsets[0] + now.units[0] * value
        return NoisyTrial(NoisyKind.CONFIRM, designs, expected, float(deviation))

    def _nothing_to_see(self, now: Estimates, noisy: NoisyState, rng: np.random.Generator) -> bool:
        """Whether random functions lose less at the best design than its value is known to."""
        here = now.coordinates(noisy.centre)
        _, deviation = now.objective.value(here)
        lost = []
        for drawn in now.objective.random(here, c.NOISY_DRAWS, rng):
            x = self._minimum(now, replace(noisy, radius=c.NOISY_LOOK), drawn)
            gain = 0.0 if x is None else drawn.value(here) - drawn.value(now.coordinates(x))
            lost.append(max(gain, 0.0))
        noise = np.sqrt(now.noise_variance(here))
        return bool(np.mean(lost) < min(c.NOISY_SEEN * deviation, c.NOISY_VISIBLE * noise))

    def _learning(
        self,
        now: Estimates,
        noisy: NoisyState,
        optimum: Floats,
        rng: np.random.Generator,
        count: int,
    ) -> tuple[NoisyState, list[Floats]]:
        """Return designs that tell most about the slope at the expected optimum.

        Not those with values far above: the regression need not be right there. How far that is,
        is remembered.
        """
        if count < 1:
            return noisy, []
        pool = self._pool(noisy.reach * noisy.radius, optimum, rng, c.NOISY_POOL * count)
        if not len(pool):
            return noisy, []
        values, _ = now.values(pool)
        level = float(now.values(optimum[None])[0][0]) + c.NOISY_LEVEL * noisy.noise
        keep = max(int(np.sum(values <= level)), count)
        pool = pool[np.sort(np.argsort(values, kind="stable")[:keep])]
        v, V = now.coordinates(optimum), now.coordinates(pool)
        worth = self._worth(now, noisy, optimum)
        told, variances = now.objective.told(v, V)
        noise = np.array([now.noise_variance(one) for one in V])
        chosen: list[int] = []
        for _ in range(min(count, len(pool))):
            gains = np.sum((told @ worth) * told, axis=1) / (variances + noise)
            gains[chosen] = -np.inf
            k = int(np.argmax(gains))
            chosen.append(k)
            # What is known after it: covariances shrink by what they share with it
            cross = self._shared(now, V, k)
            told = told - np.outer(cross, told[k]) / (variances[k] + noise[k])
        return noisy, [pool[k] for k in chosen]

    def _shared(self, now: Estimates, V: Floats, k: int) -> Floats:
        """Covariances (q,) of values at points (q, n) with that at the k-th."""
        return now.objective.covariances(V, V[k])

    def _worth(self, now: Estimates, noisy: NoisyState, optimum: Floats) -> Floats:
        """Return H^{-1} (n, n) on the directions that the rows leave free at a design.

        A direction in which the function is nearly flat is as long as the trust region.
        """
        v = now.coordinates(optimum)
        slope, hessian = now.objective.model.derivatives(v)
        free = self._free(now, optimum, slope)
        reach = noisy.radius / now.scale
        values, axes = np.linalg.eigh(free @ hessian @ free.T)
        axes = axes.T @ free
        covariance = now.objective.slope_covariance(v)
        unsure = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", axes, covariance, axes), 0.0))
        bends = np.maximum(values, unsure / reach)
        bends = np.maximum(bends, float(np.finfo(float).tiny))
        return np.asarray((axes.T / bends) @ axes)

    def _free(self, now: Estimates, optimum: Floats, slope: Floats) -> Floats:
        """Return orthonormal directions (k, n) along the rows at their limits at a design.

        All that equalities leave free if there is nothing else.
        """
        fs = self._repairer.feasible_set
        rows = explicit_rows(fs, frame_at(self._wide, optimum))
        lengths = np.linalg.norm(rows.slopes, axis=1)
        usable = np.isfinite(lengths) & (lengths > 0)
        room = np.minimum(-rows.lower, rows.upper) / np.where(usable, lengths, 1.0)
        active = usable & ((room <= room_at(1.0)) | fs.equality)
        n = len(optimum)
        for which in (active, usable & fs.equality):
            slopes = rows.slopes[which] / lengths[which, None]
            if not len(slopes):
                return np.eye(n)
            s, V = right_vectors(slopes)
            free = V[int(np.sum(s > c.EQUALITY_DEPENDENT)) :]
            if len(free):
                return np.asarray(free, dtype=float)
        return np.eye(n)

    def _pool(self, reach: float, optimum: Floats, rng: np.random.Generator, count: int) -> Floats:
        """Return feasible designs (k, n) around a design, near and as far as a reach."""
        frame = frame_at(self._wide, optimum)
        designs = []
        n = len(optimum)
        for k in range(count):
            far = reach * c.NOISY_SPREADS[k % len(c.NOISY_SPREADS)]
            u = rng.standard_normal(n)
            x = self._feasible(frame, frame.design(far * u / np.linalg.norm(u)))
            if x is not None:
                designs.append(x)
        return np.array(designs).reshape(len(designs), n)

    def _sampled(self, noisy: NoisyState, rng: np.random.Generator, width: int) -> NoisyState:
        """Return the state with random designs next: there are too few for a regression."""
        designs = self._pool(noisy.radius, noisy.centre, rng, width)
        if not len(designs):
            designs = noisy.centre[None]
        return replace(noisy, trial=NoisyTrial(NoisyKind.LEARN, designs))

    def _feasible(self, frame: Frame, x: Floats) -> Floats | None:
        """Return a feasible design near a point, with the margins that repairs have."""
        return feasible_near(self._repairer, frame, x)


@dataclass(frozen=True, eq=False)
class _Moved:
    """A function in coordinates that begin at another point."""

    model: SmoothModel
    origin: Floats

    @property
    def is_quadratic(self) -> bool:
        return self.model.is_quadratic

    def value(self, v: Floats) -> float:
        return self.model.value(self.origin + v)

    def derivatives(self, v: Floats) -> tuple[Floats, Floats]:
        return self.model.derivatives(self.origin + v)
