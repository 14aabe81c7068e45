"""Newton's method at one vertex after the other [chen2024]: a template that a hyperelastic density makes a kernel of.

With all other vertices where they are, the energy of a step along p, the way of vertex i, is

    -R·p + k/2 |p|² + Σ_t v_t (W(F_t(p)) - W(F_t(0)))

where t runs over the elements at i, R is the force that all else puts on it (inertia, pins, contacts, springs, ...),
and k its curvature in Y: of what is quadratic exactly that, of springs and contacts no less. One Newton step is

    p = B⁻¹ r,    r = R - Σ_t v_t P_t b_t,    B = k I + Σ_t v_t b_tᵀ (∂²W/∂F²)₊ b_t

from the newest positions. It is halved for as long as it would raise that energy, so that a sweep cannot raise ε.

r is taken from the row of the layout, whose shares of the elements are those of the last look: what they have become
since is added. So pins, viscosity and contacts are in it without a word about them here.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import double, doubles, floats, ints, rows
from ....backends.cpu.compiling import spliced
from ....backends.cpu.simd import lane4, load4
from ....hyperelastic.kernels.elements import pair_block, turned_rows
from ....hyperelastic.kernels.inversion import deformation
from ....hyperelastic.kernels.phases import corners
from ...projective.kernels.sweep import residual

LABEL = "sweeps"  # what phases of these kernels are reported under
COUNT, ROW = 0, 3  # stand-ins, as in `hyperelastic.kernels.phases`
HALVINGS = 6


def energy_at(f, s, held):
    """W."""


def stress_at(f, s, held):
    """W and P."""


def curvature_at(f, s, held, positive):
    """U, σ, V and the modes."""


def plain_at(f, s, held):
    """Whether an element goes without stretches, cof F and its modes."""


@spliced
def _along(f, b):
    return (
        f[0] * b[0] + f[1] * b[1] + f[2] * b[2],
        f[3] * b[0] + f[4] * b[1] + f[5] * b[2],
        f[6] * b[0] + f[7] * b[1] + f[8] * b[2],
    )


@spliced
def _plain_own(f, cofactor, modes, b):
    """A corner's own second derivative, xx yy zz yz xz xy: `hyperelastic.kernels.phases` with both rows the same."""
    own, _, m11, m1j, mjj = modes
    x, c = _along(f, b), _along(cofactor, b)
    u = m11 * x[0] + m1j * c[0], m11 * x[1] + m1j * c[1], m11 * x[2] + m1j * c[2]
    v = m1j * x[0] + mjj * c[0], m1j * x[1] + mjj * c[1], m1j * x[2] + mjj * c[2]
    even = own * (b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    return (
        x[0] * u[0] + c[0] * v[0] + even, x[1] * u[1] + c[1] * v[1] + even, x[2] * u[2] + c[2] * v[2] + even,
        x[1] * u[2] + c[1] * v[2], x[0] * u[2] + c[0] * v[2], x[0] * u[1] + c[0] * v[1],
    )  # fmt: skip


@spliced
def _solved(xx, yy, zz, yz, xz, xy, x, y, z):
    """B⁻¹ (x, y, z) by cofactors; B is positive definite, for k is."""
    c00, c01, c02 = yy * zz - yz * yz, yz * xz - xy * zz, xy * yz - yy * xz
    c11, c12, c22 = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    inverse = 1.0 / (xx * c00 + xy * c01 + xz * c02)
    x, y, z = inverse * x, inverse * y, inverse * z
    return c00 * x + c01 * y + c02 * z, c01 * x + c11 * y + c12 * z, c02 * x + c12 * y + c22 * z


def sweep_vertices(
    begin, end, iteration, visit: ints, corner_at: ints, corner: ints, vertices: ints, inverse: floats,
    volumes: floats, which: ints, constants: doubles, held: doubles, stiff: floats, slots: ints, shares: rows,
    spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints, other_j: ints,
    other_a: floats, tie: floats, base: rows, q: rows, rest: rows, blocks: doubles, fresh: double,
):  # fmt: skip
    """Template: a Newton step at each of the vertices visit[begin:end], none of which shares anything with another.

    `corner`: 4 t + k for corner k of element t, by vertices. `blocks`: Σ_t of B by vertices, made anew if `fresh`.
    """
    for place in range(begin, end):
        i = visit[place]
        qi = load4(q, i)
        row = residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q)
        rx, ry, rz = float(lane4(row, 0)), float(lane4(row, 1)), float(lane4(row, 2))
        ex, ey, ez, stored = 0.0, 0.0, 0.0, 0.0
        if fresh > 0.0:
            for c in range(6 * i, 6 * i + 6):
                blocks[c] = 0.0
        for c in range(corner_at[i], corner_at[i + 1]):
            t, k = corner[c] >> 2, corner[c] & 3
            s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
            f, v, stiffness = deformation(t, q, vertices, inverse), float(volumes[t]), float(stiff[t])
            w, p = stress_at(f, s, held[t])
            b = corners(inverse, 9 * t)[k]
            pulled, kept = _along(p, b), _along(f, b)
            stored += v * w
            ex, ey, ez = ex - v * pulled[0], ey - v * pulled[1], ez - v * pulled[2]
            slot = slots[corner[c]]
            rx += v * (stiffness * kept[0] - pulled[0]) - shares[slot, 0]
            ry += v * (stiffness * kept[1] - pulled[1]) - shares[slot, 1]
            rz += v * (stiffness * kept[2] - pulled[2]) - shares[slot, 2]
            if fresh > 0.0:
                plain, cofactor, modes = plain_at(f, s, held[t])
                if plain:
                    found = _plain_own(f, cofactor, modes, b)
                else:
                    d, m = curvature_at(f, s, held[t], True)
                    turned = turned_rows(d, inverse, 9 * t)[k]
                    whole = pair_block(d, m, turned, turned, 1.0)
                    found = whole[0], whole[4], whole[8], whole[5], whole[2], whole[1]
                for e in range(6):
                    blocks[6 * i + e] += v * found[e]
        at, own = 6 * i, float(rest[i, 0])
        xx, yy, zz = blocks[at] + own, blocks[at + 1] + own, blocks[at + 2] + own
        x, y, z = _solved(xx, yy, zz, blocks[at + 3], blocks[at + 4], blocks[at + 5], rx, ry, rz)
        fx, fy, fz = rx - ex, ry - ey, rz - ez  # R
        q0, q1, q2 = q[i, 0], q[i, 1], q[i, 2]
        lower = False
        for _ in range(HALVINGS):
            q[i, 0], q[i, 1], q[i, 2] = np.float32(q0 + x), np.float32(q1 + y), np.float32(q2 + z)
            mx, my, mz = float(q[i, 0] - q0), float(q[i, 1] - q1), float(q[i, 2] - q2)
            gain = fx * mx + fy * my + fz * mz - 0.5 * own * (mx * mx + my * my + mz * mz) + stored
            for c in range(corner_at[i], corner_at[i + 1]):
                t = corner[c] >> 2
                s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
                gain -= volumes[t] * energy_at(deformation(t, q, vertices, inverse), s, held[t])
            if gain >= 0.0:
                lower = True
                break
            x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
        if not lower:  # also where it is not a number
            q[i, 0], q[i, 1], q[i, 2] = q0, q1, q2
