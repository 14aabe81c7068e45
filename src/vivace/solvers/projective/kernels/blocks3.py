"""One vertex update by Newton's method: the 3 x 3 block of the energy's Hessian at a vertex instead of Y_ii.

Along vertex i the energy is a parabola of curvature Y_ii, less what its springs gain by turning with it. Its block is

    B = k I + Σ_e [(w_e - t_e) I + t_e d̂_e d̂_eᵀ] + Σ_s c_s s sᵀ,      t_e = min(w_e, w_e l_e / |d_e|)

where e runs over the springs at i (d_e = q_i - q_j(e), rest length l, stiffness w). Across its own direction a spring's
curvature is w (1 - l/|d|); a compressed one's would be negative, and the minimum keeps B positive. s runs over the
shares that the local pass has left at i. For tetrahedra that keep their shape s = w R a: with c = 1/(2w) and half of
w |a|² in k, that is the block of linear elasticity in the frame of R. k I is the rest of Y_ii: inertia, pins, ...

The step solves ((1 - θ) B + θ Y_ii I) p = r with the residual r of `sweep`: θ = 1 is Gauss-Seidel. It changes the
energy, with all projections held but those of springs, by

    -r·p + Y_ii/2 |p|² - Σ_e w_e l_e (|d_e + p| - |d_e| - d̂_e·p)

in which no term of the sum is negative. Where that would be an increase, the vertex takes Gauss-Seidel's p = r / Y_ii,
for which it cannot be.

The springs of a vertex are padded to a multiple of four with springs of no stiffness to the vertex itself.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import floats, ints, phase_kernel, rows, scalar
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import (
    at,
    dot4,
    lane4,
    load4,
    load4_flat,
    make4,
    max4,
    splat4,
    square_norms4,
    store4,
    transpose4,
    yzx4,
)
from ....constraints.spring import across_of, length_of

LABEL = "sweeps"  # what phases of these kernels are reported under


@inlined
def block(i, qi, spring_at, spring_j, spring_a, spring_wl, spring_w, slot_at, shares, scales, q):
    """The springs' part of r; then B - k I as (xx, yy, zz), (xy, yz, zx) and a multiple of I."""
    zero, one = splat4(np.float32(0.0)), splat4(np.float32(1.0))
    force, even, diagonal, off = zero, zero, zero, zero
    for e in range(at(spring_at, i), at(spring_at, i + 1), 4):
        d0 = qi - load4(q, at(spring_j, e))
        d1 = qi - load4(q, at(spring_j, e + 1))
        d2 = qi - load4(q, at(spring_j, e + 2))
        d3 = qi - load4(q, at(spring_j, e + 3))
        inverse = one / length_of(square_norms4(d0, d1, d2, d3))
        w = load4_flat(spring_w, e)
        g = load4_flat(spring_wl, e) * inverse
        across = across_of(w, g)
        even += across
        t = (w - across) * inverse * inverse
        g -= load4_flat(spring_a, e)
        force += lane4(g, 0) * d0
        force += lane4(g, 1) * d1
        force += lane4(g, 2) * d2
        force += lane4(g, 3) * d3
        u0, u1, u2, u3 = lane4(t, 0) * d0, lane4(t, 1) * d1, lane4(t, 2) * d2, lane4(t, 3) * d3
        diagonal += u0 * d0 + u1 * d1 + u2 * d2 + u3 * d3
        off += u0 * yzx4(d0) + u1 * yzx4(d1) + u2 * yzx4(d2) + u3 * yzx4(d3)
    for s in range(at(slot_at, i), at(slot_at, i + 1)):
        share = load4(shares, s)
        u = at(scales, s) * share
        diagonal += u * share
        off += u * yzx4(share)
    return force, diagonal, off, dot4(even, one)


@inlined
def solve3(diagonal, off, r):
    """p with B p = r for B = [xx xy zx; xy yy yz; zx yz zz], by its cofactors."""
    xx, yy, zz = lane4(diagonal, 0), lane4(diagonal, 1), lane4(diagonal, 2)
    xy, yz, zx = lane4(off, 0), lane4(off, 1), lane4(off, 2)
    c00, c01, c02 = yy * zz - yz * yz, yz * zx - xy * zz, xy * yz - yy * zx
    c11, c12, c22 = xx * zz - zx * zx, xy * zx - xx * yz, xx * yy - xy * xy
    inverse = np.float32(1.0) / (xx * c00 + xy * c01 + zx * c02)
    x, y, z = inverse * lane4(r, 0), inverse * lane4(r, 1), inverse * lane4(r, 2)
    return make4(c00 * x + c01 * y + c02 * z, c01 * x + c11 * y + c12 * z, c02 * x + c12 * y + c22 * z, np.float32(0.0))


@inlined
def turning(i, qi, p, spring_at, spring_j, spring_wl, q):
    """Σ_e w l (|d + p| - |d| - d̂·p) as (|p|² - (d̂·p)²) / (|d + p| + ||d| + d̂·p|), which does not cancel.

    Where the step passes the other end that is less.
    """
    zero, one = splat4(np.float32(0.0)), splat4(np.float32(1.0))
    px, py, pz = lane4(p, 0), lane4(p, 1), lane4(p, 2)
    square, total = dot4(p, p), zero
    for e in range(at(spring_at, i), at(spring_at, i + 1), 4):
        x, y, z, _ = transpose4(
            qi - load4(q, at(spring_j, e)),
            qi - load4(q, at(spring_j, e + 1)),
            qi - load4(q, at(spring_j, e + 2)),
            qi - load4(q, at(spring_j, e + 3)),
        )
        length = length_of(x * x + y * y + z * z)
        along = (px * x + py * y + pz * z) / length
        x, y, z = x + px, y + py, z + pz
        moved = length_of(x * x + y * y + z * z)
        ahead = length + along
        total += load4_flat(spring_wl, e) * (square - along * along) / (moved + max4(ahead, zero - ahead))
    return dot4(total, one)


@phase_kernel(items="q")
def sweep_blocks(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints,
    other_j: ints, other_a: floats, tie: floats, inverse: floats, base: rows, q: rows, square: floats, omega: scalar,
    dampings: floats, spring_w: floats, even_part: floats, slot_at: ints, shares: rows, scales: floats,
):  # fmt: skip
    """q ← q + ω p over [begin, end), from the newest positions. Records |r|² as it goes.

    Sweep k is damped by the k-th θ, and the last holds for all later sweeps.
    """
    theta = dampings[min(iteration, dampings.shape[0] - 1)]
    for i in range(begin, end):
        qi = load4(q, i)
        r, diagonal, off, even = block(
            i, qi, spring_at, spring_j, spring_a, spring_wl, spring_w, slot_at, shares, scales, q
        )
        r += load4(base, i) - at(tie, i) * qi
        for k in range(at(other_at, i), at(other_at, i + 1)):
            r += at(other_a, k) * (load4(q, at(other_j, k)) - qi)
        square[i] = dot4(r, r)
        # from here on in units of Y_ii
        unit = at(inverse, i)
        share = (np.float32(1.0) - theta) * unit
        even = theta + share * (at(even_part, i) + even)
        r = unit * r
        p = omega * solve3(share * diagonal + splat4(even), share * off, r)
        gain = dot4(r, p) - np.float32(0.5) * dot4(p, p)
        if gain < 0:
            gain += unit * turning(i, qi, p, spring_at, spring_j, spring_wl, q)
        if not gain >= 0:  # also where it is not a number
            p = omega * r
        store4(q, i, qi + p)
