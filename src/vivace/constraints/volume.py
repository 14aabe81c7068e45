"""Volume of a tetrahedron, as position based dynamics has it: C = V - V₀ [fratarcangeli2013, Eq. 7].

`tet-volume` is its counterpart for projective dynamics, the distance to the nearest shape of that volume.
"""

from __future__ import annotations

from ..checks import is_number, shown
from ..errors import InputError
from ..kernels.gradients import volume
from .base import Prepared, Role, constraint
from .tetrahedron import gradient_operator


@constraint("volume", vertices=4, rows=0, parameters=("rest_volume",), role=Role.POSITION, gradients=volume, unit="Pa")
class Volume:
    """Keeps the volume of a tetrahedron, E = κ/2 (V - V₀)²/V₀; position based solvers; stiffness κ in Pa."""

    @staticmethod
    def prepare(rest, scale=1.0):
        if not is_number(scale) or scale <= 0:
            raise InputError(f"the scale of rest volumes must be finite and positive, not {shown(scale)}")
        _, size = gradient_operator(rest)
        return Prepared(parameters=scale * size[:, None], measure=1.0 / size)

    @staticmethod
    def evaluate(x, parameters, gradient):
        # [fratarcangeli2013, Eq. 7 to 11]. As printed, Eq. 8 to 10 shift the gradients by one vertex: p2,1 x p3,1 is
        # that of p4, p3,1 x p4,1 that of p2, and p4,1 x p2,1 that of p3; so are here those of Eq. 12.
        sixth = x.dtype.type(1.0 / 6.0)
        for c in range(3):
            d, e = (c + 1) % 3, (c + 2) % 3
            a1, b1, c1 = x[1, d] - x[0, d], x[2, d] - x[0, d], x[3, d] - x[0, d]
            a2, b2, c2 = x[1, e] - x[0, e], x[2, e] - x[0, e], x[3, e] - x[0, e]
            gradient[1, c] = sixth * (b1 * c2 - b2 * c1)
            gradient[2, c] = sixth * (c1 * a2 - c2 * a1)
            gradient[3, c] = sixth * (a1 * b2 - a2 * b1)
            gradient[0, c] = -(gradient[1, c] + gradient[2, c] + gradient[3, c])
        size = (x[3, 0] - x[0, 0]) * gradient[3, 0]
        size += (x[3, 1] - x[0, 1]) * gradient[3, 1]
        size += (x[3, 2] - x[0, 2]) * gradient[3, 2]
        return size - parameters[0]
