"""Viscosity of hyperelastic elements that lets them turn: `hyperelastic/viscosity.py` has the equations."""

from __future__ import annotations

from ...backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import compiled, spliced
from .inversion import deformation
from .svd import polar3

LABEL = "local passes"


@compiled
def gradients_at(q, vertices, inverse, out):
    """F of all tetrahedra at q, nine numbers each."""
    for t in range(vertices.shape[0] // 4):
        f = deformation(t, q, vertices, inverse)
        for k in range(9):
            out[9 * t + k] = f[k]


@spliced
def turned(f, before, at):
    """(R - I) F_n with the rotation R that brings F_n nearest to F: that of F F_nᵀ."""
    a, b, c = before[at], before[at + 1], before[at + 2]
    d, e, g = before[at + 3], before[at + 4], before[at + 5]
    h, i, j = before[at + 6], before[at + 7], before[at + 8]
    r = polar3(
        f[0] * a + f[1] * b + f[2] * c, f[0] * d + f[1] * e + f[2] * g, f[0] * h + f[1] * i + f[2] * j,
        f[3] * a + f[4] * b + f[5] * c, f[3] * d + f[4] * e + f[5] * g, f[3] * h + f[4] * i + f[5] * j,
        f[6] * a + f[7] * b + f[8] * c, f[6] * d + f[7] * e + f[8] * g, f[6] * h + f[7] * i + f[8] * j,
    )  # fmt: skip
    return (
        r[0] * a + r[1] * d + r[2] * h - a, r[0] * b + r[1] * e + r[2] * i - b, r[0] * c + r[1] * g + r[2] * j - c,
        r[3] * a + r[4] * d + r[5] * h - d, r[3] * b + r[4] * e + r[5] * i - e, r[3] * c + r[4] * g + r[5] * j - g,
        r[6] * a + r[7] * d + r[8] * h - h, r[6] * b + r[7] * e + r[8] * i - i, r[6] * c + r[7] * g + r[8] * j - j,
    )  # fmt: skip


@compiled
def turned_all(q, vertices, inverse, before, now, out):
    """F at q, and `turned` of all tetrahedra: nine numbers each."""
    for t in range(vertices.shape[0] // 4):
        f = deformation(t, q, vertices, inverse)
        found = turned(f, before, 9 * t)
        for k in range(9):
            now[9 * t + k] = f[k]
            out[9 * t + k] = found[k]


@phase_kernel(items="weights")
def turn_viscous(
    begin, end, iteration, vertices: ints, inverse: floats, weights: floats, before: doubles, slots: ints, q: rows,
    out: rows,
):  # fmt: skip
    """Shares of the corners of tetrahedra [begin, end): w Aᵀ (R - I) F_n."""
    for t in range(begin, end):
        d = turned(deformation(t, q, vertices, inverse), before, 9 * t)
        w = float(weights[t])
        x, y, z = 0.0, 0.0, 0.0
        for k in range(3):
            b, c, e = inverse[9 * t + 3 * k], inverse[9 * t + 3 * k + 1], inverse[9 * t + 3 * k + 2]
            i = slots[4 * t + k + 1]
            px, py = w * (d[0] * b + d[1] * c + d[2] * e), w * (d[3] * b + d[4] * c + d[5] * e)
            pz = w * (d[6] * b + d[7] * c + d[8] * e)
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = px, py, pz, 0.0
            x, y, z = x + px, y + py, z + pz
        i = slots[4 * t]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = -x, -y, -z, 0.0
