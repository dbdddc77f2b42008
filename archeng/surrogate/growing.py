r"""Models in many variables from call to call: designs are added to a system that is solved.

A kind of model is chosen again after a sixth of the designs. The designs around the best one, and
the inverse of their matrix M, are renewed more often: at each call as long as that is cheap, then
after as many calls as it costs (`Window.holds`). In between, a design is a row and a column more:

.. math::

    \begin{pmatrix} M & E \\ E^T & F \end{pmatrix}
    \begin{pmatrix} x \\ z \end{pmatrix} = \begin{pmatrix} r \\ s \end{pmatrix},
    \qquad (F - E^T V) z = s - V^T r, \quad x = M^{-1} r - V z, \quad V = M^{-1} E

That takes a few products of matrix and vector. Their rounding adds to that of the inverse, so
what is left of the right-hand sides is solved for once more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from archeng.distribution import Floats
from archeng.outcomes import PastCalls
from archeng.surrogate import constants as c
from archeng.surrogate.choice import Choice, Selection, choose
from archeng.surrogate.data import Data, Frame, is_rounding, select, spread_of
from archeng.surrogate.priors import TRANSFORMS
from archeng.surrogate.wide import WIDE_BY_NAME, WideFit, WideKernel, WideSystem


class GrowingSystem:
    """A system to which designs are added, at most ``room`` of them."""

    def __init__(self, first: WideSystem, room: int) -> None:
        p, n = len(first.A), first.A.shape[1]
        self._first, self._p, self._added = first, p, 0
        self._A = np.concatenate((first.A, np.empty((room, n))))
        self._E, self._V = np.empty((2, room, p + 2))
        self._F, self._schur = np.empty((2, room, room))

    @property
    def kernel(self) -> WideKernel:
        """The kernel."""
        return self._first.kernel

    @property
    def A(self) -> Floats:
        """Designs (p, n), those that were added last."""
        return self._A[: self._p + self._added]

    def add(self, a: Floats) -> None:
        """Add a design (n,)."""
        p, k, others = self._p, self._added, self.A
        terms = others * a
        row = self.kernel.entries(others @ a, np.einsum("ij,ij->i", terms, terms))
        square = float(a @ a)
        e = np.concatenate((row[:p], (1.0, 0.5 * square)))
        v = self._first.inverse @ e
        here = self.kernel.entries(np.array([square]), np.array([np.sum(a**4)]))
        f = np.append(row[p:], here + self.kernel.prior.errors(np.array([square])))
        self._A[p + k], self._E[k], self._V[k] = a, e, v
        self._F[k, : k + 1] = self._F[: k + 1, k] = f
        schur = f - self._V[: k + 1] @ e
        self._schur[k, : k + 1] = self._schur[: k + 1, k] = schur
        self._added += 1

    def solve(self, Y: Floats) -> Floats:
        """Weights and free part, (p + 2, k), for Y (p, k); NaN if the system is singular."""
        p, k = self._p, self._added
        r = np.concatenate((Y[:p], np.zeros((2, Y.shape[1]))))
        s = Y[p:]
        x, z = self._solved(r, s)
        E, F = self._E[:k], self._F[:k, :k]
        dx, dz = self._solved(r - self._first.matrix @ x - E.T @ z, s - E @ x - F @ z)
        x, z = x + dx, z + dz
        return np.concatenate((x[:p], z, x[p:]))

    def _solved(self, r: Floats, s: Floats) -> tuple[Floats, Floats]:
        """Solve once, but for rounding."""
        k = self._added
        x, V = self._first.inverse @ r, self._V[:k]
        try:
            z = np.asarray(np.linalg.solve(self._schur[:k, :k], s - self._E[:k] @ x), dtype=float)
        except np.linalg.LinAlgError:
            z = np.full(s.shape, np.nan)
        return x - V.T @ z, z


class Window:
    """The designs of a chosen model, and those that were simulated since."""

    def __init__(self, frame: Frame, data: Data, fit: WideFit, selection: Selection) -> None:
        assert isinstance(fit.system, WideSystem)
        self.selection = selection
        self._frame, self._scale = frame, data.scale
        self._objectives = list(data.best + data.spread * data.y)
        self._seen = selection.taken
        p = len(data.y)
        self._room: int = min(p**3 // c.WIDE_INVERSE, p // c.WIDE_KEPT)
        self._system = GrowingSystem(fit.system, self._room)

    def holds(self, calls: int) -> bool:
        """Whether the designs are kept after so many calls."""
        return calls <= self.selection.taken + self._room

    def grow(self, past: PastCalls) -> None:
        """Add what was simulated since."""
        for k in range(self._seen, calls_known(past)):
            x, f = past.points[k], float(past.objectives[k])
            if abs(f) < c.DATA_HUGE:
                best = int(np.argmin(self._objectives))
                u = self._frame.coordinates(x)
                gap = float(np.linalg.norm(u - self._scale * self._system.A[best]))
                if not is_rounding(gap, f, self._objectives[best]):
                    self._system.add(u / self._scale)
                    self._objectives.append(f)
            self._seen = k + 1

    def model(self, frame: Frame) -> tuple[Choice, Data]:
        """Return the model around the centre of a frame, and its designs."""
        s, A = self.selection, self._system.A
        f = np.array(self._objectives)
        best, spread = float(f.min()), spread_of(f)
        transform = next(t for t in TRANSFORMS if t.name == s.transform)
        kind = WIDE_BY_NAME[s.kind]
        y = (f - best) / spread
        origin = self._frame.coordinates(frame.centre) / self._scale
        fit = WideFit(self._system, transform.apply(y), origin)
        none = np.empty((len(y), 0))
        data = Data(A, y, self._scale, best, spread, none, wide=True)
        return Choice(fit, kind, transform, y), data


class Growing:
    """Chooses models and lets them grow. What it remembers saves time, and changes nothing."""

    def __init__(self) -> None:
        self._window: Window | None = None

    def chosen(
        self, frame: Frame, past: PastCalls, best: int, selection: Selection | None
    ) -> tuple[Selection, Choice, Data] | None:
        """Return the model around the best design, which has a position; None if there is none."""
        window, calls = self._window, calls_known(past)
        if window is None or window.selection is not selection:
            window = self._again(frame, past, selection)
        if window is None or not window.holds(calls):
            window = self._anew(frame, past, best, calls, selection)
        self._window = window
        if window is None:
            return None
        window.grow(past)
        return window.selection, *window.model(frame)

    def _anew(
        self, frame: Frame, past: PastCalls, best: int, calls: int, before: Selection | None
    ) -> Window | None:
        """Return a window around the best design, its model chosen again if that is due."""
        data = self._data(frame, past, best, calls)
        if data is None or len(data.y) < c.WIDE_FEWEST:
            return None
        if before is not None and calls - before.calls < 1 + len(data.y) // c.CHOICE_KEPT:
            return _window(frame, data, replace(before, taken=calls, centre=best))
        choice = choose(data)
        if choice is None:
            return None
        assert isinstance(choice.fit, WideFit)
        selection = Selection(
            kind=choice.kind.name,
            transform=choice.transform.name,
            noise=choice.fit.noise,
            variances=None,
            trimmed=False,
            calls=calls,
            taken=calls,
            centre=best,
        )
        return Window(frame, data, choice.fit, selection)

    def _again(self, frame: Frame, past: PastCalls, selection: Selection | None) -> Window | None:
        """Return the window of a selection; None if there is none."""
        if selection is None or selection.centre is None or selection.taken > len(past):
            return None
        frame = replace(frame, centre=past.points[selection.centre])
        return _window(frame, self._data(frame, past, selection.centre, selection.taken), selection)

    def _data(self, frame: Frame, past: PastCalls, centre: int, calls: int) -> Data | None:
        seen = past.taken(slice(0, calls)).last_and(centre, c.CALLS_REMEMBERED)
        return select(frame, seen, wide=True)


def _window(frame: Frame, data: Data | None, selection: Selection) -> Window | None:
    """Return the window of a selection around the centre of a frame; None if there is none."""
    kind = WIDE_BY_NAME.get(selection.kind)
    if data is None or kind is None:
        return None
    fit = kind.refit(data.kernels, data.y, selection.noise, None)
    return None if fit is None else Window(frame, data, fit, selection)


def calls_known(past: PastCalls) -> int:
    """Return the number of calls but for those at the end that have failed, or are pending."""
    known = np.flatnonzero(np.isfinite(past.objectives))
    return int(known[-1]) + 1 if len(known) else 0
