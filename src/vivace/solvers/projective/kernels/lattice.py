"""A Newton step in a smooth space: positions move by P x, P the multilinear hats of a lattice over the rest shape.

    (Pᵀ H P) x = Pᵀ r,     q ← q + P x,     H the Hessian of the step's energy at q, r = -∇ε(q)

What turns as a whole, turns here: H is soft across a spring where Y is as stiff as along it. Only springs and
tetrahedra change their part of PᵀHP (`lattice_cells`); inertia, bending and all else is constant.

The matrix is block tridiagonal over the slabs of nodes along the longest axis. Elimination begins at both ends, so two
threads can share it, and meets in the middle:

    slab   0 ──► 1 ──► 2 ──► middle ◄── 4 ◄── 5      U[s] = [ upper triangle of the slab | coupling to the next ]

Cells are summed in float32, all that follows in float64.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import count, double, doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import compiled, inlined
from ....backends.cpu.simd import at, dot4, load4, splat4, store4
from .acceleration import BLOCK

LABEL = "lattice"  # what phases of these kernels are reported under

# Columns of the list of slabs.
PART, NEXT, SIZE, MATRIX, CONSTANT, FIRST_NODE = range(6)
SLAB_COLUMNS = 6
# Columns of the list of parts: slabs [first, last), the one in the middle.
FIRST, LAST, MIDDLE = range(3)
PART_COLUMNS = 3

SCALE, KEPT, REJECTIONS, STEPS = range(4)  # slots of the state
STATE_SIZE = 4


# --- the matrix ------------------------------------------------------------------------------------------------------


@phase_kernel(items="cell_at-1")
def assemble_slabs(
    begin, end, iteration, slabs: ints, u: doubles, constant: doubles, cell_at: ints, cell_list: ints,
    cell_nodes: ints, slab_of: ints, place_of: ints, h: rows, corners: count,
):  # fmt: skip
    """U of slabs [begin, end): the constant part, then h of the cells around them."""
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
                for m in range(corners):
                    other = cell_nodes[cell * corners + m]
                    j = place_of[other]
                    if slab_of[other] == follower:
                        j += size
                    elif slab_of[other] != s or j < i:
                        continue
                    to = at_u + 3 * i * width + 3 * j
                    block = 3 * corners * corners * cell + 3 * (min(k, m) * corners + max(k, m))
                    for c in range(3):
                        for d in range(3):
                            value = h[block + c, d] if k <= m else h[block + d, c]
                            u[to + c * width + d] += np.float64(value)


@compiled
def add_diagonal(vertices, held, at, columns, values, slab_of, place_of, slabs, constant):
    """Pᵀ diag(held) P of the vertices named, added to the constant part; P by rows (at, columns, values)."""
    for v in vertices:
        for k in range(at[v], at[v + 1]):
            s, i = slab_of[columns[k]], place_of[columns[k]]
            size = slabs[s, SIZE]
            row = slabs[s, CONSTANT] + 2 * size * i
            share = held[v] * values[k]
            for m in range(at[v], at[v + 1]):
                other = slab_of[columns[m]]
                if other == s:
                    constant[row + place_of[columns[m]]] += share * values[m]
                elif other == slabs[s, NEXT]:
                    constant[row + size + place_of[columns[m]]] += share * values[m]


# --- elimination -----------------------------------------------------------------------------------------------------


@inlined
def _scale_row(row, j, width):
    """Divide a row by the root of its diagonal entry j; the inverse of that root, or 0 if there is none."""
    pivot = row[j]
    if not pivot > 0.0 or not np.isfinite(pivot):
        return 0.0
    pivot = 1.0 / np.sqrt(pivot)
    for k in range(j, width):
        row[k] *= pivot
    return pivot


@inlined
def _subtract(row, f, other, first, width):
    for k in range(first, width):
        row[k] -= f * other[k]


@inlined
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


@inlined
def _pass_on(u, at_u, n, width, y, at_y, to, at_to, m, to_width, to_y, at_to_y):
    """The next slab's upper triangle -= WᵀW and its y -= Wᵀ y, W the columns beyond n of the factor."""
    j = 0
    while j + 3 <= n:  # a slab has three rows a node
        first = at_u + j * width + n
        a, b, c = (
            u[first : first + m],
            u[first + width : first + width + m],
            u[first + 2 * width : first + 2 * width + m],
        )
        ya, yb, yc = y[at_y + j], y[at_y + j + 1], y[at_y + j + 2]
        for i in range(m):
            row = to[at_to + i * to_width : at_to + i * to_width + m]
            fa, fb, fc = a[i], b[i], c[i]
            for k in range(i, m):
                row[k] -= fa * a[k] + fb * b[k] + fc * c[k]
            to_y[at_to_y + i] -= fa * ya + fb * yb + fc * yc
        j += 3


@phase_kernel(items="failed")
def eliminate(
    begin, end, iteration, parts: ints, slabs: ints, u: doubles, y: doubles, f: rows, meeting: doubles,
    meeting_y: doubles, meeting_at: ints, failed: ints,
):  # fmt: skip
    """Items are the two halves of every part, from its end to the slab before the middle one.

    That one's share is kept apart.
    """
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
                _pass_on(u, at_u, n, 2 * n, y, at_y, u, slabs[to + MATRIX], n, 2 * n, y, 3 * slabs[to + FIRST_NODE])
            s += step


@inlined
def _load_forces(f, slabs, s, y):
    first, size = slabs[SLAB_COLUMNS * s + FIRST_NODE], slabs[SLAB_COLUMNS * s + SIZE]
    for i in range(size):
        for c in range(3):
            y[3 * (first + i) + c] = f[first + i, c]


@phase_kernel
def solve_middle(
    begin, end, iteration, parts: ints, slabs: ints, u: doubles, y: doubles, f: rows, meeting: doubles,
    meeting_y: doubles, meeting_at: ints, failed: ints,
):  # fmt: skip
    """x of the middle slab of every part; where something could not be factorised, all of the part stays."""
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


@inlined
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
def substitute(begin, end, iteration, parts: ints, slabs: ints, u: doubles, y: doubles, failed: ints, x: rows):
    """x of the other slabs, from the middle outwards; items are halves of parts."""
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


@phase_kernel(items="q")
def lattice_step(
    begin, end, iteration, row_at: ints, j: ints, a: floats, x: rows, q: rows, q_old: rows, r: rows, r_old: rows,
    state: doubles,
):  # fmt: skip
    """q ← q + P x, keeping where it was and the residual there."""
    scale = np.float32(1.0 if iteration == 0 else state[SCALE])
    for i in range(begin, end):
        qi = load4(q, i)
        store4(q_old, i, qi)
        store4(r_old, i, load4(r, i))
        total = splat4(np.float32(0.0))
        for k in range(at(row_at, i), at(row_at, i + 1)):
            total += at(a, k) * load4(x, at(j, k))
        store4(q, i, qi + scale * total)


@phase_kernel(items="q")
def judge_lattice_blocks(begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, partial: doubles):
    """r·d and r_old·d in blocks, d = q - q_old."""
    for first in range(begin, end, BLOCK):
        new = old = 0.0
        for i in range(first, min(first + BLOCK, end)):
            d = load4(q, i) - load4(q_old, i)
            new += np.float64(dot4(load4(r, i), d))
            old += np.float64(dot4(load4(r_old, i), d))
        partial[2 * (first // BLOCK)] = new
        partial[2 * (first // BLOCK) + 1] = old


@phase_kernel
def judge_lattice(begin, end, iteration, partial: doubles, state: doubles, most_back: double):
    """How much of the step to keep: all, unless it went too far along its own direction.

    With a = r_old·d the slope at its beginning and b = r·d what is left of it at its end, a quadratic has its minimum
    at a/(a - b) of the step. A step whose slope is not positive is not taken at all. `most_back`: -b/a that may pass.
    """
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


@phase_kernel(items="q")
def keep_lattice_step(begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, state: doubles):
    """q and r between where the step began and where it ended."""
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
