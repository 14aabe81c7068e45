"""How far tetrahedra are from their rest shape, whatever their density is."""

from __future__ import annotations

from ...backends.cpu.compiling import compiled
from .inversion import deformation


@compiled
def near_rest(q, vertices, inverse, weights, most, beyond):
    """Σ weight ‖FᵀF - I‖² of tetrahedra with ‖FᵀF - I‖² <= most; the others are put into `beyond` (m,), and counted."""
    total, count = 0.0, 0
    for t in range(len(weights)):
        f = deformation(t, q, vertices, inverse)
        xx = f[0] * f[0] + f[3] * f[3] + f[6] * f[6] - 1.0
        yy = f[1] * f[1] + f[4] * f[4] + f[7] * f[7] - 1.0
        zz = f[2] * f[2] + f[5] * f[5] + f[8] * f[8] - 1.0
        yz = f[1] * f[2] + f[4] * f[5] + f[7] * f[8]
        xz = f[0] * f[2] + f[3] * f[5] + f[6] * f[8]
        xy = f[0] * f[1] + f[3] * f[4] + f[6] * f[7]
        size = xx * xx + yy * yy + zz * zz + 2.0 * (yz * yz + xz * xz + xy * xy)
        # mirrored elements have the same FᵀF: their volume tells them
        volume = f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6])
        volume += f[2] * (f[3] * f[7] - f[4] * f[6])
        if size <= most and volume > 0.0:
            total += weights[t] * size
        else:
            beyond[count] = t
            count += 1
    return total, count
