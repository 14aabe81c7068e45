"""The matrix of a Newton step in a lattice, cell by cell: see `lattice` for what it is part of.

Within a cell a motion P x of the lattice is a polynomial: its *features* are ξ, η and ξη in a plane, and seven such
products in space. A constraint meets it through the differences φ_f of the features between its vertices, so all that
has to be known of the constraints of a cell is a 3 x 3 block for every pair of features,

    spring       T_fg = Σ w φ_f φ_g C,           C = (1 - t) I + t d̂d̂ᵀ,  t = min(1, l/|d|)
    tetrahedron  T_fg = Σ w/2 (g_f·g_g I + (R g_g)(R g_f)ᵀ),     g_f the gradient of feature f, R the nearest rotation
    its volume   T_fg = Σ w (N g_f)(N g_g)ᵀ,     N = cof F / ‖cof F‖

The second is linear elasticity in the frame of R [mueller2004]. All are sums of positive parts: as a difference from Y
they would cancel in float32. h_KL = Σ b_Kf b_Lg T_fg for corners K, L whose hats have the coefficients b.

Blocks are three rows of four. T has features x features blocks, h of a cell corners x corners.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import count, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined, literal_unroll
from ....backends.cpu.simd import (
    at,
    dot4,
    lane4,
    load4,
    load4_flat,
    make4,
    splat4,
    square_norms4,
    store4,
    yzx4,
)
from ....constraints.kernels.rotation import cofactors, gradient, rotation, rotations4
from ....constraints.spring import across_of, length_of

LABEL = "lattice"  # what phases of these kernels are reported under


@inlined
def _spring_block(e, ends, stiffness, length, q):
    """w C as (xx, yy, zz), (xy, yz, zx)."""
    d = load4(q, at(ends, 2 * e)) - load4(q, at(ends, 2 * e + 1))
    inverse = np.float32(1.0) / length_of(dot4(d, d))
    w = at(stiffness, e)
    across = across_of(w, w * at(length, e) * inverse)
    u = ((w - across) * inverse * inverse) * d
    return u * d + splat4(across), u * yzx4(d)


@inlined
def _store_symmetric(t, row, diagonal, off):
    """(xx, yy, zz), (xy, yz, zx) as three rows: (xx, xy, zx), (xy, yy, yz), (zx, yz, zz)."""
    zero = np.float32(0.0)
    xy, yz, zx = lane4(off, 0), lane4(off, 1), lane4(off, 2)
    store4(t, row, make4(lane4(diagonal, 0), xy, zx, zero))
    store4(t, row + 1, make4(xy, lane4(diagonal, 1), yz, zero))
    store4(t, row + 2, make4(zx, yz, lane4(diagonal, 2), zero))


@inlined
def _transform(t, half, coefficients, corners, features, h, first):
    """h_KL = Σ b_Kf b_Lg T_fg for K <= L, from blocks with f <= g (T_gf = T_fgᵀ); `half`: room for Σ_g b_Lg T_fg."""
    for m in range(corners):
        for f in range(features):
            for c in range(3):
                total = splat4(np.float32(0.0))
                for g in range(features):
                    total += at(coefficients, m * features + g) * load4(t, 3 * (f * features + g) + c)
                store4(half, 3 * f + c, total)
        for k in range(m + 1):
            for c in range(3):
                total = splat4(np.float32(0.0))
                for f in range(features):
                    total += at(coefficients, k * features + f) * load4(half, 3 * f + c)
                store4(h, first + 3 * (k * corners + m) + c, total)


@inlined
def _mirror(t, features):
    """Blocks with f > g from those with f < g."""
    for f in range(features):
        for g in range(f):
            a, b = 3 * (f * features + g), 3 * (g * features + f)
            for c in range(3):
                for d in range(3):
                    t[a + c, d] = t[b + d, c]


@phase_kernel(items="starts-1")
def planar_cells(
    begin, end, iteration, starts: ints, ends: ints, stiffness: floats, length: floats, phi: rows, q: rows,
    coefficients: floats, h: rows,
):  # fmt: skip
    """h of cells in a plane (three features, four corners) from their springs, four at a time.

    A cell's springs are filled up to a multiple of four with springs of no stiffness.
    """
    t, half = np.zeros((27, 4), np.float32), np.zeros((9, 4), np.float32)
    one = splat4(np.float32(1.0))
    for cell in range(begin, end):
        zero = splat4(np.float32(0.0))
        d00, o00, d01, o01, d02, o02 = zero, zero, zero, zero, zero, zero
        d11, o11, d12, o12, d22, o22 = zero, zero, zero, zero, zero, zero
        for e in range(at(starts, cell), at(starts, cell + 1), 4):
            x0 = load4(q, at(ends, 2 * e)) - load4(q, at(ends, 2 * e + 1))
            x1 = load4(q, at(ends, 2 * e + 2)) - load4(q, at(ends, 2 * e + 3))
            x2 = load4(q, at(ends, 2 * e + 4)) - load4(q, at(ends, 2 * e + 5))
            x3 = load4(q, at(ends, 2 * e + 6)) - load4(q, at(ends, 2 * e + 7))
            inverse = one / length_of(square_norms4(x0, x1, x2, x3))
            w = load4_flat(stiffness, e)
            across = across_of(w, w * load4_flat(length, e) * inverse)
            along = (w - across) * inverse * inverse
            for lane in literal_unroll((0, 1, 2, 3)):
                x = x0 if lane == 0 else x1 if lane == 1 else x2 if lane == 2 else x3
                u = lane4(along, lane) * x
                diagonal, off = u * x + splat4(lane4(across, lane)), u * yzx4(x)
                f = load4(phi, e + lane)
                square, mixed = f * f, f * yzx4(f)
                s00, s11, s22 = lane4(square, 0), lane4(square, 1), lane4(square, 2)
                s01, s12, s02 = lane4(mixed, 0), lane4(mixed, 1), lane4(mixed, 2)
                d00 += s00 * diagonal
                o00 += s00 * off
                d01 += s01 * diagonal
                o01 += s01 * off
                d02 += s02 * diagonal
                o02 += s02 * off
                d11 += s11 * diagonal
                o11 += s11 * off
                d12 += s12 * diagonal
                o12 += s12 * off
                d22 += s22 * diagonal
                o22 += s22 * off
        _store_symmetric(t, 0, d00, o00)
        _store_symmetric(t, 3, d01, o01)
        _store_symmetric(t, 6, d02, o02)
        _store_symmetric(t, 9, d01, o01)
        _store_symmetric(t, 12, d11, o11)
        _store_symmetric(t, 15, d12, o12)
        _store_symmetric(t, 18, d02, o02)
        _store_symmetric(t, 21, d12, o12)
        _store_symmetric(t, 24, d22, o22)
        _transform(t, half, coefficients, 4, 3, h, 48 * cell)


@phase_kernel(items="starts-1")
def general_cells(
    begin, end, iteration, starts: ints, ends: ints, stiffness: floats, length: floats, phi: floats, q: rows,
    coefficients: floats, h: rows, tet_starts: ints, corners4: ints, operator: floats, weights: floats, slopes: rows,
    corners: count, volume_starts: ints, volume_corners: ints, volume_operator: floats, volume_weights: floats,
    volume_slopes: rows,
):  # fmt: skip
    """h of cells of any dimension from their springs and tetrahedra."""
    features = corners - 1
    t = np.zeros((3 * features * features, 4), np.float32)
    half, turned = np.zeros((3 * features, 4), np.float32), np.zeros((features, 4), np.float32)
    for cell in range(begin, end):
        for k in range(3 * features * features):
            store4(t, k, splat4(np.float32(0.0)))
        for e in range(at(starts, cell), at(starts, cell + 1)):
            diagonal, off = _spring_block(e, ends, stiffness, length, q)
            for f in range(features):
                a = at(phi, e * features + f)
                for g in range(f, features):
                    w = a * at(phi, e * features + g)
                    row = 3 * (f * features + g)
                    dw, ow = w * diagonal, w * off
                    xy, yz, zx = lane4(ow, 0), lane4(ow, 1), lane4(ow, 2)
                    zero = np.float32(0.0)
                    store4(t, row, load4(t, row) + make4(lane4(dw, 0), xy, zx, zero))
                    store4(t, row + 1, load4(t, row + 1) + make4(xy, lane4(dw, 1), yz, zero))
                    store4(t, row + 2, load4(t, row + 2) + make4(zx, yz, lane4(dw, 2), zero))
        for c in range(at(tet_starts, cell), at(tet_starts, cell + 1), 4):
            f0, f1 = gradient(c, corners4, operator, q), gradient(c + 1, corners4, operator, q)
            f2, f3 = gradient(c + 2, corners4, operator, q), gradient(c + 3, corners4, operator, q)
            certain, r0, r1, r2, r3 = rotations4(f0, f1, f2, f3)
            if not certain:
                r0, r1, r2, r3 = rotation(f0), rotation(f1), rotation(f2), rotation(f3)
            _add_tet(t, features, at(weights, c), slopes, c * features, r0, turned)
            _add_tet(t, features, at(weights, c + 1), slopes, (c + 1) * features, r1, turned)
            _add_tet(t, features, at(weights, c + 2), slopes, (c + 2) * features, r2, turned)
            _add_tet(t, features, at(weights, c + 3), slopes, (c + 3) * features, r3, turned)
        for c in range(at(volume_starts, cell), at(volume_starts, cell + 1)):
            f0 = gradient(c, volume_corners, volume_operator, q)
            _add_volume(t, features, at(volume_weights, c), volume_slopes, c * features, f0, turned)
        _mirror(t, features)
        _transform(t, half, coefficients, corners, features, h, 3 * corners * corners * cell)


@inlined
def _add_tet(t, features, w, slopes, first, r, turned):
    """T_fg += w/2 (g_f·g_g I + (R g_g)(R g_f)ᵀ) for f <= g."""
    zero, half = np.float32(0.0), np.float32(0.5) * w
    for f in range(features):
        g = load4(slopes, first + f)
        store4(turned, f, lane4(g, 0) * r[0] + lane4(g, 1) * r[1] + lane4(g, 2) * r[2])
    for f in range(features):
        slope, right = load4(slopes, first + f), half * load4(turned, f)
        for g in range(f, features):
            own = half * dot4(slope, load4(slopes, first + g))
            left, row = load4(turned, g), 3 * (f * features + g)
            store4(t, row, load4(t, row) + lane4(left, 0) * right + make4(own, zero, zero, zero))
            store4(t, row + 1, load4(t, row + 1) + lane4(left, 1) * right + make4(zero, own, zero, zero))
            store4(t, row + 2, load4(t, row + 2) + lane4(left, 2) * right + make4(zero, zero, own, zero))


@inlined
def _add_volume(t, features, w, slopes, first, f, turned):
    """T_fg += w (N g_f)(N g_g)ᵀ for f <= g, N = cof F / ‖cof F‖: only what changes the volume is stiff."""
    (n0, n1, n2), square = cofactors(f)
    for k in range(features):
        g = load4(slopes, first + k)
        store4(turned, k, lane4(g, 0) * n0 + lane4(g, 1) * n1 + lane4(g, 2) * n2)
    for k in range(features):
        right = (w / square) * load4(turned, k)
        for g in range(k, features):
            left, row = load4(turned, g), 3 * (k * features + g)
            store4(t, row, load4(t, row) + lane4(right, 0) * left)
            store4(t, row + 1, load4(t, row + 1) + lane4(right, 1) * left)
            store4(t, row + 2, load4(t, row + 2) + lane4(right, 2) * left)
