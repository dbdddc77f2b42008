"""`Proposer`: the next design to simulate, by the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from archeng.codec import OMITTED
from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.repair import Repair, Repairer
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice, Selection, SmoothModel, by_formula
from archeng.surrogate.composite import CompositeObjective
from archeng.surrogate.constrained import best_step
from archeng.surrogate.data import Data, Frame, are_many, select
from archeng.surrogate.fence import Fence, Fenced, fenced
from archeng.surrogate.fit import linear
from archeng.surrogate.growing import Growing
from archeng.surrogate.minimise import Minimum, lowest
from archeng.surrogate.models import Models, with_row, without_limits
from archeng.surrogate.priors import IDENTITY
from archeng.surrogate.taught import needs_arch, taught_or_chosen
from archeng.surrogate.trust import ProposalKind, Trust, beside, trust_without_proposal
from archeng.surrogate.wide import WideFit


@dataclass(frozen=True, eq=False)
class Proposal:
    """A feasible design with its certificate, and what the model says about it."""

    repair: Repair
    kind: ProposalKind
    predicted: float  # gain over the centre by the model, in its units; 0 without one
    step: float  # distance from the centre, in deviations
    slope: float  # units of the model per unit of the objective at the centre
    spread: float  # median minus best objective of the designs that the model was fitted to
    centre: Floats  # the best design then (n,)
    radius: float = field(default=0.0, metadata=OMITTED)  # of the trust region
    jump: float = field(default=np.inf, metadata=OMITTED)  # objective beyond a jump nearby


class Proposer:
    """Proposes designs. All that matters is in its arguments; what it keeps only saves time.

    Minima of the model are found by projections onto the feasible set of the repairer.
    """

    def __init__(self, repairer: Repairer) -> None:
        self._repairer, self._growing = repairer, Growing()

    def propose(
        self,
        frame: Frame,
        past: PastCalls,
        best: int,
        trust: Trust,
        selection: Selection | None,
        starts: Floats,
        rng: np.random.Generator,
        count: int = 1,
    ) -> tuple[Trust, Selection | None, list[Proposal]]:
        """Return the next proposals, none if there is nothing to try.

        The frame is centred at the best design of the search, at position ``best`` among the past
        calls; ``selection`` is the model used before; ``starts`` (k, n) are feasible designs all
        over the set, from which distant minima are looked for. Beside the first one there are at
        most ``count`` - 1 others, which are simulated with it.
        """
        formulas = self._repairer.feasible_set.formulas
        choice: Choice | None
        grown = better = None
        if are_many(len(frame.centre), formulas, past):
            grown = self._growing.chosen(frame, past, best, selection)
        past = past.last_and(best, c.CALLS_REMEMBERED)
        if grown is not None:
            selection, choice, data = grown
        else:
            found = select(frame, past, formulas, taught=True)
            if found is None:
                return trust, selection, []
            better = fenced(frame, past, found)
            data = found if better is None else better.data
            selection, choice, data = taught_or_chosen(data, selection, len(past))
        if choice is None and needs_arch(past):
            return trust, selection, []
        view = _ProposalView(frame, past, data, starts, rng, better)
        while True:
            proposal = self._try(view, choice, trust)
            if proposal is not None:
                return trust, selection, self._batch(view, choice, trust, proposal, count)
            trust = trust_without_proposal(trust)
            if trust.exhausted:
                return trust, selection, []

    def _batch(
        self,
        view: _ProposalView,
        choice: Choice | None,
        trust: Trust,
        first: Proposal,
        count: int,
    ) -> list[Proposal]:
        """Return a proposal and others that are simulated with it, at most so many in all."""
        found, last = [first], first
        for other in beside(trust, count):
            if len(found) >= count:
                break
            view = replace(view, past=view.past.and_pending(last.repair.x))
            another = self._try(view, choice, other)
            if another is not None:
                found.append(another)
                last = another
        return found

    def first_designs(self, frame: Frame, k: int, rng: np.random.Generator) -> Floats:
        """Return at most k feasible designs (., n) to begin with: the centre, and others around it.

        They are repaired points in random orthogonal directions, as far away as samples of the
        search distribution. Of two that are repaired to nearly the same design there is one.
        """
        metric, n = frame.metric(), len(frame.centre)
        designs = [frame.centre]
        for _ in range(c.FIRST_TRIES + k // n):
            axes, _ = np.linalg.qr(rng.standard_normal((n, min(k - len(designs), n))))
            signs = rng.choice((-1.0, 1.0), axes.shape[1])  # a factorisation prefers some
            for direction in (axes * signs).T:
                point = frame.design(np.sqrt(n) * direction)
                repair = self._repairer.repair(point, metric, frame.centre)
                if repair.feasible and frame.nearest(repair.x, np.array(designs)) > c.FIRST_APART:
                    designs.append(repair.x)
            if len(designs) == k:
                break
        return np.array(designs)

    def far_designs(self, frame: Frame, k: int, rng: np.random.Generator) -> Floats:
        """Return at most k feasible designs (., n) all over the set, and the centre."""
        metric = frame.metric()
        designs = [frame.centre]
        for _ in range(k):
            x = frame.design(c.FAR_SPREAD * rng.standard_normal(len(frame.centre)))
            repair = self._repairer.repair(x, metric, frame.centre)
            if repair.feasible:
                designs.append(repair.x)
        return np.array(designs)

    def _try(self, view: _ProposalView, choice: Choice | None, trust: Trust) -> Proposal | None:
        """Make a proposal of the kind that is next; None if it would be no new design."""
        if trust.kind is ProposalKind.SAMPLE:
            return self._sample(view, trust)
        frame, data = view.frame, view.data
        transform = IDENTITY if choice is None else choice.transform
        model = _model(view, choice, trust.kind)
        if model is None:
            return None
        anywhere = trust.kind in (ProposalKind.LEAP, ProposalKind.WANDER)
        radius = np.inf if anywhere else trust.radius
        brief = trust.kind is ProposalKind.EXPLOIT and trust.failures == 0
        starts: Iterable[Floats]
        if anywhere:
            starts = self._far_starts(view)
        elif brief and not model.is_quadratic and _convex(model, len(frame.centre)):
            starts = [frame.centre]
        else:
            starts = self._starts(view, trust)
        slope = float(np.exp(transform.log_slope(np.zeros(1))[0])) / data.spread
        best = lowest(model, frame, data.scale, self._repairer, starts, radius, brief)
        if isinstance(model, CompositeObjective) and not anywhere:
            best = self._polished(view, model, radius, best)
        if view.better is not None and best is not None and not anywhere:
            best = self._fenced(view, model, radius, best, view.better.fence)
        gain = 0.0 if best is None else model.value(np.zeros(len(frame.centre))) - best.value
        if best is None or not gain > 0:
            return None
        return self._proposal(view, trust, best.x, gain, slope)

    def _fenced(
        self, view: _ProposalView, model: SmoothModel, radius: float, best: Minimum, fence: Fence
    ) -> Minimum | None:
        """Return the minimum on this side of a fence, if one that was found is beyond it."""
        if fence.holds(view.frame.coordinates(best.x) / view.data.scale):
            return best
        models = with_row(view.frame, view.data, model, fence.row())
        return self._stepped(view, models, radius)

    def _polished(
        self, view: _ProposalView, model: CompositeObjective, radius: float, best: Minimum | None
    ) -> Minimum | None:
        """Return a lower minimum than one that was found, by SLSQP: formulas bend sharply."""
        start = None if best is None else view.frame.coordinates(best.x)
        models = without_limits(view.frame, view.data, model)
        lower = self._stepped(view, models, radius, start)
        if lower is None or (best is not None and lower.value >= best.value):
            return best
        return lower

    def _stepped(
        self, view: _ProposalView, models: Models, radius: float, start: Floats | None = None
    ) -> Minimum | None:
        """Return the best step from the centre, or another start, as a minimum."""
        frame, scale = view.frame, view.data.scale
        margins = np.zeros(len(models.units))
        weight = c.LOCAL_WEIGHT if len(margins) else 0.0
        v, _ = best_step(models, self._repairer.feasible_set, radius, margins, weight, start)
        near = self._repairer.near(frame.design(scale * v), frame.metric(), frame.centre)
        if near is None or frame.distance(near.x) > radius * (1 + c.TRUST_INSIDE):
            return None
        return Minimum(near.x, models.objective.value(frame.coordinates(near.x) / scale))

    def _proposal(
        self, view: _ProposalView, trust: Trust, x: Floats, predicted: float, slope: float
    ) -> Proposal | None:
        """Return a feasible design as a proposal; None if it is known already, or nearly.

        It gets the margins that repairs have in the frame: those of a small trust region are
        rounding noise, and simulators round, too.
        """
        frame = view.frame
        repair = self._repairer.inset(x, frame.metric())
        step = frame.distance(repair.x)
        apart = max(c.PROPOSAL_NEW * step, c.PROPOSAL_SHORTEST)
        if not frame.nearest(repair.x, view.past.points) > apart:
            return None
        spread = view.data.spread
        jump = np.inf if view.better is None else view.better.jump
        return Proposal(
            repair, trust.kind, predicted, step, slope, spread, frame.centre, trust.radius, jump
        )

    def _far_starts(self, view: _ProposalView) -> list[Floats]:
        """Return feasible designs anywhere: the centre, given ones, combinations of them."""
        frame, starts = view.frame, list(view.starts)
        metric = frame.metric()
        for start in view.starts:
            other = view.starts[view.rng.integers(len(view.starts))]
            x = start + view.rng.uniform(*c.FAR_COMBINATION) * (other - start)
            near = self._repairer.near(x, metric, start)
            if near is not None:
                starts.append(near.x)
        return [frame.centre, *starts]

    def _starts(self, view: _ProposalView, trust: Trust) -> Iterator[Floats]:
        """Feasible designs in the trust region: the centre, and another one if it is asked for.

        The other one is the best known one after a failure, else a random one.
        """
        frame, past, radius = view.frame, view.past, trust.radius
        yield frame.centre
        if trust.kind is ProposalKind.EXPLOIT and trust.failures:
            distances = np.linalg.norm(frame.coordinates(past.points), axis=1)
            others = np.isfinite(past.objectives) & (distances > 0) & (distances <= radius)
            if others.any():
                objectives = np.where(others, past.objectives, np.inf)
                yield past.points[int(np.argmin(objectives))]
                return
        u = view.rng.standard_normal(len(frame.centre))
        metric = frame.metric()
        x = frame.design(c.RANDOM_START * radius * u / np.linalg.norm(u))
        near = self._repairer.near(x, metric, frame.centre)
        if near is not None and frame.distance(near.x) <= radius:
            yield near.x

    def _sample(self, view: _ProposalView, trust: Trust) -> Proposal | None:
        """Return a random feasible design in the trust region."""
        frame, n = view.frame, len(view.frame.centre)
        deviation = trust.radius / np.sqrt(n)
        if deviation < c.PROPOSAL_SHORTEST:
            return None
        metric = frame.metric(deviation)
        x = frame.design(deviation * view.rng.standard_normal(n))
        repair = self._repairer.repair(x, metric, frame.centre)
        if not repair.feasible:
            return None
        return self._proposal(view, trust, repair.x, 0.0, 1.0 / view.data.spread)


@dataclass(frozen=True, eq=False)
class _ProposalView:
    """What all attempts at one proposal share."""

    frame: Frame
    past: PastCalls
    data: Data
    starts: Floats
    rng: np.random.Generator
    better: Fenced | None = None  # the better side of a jump


def _model(view: _ProposalView, choice: Choice | None, kind: ProposalKind) -> SmoothModel | None:
    """Return the model to minimise: the chosen one, or a random one that fits as well."""
    data = view.data
    if choice is None:
        formula = by_formula(data)
        if formula is not None:
            return formula.fitted().random(view.rng)
        return linear(data.A, data.y, view.rng)
    exploring = kind in (ProposalKind.EXPLORE, ProposalKind.WANDER)
    if isinstance(choice.fit, WideFit) and kind is not ProposalKind.LEAP:
        return choice.fit.random(view.rng, 1.0 if exploring else c.WIDE_SHARE)
    if not exploring:
        return choice.fit.model
    z = choice.transform.apply(data.y)
    explored = choice.kind.exploring().refit(data.kernels, z, choice.fit.noise, None)
    return None if explored is None else explored.random(view.rng)


def _convex(model: SmoothModel, n: int) -> bool:
    """Whether the model is convex at the centre, but for rounding."""
    _, hessian = model.derivatives(np.zeros(n))
    bends = np.linalg.eigvalsh(hessian)
    return bool(bends[0] >= -c.CONVEX_ROUNDING * np.abs(bends).max())
