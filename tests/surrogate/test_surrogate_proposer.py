"""`Proposer`: feasible new designs, soon the best one, and an end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import pytest
from surrogate_helpers import (
    Quadratic,
    feasible_set,
    known_of,
    least,
    plain_frame,
    random_frame,
    random_polytope,
)

from archeng.distribution import Floats
from archeng.model import FeasibleSet
from archeng.outcomes import PastCalls
from archeng.repair import Repairer
from archeng.sampling import feasible_points
from archeng.surrogate import Frame
from archeng.surrogate.choice import Selection
from archeng.surrogate.constants import PRIOR_NOISES
from archeng.surrogate.priors import PRIORS, TRANSFORMS
from archeng.surrogate.proposer import Proposal, Proposer
from archeng.surrogate.trust import ProposalKind, Trust, trust_after

Function = Callable[[Floats], float]


@dataclass
class Search:
    """Proposals one after the other, each simulated, as a handler does."""

    fs: FeasibleSet
    f: Function
    seed: int = 0
    first: int = 0
    frame_of: Callable[[Floats], Frame] = plain_frame
    trust: Trust = field(default_factory=Trust)
    selection: Selection | None = None
    proposals: list[Proposal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.repairer = Repairer(self.fs)
        self.starts = feasible_points(self.repairer, 6, self.rng)
        points = feasible_points(self.repairer, self.first or self.fs.n + 2, self.rng)
        self.known = known_of(points, self.f)

    @property
    def best(self) -> float:
        return float(np.nanmin(self.known.objectives))

    def step(self) -> Proposal | None:
        """One proposal; None if there is none."""
        best = int(np.nanargmin(self.known.objectives))
        frame = self.frame_of(self.known.points[best])
        self.trust, self.selection, proposals = Proposer(self.repairer).propose(
            frame, self.known, best, self.trust, self.selection, self.starts, self.rng
        )
        proposal = proposals[0] if proposals else None
        if proposal is None:
            return None
        self.check(proposal, frame)
        x, before = proposal.repair.x, self.best
        value = self.f(x)
        gain = (before - value) * proposal.slope
        ratio = gain / proposal.predicted if proposal.predicted > 0 else 0.0
        self.trust = trust_after(self.trust, value < before, ratio, proposal.step)
        self.known = PastCalls(
            np.concatenate((self.known.points, x[None])), np.append(self.known.objectives, value)
        )
        self.proposals.append(proposal)
        return proposal

    def check(self, proposal: Proposal, frame: Frame) -> None:
        """What holds for every proposal."""
        x = proposal.repair.x
        assert self.fs.is_feasible(x)
        assert proposal.repair.feasible
        assert not any(np.array_equal(x, known) for known in self.known.points)
        assert proposal.step == pytest.approx(frame.distance(x))
        assert proposal.step > 0
        assert proposal.kind is self.trust.kind
        assert proposal.slope > 0
        near = (ProposalKind.EXPLOIT, ProposalKind.EXPLORE)
        if proposal.kind in near:
            assert proposal.step <= self.trust.radius * (1 + 1e-9)
        assert (proposal.predicted > 0) == (proposal.kind is not ProposalKind.SAMPLE)
        if self.selection is not None:
            assert self.selection.kind in [prior.name for prior in PRIORS]
            assert self.selection.transform in [t.name for t in TRANSFORMS]
            assert self.selection.noise in (0.0, *PRIOR_NOISES)

    def run(self, most: int, target: float = -np.inf) -> int:
        """Proposals until the target is reached; at most so many."""
        while len(self.proposals) < most and self.best > target:
            if self.step() is None:
                break
        return len(self.proposals)


def reference(fs: FeasibleSet, f: Function) -> float:
    return least(fs, f, list(feasible_points(Repairer(fs), 4, np.random.default_rng(9))))


# -- soon the best design -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_convex_quadratic_in_a_polytope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fs, q = random_polytope(rng, 3), Quadratic(rng, 3, convex=True)
    optimum = reference(fs, q)
    search = Search(fs, q, seed)
    close = optimum + 1e-6 * (search.best - optimum)
    assert search.run(40, close) < 40
    assert search.best <= close


@pytest.mark.parametrize("seed", range(3))
def test_a_slope_in_a_polytope(seed: int) -> None:
    """Linear functions are known after n + 1 designs; then one proposal is the vertex."""
    rng = np.random.default_rng(seed)
    fs, g = random_polytope(rng, 4), rng.standard_normal(4)
    search = Search(fs, lambda x: float(g @ x), seed)
    optimum = reference(fs, search.f)
    close = optimum + 1e-6 * (search.best - optimum)
    assert search.run(20, close) < 20


def test_fewer_designs_than_variables_are_enough_to_begin() -> None:
    fs, g = feasible_set(5), np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    search = Search(fs, lambda x: float(g @ x), first=2)
    assert search.run(40, -30.0 + 1e-6) < 40  # g x = -4 |g|_1


def test_a_curved_set_and_another_frame() -> None:
    fs = feasible_set(2, lambda x: [(ca.sumsqr(x), -np.inf, 4.0), (x[0] * x[1], -np.inf, 1.0)])
    f = lambda x: float((x[0] - 2) ** 2 + 2 * (x[1] - 1) ** 2)  # noqa: E731
    frame = random_frame(np.random.default_rng(1), np.zeros(2), 3.0)
    search = Search(fs, f, frame_of=lambda c: Frame(c, frame.factor, frame.inverse))
    optimum = reference(fs, f)
    assert search.run(40, optimum + 1e-5) < 40


def test_on_an_equality() -> None:
    fs = feasible_set(3, lambda x: [(ca.sumsqr(x), 4.0, 4.0)])
    at = np.array([1.0, 2.0, -2.0])
    search = Search(fs, lambda x: float(np.sum((x - at) ** 2)))
    assert search.run(60, 1 + 1e-4) < 60  # the sphere has radius 2, |at| = 3


def test_one_variable() -> None:
    search = Search(feasible_set(1), lambda x: float((x[0] - 1.3) ** 2), first=2)
    assert search.run(20, 1e-8) < 20


def test_failed_simulations_are_no_obstacle() -> None:
    """No objective beyond a line that the optimum touches."""
    fs = feasible_set(2)

    def f(x: Floats) -> float:
        return float((x[0] - 1) ** 2 + (x[1] - 2) ** 2) if x[0] + x[1] < 3.5 else np.nan

    search = Search(fs, f, first=8)
    search.run(30)
    assert search.best < 0.01


# -- an end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 8])
def test_a_flat_objective(k: int) -> None:
    search = Search(feasible_set(2), lambda x: 1.0, first=k)
    before = search.trust, search.selection
    assert search.step() is None
    assert (search.trust, search.selection) == before


def test_it_ends_at_the_optimum() -> None:
    """Where nothing is better, proposals end, and the trust is exhausted."""
    search = Search(feasible_set(2), lambda x: float(x @ x))
    count = search.run(400)
    assert count < 400
    assert search.trust.exhausted
    assert search.best < 1e-10


def test_a_single_feasible_design_ends_it_too() -> None:
    fs = feasible_set(2, lambda x: [(x[0] - x[1], 0.0, 0.0), (x[0] + x[1], 2.0, 2.0)])
    search = Search(fs, lambda x: float(x[0]), first=1)
    assert search.run(400) < 400


# -- nothing but its arguments ------------------------------------------------------------------


def trail(seed: int) -> list[bytes]:
    rng = np.random.default_rng(5)
    search = Search(random_polytope(rng, 3), Quadratic(rng, 3), seed)
    search.run(12)
    return [p.repair.x.tobytes() for p in search.proposals]


def test_the_same_generator_gives_the_same_proposals() -> None:
    assert trail(1) == trail(1)
    assert trail(1) != trail(2)


def test_proposals_do_not_depend_on_earlier_ones_of_the_same_proposer() -> None:
    rng = np.random.default_rng(6)
    fs, q = random_polytope(rng, 3), Quadratic(rng, 3)
    repairer = Repairer(fs)
    points = feasible_points(repairer, 9, rng)
    known, starts = known_of(points, q), points[:3]
    best = int(np.argmin(known.objectives))
    frame = plain_frame(points[best])
    kept = Proposer(repairer)
    for mode in (*ProposalKind, *ProposalKind):
        trust = Trust(kind=mode)
        arguments = frame, known, best, trust, None, starts
        *_, (one,) = kept.propose(*arguments, np.random.default_rng(7))
        *_, (two,) = Proposer(Repairer(fs)).propose(*arguments, np.random.default_rng(7))
        assert one is not None
        assert two is not None
        assert one.repair.x.tobytes() == two.repair.x.tobytes()
        assert one.predicted == two.predicted


def test_increasing_affine_maps_of_the_objective() -> None:
    def proposals(a: float, b: float) -> list[Floats]:
        rng = np.random.default_rng(8)
        fs, q = random_polytope(rng, 3), Quadratic(rng, 3, convex=True)
        search = Search(fs, lambda x: a * float(q(x)) + b)
        search.run(6)
        return [p.repair.x for p in search.proposals]

    for one, two in zip(proposals(1.0, 0.0), proposals(2.0**20, 2.0**18), strict=True):
        np.testing.assert_allclose(two, one, atol=1e-4)
