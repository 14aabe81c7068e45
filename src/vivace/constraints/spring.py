"""Springs: E = w/2 (|d| - l)² with d = q_i - q_j, the implicit mass-spring system of [liu2013].

    projection  p = l d/|d|
    value       C = |d| - l, with the gradients d/|d| and -d/|d|
    curvature   w along d, max(w - w l/|d|, 0) across it

Springs are most of what most scenes have, so the solvers' own loops have them inside, four at a time. All take
`length_of` and `across_of` from here; tests/constraints/test_one_source.py names each and holds it to `Spring.project`.
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.compiling import function, inlined
from ..backends.cpu.vectors import dot, entry, larger, root, xyz4
from ..checks import is_number, shown
from ..errors import InputError
from .base import Prepared, Role, constraint

# --- its maths, for one spring or for four ----------------------------------------------------------------------------

SMALLEST_SQUARE = np.float32(1e-20)  # m²: coincident vertices get a zero direction instead of a division by zero


@inlined
def length_of(square):
    """|d| of |d|², and 1e-10 m at least."""
    return root(larger(square, SMALLEST_SQUARE))


@inlined
def across_of(w, pull):
    """The curvature across d, where pull = w l/|d|. A spring under pressure would give way; that is left out."""
    return larger(w - pull, np.float32(0.0))


@function
def stretch(x0, x1, operator, parameters, c):
    """C and its gradients of constraint c from the rows of its vertices [fratarcangeli2013, Eq. 5]."""
    d = xyz4(x0 - x1)
    size = length_of(dot(d, d))
    n = (np.float32(1.0) / size) * d
    return size - entry(parameters, c), n, np.float32(-1.0) * n


# --- what it stores, and its name -------------------------------------------------------------------------------------


@constraint("spring", vertices=2, rows=1, parameters=("rest_length",), role=Role.SPRING, gradients=stretch, unit="N/m")
class Spring:
    """Keeps two vertices at their rest distance; stiffness in N/m."""

    @staticmethod
    def prepare(rest: np.ndarray, scale: float = 1.0) -> Prepared:
        """The operator A = [1, -1], and rest lengths: those at rest times `scale`."""
        length = np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
        if (length <= 0).any():
            raise InputError(f"spring {int(np.argmin(length))} has no length at rest: its two vertices coincide")
        if not is_number(scale) or scale < 0:
            raise InputError(f"the scale of rest lengths must be finite and not negative, not {shown(scale)}")
        return Prepared(operator=[[1.0, -1.0]], parameters=scale * length[:, None])

    @staticmethod
    def project(z, parameters, p):
        """The vector of the rest length in the direction of z."""
        # p = l z / |z|  [fratarcangeli2018, section 1.3.3]. The energy printed there, k (|d| - r), lacks its square and
        # its half; the system that follows it is the one of k/2 (|d| - r)², with signs: A = [1, -1], not [1, 1].
        scale = parameters[0] / length_of(z[0, 0] * z[0, 0] + z[0, 1] * z[0, 1] + z[0, 2] * z[0, 2])
        for c in range(3):
            p[0, c] = scale * z[0, c]
