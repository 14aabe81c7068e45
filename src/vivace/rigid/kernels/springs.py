"""What contacts with soft bodies do to rigid ones: their forces, and how these grow as a body moves."""

from __future__ import annotations

from ...backends.cpu.compiling import compiled


@compiled
def add_springs(bodies, arms, normals, forces, stiffness, grip, total, matrices):
    """Add the forces (c, 3) that act on bodies at `arms` to `total` (M, 6), and their derivatives to `matrices`.

    A contact holds with w (n nᵀ + g (I - n nᵀ)), g its grip; a body moves its point by J = [I, -[r]ₓ].
    """
    for c in range(len(bodies)):
        k = bodies[c]
        rx, ry, rz = arms[c, 0], arms[c, 1], arms[c, 2]
        fx, fy, fz = forces[c, 0], forces[c, 1], forces[c, 2]
        total[k, 0] += fx
        total[k, 1] += fy
        total[k, 2] += fz
        total[k, 3] += ry * fz - rz * fy
        total[k, 4] += rz * fx - rx * fz
        total[k, 5] += rx * fy - ry * fx
        if stiffness[c] <= 0.0:
            continue
        nx, ny, nz = normals[c, 0], normals[c, 1], normals[c, 2]
        turned = (nx, ny, nz, ry * nz - rz * ny, rz * nx - rx * nz, rx * ny - ry * nx)
        w = stiffness[c]
        _add_product(matrices[k], turned, w * (1.0 - grip[c]))
        _add_product(matrices[k], (1.0, 0.0, 0.0, 0.0, rz, -ry), w * grip[c])
        _add_product(matrices[k], (0.0, 1.0, 0.0, -rz, 0.0, rx), w * grip[c])
        _add_product(matrices[k], (0.0, 0.0, 1.0, ry, -rx, 0.0), w * grip[c])


@compiled
def _add_product(matrix, row, weight):
    """Add weight times the outer product of a row with itself."""
    for i in range(6):
        for j in range(6):
            matrix[i, j] += weight * row[i] * row[j]
