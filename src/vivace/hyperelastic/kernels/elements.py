"""Passes over matrices and over tetrahedra [begin, end): templates that a density makes kernels of.

Arrays of elements are flat, so that a phase of a plan may call them as well: vertices (4 m), the inverses of the rest
edges (9 m, row by row), volumes (m), `which` constants an element has (m), and these constants (COUNT + 3 a row).
Positions and shares may be float32 or float64 and of three or four columns; all arithmetic is float64.

Every corner has a slot of its own in `shares`, grouped by vertex, and `gather` adds them up in that order: nothing
depends on how the passes were cut into pieces or by whom they were done.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, spliced
from .inversion import deformation

COUNT = 0  # stand-ins
ROW = 3  # of a row of constants: what is there beside those of the density


def energy_at(f, s, held):
    """W(F)."""


def stress_at(f, s, held):
    """W and P."""


def curvature_at(f, s, held, positive):
    """U, σ, V and the modes."""


def energy_pass(begin, end, q, vertices, inverse, volumes, which, constants, held, energies):
    """Template: energies (m,) in joules."""
    row = which[begin] if begin < end else 0
    s = constants[row * (COUNT + ROW) : (row + 1) * (COUNT + ROW)]
    for t in range(begin, end):
        if which[t] != row:
            row = which[t]
            s = constants[row * (COUNT + ROW) : (row + 1) * (COUNT + ROW)]
        energies[t] = volumes[t] * energy_at(deformation(t, q, vertices, inverse), s, held[t])


def force_pass(begin, end, q, vertices, inverse, volumes, which, constants, held, energies, slots, shares):
    """Template: energies (m,), and the gradient of each by its corners in their slots of `shares`."""
    row = which[begin] if begin < end else 0
    s = constants[row * (COUNT + ROW) : (row + 1) * (COUNT + ROW)]
    for t in range(begin, end):
        if which[t] != row:
            row = which[t]
            s = constants[row * (COUNT + ROW) : (row + 1) * (COUNT + ROW)]
        w, p = stress_at(deformation(t, q, vertices, inverse), s, held[t])
        volume = volumes[t]
        energies[t] = volume * w
        ax, ay, az = _corner(p, volume, inverse, 9 * t)
        bx, by, bz = _corner(p, volume, inverse, 9 * t + 3)
        cx, cy, cz = _corner(p, volume, inverse, 9 * t + 6)
        i = slots[4 * t]
        shares[i, 0], shares[i, 1], shares[i, 2] = -(ax + bx + cx), -(ay + by + cy), -(az + bz + cz)
        i = slots[4 * t + 1]
        shares[i, 0], shares[i, 1], shares[i, 2] = ax, ay, az
        i = slots[4 * t + 2]
        shares[i, 0], shares[i, 1], shares[i, 2] = bx, by, bz
        i = slots[4 * t + 3]
        shares[i, 0], shares[i, 1], shares[i, 2] = cx, cy, cz


@spliced
def _corner(p, volume, inverse, at):
    """volume P b with b a row of the inverse."""
    x, y, z = volume * inverse[at], volume * inverse[at + 1], volume * inverse[at + 2]
    return p[0] * x + p[1] * y + p[2] * z, p[3] * x + p[4] * y + p[5] * z, p[6] * x + p[7] * y + p[8] * z


@spliced
def _turned(d, x, y, z):
    """Vᵀ (x, y, z)."""
    return (
        d[12] * x + d[15] * y + d[18] * z,
        d[13] * x + d[16] * y + d[19] * z,
        d[14] * x + d[17] * y + d[20] * z,
    )


@spliced
def _block(m, a, b):
    """Second derivative by corners with turned rows a and b, in the axes of U: nine scalars row by row.

    Entry ij is scale_ij aᵢ bⱼ + (flip - twist)/2 aⱼ bᵢ off the diagonal, and on it scale_ii aᵢ bᵢ + Σ (flip + twist)/2.
    """
    yz, xz, xy = 0.5 * (m[6] + m[9]), 0.5 * (m[7] + m[10]), 0.5 * (m[8] + m[11])
    dyz, dxz, dxy = 0.5 * (m[6] - m[9]), 0.5 * (m[7] - m[10]), 0.5 * (m[8] - m[11])
    x, y, z = a[0] * b[0], a[1] * b[1], a[2] * b[2]
    return (
        m[0] * x + xy * y + xz * z, m[5] * a[0] * b[1] + dxy * a[1] * b[0], m[4] * a[0] * b[2] + dxz * a[2] * b[0],
        m[5] * a[1] * b[0] + dxy * a[0] * b[1], m[1] * y + xy * x + yz * z, m[3] * a[1] * b[2] + dyz * a[2] * b[1],
        m[4] * a[2] * b[0] + dxz * a[0] * b[2], m[3] * a[2] * b[1] + dyz * a[1] * b[2], m[2] * z + xz * x + yz * y,
    )  # fmt: skip


@spliced
def _back(d, m, scale):
    """scale U M Uᵀ, nine scalars row by row."""
    r0, r1, r2 = _row(m, d[0], d[1], d[2])
    r3, r4, r5 = _row(m, d[3], d[4], d[5])
    r6, r7, r8 = _row(m, d[6], d[7], d[8])
    return (
        scale * (r0 * d[0] + r1 * d[1] + r2 * d[2]),
        scale * (r0 * d[3] + r1 * d[4] + r2 * d[5]),
        scale * (r0 * d[6] + r1 * d[7] + r2 * d[8]),
        scale * (r3 * d[0] + r4 * d[1] + r5 * d[2]),
        scale * (r3 * d[3] + r4 * d[4] + r5 * d[5]),
        scale * (r3 * d[6] + r4 * d[7] + r5 * d[8]),
        scale * (r6 * d[0] + r7 * d[1] + r8 * d[2]),
        scale * (r6 * d[3] + r7 * d[4] + r8 * d[5]),
        scale * (r6 * d[6] + r7 * d[7] + r8 * d[8]),
    )


@spliced
def _row(m, x, y, z):
    """(x, y, z) M."""
    return x * m[0] + y * m[3] + z * m[6], x * m[1] + y * m[4] + z * m[7], x * m[2] + y * m[5] + z * m[8]


@spliced
def turned_rows(d, inverse, at):
    """Vᵀ b of the four corners: three rows of the inverse, and before them minus their sum."""
    b1 = _turned(d, inverse[at], inverse[at + 1], inverse[at + 2])
    b2 = _turned(d, inverse[at + 3], inverse[at + 4], inverse[at + 5])
    b3 = _turned(d, inverse[at + 6], inverse[at + 7], inverse[at + 8])
    return (-b1[0] - b2[0] - b3[0], -b1[1] - b2[1] - b3[1], -b1[2] - b2[2] - b3[2]), b1, b2, b3


@spliced
def pair_block(d, m, a, b, volume):
    """Second derivative by corners with turned rows a and b: nine scalars row by row."""
    return _back(d, _block(m, a, b), volume)


def hessian_pass(begin, end, q, vertices, inverse, volumes, which, constants, held, positive, blocks):
    """Template: second derivatives (m, 12, 12), coordinate c of corner a at 3 a + c."""
    for t in range(begin, end):
        s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
        d, m = curvature_at(deformation(t, q, vertices, inverse), s, held[t], positive)
        rows = turned_rows(d, inverse, 9 * t)
        for i in range(4):
            for k in range(i + 1):
                found = pair_block(d, m, rows[i], rows[k], volumes[t])
                for c in range(3):
                    for e in range(3):
                        x = found[3 * c + e]
                        blocks[t, 3 * i + c, 3 * k + e] = x
                        blocks[t, 3 * k + e, 3 * i + c] = x


def diagonal_pass(begin, end, q, vertices, inverse, volumes, which, constants, held, positive, slots, shares):
    """Template: each corner's own 3 x 3 second derivative, as xx, yy, zz, yz, xz, xy in its slot of `shares` (., 6)."""
    for t in range(begin, end):
        s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
        d, m = curvature_at(deformation(t, q, vertices, inverse), s, held[t], positive)
        rows = turned_rows(d, inverse, 9 * t)
        for k in range(4):
            found = pair_block(d, m, rows[k], rows[k], volumes[t])
            i = slots[4 * t + k]
            shares[i, 0], shares[i, 1], shares[i, 2] = found[0], found[4], found[8]
            shares[i, 3], shares[i, 4], shares[i, 5] = found[5], found[2], found[1]


@compiled
def gather(begin, end, starts, shares, out):
    """Add to row i of `out` the shares of vertex i."""
    for i in range(begin, end):
        for s in range(starts[i], starts[i + 1]):
            for c in range(out.shape[1]):
                out[i, c] += shares[s, c]


@compiled
def slots_of(vertices, n):
    """Of flat corners: where each vertex' shares begin (n + 1,), and the slot of each corner."""
    starts = np.zeros(n + 1, np.int32)
    for v in vertices:
        starts[v + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    slots, cursor = np.empty(len(vertices), np.int32), starts[:n].copy()
    for c in range(len(vertices)):
        slots[c] = cursor[vertices[c]]
        cursor[vertices[c]] += 1
    return starts, slots


# --- over matrices ----------------------------------------------------------------------------------------------------


def stress_matrices(f, constants, energies, stresses):
    """Template: W (m,) and P (m, 9) of matrices f (m, 9)."""
    for t in range(f.shape[0]):
        row = f[t]
        nine = (row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])
        w, p = stress_at(nine, constants, 0.0)
        energies[t] = w
        for k in range(9):
            stresses[t, k] = p[k]


def hessian_matrices(f, constants, positive, out):
    """Template: ∂²W/∂F² (m, 9, 9) of matrices f (m, 9): F_cr is number 3 c + r."""
    for t in range(f.shape[0]):
        row = f[t]
        nine = (row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])
        d, m = curvature_at(nine, constants, 0.0, positive)
        for a in range(3):
            for b in range(3):
                found = _back(d, _block(m, _axis(d, a), _axis(d, b)), 1.0)
                for c in range(3):
                    for e in range(3):
                        out[t, 3 * c + a, 3 * e + b] = found[3 * c + e]


@spliced
def _axis(d, a):
    """Row a of V: what `_turned` makes of a unit vector."""
    x, y, z = 1.0 if a == 0 else 0.0, 1.0 if a == 1 else 0.0, 1.0 if a == 2 else 0.0
    return _turned(d, x, y, z)
