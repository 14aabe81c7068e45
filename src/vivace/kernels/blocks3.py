"""One vertex update by Newton's method: the 3 x 3 block of the energy's Hessian at a vertex instead of Y_ii.

The energy over vertex i is a parabola of curvature Y_ii less what its springs gain by turning with it. Its block is

    B = k I + Σ_e [(w_e - t_e) I + t_e d̂_e d̂_eᵀ] + Σ_s c_s s sᵀ,      t_e = min(w_e, w_e l_e / |d_e|)

e runs over the springs at i, d_e = q_i - q_j(e). A spring pulls w (1 - l/|d|) across its own direction; one that is
compressed would push, and the minimum keeps B positive. s runs over the shares that the local pass has left at i, for
tetrahedra that keep their shape s = w R a: with c = 1/(2w) and half of w |a|² in k that is the block of linear
elasticity in the frame of R. k I is all the rest of Y_ii: inertia, pins, bending, viscosity, other constraints.

The step solves ((1 - θ) B + θ Y_ii I) p = r with the residual r of `sweep`: θ = 1 is Gauss-Seidel. The energy changes by

    -r·p + Y_ii/2 |p|² - Σ_e w_e l_e (|d_e + p| - |d_e| - d̂_e·p)

or less, projections other than springs' being held. No term of the sum is negative. Where the change would be positive,
the update takes Gauss-Seidel's p = r / Y_ii, for which it cannot be.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .simd import at, dot4, lane4, load4, load4_flat, make4, max4, splat4, sqrt4, store4, transpose4
from .sweep import SMALLEST_SQUARE
from .team import floats, ints, phase_kernel, rows

SMALLEST_PIVOT = np.float32(1e-6)  # share of Y_ii: what float32 can tell from a singular block


@njit(inline="always")
def take4(values, e, last):
    """values[e : e + 4], with zeros from `last` on."""
    if e + 4 <= last:
        return load4_flat(values, e)
    zero = np.float32(0.0)
    b = at(values, e + 1) if e + 1 < last else zero
    c = at(values, e + 2) if e + 2 < last else zero
    return make4(at(values, e), b, c, zero)


@njit(inline="always")
def differences4(e, last, qi, other, q):
    """x, y and z of q_i - q_j for four neighbours, the last one repeated where there are fewer."""
    x, y, z, _ = transpose4(
        qi - load4(q, at(other, e)),
        qi - load4(q, at(other, min(e + 1, last - 1))),
        qi - load4(q, at(other, min(e + 2, last - 1))),
        qi - load4(q, at(other, min(e + 3, last - 1))),
    )
    return x, y, z


@njit(inline="always")
def total4(a, b, c, d):
    """(Σa, Σb, Σc, Σd) of the lanes."""
    a, b, c, d = transpose4(a, b, c, d)
    return (a + b) + (c + d)


@njit(inline="always")
def residual_and_block(i, qi, spring_at, spring_j, spring_a, spring_wl, spring_w, slot_at, shares, scales, q):
    """What springs and shares bring: (force), (xx, yy, zz, what is isotropic) and (xy, yz, zx) of the block."""
    zero, one, smallest = splat4(np.float32(0.0)), splat4(np.float32(1.0)), splat4(SMALLEST_SQUARE)
    fx, fy, fz, kept = zero, zero, zero, zero
    xx, yy, zz, xy, yz, zx = zero, zero, zero, zero, zero, zero
    e = at(spring_at, i)
    last = at(spring_at, i + 1)
    while e < last:
        x, y, z = differences4(e, last, qi, spring_j, q)
        inverse = one / sqrt4(max4(x * x + y * y + z * z, smallest))
        w = take4(spring_w, e, last)
        g = take4(spring_wl, e, last) * inverse
        across = max4(w - g, zero)
        t = w - across
        g -= take4(spring_a, e, last)
        fx += g * x
        fy += g * y
        fz += g * z
        kept += across
        x, y, z = x * inverse, y * inverse, z * inverse
        tx, ty = t * x, t * y
        xx += tx * x
        xy += tx * y
        zx += tx * z
        yy += ty * y
        yz += ty * z
        zz += t * z * z
        e += 4
    e = at(slot_at, i)
    last = at(slot_at, i + 1)
    while e < last:
        x, y, z, _ = transpose4(
            load4(shares, e),
            load4(shares, min(e + 1, last - 1)),
            load4(shares, min(e + 2, last - 1)),
            load4(shares, min(e + 3, last - 1)),
        )
        t = take4(scales, e, last)
        tx, ty = t * x, t * y
        xx += tx * x
        xy += tx * y
        zx += tx * z
        yy += ty * y
        yz += ty * z
        zz += t * z * z
        e += 4
    return total4(fx, fy, fz, zero), total4(xx, yy, zz, kept), total4(xy, yz, zx, zero)


@njit(inline="always")
def solve3(xx, yy, zz, xy, yz, zx, r):
    """Solve for r (float4) with a symmetric matrix of eigenvalues up to about one, by L D Lᵀ with pivots kept positive."""
    a = max(xx, SMALLEST_PIVOT)
    l, m = xy / a, zx / a
    b = max(yy - l * xy, SMALLEST_PIVOT)
    n = (yz - l * zx) / b
    c = max(zz - m * zx - n * n * b, SMALLEST_PIVOT)
    x = lane4(r, 0)
    y = lane4(r, 1) - l * x
    z = (lane4(r, 2) - m * x - n * y) / c
    y = y / b - n * z
    return make4(x / a - l * y - m * z, y, z, np.float32(0.0))


@njit(inline="always")
def turning(i, qi, p, spring_at, spring_j, spring_wl, q):
    """Σ_e w l (|d + p| - |d| - d̂·p), from below: the bracket is (|p|² - (d̂·p)²) / (|d + p| + |d| + d̂·p).

    So written it does not cancel. The denominator's last two terms count as positive: that matters only where the step
    goes past the other end.
    """
    smallest = splat4(SMALLEST_SQUARE)
    px, py, pz = lane4(p, 0), lane4(p, 1), lane4(p, 2)
    square = dot4(p, p)
    total = splat4(np.float32(0.0))
    e = at(spring_at, i)
    last = at(spring_at, i + 1)
    while e < last:
        x, y, z = differences4(e, last, qi, spring_j, q)
        length = sqrt4(max4(x * x + y * y + z * z, smallest))
        along = (px * x + py * y + pz * z) / length
        x, y, z = x + px, y + py, z + pz
        moved = sqrt4(max4(x * x + y * y + z * z, smallest))
        ahead = length + along
        ahead = max4(ahead, splat4(np.float32(0.0)) - ahead)
        total += take4(spring_wl, e, last) * (square - along * along) / (moved + ahead)
        e += 4
    return dot4(total, splat4(np.float32(1.0)))


@phase_kernel
def sweep_blocks(table, begin, end, iteration):
    """Newton's step at each of [begin, end), from the newest positions. Records |r|² as it goes."""
    spring_at, spring_j, spring_a, spring_wl = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    other_at, other_j, other_a = ints(table, 4), ints(table, 5), floats(table, 6)
    tie, inverse, base, q, square = floats(table, 7), floats(table, 8), rows(table, 9), rows(table, 10), floats(table, 11)
    spring_w, rest = floats(table, 12), floats(table, 13)
    slot_at, shares, scales = ints(table, 14), rows(table, 15), floats(table, 16)
    omega, theta = floats(table, 17)[0], floats(table, 17)[1]
    half = np.float32(0.5)
    for i in range(begin, end):
        qi = load4(q, i)
        force, diagonal, off = residual_and_block(
            i, qi, spring_at, spring_j, spring_a, spring_wl, spring_w, slot_at, shares, scales, q
        )
        r = load4(base, i) - at(tie, i) * qi + force
        for k in range(at(other_at, i), at(other_at, i + 1)):
            r += at(other_a, k) * (load4(q, at(other_j, k)) - qi)
        square[i] = dot4(r, r)
        # in units of Y_ii
        own = at(inverse, i)
        r = own * r
        share = (np.float32(1.0) - theta) * own
        diagonal, off = share * diagonal, share * off
        even = theta + share * at(rest, i) + lane4(diagonal, 3)
        p = solve3(
            lane4(diagonal, 0) + even,
            lane4(diagonal, 1) + even,
            lane4(diagonal, 2) + even,
            lane4(off, 0),
            lane4(off, 1),
            lane4(off, 2),
            r,
        )
        p = omega * p
        gain = dot4(r, p) - half * dot4(p, p)
        if gain < 0:
            gain += own * turning(i, qi, p, spring_at, spring_j, spring_wl, q)
        if not gain >= 0:
            p = omega * r
        store4(q, i, qi + p)
