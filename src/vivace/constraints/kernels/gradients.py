"""C and its gradient for the constraints that position based dynamics solves most: rows in, rows out.

Each takes the rows of its vertices, the group's operators and parameters, and the number c of the constraint, and
returns (C, ∇_1 C, ..., ∇_k C). The fourth lane of a row of positions is its inverse mass; that of a gradient is zero.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function, inlined
from ...backends.cpu.simd import at, dot4, make4, yzx4

SMALLEST = np.float32(1e-20)  # m²: what is shorter has no direction
SIXTH = np.float32(1.0 / 6.0)
PI, TURN = np.float32(np.pi), np.float32(2.0 * np.pi)


@inlined
def xyz4(row):
    """The row without its fourth lane."""
    return row * make4(np.float32(1.0), np.float32(1.0), np.float32(1.0), np.float32(0.0))


@inlined
def cross4(a, b):
    """a x b; the fourth lane is zero if those of a and b are."""
    return yzx4(a * yzx4(b) - yzx4(a) * b)


@function
def stretch(x0, x1, operator, parameters, c):
    """C = |x0 - x1| - d [fratarcangeli2013, Eq. 5]."""
    d = xyz4(x0 - x1)
    size = np.sqrt(max(dot4(d, d), SMALLEST))
    n = (np.float32(1.0) / size) * d
    return size - at(parameters, c), n, np.float32(-1.0) * n


@inlined
def _hinge_vector(x0, x1, x2, x3, operator, c):
    # In differences to the first vertex: the coefficients add up to zero.
    v = at(operator, 4 * c + 1) * (x1 - x0) + at(operator, 4 * c + 2) * (x2 - x0) + at(operator, 4 * c + 3) * (x3 - x0)
    return xyz4(v)


@inlined
def _hinge_gradients(v, rest, operator, c):
    square = dot4(v, v)
    size = np.sqrt(square)
    n = v * (np.float32(1.0) / size if square > SMALLEST else np.float32(0.0))
    return (
        size - rest,
        at(operator, 4 * c) * n,
        at(operator, 4 * c + 1) * n,
        at(operator, 4 * c + 2) * n,
        at(operator, 4 * c + 3) * n,
    )


@function
def flat_hinge(x0, x1, x2, x3, operator, parameters, c):
    """C = ‖Σ c_k x_k‖: the root of the quadratic energy of [bergou2006], so that w C²/2 is that energy."""
    return _hinge_gradients(_hinge_vector(x0, x1, x2, x3, operator, c), np.float32(0.0), operator, c)


@function
def curved_hinge(x0, x1, x2, x3, operator, parameters, c):
    """C = ‖Σ c_k x_k‖ - its size at rest."""
    return _hinge_gradients(_hinge_vector(x0, x1, x2, x3, operator, c), at(parameters, c), operator, c)


@function
def volume(x0, x1, x2, x3, operator, parameters, c):
    """C = V - V₀ [fratarcangeli2013, Eq. 7 to 11], each gradient at its own vertex (see constraints.volume)."""
    e1, e2, e3 = xyz4(x1 - x0), xyz4(x2 - x0), xyz4(x3 - x0)
    g1, g2, g3 = SIXTH * cross4(e2, e3), SIXTH * cross4(e3, e1), SIXTH * cross4(e1, e2)
    return dot4(e3, g3) - at(parameters, c), np.float32(-1.0) * (g1 + g2 + g3), g1, g2, g3


@function
def dihedral(x0, x1, x2, x3, operator, parameters, c):
    """C = θ - θ₀ and the gradient of [bridson2003, section 4]: the fast form of constraints.dihedral."""
    e, a, b = xyz4(x1 - x0), xyz4(x2 - x0), xyz4(x3 - x0)
    m, n = cross4(e, a), cross4(b, e)
    square_e, square_m, square_n = dot4(e, e), dot4(m, m), dot4(n, n)
    zero = np.float32(0.0)
    if min(square_e, min(square_m, square_n)) <= np.float32(1e-30):  # a triangle without area has no angle
        return zero, zero * e, zero * e, zero * e, zero * e
    length = np.sqrt(square_e)
    g2, g3 = (-length / square_m) * m, (-length / square_n) * n
    g1 = (-dot4(a, e) / square_e) * g2 + (-dot4(b, e) / square_e) * g3
    angle = np.float32(np.arctan2(dot4(cross4(m, n), e) / length, dot4(m, n))) - at(parameters, c)
    if angle > PI:
        angle -= TURN
    elif angle < -PI:
        angle += TURN
    return angle, np.float32(-1.0) * (g1 + g2 + g3), g1, g2, g3
