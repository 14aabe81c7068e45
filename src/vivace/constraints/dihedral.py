"""Bending by the angle between two triangles: C = θ - θ₀ [mueller2007, section 4.1].

θ is signed, with the gradient of [bridson2003, section 4]: unlike the arc cosine of the paper it knows on which side a
fold is, and is smooth at θ = 0.
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.compiling import compiled, function, inlined
from ..backends.cpu.vectors import cross, dot, edge, entry, like, plus, put4, times, xyz4
from .base import Prepared, Role, constraint
from .hinge import coefficients

# --- its maths: of rows in float32, of arrays in any precision --------------------------------------------------------


@inlined
def value(e, a, b, rest):
    """θ - θ₀ and its gradients at edge start, edge end, opposite and opposite; vectors from the edge's start."""
    m, n = cross(e, a), cross(b, e)  # normals of the two triangles, as long as twice their areas
    square_e, square_m, square_n = dot(e, e), dot(m, m), dot(n, n)
    zero, back = like(square_e, 0.0), like(square_e, -1.0)
    if min(square_e, min(square_m, square_n)) <= like(square_e, 1e-30):  # a triangle without area has no angle
        still = times(zero, e)
        return zero, still, still, still, still
    length = np.sqrt(square_e)
    g2, g3 = times(-length / square_m, m), times(-length / square_n, n)
    # each triangle turns about the edge: its two ends share the moment
    g1 = plus(times(-dot(a, e) / square_e, g2), times(-dot(b, e) / square_e, g3))
    angle = np.arctan2(dot(cross(m, n), e) / length, dot(m, n)) - rest
    half, turn = like(square_e, np.pi), like(square_e, 2.0 * np.pi)
    if angle > half:  # folded past half a turn: the short way back
        angle -= turn
    elif angle < -half:
        angle += turn
    return angle, times(back, plus(plus(g1, g2), g3)), g1, g2, g3


@function
def dihedral(x0, x1, x2, x3, operator, parameters, c):
    """`value` of constraint c from the rows of its vertices."""
    return value(xyz4(x1 - x0), xyz4(x2 - x0), xyz4(x3 - x0), entry(parameters, c))


@compiled
def angles(rest):
    """θ (m,) of hinges (m, 4, 3): edge start, edge end, opposite, opposite. 0 when flat."""
    out = np.empty(len(rest))
    for m in range(len(rest)):
        x = rest[m]
        out[m] = value(edge(x, 1), edge(x, 2), edge(x, 3), 0.0)[0]
    return out


# --- what it stores, and its name -------------------------------------------------------------------------------------


@constraint(
    "dihedral", vertices=4, rows=0, parameters=("rest_angle",), role=Role.POSITION, gradients=dihedral, unit="N·m"
)
class Dihedral:
    """Keeps the angle between two triangles, E = k/2 · 3|e|²/(A₁+A₂) (θ - θ₀)²; position based solvers; k in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The angle at rest, and 3 l²/A for the weight: l is the length of the edge, A the area of both triangles."""
        _, area = coefficients(rest)
        length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
        return Prepared(parameters=angles(rest)[:, None], measure=3.0 * length**2 / area)

    @staticmethod
    def evaluate(x, parameters, gradient):
        """C = θ - θ₀ at the positions x (4, 3); its gradient goes to `gradient`."""
        c, g0, g1, g2, g3 = value(edge(x, 1), edge(x, 2), edge(x, 3), parameters[0])
        put4(gradient, g0, g1, g2, g3)
        return c
