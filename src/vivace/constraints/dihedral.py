"""Bending by the angle between two triangles: C = θ - θ₀ [mueller2007, section 4.1], signed, with the gradient of
[bridson2003, section 4]: unlike the arc cosine of the paper it knows on which side a fold is, and is smooth at θ = 0.
"""

from __future__ import annotations

import numpy as np

from .base import Prepared, Role, constraint
from .hinge import coefficients
from .kernels.gradients import dihedral


def angles(rest):
    """θ of hinges (m, 4, 3): edge start, edge end, opposite, opposite. 0 when flat."""
    x0, x1, x2, x3 = (rest[:, k] for k in range(4))
    edge = x1 - x0
    n1, n2 = np.cross(x0 - x2, x1 - x2), np.cross(x1 - x3, x0 - x3)
    sine = np.einsum("mc,mc->m", np.cross(n1, n2), edge) / np.linalg.norm(edge, axis=1)
    return np.arctan2(sine, np.einsum("mc,mc->m", n1, n2))


@constraint(
    "dihedral", vertices=4, rows=0, parameters=("rest_angle",), role=Role.POSITION, gradients=dihedral, unit="N·m"
)
class Dihedral:
    """Keeps the angle between two triangles, E = k/2 · 3|e|²/(A₁+A₂) (θ - θ₀)²; position based solvers; k in N·m."""

    @staticmethod
    def prepare(rest):
        _, area = coefficients(rest)
        length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
        return Prepared(parameters=angles(rest)[:, None], measure=3.0 * length**2 / area)

    @staticmethod
    def evaluate(x, parameters, gradient):
        zero, tiny = x.dtype.type(0.0), x.dtype.type(1e-30)
        ex, ey, ez = x[1, 0] - x[0, 0], x[1, 1] - x[0, 1], x[1, 2] - x[0, 2]
        ax, ay, az = x[2, 0] - x[0, 0], x[2, 1] - x[0, 1], x[2, 2] - x[0, 2]
        bx, by, bz = x[3, 0] - x[0, 0], x[3, 1] - x[0, 1], x[3, 2] - x[0, 2]
        # n1 = e x a, n2 = b x e: normals of the two triangles, as long as twice their areas
        mx, my, mz = ey * az - ez * ay, ez * ax - ex * az, ex * ay - ey * ax
        nx, ny, nz = by * ez - bz * ey, bz * ex - bx * ez, bx * ey - by * ex
        square_e, square_m, square_n = (
            ex * ex + ey * ey + ez * ez,
            mx * mx + my * my + mz * mz,
            nx * nx + ny * ny + nz * nz,
        )
        if square_e <= tiny or square_m <= tiny or square_n <= tiny:  # a triangle without area has no angle
            for k in range(4):
                for c in range(3):
                    gradient[k, c] = zero
            return zero
        length = np.sqrt(square_e)
        u, v = length / square_m, length / square_n  # gradients at the opposite corners are u m and v n
        s, t = (ax * ex + ay * ey + az * ez) / square_e, (bx * ex + by * ey + bz * ez) / square_e
        gradient[2, 0], gradient[2, 1], gradient[2, 2] = -u * mx, -u * my, -u * mz
        gradient[3, 0], gradient[3, 1], gradient[3, 2] = -v * nx, -v * ny, -v * nz
        for c in range(3):  # each triangle turns about the edge: its two ends share the moment
            gradient[1, c] = -(s * gradient[2, c] + t * gradient[3, c])
            gradient[0, c] = -(gradient[1, c] + gradient[2, c] + gradient[3, c])
        sine = ((my * nz - mz * ny) * ex + (mz * nx - mx * nz) * ey + (mx * ny - my * nx) * ez) / length
        angle = np.arctan2(sine, mx * nx + my * ny + mz * nz) - parameters[0]
        turn = x.dtype.type(2.0 * np.pi)
        if angle > x.dtype.type(np.pi):  # folded past half a turn: the short way back
            angle -= turn
        elif angle < -x.dtype.type(np.pi):
            angle += turn
        return angle
