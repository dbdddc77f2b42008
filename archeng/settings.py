"""Settings of the method: frozen, keyword-only, with presets named after papers."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from archeng.checks import choice, flag, integer, is_real, shown, unknown_options
from archeng.errors import SettingsError

RepairSolver = Literal["auto", "qp", "sqp", "ipopt"]
SquareRoot = Literal["covariant", "symmetric"]
RestartShares = Literal["adaptive", "equal"]
SurrogateName = Literal["auto", "none"]
HandlerName = Literal[
    "arch",
    "arch-nearest",
    "resampling",
    "death-penalty",
    "ap-bch",
    "al",
    "mcr",
    "stochastic-ranking",
    "active-set-es",
]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the method works inside. The defaults are meant to be left alone.

    Parameters
    ----------
    handler : str
        The constraint handler. ``arch`` is the method of this package; the others are there to
        be compared with it: ``arch-nearest`` (repairs to the nearest feasible point only
        [SA22 app:repair]), ``resampling``, ``death-penalty``, ``ap-bch`` (bounds only),
        ``active-set-es``; and ``al``, ``mcr``, ``stochastic-ranking``, which simulate designs that
        violate constraints and need ``simulator_defined_everywhere=True``.
    simulator_defined_everywhere : bool
        Allow calls at designs that violate constraints. Only the handlers that need it make them.
    max_samples : int
        Most samples per generation of ``resampling``.
    ranking_probability : float
        How often ``stochastic-ranking`` compares infeasible candidates by their objective.
    repair_solver : {"auto", "qp", "sqp", "ipopt"}
        ``auto`` tries the fast solvers first and IPOPT last; the others force one solver
        (``qp`` needs a model with linear rows only).
    square_root : {"covariant", "symmetric"}
        Factor of the covariance matrix that turns normal samples into steps. ``symmetric``
        is the paper's; ``covariant`` moves with the coordinate system, which makes whole
        runs exactly invariant to affine maps of the design space.
    margin : float
        How far inside a boundary a repair aims, in standard deviations of the search
        distribution across that boundary (never less than rounding noise).
    ipopt_max_iterations : int
        Iterations IPOPT may use for one repair.
    start_candidates : int
        Feasible designs prepared before the first simulation, from which the run and its
        restarts begin.
    tol_x : float
        Stop when all steps are below this fraction of the initial ones.
    tol_objective : float
        Stop when the best objectives of recent generations differ by less than this.
    max_condition : float
        Stop when the condition number of the covariance matrix exceeds this.
    stop_tests : bool
        Whether the tests of BIPOP-CMA-ES may end a restart. Without them only the target, the
        budget or the callback ends a run, as in [SA22 ssec:vs-active-set].
    restart_shares : {"adaptive", "equal"}
        How restarts with small and with large populations share the calls. ``equal`` is
        BIPOP-CMA-ES; ``adaptive`` gives less to the small ones while the large ones find the better
        designs.
    reuse_designs : bool
        Do not simulate a design again that differs from an earlier one by less than 1e-8
        standard deviations of the search (many candidates are repaired to the same vertex).
    surrogate : {"auto", "none"}
        ``auto``: a model of the objective, chosen by how well it predicts, proposes designs
        between the generations of ARCH. ``none``: ARCH alone. Other handlers have none.
    proposals : int
        Designs that the model proposes at a time. One at a time needs the fewest calls; as many
        as there are workers keep them busy.
    """

    handler: HandlerName = "arch"
    simulator_defined_everywhere: bool = False
    max_samples: int = 500
    ranking_probability: float = 0.45
    repair_solver: RepairSolver = "auto"
    square_root: SquareRoot = "covariant"
    margin: float = 1e-11
    ipopt_max_iterations: int = 150
    start_candidates: int = 20
    tol_x: float = 1e-12
    tol_objective: float = 1e-12
    max_condition: float = 1e14
    stop_tests: bool = True
    restart_shares: RestartShares = "adaptive"
    reuse_designs: bool = True
    surrogate: SurrogateName = "auto"
    proposals: int = 1

    def __new__(cls, *_: Any, **keywords: Any) -> Self:
        """Refuse names that are no settings, with those that were meant."""
        known = [f.name for f in fields(cls)]
        unknown = keywords.keys() - set(known)
        if unknown:
            raise SettingsError(unknown_options("Settings()", unknown, known))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, allowed in (
            ("handler", get_args(HandlerName)),
            ("surrogate", get_args(SurrogateName)),
            ("repair_solver", get_args(RepairSolver)),
            ("restart_shares", get_args(RestartShares)),
            ("square_root", get_args(SquareRoot)),
        ):
            choice(name, getattr(self, name), allowed)
        for name, low, high in (
            ("margin", 0.0, 1e-3),
            ("tol_x", 0.0, 1.0),
            ("tol_objective", 0.0, math.inf),
            ("max_condition", 1.0, math.inf),
            ("ranking_probability", 0.0, 1.0),
        ):
            self._set(name, _between(name, getattr(self, name), low, high))
        for name in ("simulator_defined_everywhere", "stop_tests", "reuse_designs"):
            flag(name, getattr(self, name))
        for name in ("ipopt_max_iterations", "start_candidates", "max_samples", "proposals"):
            self._set(name, integer(name, getattr(self, name), 1))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def intersection_first(self) -> bool:
        """Whether repairs try the intersection of the violated boundaries first [SA22]."""
        return self.handler != "arch-nearest"

    @classmethod
    def paper(cls) -> Settings:
        """Return the algorithm of Sakamoto and Akimoto (2022) as published [SA22]."""
        return cls(
            square_root="symmetric", restart_shares="equal", reuse_designs=False, surrogate="none"
        )


def _between(name: str, value: Any, low: float, high: float) -> float:
    number = is_real(value) or (isinstance(value, float) and value == math.inf)
    if not number or not low <= value <= high:
        raise SettingsError(
            f"{name} must be a number between {low} and {high}, got {shown(value)}."
        )
    return float(value)
