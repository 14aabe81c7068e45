"""The curvature of membranes: in cells of a lattice, in pairs of corners for Newton's blocks, in judging its steps.

A motion changes the four measures of a triangle by φ x: φ (4,) are the differences of a lattice's features, or the
column of A for one corner. With d₀, d₁, â, b̂ the directions of z₀, z₁, z₂ + z₃ and z₂ - z₃ (`constraints.membrane`),

    T_fg = w [ Σ_r φ_f,r φ_g,r ((1 - c_r) d_r d_rᵀ + c_r I)  +  ¼ y_f y_gᵀ  +  ¼ (c_a φ_f,a φ_g,a + c_b φ_f,b φ_g,b) I ]

    c_r = max(1 - l_r/|z_r|, 0),   φ_a = φ₂ + φ₃,   φ_b = φ₂ - φ₃,   y = φ_a â - φ_b b̂,   c_a = max(1 - |b|/|a|, 0)

All are sums of positive parts, and no less than the true ones: across a longer diagonal, c_a (I - ââᵀ) would be.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import count, doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, max4, splat4, store4, yzx4
from ....constraints.kernels.membrane import measures, sizes_of
from .acceleration import BLOCK
from .block_multigrid import zxy4

LABEL = "Hessian"  # what phases of these kernels are reported under


@inlined
def directions(t, vertices, operator, parameters, weights, q):
    """√(w (1 - c)) d of both fibres, √w/2 â, √w/2 b̂, and w (c₀, c₁, c_a/4, c_b/4)."""
    z0, z1, a, b = measures(t, vertices, operator, q)
    sizes = sizes_of(z0, z1, a, b)
    w = at(weights, t)
    rest = make4(at(parameters, 2 * t), at(parameters, 2 * t + 1), lane4(sizes, 3), lane4(sizes, 2))
    across = max4(splat4(np.float32(1.0)) - rest / sizes, splat4(np.float32(0.0)))
    half = np.float32(0.5) * np.sqrt(w)
    z0 = (np.sqrt(w * (np.float32(1.0) - lane4(across, 0))) / lane4(sizes, 0)) * z0
    z1 = (np.sqrt(w * (np.float32(1.0) - lane4(across, 1))) / lane4(sizes, 1)) * z1
    quarter = np.float32(0.25) * w
    across = across * make4(w, w, quarter, quarter)
    return z0, z1, (half / lane4(sizes, 2)) * a, (half / lane4(sizes, 3)) * b, across


@inlined
def in_diagonals(phi):
    """(φ₀, φ₁, φ₂ + φ₃, φ₂ - φ₃)."""
    return make4(lane4(phi, 0), lane4(phi, 1), lane4(phi, 2) + lane4(phi, 3), lane4(phi, 2) - lane4(phi, 3))


@phase_kernel(items="starts-1")
def membrane_cells(
    begin, end, iteration, starts: ints, vertices: ints, operator: floats, parameters: floats, weights: floats,
    slopes: rows, q: rows, coefficients: floats, corners: count, h: rows,
):  # fmt: skip
    """Add the membranes of cells to their h (`lattice_cells`). `slopes`: φ of every feature of every triangle."""
    features = corners - 1
    t, half = np.zeros((3 * features * features, 4), np.float32), np.zeros((3 * features, 4), np.float32)
    y, diagonal = np.zeros((3 * features, 4), np.float32), np.zeros((features, 4), np.float32)
    zero = np.float32(0.0)
    for cell in range(begin, end):
        first, last = at(starts, cell), at(starts, cell + 1)
        if first == last:
            continue
        for k in range(3 * features * features):
            store4(t, k, splat4(zero))
        for c in range(first, last):
            d0, d1, a, b, across = directions(c, vertices, operator, parameters, weights, q)
            for f in range(features):
                phi = in_diagonals(load4(slopes, c * features + f))
                store4(diagonal, f, phi)
                store4(y, 3 * f, lane4(phi, 0) * d0)
                store4(y, 3 * f + 1, lane4(phi, 1) * d1)
                store4(y, 3 * f + 2, lane4(phi, 2) * a - lane4(phi, 3) * b)
            for f in range(features):
                scaled = across * load4(diagonal, f)
                p, r, s = load4(y, 3 * f), load4(y, 3 * f + 1), load4(y, 3 * f + 2)
                for g in range(f, features):
                    even = dot4(scaled, load4(diagonal, g))
                    u, v, w = load4(y, 3 * g), load4(y, 3 * g + 1), load4(y, 3 * g + 2)
                    row = 3 * (f * features + g)
                    x = lane4(p, 0) * u + lane4(r, 0) * v + lane4(s, 0) * w
                    store4(t, row, load4(t, row) + x + make4(even, zero, zero, zero))
                    x = lane4(p, 1) * u + lane4(r, 1) * v + lane4(s, 1) * w
                    store4(t, row + 1, load4(t, row + 1) + x + make4(zero, even, zero, zero))
                    x = lane4(p, 2) * u + lane4(r, 2) * v + lane4(s, 2) * w
                    store4(t, row + 2, load4(t, row + 2) + x + make4(zero, zero, even, zero))
        _add_transformed(t, half, coefficients, corners, features, h, 3 * corners * corners * cell)


@inlined
def _add_transformed(t, half, coefficients, corners, features, h, first):
    """h_KL += Σ b_Kf b_Lg T_fg for K <= L, from blocks with f <= g (T_gf = T_fgᵀ)."""
    for f in range(features):
        for g in range(f):
            for c in range(3):
                for d in range(3):
                    t[3 * (f * features + g) + c, d] = t[3 * (g * features + f) + d, c]
    for m in range(corners):
        for f in range(features):
            for c in range(3):
                total = splat4(np.float32(0.0))
                for g in range(features):
                    total += at(coefficients, m * features + g) * load4(t, 3 * (f * features + g) + c)
                store4(half, 3 * f + c, total)
        for k in range(m + 1):
            for c in range(3):
                row = first + 3 * (k * corners + m) + c
                total = load4(h, row)
                for f in range(features):
                    total += at(coefficients, k * features + f) * load4(half, 3 * f + c)
                store4(h, row, total)


@phase_kernel(items="weights")
def membrane_pairs(
    begin, end, iteration, vertices: ints, operator: floats, parameters: floats, weights: floats, slopes: rows, q: rows,
    pairs: rows,
):  # fmt: skip
    """H of the corners (0, 1), (0, 2) and (1, 2) of triangles [begin, end), wrapped: three rows each."""
    zero = np.float32(0.0)
    for t in range(begin, end):
        d0, d1, a, b, across = directions(t, vertices, operator, parameters, weights, q)
        to = 9 * t
        for k in range(2):
            f = in_diagonals(load4(slopes, 3 * t + k))
            p, r = lane4(f, 0) * d0, lane4(f, 1) * d1
            s = lane4(f, 2) * a - lane4(f, 3) * b
            for m in range(k + 1, 3):
                g = in_diagonals(load4(slopes, 3 * t + m))
                u, v = lane4(g, 0) * d0, lane4(g, 1) * d1
                w = lane4(g, 2) * a - lane4(g, 3) * b
                even = dot4(across * f, g)
                store4(pairs, to, p * u + r * v + s * w + make4(even, even, even, zero))
                store4(pairs, to + 1, p * yzx4(u) + r * yzx4(v) + s * yzx4(w))
                store4(pairs, to + 2, p * zxy4(u) + r * zxy4(v) + s * zxy4(w))
                to += 3


@phase_kernel(items="weights")
def membrane_gains(
    begin, end, iteration, vertices: ints, operator: floats, parameters: floats, weights: floats, q: rows, q_old: rows,
    partial: doubles,
):  # fmt: skip
    """What the trapezium rule leaves out of the energy of membranes, in blocks: as `turning_blocks` of springs.

    Of a fibre only -w l |z| is not quadratic, of shear -w/2 |a||b| (with a and b over √2); with the angles that
    directions turn by, what is missed is w l (|z| - |z'|) |d - d'|²/4, and w/8 (|â - â'|² - |b̂ - b̂'|²) (|a||b'| -
    |a'||b|).
    """
    for block in range(begin, end, BLOCK):
        total = 0.0
        for t in range(block, min(block + BLOCK, end)):
            z0, z1, a, b = measures(t, vertices, operator, q)
            o0, o1, c, d = measures(t, vertices, operator, q_old)
            sizes, old = sizes_of(z0, z1, a, b), sizes_of(o0, o1, c, d)
            one, other = splat4(np.float32(1.0)) / sizes, splat4(np.float32(1.0)) / old
            u = lane4(one, 0) * z0 - lane4(other, 0) * o0
            v = lane4(one, 1) * z1 - lane4(other, 1) * o1
            x = lane4(one, 2) * a - lane4(other, 2) * c
            y = lane4(one, 3) * b - lane4(other, 3) * d
            change = sizes - old
            fibres = at(parameters, 2 * t) * lane4(change, 0) * dot4(u, u)
            fibres += at(parameters, 2 * t + 1) * lane4(change, 1) * dot4(v, v)
            # |a||b'| - |a'||b| = |a| (|b'| - |b|) + |b| (|a| - |a'|), without the difference of two large products
            crossed = lane4(sizes, 3) * lane4(change, 2) - lane4(sizes, 2) * lane4(change, 3)
            turned = (dot4(x, x) - dot4(y, y)) * crossed
            total += np.float64(at(weights, t) * (np.float32(0.25) * fibres + np.float32(0.0625) * turned))
        partial[block // BLOCK] = total
