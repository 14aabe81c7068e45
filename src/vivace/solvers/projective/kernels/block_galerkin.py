"""The Hessian of a step's energy as blocks, and its coarse matrices PᵀHP: made anew in every Newton iteration.

Curvature of a constraint, never negative and written without subtracting from Y, where float32 would cancel:

    spring      K = c I + (w - c) d̂d̂ᵀ,  c = max(w - w l/|d|, 0)     across and along d = q_i - q_j
    tet-strain  w/2 [(b_k·b_l) I + b_l b_kᵀ],  b_k = R a_k            linear elasticity in the frame of the rotation R;
                the local pass leaves s_k = w R a_k, so that the block is [(s_k·s_l) I + s_l s_kᵀ] / 2w
    tet-volume  v_k v_lᵀ,  v_k = √w N a_k                             across the set of det F = 1, N = cof F / |cof F|
    all others  as in Y, a scalar for x, y and z, which is never less than the true one

H is kept in differences, xᵀHx = Σ_i x_i·T_i x_i + Σ_{i<j} (x_i - x_j)·K_ij (x_i - x_j), with ties T (row sums) and the
pairs' K_ij = -H_ij. So are the coarse matrices: with P's rows p_i and δ = p_i - p_j,

    K_IJ = -Σ_{i<j} δ_I δ_J K_ij - Σ_i p_iI p_iJ T_i,     T_I = Σ_i p_iI ρ_i T_i + Σ_{i<j} δ_I (ρ_i - ρ_j) K_ij

where ρ_i = Σ_I p_iI is 1 but for vertices that belong to no aggregate. Nothing large cancels: a mode that moves
everything alike is as soft on the coarsest level as it is on the finest. Blocks of tetrahedra are not symmetric; their
antisymmetric parts have the weight p_iI p_jJ - p_jI p_iJ instead of -δ_I δ_J. Each coarse block has a list of the fine
entries it is made of, with weights: no two threads write to one place, and sums have one order.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows, scalar
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
    sqrt4,
    square_norms4,
    store4,
    transpose4,
    yzx4,
)
from ....backends.cpu.vectors import larger, root
from ....constraints.kernels.rotation import cofactors, gradient
from ....constraints.spring import SMALLEST_SQUARE, across_of, length_of
from .acceleration import BLOCK
from .block_multigrid import zxy4

LABEL = "Hessian"  # what phases of these kernels are reported under

SHIFT = 4e-7  # of a coarse block's trace: what sums in float32 leave uncertain of it


# --- the finest level -------------------------------------------------------------------------------------------------


@phase_kernel(items="first")
def turn_springs(
    begin, end, iteration, first: ints, second: ints, entry: ints, mirror: ints, w: floats, wl: floats, rest: floats,
    q: rows, blocks: rows,
):  # fmt: skip
    """(u, s) of the pairs with springs, four at once: s = a' + c with the rest a' of the pair, u = √(w - c) d̂."""
    zero = splat4(np.float32(0.0))
    for e in range(begin, end, 4):
        d0 = load4(q, at(first, e)) - load4(q, at(second, e))
        d1 = load4(q, at(first, e + 1)) - load4(q, at(second, e + 1))
        d2 = load4(q, at(first, e + 2)) - load4(q, at(second, e + 2))
        d3 = load4(q, at(first, e + 3)) - load4(q, at(second, e + 3))
        length = length_of(square_norms4(d0, d1, d2, d3))
        across = across_of(load4_flat(w, e), load4_flat(wl, e) / length)
        along = sqrt4(max4(load4_flat(w, e) - across, zero)) / length
        x, y, z, _ = transpose4(d0, d1, d2, d3)
        u0, u1, u2, u3 = transpose4(along * x, along * y, along * z, across + load4_flat(rest, e))
        store4(blocks, at(entry, e), u0)
        store4(blocks, at(mirror, e), u0)
        store4(blocks, at(entry, e + 1), u1)
        store4(blocks, at(mirror, e + 1), u1)
        store4(blocks, at(entry, e + 2), u2)
        store4(blocks, at(mirror, e + 2), u2)
        store4(blocks, at(entry, e + 3), u3)
        store4(blocks, at(mirror, e + 3), u3)


@phase_kernel(items="first")
def turning_blocks(
    begin, end, iteration, first: ints, second: ints, wl: floats, q: rows, q_old: rows, partial: doubles
):
    """Σ w l (|d| - |d_old|) |d̂ - d̂_old|²/4 in blocks: what the trapezium rule leaves out of the springs' energy.

    Of w/2 (|d| - l)² only -w l |d| is not quadratic. With θ the angle that d turns by, the rule makes (1 + cos θ)/2 of
    its change, and 1 - cos θ = |d̂ - d̂_old|²/2. The change of ε is -(r_old + r)·(q - q_old)/2 less this sum.
    """
    one = splat4(np.float32(1.0))
    for block in range(begin, end, BLOCK):
        total = 0.0
        for e in range(block, min(block + BLOCK, end), 4):
            i0, i1, i2, i3 = at(first, e), at(first, e + 1), at(first, e + 2), at(first, e + 3)
            j0, j1, j2, j3 = at(second, e), at(second, e + 1), at(second, e + 2), at(second, e + 3)
            x, y, z, _ = transpose4(
                load4(q, i0) - load4(q, j0),
                load4(q, i1) - load4(q, j1),
                load4(q, i2) - load4(q, j2),
                load4(q, i3) - load4(q, j3),
            )
            old_x, old_y, old_z, _ = transpose4(
                load4(q_old, i0) - load4(q_old, j0),
                load4(q_old, i1) - load4(q_old, j1),
                load4(q_old, i2) - load4(q_old, j2),
                load4(q_old, i3) - load4(q_old, j3),
            )
            length = length_of(x * x + y * y + z * z)
            old = length_of(old_x * old_x + old_y * old_y + old_z * old_z)
            change = (x - old_x) * (x + old_x) + (y - old_y) * (y + old_y) + (z - old_z) * (z + old_z)
            tx, ty, tz = x / length - old_x / old, y / length - old_y / old, z / length - old_z / old
            turned = (tx * tx + ty * ty + tz * tz) * change / (length + old)
            total += 0.25 * np.float64(dot4(load4_flat(wl, e) * turned, one))
        partial[block // BLOCK] = total


@phase_kernel(items="weights")
def volume_normals(begin, end, iteration, vertices: ints, operator: floats, weights: floats, q: rows, normals: rows):
    """v_k of the four corners of tetrahedra [begin, end), from the table of their local pass and `normals`."""
    for t in range(begin, end):
        (x, y, z), square = cofactors(gradient(t, vertices, operator, q))
        scale = np.float32(np.sqrt(at(weights, t) / square))
        a, b, c = (
            scale * load4_flat(operator, 12 * t),
            scale * load4_flat(operator, 12 * t + 4),
            scale * load4_flat(operator, 12 * t + 8),
        )
        store4(normals, 4 * t, lane4(a, 0) * x + lane4(b, 0) * y + lane4(c, 0) * z)
        store4(normals, 4 * t + 1, lane4(a, 1) * x + lane4(b, 1) * y + lane4(c, 1) * z)
        store4(normals, 4 * t + 2, lane4(a, 2) * x + lane4(b, 2) * y + lane4(c, 2) * z)
        store4(normals, 4 * t + 3, lane4(a, 3) * x + lane4(b, 3) * y + lane4(c, 3) * z)


@phase_kernel(items="middle")
def wrap_entries(
    begin, end, iteration, row_at: ints, middle: ints, j: ints, mirror: ints, rest: floats, w: floats, wl: floats,
    q: rows, blocks: rows, corner_at: ints, here: ints, there: ints, scales: floats, shares: rows, volume_at: ints,
    near: ints, far: ints, normals: rows,
):  # fmt: skip
    """Wrapped blocks of all entries above the diagonal in rows [begin, end), and their mirrors below it.

    `rest`, `w`, `wl`: of each entry, the scalar that does not change and the spring. `corner_at`: where the entry's
    tetrahedra begin in the list of their shares' places at i and at j and of 1/2w; `volume_at` likewise, of v.
    """
    zero = np.float32(0.0)
    for i in range(begin, end):
        for k in range(at(middle, i), at(row_at, i + 1)):
            even = at(rest, k)
            d, a, b = splat4(zero), splat4(zero), splat4(zero)
            if at(w, k) > 0:
                x = load4(q, i) - load4(q, at(j, k))
                square = larger(dot4(x, x), SMALLEST_SQUARE)
                across = across_of(at(w, k), at(wl, k) / root(square))
                even += across
                u = ((at(w, k) - across) / square) * x
                d, a, b = u * x, u * yzx4(x), u * zxy4(x)
            for t in range(at(corner_at, k), at(corner_at, k + 1)):
                s, other = load4(shares, at(here, t)), at(scales, t) * load4(shares, at(there, t))
                even -= dot4(s, other)
                d -= other * s
                a -= other * yzx4(s)
                b -= other * zxy4(s)
            for t in range(at(volume_at, k), at(volume_at, k + 1)):
                s, other = load4(normals, at(near, t)), load4(normals, at(far, t))
                d -= s * other
                a -= s * yzx4(other)
                b -= s * zxy4(other)
            d += make4(even, even, even, zero)
            store_both(blocks, k, at(mirror, k), d, a, b)


@phase_kernel(items="middle")
def add_pairs(
    begin, end, iteration, row_at: ints, middle: ints, mirror: ints, blocks: rows, pair_at: ints, places: ints,
    pairs: rows,
):  # fmt: skip
    """Take the blocks of hyperelastic elements (`block_lists.pair_places`) from all entries in rows [begin, end)."""
    for i in range(begin, end):
        for k in range(at(middle, i), at(row_at, i + 1)):
            d, a, b = load4(blocks, 3 * k), load4(blocks, 3 * k + 1), load4(blocks, 3 * k + 2)
            for t in range(at(pair_at, k), at(pair_at, k + 1)):
                place = at(places, t)
                d, a, b = d - load4(pairs, place), a - load4(pairs, place + 1), b - load4(pairs, place + 2)
            store_both(blocks, k, at(mirror, k), d, a, b)


@inlined
def store_both(blocks, k, mirror, d, a, b):
    """A wrapped block at entry k, and its transpose at `mirror`."""
    store4(blocks, 3 * k, d)
    store4(blocks, 3 * k + 1, a)
    store4(blocks, 3 * k + 2, b)
    store4(blocks, 3 * mirror, d)
    store4(blocks, 3 * mirror + 1, yzx4(b))
    store4(blocks, 3 * mirror + 2, zxy4(a))


# --- factors of the diagonal blocks ---------------------------------------------------------------------------------


@inlined
def store_factors(factors, i, xx, yy, zz, xy, yz, zx):
    """L D Lᵀ of a symmetric block in float64; a pivot that rounding has made tiny is held at what it can resolve."""
    least = 1e-14 * (xx + yy + zz)
    first = 1.0 / max(xx, least)
    a, b = xy * first, zx * first
    rest = yz - a * zx
    second = 1.0 / max(yy - a * xy, least)
    c = rest * second
    third = 1.0 / max(zz - b * zx - c * rest, least)
    zero = np.float32(0.0)
    store4(factors, 2 * i, make4(np.float32(a), np.float32(b), np.float32(c), zero))
    store4(factors, 2 * i + 1, make4(np.float32(first), np.float32(second), np.float32(third), zero))


@phase_kernel(items="still")
def factor_turned(
    begin, end, iteration, spring_at: ints, entry: ints, blocks: rows, ties: rows, still: floats, factors: rows
):
    """H_ii = T_i + still_i I + Σ (s I + u uᵀ) over the springs at i, added up in float64, as factors.

    `spring_at`, `entry`: the entries of row i with springs; `still`: the scalars of all others, added up.
    """
    for i in range(begin, end):
        even = np.float64(at(still, i))
        d, a = load4(ties, 2 * i), load4(ties, 2 * i + 1)
        xx, yy, zz = np.float64(lane4(d, 0)), np.float64(lane4(d, 1)), np.float64(lane4(d, 2))
        xy, yz, zx = np.float64(lane4(a, 0)), np.float64(lane4(a, 1)), np.float64(lane4(a, 2))
        for k in range(at(spring_at, i), at(spring_at, i + 1)):
            m = load4(blocks, at(entry, k))
            x, y, z = np.float64(lane4(m, 0)), np.float64(lane4(m, 1)), np.float64(lane4(m, 2))
            even += np.float64(lane4(m, 3))
            xx += x * x
            yy += y * y
            zz += z * z
            xy += x * y
            yz += y * z
            zx += z * x
        store_factors(factors, i, xx + even, yy + even, zz + even, xy, yz, zx)


@phase_kernel(items="row_at-1")
def factor_wrapped(begin, end, iteration, row_at: ints, blocks: rows, ties: rows, factors: rows, tie_shift: scalar):
    """H_ii = T_i + Σ_j K_ij, symmetric up to rounding, as factors; `shift`: of its trace, added to its diagonal."""
    shift = np.float64(tie_shift)
    for i in range(begin, end):
        d, a = load4(ties, 2 * i), load4(ties, 2 * i + 1)
        xx, yy, zz = np.float64(lane4(d, 0)), np.float64(lane4(d, 1)), np.float64(lane4(d, 2))
        xy, yz, zx = np.float64(lane4(a, 0)), np.float64(lane4(a, 1)), np.float64(lane4(a, 2))
        for k in range(at(row_at, i), at(row_at, i + 1)):
            d = load4(blocks, 3 * k)
            a = np.float32(0.5) * (load4(blocks, 3 * k + 1) + yzx4(load4(blocks, 3 * k + 2)))
            xx += np.float64(lane4(d, 0))
            yy += np.float64(lane4(d, 1))
            zz += np.float64(lane4(d, 2))
            xy += np.float64(lane4(a, 0))
            yz += np.float64(lane4(a, 1))
            zx += np.float64(lane4(a, 2))
        more = shift * (xx + yy + zz)
        store_factors(factors, i, xx + more, yy + more, zz + more, xy, yz, zx)


# --- coarse matrices: row pointers, middle, mirror, blocks, ties, lists, the level above -----------------


@inlined
def tie_part(begin, end, number, weight, ties):
    """Σ weight T_i over a list of vertices, as (D, A)."""
    d, a = splat4(np.float32(0.0)), splat4(np.float32(0.0))
    for t in range(begin, end):
        d += at(weight, t) * load4(ties, 2 * at(number, t))
        a += at(weight, t) * load4(ties, 2 * at(number, t) + 1)
    return d, a


@inlined
def turned_part(begin, end, number, weight, blocks):
    """Σ weight (s I + u uᵀ) over a list of entries, as (D, A)."""
    d, a = splat4(np.float32(0.0)), splat4(np.float32(0.0))
    for t in range(begin, end):
        m = load4(blocks, at(number, t))
        u = at(weight, t) * m
        d += u * make4(lane4(m, 0), lane4(m, 1), lane4(m, 2), np.float32(1.0))  # s gathers in the fourth lane
        a += u * yzx4(m)
    even = lane4(d, 3)
    zero = np.float32(0.0)
    d = make4(lane4(d, 0) + even, lane4(d, 1) + even, lane4(d, 2) + even, zero)
    return d, make4(lane4(a, 0), lane4(a, 1), lane4(a, 2), zero)


@inlined
def wrapped_part(begin, end, number, weight, blocks):
    """Σ weight M over a list of entries, as (D, A, B)."""
    d, a, b = splat4(np.float32(0.0)), splat4(np.float32(0.0)), splat4(np.float32(0.0))
    for t in range(begin, end):
        k = 3 * at(number, t)
        d += at(weight, t) * load4(blocks, k)
        a += at(weight, t) * load4(blocks, k + 1)
        b += at(weight, t) * load4(blocks, k + 2)
    return d, a, b


@inlined
def mirrored_part(begin, end, number, weights, blocks):
    """Σ (v M + w Mᵀ) over a list of entries with two weights each, as (D, A, B)."""
    zero = splat4(np.float32(0.0))
    d, a, b, turned_a, turned_b = zero, zero, zero, zero, zero
    for t in range(begin, end):
        k, v, w = 3 * at(number, t), at(weights, 2 * t), at(weights, 2 * t + 1)
        d += (v + w) * load4(blocks, k)
        above, below = load4(blocks, k + 1), load4(blocks, k + 2)
        a += v * above
        b += v * below
        turned_a += w * above
        turned_b += w * below
    return d, a + yzx4(turned_b), b + zxy4(turned_a)


@phase_kernel(items="middle")
def coarsen_turned(
    begin, end, iteration, row_at: ints, middle: ints, mirror: ints, blocks: rows, ties: rows, pair_at: ints,
    pair: ints, pair_w: floats, held_at: ints, held: ints, held_w: floats, down_at: ints, down: ints, down_w: floats,
    loose_at: ints, loose: ints, loose_w: floats, fine: rows, fine_ties: rows, still: floats,
):  # fmt: skip
    """K_IJ and T_I of rows [begin, end), from turned blocks above. `still`: what constant pairs add to K_IJ."""
    for i in range(begin, end):
        for k in range(at(middle, i), at(row_at, i + 1)):
            d, a = turned_part(at(pair_at, k), at(pair_at, k + 1), pair, pair_w, fine)
            td, ta = tie_part(at(held_at, k), at(held_at, k + 1), held, held_w, fine_ties)
            even = at(still, k)
            d += td + make4(even, even, even, np.float32(0.0))
            a += ta
            store_both(blocks, k, at(mirror, k), d, a, zxy4(a))
        d, a = tie_part(at(down_at, i), at(down_at, i + 1), down, down_w, fine_ties)
        ld, la = turned_part(at(loose_at, i), at(loose_at, i + 1), loose, loose_w, fine)
        store4(ties, 2 * i, d + ld)
        store4(ties, 2 * i + 1, a + la)


@phase_kernel(items="middle")
def coarsen_wrapped(
    begin, end, iteration, row_at: ints, middle: ints, mirror: ints, blocks: rows, ties: rows, pair_at: ints,
    pair: ints, pair_w: floats, held_at: ints, held: ints, held_w: floats, down_at: ints, down: ints, down_w: floats,
    loose_at: ints, loose: ints, loose_w: floats, fine: rows, fine_ties: rows,
):  # fmt: skip
    """As `coarsen_turned`, from wrapped blocks above; of what is loose, the symmetric part."""
    for i in range(begin, end):
        for k in range(at(middle, i), at(row_at, i + 1)):
            d, a, b = mirrored_part(at(pair_at, k), at(pair_at, k + 1), pair, pair_w, fine)
            td, ta = tie_part(at(held_at, k), at(held_at, k + 1), held, held_w, fine_ties)
            store_both(blocks, k, at(mirror, k), d + td, a + ta, b + zxy4(ta))
        d, a = tie_part(at(down_at, i), at(down_at, i + 1), down, down_w, fine_ties)
        ld, la, lb = wrapped_part(at(loose_at, i), at(loose_at, i + 1), loose, loose_w, fine)
        store4(ties, 2 * i, d + ld)
        store4(ties, 2 * i + 1, a + np.float32(0.5) * (la + yzx4(lb)))
