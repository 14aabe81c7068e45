"""Volume of a tetrahedron, as position based dynamics has it: C = V - V₀ [fratarcangeli2013, Eq. 7].

`tet-volume` is its counterpart for projective dynamics, the distance to the nearest shape of that volume.
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.compiling import function, inlined
from ..backends.cpu.vectors import cross, dot, edge, entry, like, plus, put4, times, xyz4
from ..checks import is_number, shown
from ..errors import InputError
from .base import Prepared, Role, constraint
from .tetrahedron import gradient_operator

# --- its maths: of rows in float32, of arrays in any precision --------------------------------------------------------


@inlined
def value(e1, e2, e3, rest):
    """V - V₀ and its gradients at the four corners, from the edges at the first [fratarcangeli2013, Eq. 7 to 11].

    As printed, Eq. 8 to 10 shift the gradients by one vertex: p2,1 x p3,1 is that of p4, p3,1 x p4,1 that of p2, and
    p4,1 x p2,1 that of p3; so are here those of Eq. 12.
    """
    sixth, back = like(rest, 1.0 / 6.0), like(rest, -1.0)
    g1, g2, g3 = times(sixth, cross(e2, e3)), times(sixth, cross(e3, e1)), times(sixth, cross(e1, e2))
    return dot(e3, g3) - rest, times(back, plus(plus(g1, g2), g3)), g1, g2, g3


@function
def volume(x0, x1, x2, x3, operator, parameters, c):
    """`value` of constraint c from the rows of its vertices."""
    return value(xyz4(x1 - x0), xyz4(x2 - x0), xyz4(x3 - x0), entry(parameters, c))


# --- what it stores, and its name -------------------------------------------------------------------------------------


@constraint("volume", vertices=4, rows=0, parameters=("rest_volume",), role=Role.POSITION, gradients=volume, unit="Pa")
class Volume:
    """Keeps the volume of a tetrahedron, E = κ/2 (V - V₀)²/V₀; position based solvers; stiffness κ in Pa."""

    @staticmethod
    def prepare(rest: np.ndarray, scale: float = 1.0) -> Prepared:
        """The volume at rest times `scale`, and 1/V₀ for the weight."""
        if not is_number(scale) or scale <= 0:
            raise InputError(f"the scale of rest volumes must be finite and positive, not {shown(scale)}")
        _, size = gradient_operator(rest)
        return Prepared(parameters=scale * size[:, None], measure=1.0 / size)

    @staticmethod
    def evaluate(x, parameters, gradient):
        """C = V - V₀ at the positions x (4, 3); its gradient goes to `gradient`."""
        c, g0, g1, g2, g3 = value(edge(x, 1), edge(x, 2), edge(x, 3), parameters[0])
        put4(gradient, g0, g1, g2, g3)
        return c
