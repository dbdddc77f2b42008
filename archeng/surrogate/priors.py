"""Priors: what the objective is expected to look like, before it is known well enough.

With fewer designs than coefficients many models fit; the prior says which of them is taken. All
priors let a linear function pass freely.

=============  =====================================================================
name           preferred functions
=============  =====================================================================
quadratic      small Hessian (least Frobenius norm)
sparse         few large entries in the Hessian (reweighted least norm)
additive       sums of functions of one variable, little interaction
both           sums of functions of one variable, few interactions
radial         smooth (cubic radial basis function)
=============  =====================================================================

``sparse``, ``additive`` and ``both`` look at single variables. They use the frame of the initial
search distribution, which moves with the design space under affine maps.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prior:
    """Weights of the parts of a model.

    Attributes
    ----------
    name : str
    diagonal, mixed : float
        Prior variance of the diagonal and of the other entries of the Hessian.
    spline, radial : float
        Weight of the splines along the variables, and of the radial basis function.
    rounds : int
        How often the entries of the Hessian are reweighted by their size.
    remainder : float
        Error that is allowed at distance one. It grows with the sixth power of the distance: the
        square of the third-order term that a quadratic leaves out.
    noise : float
        Variance of the noise of the simulator, relative to the spread of the objectives.
    """

    name: str
    diagonal: float = 0.0
    mixed: float = 0.0
    spline: float = 0.0
    radial: float = 0.0
    rounds: int = 0
    remainder: float = 0.0
    noise: float = 0.0

    @property
    def quadratic(self) -> bool:
        """Whether the model has a Hessian of its own."""
        return self.diagonal > 0 or self.mixed > 0


QUADRATIC = Prior("quadratic", diagonal=1.0, mixed=1.0)
PRIORS = (
    QUADRATIC,
    Prior("quadratic, local", diagonal=1.0, mixed=1.0, remainder=1e-3),
    Prior("sparse", diagonal=1.0, mixed=1.0, rounds=2),
    Prior("sparse, local", diagonal=1.0, mixed=1.0, rounds=2, remainder=1e-3),
    Prior("additive", diagonal=1.0, mixed=1e-2, spline=1.0),
    Prior("both", diagonal=1.0, mixed=1.0, spline=1.0, rounds=2),
    Prior("radial", radial=1.0),
)
NOISES = (1e-4, 1e-2, 1.0)
"""Noise levels that are tried for the best prior."""
