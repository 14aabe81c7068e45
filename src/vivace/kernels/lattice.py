"""A Newton step in a smooth space: positions move by P x, P the multilinear hats of a lattice over the rest shape.

    (Pᵀ H P) x = Pᵀ r,     q ← q + P x,     H the Hessian of the step's energy at q, r = -∇ε(q)

What turns as a whole, turns here: H is soft across a spring where Y is as stiff as along it. Only springs and
tetrahedra change their part of PᵀHP. Within a cell, P x is a polynomial: its *features* are ξ, η and ξη in a plane, and
seven such products in space. A constraint meets it through the differences φ_f of the features between its vertices,
so all that has to be known of the constraints of a cell is a 3 x 3 block for every pair of features,

    spring       T_fg = Σ w φ_f φ_g C,           C = (1 - t) I + t d̂d̂ᵀ,  t = min(1, l/|d|)
    tetrahedron  T_fg = Σ w/2 (g_f·g_g I + (R g_g)(R g_f)ᵀ),     g_f the gradient of feature f, R the nearest rotation
    its volume   T_fg = Σ w (N g_f)(N g_g)ᵀ,     N = cof F / ‖cof F‖

The second is linear elasticity in the frame of R [mueller2004]. Both are sums of positive parts: as a difference from Y
they would cancel in float32. H_KL = Σ b_Kf b_Lg T_fg for corners K, L whose hats have the coefficients b.

The matrix is block tridiagonal over the slabs of nodes along the longest axis. Elimination begins at both ends, so two
threads can share it, and meets in the middle:

    slab   0 ──► 1 ──► 2 ──► middle ◄── 4 ◄── 5      U[s] = [ upper triangle of the slab | coupling to the next ]

Cells are summed in float32, all that follows in float64.
"""

from __future__ import annotations

import numpy as np
from numba import literal_unroll, njit

from .acceleration import BLOCK
from .rotation import gradient, rotation, rotations4
from .simd import (
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
    yzx4,
)
from .sweep import SMALLEST_SQUARE
from .team import doubles, floats, ints, phase_kernel, rows

# Columns of the list of slabs.
PART, NEXT, SIZE, MATRIX, CONSTANT, FIRST_NODE = range(6)
SLAB_COLUMNS = 6
# Columns of the list of parts: slabs [first, last), the one in the middle.
FIRST, LAST, MIDDLE = range(3)
PART_COLUMNS = 3

SCALE, KEPT, REJECTIONS, STEPS = range(4)  # slots of the state
STATE_SIZE = 4


# --- cells -----------------------------------------------------------------------------------------------------------
# Blocks are three rows of four. T has features x features blocks, h of a cell corners x corners.


@njit(inline="always")
def _spring_block(e, ends, stiffness, length, q):
    """w C as (xx, yy, zz), (xy, yz, zx)."""
    d = load4(q, at(ends, 2 * e)) - load4(q, at(ends, 2 * e + 1))
    inverse = np.float32(1.0) / np.sqrt(max(dot4(d, d), SMALLEST_SQUARE))
    w = at(stiffness, e)
    across = max(w - w * at(length, e) * inverse, np.float32(0.0))
    u = ((w - across) * inverse * inverse) * d
    return u * d + splat4(across), u * yzx4(d)


@njit(inline="always")
def _store_symmetric(t, row, diagonal, off):
    """(xx, yy, zz), (xy, yz, zx) as three rows: (xx, xy, zx), (xy, yy, yz), (zx, yz, zz)."""
    zero = np.float32(0.0)
    xy, yz, zx = lane4(off, 0), lane4(off, 1), lane4(off, 2)
    store4(t, row, make4(lane4(diagonal, 0), xy, zx, zero))
    store4(t, row + 1, make4(xy, lane4(diagonal, 1), yz, zero))
    store4(t, row + 2, make4(zx, yz, lane4(diagonal, 2), zero))


@njit(inline="always")
def _transform(t, half, coefficients, corners, features, h, first):
    """h_KL = Σ b_Kf b_Lg T_fg for K <= L, from blocks with f <= g (T_gf = T_fgᵀ); `half`: room for Σ_g b_Lg T_fg."""
    for l in range(corners):
        for f in range(features):
            for c in range(3):
                total = splat4(np.float32(0.0))
                for g in range(features):
                    total += at(coefficients, l * features + g) * load4(t, 3 * (f * features + g) + c)
                store4(half, 3 * f + c, total)
        for k in range(l + 1):
            for c in range(3):
                total = splat4(np.float32(0.0))
                for f in range(features):
                    total += at(coefficients, k * features + f) * load4(half, 3 * f + c)
                store4(h, first + 3 * (k * corners + l) + c, total)


@njit(inline="always")
def _mirror(t, features):
    """Blocks with f > g from those with f < g."""
    for f in range(features):
        for g in range(f):
            a, b = 3 * (f * features + g), 3 * (g * features + f)
            for c in range(3):
                for d in range(3):
                    t[a + c, d] = t[b + d, c]


@phase_kernel
def planar_cells(table, begin, end, iteration):
    """h of cells in a plane (three features, four corners) from their springs, four at a time.

    A cell's springs are filled up to a multiple of four with springs of no stiffness.
    """
    starts, ends, stiffness, length = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    phi, q, coefficients, h = rows(table, 4), rows(table, 5), floats(table, 6), rows(table, 7)
    t, half = np.zeros((27, 4), np.float32), np.zeros((9, 4), np.float32)
    one, smallest = splat4(np.float32(1.0)), splat4(SMALLEST_SQUARE)
    for cell in range(begin, end):
        zero = splat4(np.float32(0.0))
        d00, o00, d01, o01, d02, o02 = zero, zero, zero, zero, zero, zero
        d11, o11, d12, o12, d22, o22 = zero, zero, zero, zero, zero, zero
        for e in range(at(starts, cell), at(starts, cell + 1), 4):
            x0 = load4(q, at(ends, 2 * e)) - load4(q, at(ends, 2 * e + 1))
            x1 = load4(q, at(ends, 2 * e + 2)) - load4(q, at(ends, 2 * e + 3))
            x2 = load4(q, at(ends, 2 * e + 4)) - load4(q, at(ends, 2 * e + 5))
            x3 = load4(q, at(ends, 2 * e + 6)) - load4(q, at(ends, 2 * e + 7))
            inverse = one / sqrt4(max4(square_norms4(x0, x1, x2, x3), smallest))
            w = load4_flat(stiffness, e)
            across = max4(w - w * load4_flat(length, e) * inverse, zero)
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


@phase_kernel
def general_cells(table, begin, end, iteration):
    """h of cells of any dimension from their springs and tetrahedra."""
    starts, ends, stiffness, length = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    phi, q, coefficients, h = floats(table, 4), rows(table, 5), floats(table, 6), rows(table, 7)
    tet_starts, corners4, operator, weights, slopes = (
        ints(table, 8),
        ints(table, 9),
        floats(table, 10),
        floats(table, 11),
        rows(table, 12),
    )
    corners = ints(table, 13)[0]
    volume_starts, volume_corners, volume_operator, volume_weights, volume_slopes = (
        ints(table, 14),
        ints(table, 15),
        floats(table, 16),
        floats(table, 17),
        rows(table, 18),
    )
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


@njit(inline="always")
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


@njit(inline="always")
def _cross(a, b):
    return yzx4(a * yzx4(b) - yzx4(a) * b)


@njit(inline="always")
def _add_volume(t, features, w, slopes, first, f, turned):
    """T_fg += w (N g_g)(N g_f)ᵀ for f <= g, N = cof F / ‖cof F‖: only what changes the volume is stiff."""
    n0, n1, n2 = _cross(f[1], f[2]), _cross(f[2], f[0]), _cross(f[0], f[1])
    square = max(dot4(n0, n0) + dot4(n1, n1) + dot4(n2, n2), SMALLEST_SQUARE)
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


# --- the matrix ------------------------------------------------------------------------------------------------------


@phase_kernel
def assemble_slabs(table, begin, end, iteration):
    """U of slabs [begin, end): the constant part, then h of the cells around them."""
    slabs, u, constant = ints(table, 0), doubles(table, 1), doubles(table, 2)
    cell_at, cell_list, cell_nodes = ints(table, 3), ints(table, 4), ints(table, 5)
    slab_of, place_of, h, corners = ints(table, 6), ints(table, 7), rows(table, 8), ints(table, 9)[0]
    for s in range(begin, end):
        own = SLAB_COLUMNS * s
        size, follower = slabs[own + SIZE], slabs[own + NEXT]
        at_u, at_c = slabs[own + MATRIX], slabs[own + CONSTANT]
        width = 6 * size
        for k in range(3 * size * width):
            u[at_u + k] = 0.0
        for i in range(size):
            for j in range(2 * size):
                value = constant[at_c + i * 2 * size + j]
                for c in range(3):
                    u[at_u + (3 * i + c) * width + 3 * j + c] = value
        for listed in range(cell_at[s], cell_at[s + 1]):
            cell = cell_list[listed]
            for k in range(corners):
                node = cell_nodes[cell * corners + k]
                if slab_of[node] != s:
                    continue
                i = place_of[node]
                for l in range(corners):
                    other = cell_nodes[cell * corners + l]
                    j = place_of[other]
                    if slab_of[other] == follower:
                        j += size
                    elif slab_of[other] != s or j < i:
                        continue
                    to = at_u + 3 * i * width + 3 * j
                    block = 3 * corners * corners * cell + 3 * (min(k, l) * corners + max(k, l))
                    for c in range(3):
                        for d in range(3):
                            value = h[block + c, d] if k <= l else h[block + d, c]
                            u[to + c * width + d] += np.float64(value)


@njit(cache=True, nogil=True)
def add_diagonal(vertices, held, at, columns, values, slab_of, place_of, slabs, constant):
    """Pᵀ diag(held) P of the vertices named, added to the constant part; P by rows (at, columns, values)."""
    for v in vertices:
        for k in range(at[v], at[v + 1]):
            s, i = slab_of[columns[k]], place_of[columns[k]]
            size = slabs[s, SIZE]
            row = slabs[s, CONSTANT] + 2 * size * i
            share = held[v] * values[k]
            for l in range(at[v], at[v + 1]):
                other = slab_of[columns[l]]
                if other == s:
                    constant[row + place_of[columns[l]]] += share * values[l]
                elif other == slabs[s, NEXT]:
                    constant[row + size + place_of[columns[l]]] += share * values[l]


# --- elimination -----------------------------------------------------------------------------------------------------


@njit(inline="always")
def _scale_row(row, j, width):
    """Divide a row by the root of its diagonal entry j; the inverse of that root, or 0 if there is none."""
    pivot = row[j]
    if not pivot > 0.0 or not np.isfinite(pivot):
        return 0.0
    pivot = 1.0 / np.sqrt(pivot)
    for k in range(j, width):
        row[k] *= pivot
    return pivot


@njit(inline="always")
def _subtract(row, f, other, first, width):
    for k in range(first, width):
        row[k] -= f * other[k]


@njit(inline="always")
def _factor(u, at_u, n, width, y, at_y):
    """Cholesky of the first n columns of n rows, and what it makes of the others and of y; whether it could be done.

    Row j becomes row j of the upper factor: u_j = u_j/√u_jj, then u_i -= u_ji u_j for the rows below. The three rows of
    a node are done together, so that those below are read and written once for all three.
    """
    for j in range(0, n, 3):
        a, b = u[at_u + j * width : at_u + (j + 1) * width], u[at_u + (j + 1) * width : at_u + (j + 2) * width]
        c = u[at_u + (j + 2) * width : at_u + (j + 3) * width]
        scale = _scale_row(a, j, width)
        if scale == 0.0:
            return False
        ya = y[at_y + j] * scale
        _subtract(b, a[j + 1], a, j + 1, width)
        _subtract(c, a[j + 2], a, j + 2, width)
        scale = _scale_row(b, j + 1, width)
        if scale == 0.0:
            return False
        yb = (y[at_y + j + 1] - a[j + 1] * ya) * scale
        _subtract(c, b[j + 2], b, j + 2, width)
        scale = _scale_row(c, j + 2, width)
        if scale == 0.0:
            return False
        yc = (y[at_y + j + 2] - a[j + 2] * ya - b[j + 2] * yb) * scale
        y[at_y + j], y[at_y + j + 1], y[at_y + j + 2] = ya, yb, yc
        for i in range(j + 3, n):
            row = u[at_u + i * width : at_u + (i + 1) * width]
            fa, fb, fc = a[i], b[i], c[i]
            for k in range(i, width):
                row[k] -= fa * a[k] + fb * b[k] + fc * c[k]
            y[at_y + i] -= fa * ya + fb * yb + fc * yc
    return True


@njit(inline="always")
def _pass_on(u, at_u, n, width, y, at_y, to, at_to, m, to_width, to_y, at_to_y):
    """The next slab's upper triangle -= WᵀW and its y -= Wᵀ y, W the columns beyond n of the factor."""
    j = 0
    while j + 3 <= n:  # a slab has three rows a node
        first = at_u + j * width + n
        a, b, c = u[first : first + m], u[first + width : first + width + m], u[first + 2 * width : first + 2 * width + m]
        ya, yb, yc = y[at_y + j], y[at_y + j + 1], y[at_y + j + 2]
        for i in range(m):
            row = to[at_to + i * to_width : at_to + i * to_width + m]
            fa, fb, fc = a[i], b[i], c[i]
            for k in range(i, m):
                row[k] -= fa * a[k] + fb * b[k] + fc * c[k]
            to_y[at_to_y + i] -= fa * ya + fb * yb + fc * yc
        j += 3


@phase_kernel
def eliminate(table, begin, end, iteration):
    """Items are the two halves of every part: from its end to the slab before the middle one, whose share is kept apart."""
    parts, slabs, u, y = ints(table, 0), ints(table, 1), doubles(table, 2), doubles(table, 3)
    f, meeting, meeting_y, meeting_at, failed = (
        rows(table, 4),
        doubles(table, 5),
        doubles(table, 6),
        ints(table, 7),
        ints(table, 8),
    )
    for item in range(begin, end):
        p, half = item // 2, item % 2
        first, last = parts[PART_COLUMNS * p + FIRST], parts[PART_COLUMNS * p + LAST]
        middle = parts[PART_COLUMNS * p + MIDDLE]
        n = 3 * slabs[SLAB_COLUMNS * first + SIZE]
        at_m, at_my = meeting_at[2 * item], meeting_at[2 * item + 1]
        for k in range(n * n):
            meeting[at_m + k] = 0.0
        for k in range(n):
            meeting_y[at_my + k] = 0.0
        failed[item] = 0
        step = 1 if half == 0 else -1
        s = first if half == 0 else last - 1
        for x in range(s, middle, step):
            _load_forces(f, slabs, x, y)
        while s != middle:
            own, to = SLAB_COLUMNS * s, SLAB_COLUMNS * (s + step)
            at_u, at_y = slabs[own + MATRIX], 3 * slabs[own + FIRST_NODE]
            if not _factor(u, at_u, n, 2 * n, y, at_y):
                failed[item] = 1
                break
            if s + step == middle:
                _pass_on(u, at_u, n, 2 * n, y, at_y, meeting, at_m, n, n, meeting_y, at_my)
            else:
                _pass_on(
                    u, at_u, n, 2 * n, y, at_y, u, slabs[to + MATRIX], n, 2 * n, y, 3 * slabs[to + FIRST_NODE]
                )
            s += step


@njit(inline="always")
def _load_forces(f, slabs, s, y):
    first, size = slabs[SLAB_COLUMNS * s + FIRST_NODE], slabs[SLAB_COLUMNS * s + SIZE]
    for i in range(size):
        for c in range(3):
            y[3 * (first + i) + c] = f[first + i, c]


@phase_kernel
def solve_middle(table, begin, end, iteration):
    """x of the middle slab of every part; where something could not be factorised, all of the part stays."""
    parts, slabs, u, y = ints(table, 0), ints(table, 1), doubles(table, 2), doubles(table, 3)
    f, meeting, meeting_y, meeting_at, failed = (
        rows(table, 4),
        doubles(table, 5),
        doubles(table, 6),
        ints(table, 7),
        ints(table, 8),
    )
    for p in range(begin, end):
        s = parts[PART_COLUMNS * p + MIDDLE]
        own = SLAB_COLUMNS * s
        n = 3 * slabs[own + SIZE]
        at_u, at_y = slabs[own + MATRIX], 3 * slabs[own + FIRST_NODE]
        _load_forces(f, slabs, s, y)
        for half in range(2):
            at_m, at_my = meeting_at[2 * (2 * p + half)], meeting_at[2 * (2 * p + half) + 1]
            for i in range(n):
                for k in range(i, n):
                    u[at_u + i * 2 * n + k] += meeting[at_m + i * n + k]
                y[at_y + i] += meeting_y[at_my + i]
        if failed[2 * p] != 0 or failed[2 * p + 1] != 0 or not _factor(u, at_u, n, 2 * n, y, at_y):
            failed[2 * p] = 1
            for k in range(n):
                y[at_y + k] = 0.0
        else:
            _back(u, at_u, n, y, at_y)


@njit(inline="always")
def _back(u, at_u, n, y, at_y):
    """x of U x = y in place, U the upper factor."""
    for back in range(n):
        i = n - 1 - back
        row = at_u + i * 2 * n
        total = y[at_y + i]
        for k in range(i + 1, n):
            total -= u[row + k] * y[at_y + k]
        y[at_y + i] = total / u[row + i]


@phase_kernel
def substitute(table, begin, end, iteration):
    """x of the other slabs, from the middle outwards; items are halves of parts."""
    parts, slabs, u, y, failed = ints(table, 0), ints(table, 1), doubles(table, 2), doubles(table, 3), ints(table, 8)
    x = rows(table, 9)
    for item in range(begin, end):
        p, half = item // 2, item % 2
        first, last = parts[PART_COLUMNS * p + FIRST], parts[PART_COLUMNS * p + LAST]
        middle = parts[PART_COLUMNS * p + MIDDLE]
        n = 3 * slabs[SLAB_COLUMNS * first + SIZE]
        lost = failed[2 * p] != 0
        step = -1 if half == 0 else 1
        s = middle
        limit = first - 1 if half == 0 else last
        while s != limit:
            own = SLAB_COLUMNS * s
            at_u, at_y = slabs[own + MATRIX], 3 * slabs[own + FIRST_NODE]
            if s != middle:
                before = 3 * slabs[SLAB_COLUMNS * (s - step) + FIRST_NODE]
                for i in range(n):
                    row = at_u + i * 2 * n + n
                    total = 0.0
                    for k in range(n):
                        total += u[row + k] * y[before + k]
                    y[at_y + i] -= total
                _back(u, at_u, n, y, at_y)
            if s != middle or half == 0:
                node = slabs[own + FIRST_NODE]
                for i in range(slabs[own + SIZE]):
                    for c in range(3):
                        x[node + i, c] = np.float32(0.0) if lost else np.float32(y[at_y + 3 * i + c])
            s += step


# --- the step --------------------------------------------------------------------------------------------------------


@phase_kernel
def lattice_step(table, begin, end, iteration):
    """q ← q + P x, keeping where it was and the residual there."""
    row_at, j, a, x = ints(table, 0), ints(table, 1), floats(table, 2), rows(table, 3)
    q, q_old, r, r_old, state = rows(table, 4), rows(table, 5), rows(table, 6), rows(table, 7), doubles(table, 8)
    scale = np.float32(1.0 if iteration == 0 else state[SCALE])
    for i in range(begin, end):
        qi = load4(q, i)
        store4(q_old, i, qi)
        store4(r_old, i, load4(r, i))
        total = splat4(np.float32(0.0))
        for k in range(at(row_at, i), at(row_at, i + 1)):
            total += at(a, k) * load4(x, at(j, k))
        store4(q, i, qi + scale * total)


@phase_kernel
def judge_lattice_blocks(table, begin, end, iteration):
    """r·d and r_old·d in blocks, d = q - q_old."""
    q, q_old, r, r_old, partial = rows(table, 0), rows(table, 1), rows(table, 2), rows(table, 3), doubles(table, 4)
    for first in range(begin, end, BLOCK):
        new = old = 0.0
        for i in range(first, min(first + BLOCK, end)):
            d = load4(q, i) - load4(q_old, i)
            new += np.float64(dot4(load4(r, i), d))
            old += np.float64(dot4(load4(r_old, i), d))
        partial[2 * (first // BLOCK)] = new
        partial[2 * (first // BLOCK) + 1] = old


@phase_kernel
def judge_lattice(table, begin, end, iteration):
    """How much of the step to keep: all, unless it went too far along its own direction.

    With a = r_old·d the slope at its beginning and b = r·d what is left of it at its end, a quadratic has its minimum at
    a/(a - b) of the step. A step whose slope is not positive is not taken at all. `most_back`: -b/a that is let pass.
    """
    partial, state, most_back = doubles(table, 0), doubles(table, 1), doubles(table, 2)[0]
    if iteration == 0:
        state[SCALE], state[REJECTIONS], state[STEPS] = 1.0, 0.0, 0.0
    new = old = 0.0
    for b in range(partial.shape[0] // 2):
        new += partial[2 * b]
        old += partial[2 * b + 1]
    state[KEPT] = 1.0
    state[STEPS] += 1.0
    if not old > 0.0 or not np.isfinite(new):
        state[KEPT] = 0.0
    elif new < -most_back * old:
        state[KEPT] = old / (old - new)
    if state[KEPT] < 0.5:
        state[REJECTIONS] += 1.0
        state[SCALE] *= 0.5


@phase_kernel
def keep_lattice_step(table, begin, end, iteration):
    """q and r between where the step began and where it ended."""
    q, q_old, r, r_old, state = rows(table, 0), rows(table, 1), rows(table, 2), rows(table, 3), doubles(table, 4)
    kept = np.float32(state[KEPT])
    if kept == np.float32(1.0):
        return
    if kept == np.float32(0.0):
        for i in range(begin, end):
            store4(q, i, load4(q_old, i))
            store4(r, i, load4(r_old, i))
        return
    for i in range(begin, end):
        qo, ro = load4(q_old, i), load4(r_old, i)
        store4(q, i, qo + kept * (load4(q, i) - qo))
        store4(r, i, ro + kept * (load4(r, i) - ro))
