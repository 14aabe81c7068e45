"""A Newton step in a smooth space: positions move by P x, P the multilinear hats of a lattice over the rest shape.

    (Pᵀ H P) x = Pᵀ r,     q ← q + P x,     H the Hessian of the step's energy at q, r = -∇ε(q)

What turns as a whole, turns here: H is soft across a spring where Y is as stiff as along it. Only springs and
tetrahedra change their part of PᵀHP. Over a quarter (an eighth) of a cell, a *sub-cell*, the gradient of P x is nearly
constant, so all that is needed of the constraints there is the sum of their stiffnesses against it,

    T_ab = Σ_c w_c Σ_rs D_ra D_sb C_rs,      D = A_c (rest positions in cells),      C = I - ∂p/∂z,

a 3 x 3 block for every pair of lattice axes a, b, as in a finite element with one point of quadrature a sub-cell. C is
formed as a sum of positive parts: as a difference from Y it would cancel in float32.

    spring       C = (1 - t) I + t d̂d̂ᵀ,  t = min(1, l/|d|)
    tetrahedron  C dF = (dF + R dFᵀ R)/2, linear elasticity in the frame of R [mueller2004], so T_ab = w/2 (δ_ab I + r_b r_aᵀ)

The matrix is block tridiagonal over the slabs of nodes along the longest axis. Elimination begins at both ends, so two
threads can share it, and meets in the middle:

    slab   0 ──► 1 ──► 2 ──► middle ◄── 4 ◄── 5      U[s] = [ upper triangle of the slab | coupling to the next ]

T is in float32 (six pairs of axes, three rows of four each), all that follows in float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .acceleration import BLOCK
from .rotation import gradient, rotation, rotations4
from .simd import at, dot4, lane4, load4, make4, splat4, store4, yzx4
from .sweep import SMALLEST_SQUARE
from .team import doubles, floats, ints, phase_kernel, rows

PAIRS = 6  # of lattice axes: 00, 01, 02, 11, 12, 22; in a plane only 00, 01, 11 are used
ROWS = 3 * PAIRS  # of T for a sub-cell

# Columns of the list of slabs.
PART, NEXT, SIZE, MATRIX, CONSTANT, FIRST_NODE = range(6)
SLAB_COLUMNS = 6
# Columns of the list of parts: slabs [first, last), the one in the middle.
FIRST, LAST, MIDDLE = range(3)
PART_COLUMNS = 3

SCALE, REJECTED, REJECTIONS, STEPS = range(4)  # slots of the state
STATE_SIZE = 4


# --- T ---------------------------------------------------------------------------------------------------------------


@njit(inline="always")
def _store_block(t, row, diagonal, off):
    """A symmetric block as three rows: (xx, xy, zx), (xy, yy, yz), (zx, yz, zz)."""
    zero = np.float32(0.0)
    xy, yz, zx = lane4(off, 0), lane4(off, 1), lane4(off, 2)
    store4(t, row, make4(lane4(diagonal, 0), xy, zx, zero))
    store4(t, row + 1, make4(xy, lane4(diagonal, 1), yz, zero))
    store4(t, row + 2, make4(zx, yz, lane4(diagonal, 2), zero))


@njit(inline="always")
def _spring_block(e, ends, stiffness, length, q):
    """w C as (xx, yy, zz), (xy, yz, zx)."""
    d = load4(q, at(ends, 2 * e)) - load4(q, at(ends, 2 * e + 1))
    inverse = np.float32(1.0) / np.sqrt(max(dot4(d, d), SMALLEST_SQUARE))
    w = at(stiffness, e)
    across = max(w - w * at(length, e) * inverse, np.float32(0.0))
    u = ((w - across) * inverse * inverse) * d
    return u * d + splat4(across), u * yzx4(d)


@phase_kernel
def add_springs_planar(table, begin, end, iteration):
    """T of the springs of each sub-cell, for lattices in a plane."""
    starts, ends, stiffness, length = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    reach, q, t = rows(table, 4), rows(table, 5), rows(table, 6)
    for s in range(begin, end):
        zero = splat4(np.float32(0.0))
        d00, o00, d01, o01, d11, o11 = zero, zero, zero, zero, zero, zero
        for e in range(at(starts, s), at(starts, s + 1)):
            diagonal, off = _spring_block(e, ends, stiffness, length, q)
            d = load4(reach, e)
            x, y = lane4(d, 0), lane4(d, 1)
            xx, xy, yy = x * x, x * y, y * y
            d00 += xx * diagonal
            o00 += xx * off
            d01 += xy * diagonal
            o01 += xy * off
            d11 += yy * diagonal
            o11 += yy * off
        _store_block(t, ROWS * s, d00, o00)
        _store_block(t, ROWS * s + 3, d01, o01)
        _store_block(t, ROWS * s + 9, d11, o11)


@phase_kernel
def add_springs_spatial(table, begin, end, iteration):
    """T of the springs of each sub-cell, for lattices in space."""
    starts, ends, stiffness, length = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    reach, q, t = rows(table, 4), rows(table, 5), rows(table, 6)
    for s in range(begin, end):
        zero = splat4(np.float32(0.0))
        d00, o00, d01, o01, d02, o02 = zero, zero, zero, zero, zero, zero
        d11, o11, d12, o12, d22, o22 = zero, zero, zero, zero, zero, zero
        for e in range(at(starts, s), at(starts, s + 1)):
            diagonal, off = _spring_block(e, ends, stiffness, length, q)
            d = load4(reach, e)
            x, y, z = lane4(d, 0), lane4(d, 1), lane4(d, 2)
            d00 += (x * x) * diagonal
            o00 += (x * x) * off
            d01 += (x * y) * diagonal
            o01 += (x * y) * off
            d02 += (x * z) * diagonal
            o02 += (x * z) * off
            d11 += (y * y) * diagonal
            o11 += (y * y) * off
            d12 += (y * z) * diagonal
            o12 += (y * z) * off
            d22 += (z * z) * diagonal
            o22 += (z * z) * off
        _store_block(t, ROWS * s, d00, o00)
        _store_block(t, ROWS * s + 3, d01, o01)
        _store_block(t, ROWS * s + 6, d02, o02)
        _store_block(t, ROWS * s + 9, d11, o11)
        _store_block(t, ROWS * s + 12, d12, o12)
        _store_block(t, ROWS * s + 15, d22, o22)


@njit(inline="always")
def _add_outer(t, row, own, scale, left, right):
    """Rows `row` to `row + 2` of T += own I + scale left rightᵀ."""
    r = scale * right
    zero = np.float32(0.0)
    store4(t, row, load4(t, row) + lane4(left, 0) * r + make4(own, zero, zero, zero))
    store4(t, row + 1, load4(t, row + 1) + lane4(left, 1) * r + make4(zero, own, zero, zero))
    store4(t, row + 2, load4(t, row + 2) + lane4(left, 2) * r + make4(zero, zero, own, zero))


@njit(inline="always")
def _add_tet(t, row, w, axes, own, f):
    """A tetrahedron's T: w/2 (δ_ab I + r_b r_aᵀ) with r_a = R m_a, m_a the gradient of lattice coordinate a."""
    zero = np.float32(0.0)
    m0, m1, m2 = load4(axes, own), load4(axes, own + 1), load4(axes, own + 2)
    r0 = lane4(m0, 0) * f[0] + lane4(m0, 1) * f[1] + lane4(m0, 2) * f[2]
    r1 = lane4(m1, 0) * f[0] + lane4(m1, 1) * f[1] + lane4(m1, 2) * f[2]
    r2 = lane4(m2, 0) * f[0] + lane4(m2, 1) * f[1] + lane4(m2, 2) * f[2]
    half = np.float32(0.5) * w
    _add_outer(t, row, half * dot4(m0, m0), half, r0, r0)
    _add_outer(t, row + 3, zero, half, r1, r0)
    _add_outer(t, row + 6, zero, half, r2, r0)
    _add_outer(t, row + 9, half * dot4(m1, m1), half, r1, r1)
    _add_outer(t, row + 12, zero, half, r2, r1)
    _add_outer(t, row + 15, half * dot4(m2, m2), half, r2, r2)


@phase_kernel
def add_tets(table, begin, end, iteration):
    """T of the tetrahedra of each sub-cell, four at a time: their number is a multiple of four, of weight 0 the last.

    `fresh`: nobody has written T before. `axes`: the gradients of each part's three lattice coordinates in the rest frame (1/m).
    """
    starts, vertices, operator, weights = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    axes, axes_of, q, t, fresh = rows(table, 4), ints(table, 5), rows(table, 6), rows(table, 7), ints(table, 8)[0]
    for s in range(begin, end):
        row = ROWS * s
        if fresh != 0:
            for k in range(ROWS):
                store4(t, row + k, splat4(np.float32(0.0)))
        own = 3 * at(axes_of, s)
        for c in range(at(starts, s), at(starts, s + 1), 4):
            f0, f1 = gradient(c, vertices, operator, q), gradient(c + 1, vertices, operator, q)
            f2, f3 = gradient(c + 2, vertices, operator, q), gradient(c + 3, vertices, operator, q)
            certain, r0, r1, r2, r3 = rotations4(f0, f1, f2, f3)
            if not certain:
                r0, r1, r2, r3 = rotation(f0), rotation(f1), rotation(f2), rotation(f3)
            _add_tet(t, row, at(weights, c), axes, own, r0)
            _add_tet(t, row, at(weights, c + 1), axes, own, r1)
            _add_tet(t, row, at(weights, c + 2), axes, own, r2)
            _add_tet(t, row, at(weights, c + 3), axes, own, r3)


# --- the matrix ------------------------------------------------------------------------------------------------------


@phase_kernel
def assemble_slabs(table, begin, end, iteration):
    """U of slabs [begin, end): the constant part, then what the cells around them add.

    Every cell has `corners` nodes and as many sub-cells; `slopes` are the gradients of the corners' hats there.
    """
    slabs, u, constant = ints(table, 0), doubles(table, 1), doubles(table, 2)
    cell_at, cell_list, cell_nodes = ints(table, 3), ints(table, 4), ints(table, 5)
    slab_of, place_of, slopes, t = ints(table, 6), ints(table, 7), doubles(table, 8), rows(table, 9)
    corners, axes = ints(table, 10)[0], ints(table, 10)[1]
    m = np.empty((3, 3, 3))  # Σ_b slope_b T_ab of one corner
    sums = np.empty((8, 8, 3, 3))
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
                if slab_of[cell_nodes[cell * corners + k]] == s:
                    for l in range(corners):
                        sums[k, l, :, :] = 0.0
            for part in range(corners):
                row = ROWS * (cell * corners + part)
                for l in range(corners):
                    _slope_blocks(m, slopes, (part * corners + l) * 3, t, row, axes)
                    for k in range(corners):
                        if slab_of[cell_nodes[cell * corners + k]] == s:
                            for a in range(axes):
                                g = slopes[(part * corners + k) * 3 + a]
                                for c in range(3):
                                    for d in range(3):
                                        sums[k, l, c, d] += g * m[a, c, d]
            for k in range(corners):
                node = cell_nodes[cell * corners + k]
                if slab_of[node] == s:
                    i = place_of[node]
                    for l in range(corners):
                        other = cell_nodes[cell * corners + l]
                        j = place_of[other]
                        if slab_of[other] == follower:
                            j += size
                        elif slab_of[other] != s or j < i:
                            continue
                        for c in range(3):
                            to = at_u + (3 * i + c) * width + 3 * j
                            for d in range(3):
                                u[to + d] += sums[k, l, c, d]


@njit(inline="always")
def _slope_blocks(m, slopes, first, t, row, axes):
    """m_a = Σ_b slope_b T_ab, T_ba = T_abᵀ."""
    for a in range(axes):
        for c in range(3):
            for d in range(3):
                total = 0.0
                for b in range(axes):
                    pair = row + 3 * (_pair(a, b) if a <= b else _pair(b, a))
                    value = t[pair + c, d] if a <= b else t[pair + d, c]
                    total += slopes[first + b] * np.float64(value)
                m[a, c, d] = total


@njit(inline="always")
def _pair(a, b):
    """The number of the pair of axes a <= b."""
    return a * (5 - a) // 2 + b


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
def _factor(u, at_u, n, width, y, at_y):
    """Cholesky of the first n columns of n rows, and what it makes of the others and of y; whether it could be done.

    Row j becomes row j of the upper factor: u_j = u_j/√u_jj, then u_i -= u_ji u_j for the rows below.
    """
    for j in range(n):
        row_j = at_u + j * width
        pivot = u[row_j + j]
        if not pivot > 0.0 or not np.isfinite(pivot):
            return False
        pivot = 1.0 / np.sqrt(pivot)
        for k in range(j, width):
            u[row_j + k] *= pivot
        y[at_y + j] *= pivot
        for i in range(j + 1, n):
            f = u[row_j + i]
            if f != 0.0:
                row_i = at_u + i * width
                for k in range(i, width):
                    u[row_i + k] -= f * u[row_j + k]
                y[at_y + i] -= f * y[at_y + j]
    return True


@njit(inline="always")
def _pass_on(u, at_u, n, width, y, at_y, to, at_to, m, to_width, to_y, at_to_y):
    """The next slab's upper triangle -= WᵀW and its y -= Wᵀ y, W the columns beyond n of the factor; four rows at once."""
    for i in range(m):
        row = at_to + i * to_width
        j = 0
        while j + 4 <= n:
            a = at_u + j * width + n
            b, c, d = a + width, a + 2 * width, a + 3 * width
            fa, fb, fc, fd = u[a + i], u[b + i], u[c + i], u[d + i]
            for k in range(i, m):
                to[row + k] -= fa * u[a + k] + fb * u[b + k] + fc * u[c + k] + fd * u[d + k]
            to_y[at_to_y + i] -= fa * y[at_y + j] + fb * y[at_y + j + 1] + fc * y[at_y + j + 2] + fd * y[at_y + j + 3]
            j += 4
        while j < n:
            a = at_u + j * width + n
            f = u[a + i]
            for k in range(i, m):
                to[row + k] -= f * u[a + k]
            to_y[at_to_y + i] -= f * y[at_y + j]
            j += 1


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
    """Whether the step raised the energy, by the trapezium rule; then the next is half as long."""
    partial, state = doubles(table, 0), doubles(table, 1)
    if iteration == 0:
        state[SCALE], state[REJECTIONS], state[STEPS] = 1.0, 0.0, 0.0
    new = old = 0.0
    for b in range(partial.shape[0] // 2):
        new += partial[2 * b]
        old += partial[2 * b + 1]
    state[REJECTED] = 0.0
    state[STEPS] += 1.0
    if not new + old >= 0.0:  # also when they are not numbers
        state[REJECTED] = 1.0
        state[REJECTIONS] += 1.0
        state[SCALE] *= 0.5


@phase_kernel
def take_lattice_back(table, begin, end, iteration):
    """q = q_old and r = r_old, if the step was rejected."""
    q, q_old, r, r_old, state = rows(table, 0), rows(table, 1), rows(table, 2), rows(table, 3), doubles(table, 4)
    if state[REJECTED] == 0.0:
        return
    for i in range(begin, end):
        store4(q, i, load4(q_old, i))
        store4(r, i, load4(r_old, i))
