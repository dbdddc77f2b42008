"""`Proposer`: the next design to simulate, by the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from archeng.distribution import Distribution, Floats
from archeng.known import Known
from archeng.repair import Repair, Repairer
from archeng.surrogate.choice import Choice, choose, fitted
from archeng.surrogate.data import Data, Frame, select
from archeng.surrogate.fit import fit, linear
from archeng.surrogate.interpolant import Interpolant
from archeng.surrogate.minimise import Minimum, Smooth, lowest
from archeng.surrogate.priors import PRIORS, QUADRATIC
from archeng.surrogate.transforms import IDENTITY, TRANSFORMS
from archeng.surrogate.trust import Mode, Trust, without

_NEW = 1e-3  # least distance from known designs, as a fraction of the step
_FAR = 3.0  # standard deviations of designs all over the set, in those of the frame
_POOR = float(np.log(1e-2))  # score of a model that may be spoilt by designs beyond a cliff
_MUCH_BETTER = float(np.log(10))  # by how much one without them has to be better
_SHORTEST = 1e-12  # steps below this are no steps


@dataclass(frozen=True, eq=False)
class Proposal:
    """A feasible design, and what the model says about it.

    Attributes
    ----------
    repair : Repair
        Its certificate.
    mode : Mode
    predicted : float
        Gain over the centre by the model, in its units; 0 without one.
    step : float
        Distance from the centre in the initial frame.
    slope : float
        Units of the model per unit of the objective at the centre.
    spread : float
        Median minus best objective of the designs that the model was fitted to.
    """

    repair: Repair
    mode: Mode
    predicted: float
    step: float
    slope: float
    spread: float


@dataclass(frozen=True, eq=False)
class Selection:
    """Which model was chosen, and after how many calls.

    Attributes
    ----------
    prior, transform : int
        Positions in `PRIORS` and `TRANSFORMS`; -1 as long as no prior was chosen.
    noise : float
    variances : ndarray, shape (n, n)
        Of the entries of the Hessian, reweighted.
    trimmed : int
        Whether it was fitted to the better designs only.
    calls : int
    """

    prior: int = -1
    transform: int = 0
    noise: float = 0.0
    variances: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    trimmed: int = 0
    calls: int = 0


class Proposer:
    """Proposes designs. It remembers nothing: all that matters is in its arguments.

    Parameters
    ----------
    repairer : Repairer
        Holds the feasible set; minima of the model are found by projections onto it.
    """

    def __init__(self, repairer: Repairer) -> None:
        self._repairer = repairer

    def propose(
        self,
        frame: Frame,
        known: Known,
        trust: Trust,
        selection: Selection,
        starts: Floats,
        rng: np.random.Generator,
    ) -> tuple[Trust, Selection, Proposal | None]:
        """Return the next proposal, or None if there is nothing to try.

        Parameters
        ----------
        frame : Frame
            Centred at the best design of the search.
        known : Known
        trust : Trust
        selection : Selection
            The model used before.
        starts : ndarray, shape (k, n)
            Feasible designs all over the set, from which distant minima are looked for.
        rng : numpy.random.Generator
        """
        data = select(frame, known)
        if data is None:
            return trust, selection, None
        selection, choice, data = _chosen(data, selection, len(known))
        view = _View(frame, known, data, starts, rng)
        while True:
            proposal = self._try(view, choice, trust)
            if proposal is not None:
                return trust, selection, proposal
            trust = without(trust)
            if trust.exhausted:
                return trust, selection, None

    def far_designs(self, frame: Frame, k: int, rng: np.random.Generator) -> Floats:
        """Return at most k feasible designs (., n) all over the set, and the centre."""
        metric = Distribution(frame.centre, 1.0, frame.factor, frame.inverse)
        designs = [frame.centre]
        for _ in range(k):
            x = frame.design(_FAR * rng.standard_normal(len(frame.centre)))
            repair = self._repairer.repair(x, metric, frame.centre)
            if repair.feasible:
                designs.append(repair.x)
        return np.array(designs)

    def _try(self, view: _View, choice: Choice | None, trust: Trust) -> Proposal | None:
        """Make a proposal in the mode of ``trust``; None if it would be no new design."""
        if trust.mode is Mode.SAMPLE:
            return self._sample(view, trust.radius)
        frame, data = view.frame, view.data
        transform = IDENTITY if choice is None else choice.transform
        model = _model(view, choice, trust.mode)
        if model is None:
            return None
        anywhere = trust.mode in (Mode.LEAP, Mode.WANDER)
        radius = np.inf if anywhere else trust.radius
        brief = trust.mode is Mode.EXPLOIT and trust.failures == 0
        starts: Iterable[Floats]
        if anywhere:
            starts = self._far_starts(view)
        elif brief and not model.is_quadratic and _convex(model):
            starts = [frame.centre]
        else:
            starts = self._starts(view, trust)
        slope = float(np.exp(transform.log_slope(np.zeros(1))[0])) / data.spread
        best = self._lowest(model, view, starts, radius, brief)
        gain = 0.0 if best is None else model.value(np.zeros(len(frame.centre))) - best.value
        if best is None or not gain > 0:
            return None
        repair = self._inset(view, best.x)
        step = _new_step(view, repair.x)
        if step is None:
            return None
        return Proposal(repair, trust.mode, gain, step, slope, data.spread)

    def _lowest(
        self,
        model: Smooth,
        view: _View,
        starts: Iterable[Floats],
        radius: float,
        brief: bool = False,
    ) -> Minimum | None:
        """Return the lowest minimum that is found from the starts."""
        scale = view.data.scale
        return lowest(model, view.frame, scale, self._repairer, starts, radius, brief)

    def _inset(self, view: _View, x: Floats) -> Repair:
        """Return a feasible design with the margins that repairs have in the frame.

        Those of a small trust region are rounding noise, and simulators round, too.
        """
        frame = view.frame
        metric = Distribution(frame.centre, 1.0, frame.factor, frame.inverse)
        return self._repairer.inset(x, metric)

    def _far_starts(self, view: _View) -> list[Floats]:
        """Return feasible designs anywhere: the centre, given ones, combinations of them."""
        frame, starts = view.frame, list(view.starts)
        metric = Distribution(frame.centre, 1.0, frame.factor, frame.inverse)
        for start in view.starts:
            other = view.starts[view.rng.integers(len(view.starts))]
            x = start + view.rng.uniform(-0.5, 1.5) * (other - start)
            near = self._repairer.near(x, metric, start)
            if near is not None:
                starts.append(near.x)
        return [frame.centre, *starts]

    def _starts(self, view: _View, trust: Trust) -> Iterator[Floats]:
        """Feasible designs in the trust region: the centre, and another one if it is asked for.

        The other one is the best known one after a failure, else a random one.
        """
        frame, known, radius = view.frame, view.known, trust.radius
        yield frame.centre
        if trust.mode is Mode.EXPLOIT and trust.failures:
            distances = np.linalg.norm(frame.coordinates(known.points), axis=1)
            others = np.isfinite(known.objectives) & (distances > 0) & (distances <= radius)
            if others.any():
                objectives = np.where(others, known.objectives, np.inf)
                yield known.points[int(np.argmin(objectives))]
                return
        u = view.rng.standard_normal(len(frame.centre))
        metric = Distribution(frame.centre, 1.0, frame.factor, frame.inverse)
        x = frame.design(0.6 * radius * u / np.linalg.norm(u))
        near = self._repairer.near(x, metric, frame.centre)
        if near is not None and frame.distance(near.x) <= radius:
            yield near.x

    def _sample(self, view: _View, radius: float) -> Proposal | None:
        """Return a random feasible design in the trust region."""
        frame, n = view.frame, len(view.frame.centre)
        deviation = radius / np.sqrt(n)
        if deviation < _SHORTEST:
            return None
        metric = Distribution(frame.centre, deviation, frame.factor, frame.inverse)
        x = frame.design(deviation * view.rng.standard_normal(n))
        repair = self._repairer.repair(x, metric, frame.centre)
        if not repair.feasible:
            return None
        repair = self._inset(view, repair.x)
        step = _new_step(view, repair.x)
        if step is None:
            return None
        slope = 1.0 / view.data.spread
        return Proposal(repair, Mode.SAMPLE, 0.0, step, slope, view.data.spread)


@dataclass(frozen=True, eq=False)
class _View:
    """What all attempts at one proposal share."""

    frame: Frame
    known: Known
    data: Data
    starts: Floats
    rng: np.random.Generator


def _chosen(data: Data, selection: Selection, calls: int) -> tuple[Selection, Choice | None, Data]:
    """Fit the model that was chosen before, or choose again after some calls.

    Returns the designs that were used, too. There is no choice if there are too few designs for
    more than a linear model.
    """
    p, n = data.A.shape
    if p < n + 2:
        return selection, None, data
    if selection.prior >= 0 and calls - selection.calls < _patience(p):
        used = data.trimmed() if selection.trimmed else data
        prior = replace(PRIORS[selection.prior], noise=selection.noise)
        transform = TRANSFORMS[selection.transform]
        choice = fitted(used.kernels, used.y, prior, transform, selection.variances)
        if choice is not None and len(used.y) >= n + 2:
            return selection, choice, used
    used, choice = data, choose(data.kernels, data.y)
    if choice is None:
        return Selection(), None, data
    if choice.score > _POOR:
        better = data.trimmed()
        if len(better.y) >= n + 3:
            other = choose(better.kernels, better.y)
            if other is not None and other.score < choice.score - _MUCH_BETTER:
                used, choice = better, other
    names = [prior.name for prior in PRIORS]
    found = Selection(
        prior=names.index(choice.prior.name),
        transform=TRANSFORMS.index(choice.transform),
        noise=choice.prior.noise,
        variances=choice.fit.system.variances,
        trimmed=int(used is not data),
        calls=calls,
    )
    return found, choice, used


def _patience(p: int) -> int:
    """Return after how many calls the model is chosen again."""
    return 1 + p // 6


def _model(view: _View, choice: Choice | None, mode: Mode) -> Interpolant | None:
    """Return the model to minimise: the chosen one, or a random one that fits as well."""
    data = view.data
    if choice is None:
        return linear(data.A, data.y, view.rng)
    if mode not in (Mode.EXPLORE, Mode.WANDER):
        return choice.fit.model
    prior = replace(QUADRATIC, noise=choice.prior.noise)
    plain = fit(data.kernels, choice.transform.apply(data.y), prior)
    return None if plain is None else plain.random(view.rng)


def _convex(model: Interpolant) -> bool:
    """Whether the model is convex at the centre, but for rounding."""
    _, hessian = model.derivatives(np.zeros(len(model.gradient)))
    bends = np.linalg.eigvalsh(hessian)
    return bool(bends[0] >= -1e-3 * np.abs(bends).max())


def _new_step(view: _View, x: Floats) -> float | None:
    """Distance of a design from the centre; None if it is known already, or nearly."""
    step = view.frame.distance(x)
    if step < _SHORTEST:
        return None
    gaps = (view.known.points - x) @ view.frame.inverse.T
    nearest = float(np.sqrt(np.min(np.sum(gaps**2, axis=1))))
    return step if nearest > _NEW * step else None
