"""The factorised scheme: impulses of contacts against velocities of bodies, w = W Jᵀ λ [thesis2010, figure 3.6].

w is kept up to date. A contact reads its frame and arms, two bodies, and nothing else: its cost does not depend on how
many contacts a body has.

A contact is a row of 24 numbers: n 0-2, s 3-5, arms 6-8 and 9-11, b 12-15, r-factors of normal, tangents and spin
16-18, coefficients of friction along s and t and of spin 19-21, contact radius 22, kind of friction set 23. The blocks
of 4 x 6 and 6 x 4 that the thesis stores would be 96. A body is a row of 8: inverse mass, inverse inertia (xx, xy, xz,
yy, yz, zz), and zero, or where in the same array its inverse inertia of 6 x 6 begins, if springs hold it. Velocities
have a row of 8, too: a cache line.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.addresses import double_at, int_at, put_double
from ....backends.cpu.arguments import count, doubles, ints, phase_kernel
from ....backends.cpu.compiling import function
from ....rigid.kernels.proximal import project_friction

LABEL = "contact sweeps"
ROW, BODY = 24, 8  # widths of the rows
MATRIX = 7  # where in a body's row it says where its matrix is
RATES = 16  # where the r-factors of a row begin


@function
def is_idle(numbers, at):
    """Whether four numbers are all zero."""
    found = double_at(numbers, at) == 0.0 and double_at(numbers, at + 1) == 0.0
    return found and double_at(numbers, at + 2) == 0.0 and double_at(numbers, at + 3) == 0.0


@function
def solve_contact(rows, k, impulses, w, i, j):
    """What the impulse of contact k changes by (3.1, 3.2): along n, s, t, and the spin's."""
    o, a, c, at = ROW * k, BODY * i, BODY * j, 4 * k
    nx, ny, nz = double_at(rows, o), double_at(rows, o + 1), double_at(rows, o + 2)
    px, py, pz = double_at(rows, o + 6), double_at(rows, o + 7), double_at(rows, o + 8)
    qx, qy, qz = double_at(rows, o + 9), double_at(rows, o + 10), double_at(rows, o + 11)
    # The velocity of the contact point (2.55).
    ux, uy, uz = double_at(w, a + 3), double_at(w, a + 4), double_at(w, a + 5)
    vx, vy, vz = double_at(w, c + 3), double_at(w, c + 4), double_at(w, c + 5)
    dx = double_at(w, c) + vy * qz - vz * qy - double_at(w, a) - uy * pz + uz * py
    dy = double_at(w, c + 1) + vz * qx - vx * qz - double_at(w, a + 1) - uz * px + ux * pz
    dz = double_at(w, c + 2) + vx * qy - vy * qx - double_at(w, a + 2) - ux * py + uy * px
    zn = double_at(impulses, at) - double_at(rows, o + 16) * (nx * dx + ny * dy + nz * dz + double_at(rows, o + 12))
    if zn <= 0.0 and is_idle(impulses, at):
        return 0.0, 0.0, 0.0, 0.0  # nothing touches here: most contacts of bodies that fall side by side
    sx, sy, sz = double_at(rows, o + 3), double_at(rows, o + 4), double_at(rows, o + 5)
    tx, ty, tz = ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
    spin = double_at(rows, o + 22) * (nx * (vx - ux) + ny * (vy - uy) + nz * (vz - uz))
    zs = double_at(impulses, at + 1) - double_at(rows, o + 17) * (sx * dx + sy * dy + sz * dz + double_at(rows, o + 13))
    zt = double_at(impulses, at + 2) - double_at(rows, o + 17) * (tx * dx + ty * dy + tz * dz + double_at(rows, o + 14))
    zr = double_at(impulses, at + 3) - double_at(rows, o + 18) * (spin + double_at(rows, o + 15))
    zn = max(zn, 0.0)
    # Friction is bound by the normal impulse that has just been found: its law then holds whenever one stops.
    zs, zt, zr = project_friction(
        np.int64(double_at(rows, o + 23)),
        zn,
        zs,
        zt,
        zr,
        double_at(rows, o + 19),
        double_at(rows, o + 20),
        double_at(rows, o + 21),
    )
    return (
        zn - double_at(impulses, at),
        zs - double_at(impulses, at + 1),
        zt - double_at(impulses, at + 2),
        zr - double_at(impulses, at + 3),
    )


@function
def push(w, bodies, i, arm, rows, o, fx, fy, fz, spin, sign):
    """Add an impulse and a torque about the normal to a body's velocity: a column of W Jᵀ (3.19)."""
    a = BODY * i
    m = double_at(bodies, a)
    if m == 0.0:
        return  # contacts with it do not depend on each other: threads may be here at the same time
    px, py, pz = double_at(rows, o + arm), double_at(rows, o + arm + 1), double_at(rows, o + arm + 2)
    spin *= double_at(rows, o + 22)
    gx = py * fz - pz * fy + spin * double_at(rows, o)
    gy = pz * fx - px * fz + spin * double_at(rows, o + 1)
    gz = px * fy - py * fx + spin * double_at(rows, o + 2)
    at = np.int64(double_at(bodies, a + MATRIX))
    if at > 0:
        for c in range(6):
            e = at + 6 * c
            found = double_at(bodies, e) * fx + double_at(bodies, e + 1) * fy + double_at(bodies, e + 2) * fz
            found += double_at(bodies, e + 3) * gx + double_at(bodies, e + 4) * gy + double_at(bodies, e + 5) * gz
            put_double(w, a + c, double_at(w, a + c) + sign * found)
        return
    put_double(w, a, double_at(w, a) + sign * m * fx)
    put_double(w, a + 1, double_at(w, a + 1) + sign * m * fy)
    put_double(w, a + 2, double_at(w, a + 2) + sign * m * fz)
    xy, xz, yz = double_at(bodies, a + 2), double_at(bodies, a + 3), double_at(bodies, a + 5)
    put_double(w, a + 3, double_at(w, a + 3) + sign * (double_at(bodies, a + 1) * gx + xy * gy + xz * gz))
    put_double(w, a + 4, double_at(w, a + 4) + sign * (xy * gx + double_at(bodies, a + 4) * gy + yz * gz))
    put_double(w, a + 5, double_at(w, a + 5) + sign * (xz * gx + yz * gy + double_at(bodies, a + 6) * gz))


@function
def force(rows, o, n, s, t):
    """An impulse in world axes."""
    nx, ny, nz = double_at(rows, o), double_at(rows, o + 1), double_at(rows, o + 2)
    sx, sy, sz = double_at(rows, o + 3), double_at(rows, o + 4), double_at(rows, o + 5)
    tx, ty, tz = ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
    return n * nx + s * sx + t * tx, n * ny + s * sy + t * ty, n * nz + s * sz + t * tz


@function
def larger_of(a, b, c, d):
    """The largest magnitude; of NaN nothing is larger."""
    found = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    total = a + b + c + d
    return found if total == total else np.inf


@function
def change_impulse(impulses, previous, k, n, s, t, r):
    """Add to a contact's impulse and keep what it was; the largest of the changes (3.31)."""
    at = 4 * k
    if n == 0.0 and s == 0.0 and t == 0.0 and r == 0.0 and is_idle(impulses, at) and is_idle(previous, at):
        return 0.0  # nothing to write: memory is what large problems wait for
    put_double(previous, at, double_at(impulses, at))
    put_double(previous, at + 1, double_at(impulses, at + 1))
    put_double(previous, at + 2, double_at(impulses, at + 2))
    put_double(previous, at + 3, double_at(impulses, at + 3))
    put_double(impulses, at, double_at(impulses, at) + n)
    put_double(impulses, at + 1, double_at(impulses, at + 1) + s)
    put_double(impulses, at + 2, double_at(impulses, at + 2) + t)
    put_double(impulses, at + 3, double_at(impulses, at + 3) + r)
    return larger_of(n, s, t, r)


@function
def apply_change(w, bodies, rows, k, i, j, n, s, t, r):
    """Both bodies of a contact move."""
    if n == 0.0 and s == 0.0 and t == 0.0 and r == 0.0:
        return
    fx, fy, fz = force(rows, ROW * k, n, s, t)
    push(w, bodies, i, 6, rows, ROW * k, fx, fy, fz, r, -1.0)
    push(w, bodies, j, 9, rows, ROW * k, fx, fy, fz, r, 1.0)


@phase_kernel(items="pairs/2")
def sweep(
    begin,
    end,
    iteration,
    rows: doubles.address,
    pairs: ints.address,
    bodies: doubles.address,
    impulses: doubles.address,
    previous: doubles.address,
    w: doubles.address,
    change: doubles.address,
):
    """Gauss-Seidel over contacts that share no body that moves, or one thread's: each sees all before it."""
    largest = 0.0
    for k in range(begin, end):
        i, j = int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1)
        n, s, t, r = solve_contact(rows, k, impulses, w, i, j)
        largest = max(largest, change_impulse(impulses, previous, k, n, s, t, r))
        apply_change(w, bodies, rows, k, i, j, n, s, t, r)
    put_double(change, begin, largest)


@phase_kernel(items="starts-1")
def sweep_sets(
    begin,
    end,
    iteration,
    starts: ints.address,
    rows: doubles.address,
    pairs: ints.address,
    bodies: doubles.address,
    impulses: doubles.address,
    previous: doubles.address,
    w: doubles.address,
    change: doubles.address,
    inside: count,
):
    """Gauss-Seidel over contact sets.

    With Jacobi inside (`inside` is 0) the contacts of a set all see the same velocities, so that a box that lands flat
    is not turned by the order of its corners [thesis2010, figure 3.1].
    """
    for group in range(begin, end):
        largest = 0.0
        for k in range(int_at(starts, group), int_at(starts, group + 1)):
            i, j = int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1)
            n, s, t, r = solve_contact(rows, k, impulses, w, i, j)
            largest = max(largest, change_impulse(impulses, previous, k, n, s, t, r))
            if inside:
                apply_change(w, bodies, rows, k, i, j, n, s, t, r)
        if not inside:
            for k in range(int_at(starts, group), int_at(starts, group + 1)):
                at = 4 * k
                n, s = (
                    double_at(impulses, at) - double_at(previous, at),
                    double_at(impulses, at + 1) - double_at(previous, at + 1),
                )
                t, r = (
                    double_at(impulses, at + 2) - double_at(previous, at + 2),
                    double_at(impulses, at + 3) - double_at(previous, at + 3),
                )
                apply_change(w, bodies, rows, k, int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1), n, s, t, r)
        put_double(change, int_at(starts, group), largest)


@phase_kernel(items="pairs/2")
def relax(
    begin,
    end,
    iteration,
    rows: doubles.address,
    pairs: ints.address,
    impulses: doubles.address,
    previous: doubles.address,
    w: doubles.address,
    change: doubles.address,
):
    """Jacobi: all contacts see the velocities of the last iteration, which `gather` brings up to date afterwards."""
    largest = 0.0
    for k in range(begin, end):
        n, s, t, r = solve_contact(rows, k, impulses, w, int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1))
        largest = max(largest, change_impulse(impulses, previous, k, n, s, t, r))
    put_double(change, begin, largest)


@function
def add_contact(w, bodies, m, rows, k, side, n, s, t, r):
    """One body of a contact moves; `side` says which of the two."""
    fx, fy, fz = force(rows, ROW * k, n, s, t)
    push(w, bodies, m, 6 + 3 * side, rows, ROW * k, fx, fy, fz, r, 2.0 * side - 1.0)


@phase_kernel(items="starts-1")
def gather(
    begin,
    end,
    iteration,
    starts: ints.address,
    touching: ints.address,
    bodies: doubles.address,
    rows: doubles.address,
    impulses: doubles.address,
    w: doubles.address,
):
    """w = W Jᵀ λ, body by body: `touching` lists 2 k + side of the contacts of each."""
    for m in range(begin, end):
        for c in range(BODY * m, BODY * m + 6):
            put_double(w, c, 0.0)
        for e in range(int_at(starts, m), int_at(starts, m + 1)):
            k, side = int_at(touching, e) // 2, int_at(touching, e) % 2
            at = 4 * k
            add_contact(
                w,
                bodies,
                m,
                rows,
                k,
                side,
                double_at(impulses, at),
                double_at(impulses, at + 1),
                double_at(impulses, at + 2),
                double_at(impulses, at + 3),
            )


@phase_kernel(items="starts-1")
def add_changes(
    begin,
    end,
    iteration,
    starts: ints.address,
    touching: ints.address,
    listed: ints.address,
    bodies: doubles.address,
    rows: doubles.address,
    impulses: doubles.address,
    previous: doubles.address,
    w: doubles.address,
):
    """w + W Jᵀ Δλ, body by body, for the contacts of an unsafe colour; `listed` are the bodies that they touch."""
    for item in range(begin, end):
        m = int_at(listed, item)
        for e in range(int_at(starts, item), int_at(starts, item + 1)):
            k, side = int_at(touching, e) // 2, int_at(touching, e) % 2
            at = 4 * k
            add_contact(
                w,
                bodies,
                m,
                rows,
                k,
                side,
                double_at(impulses, at) - double_at(previous, at),
                double_at(impulses, at + 1) - double_at(previous, at + 1),
                double_at(impulses, at + 2) - double_at(previous, at + 2),
                double_at(impulses, at + 3) - double_at(previous, at + 3),
            )


@phase_kernel(items="parts-1")
def sweep_parts(
    begin,
    end,
    iteration,
    parts: ints.address,
    local_pairs: ints.address,
    body_starts: ints.address,
    body_list: ints.address,
    local_w: doubles.address,
    local_bodies: doubles.address,
    rows: doubles.address,
    impulses: doubles.address,
    previous: doubles.address,
    w: doubles.address,
    change: doubles.address,
):
    """Naive parallel Gauss-Seidel: each part of the contacts sweeps over velocities of its own [thesis2010, 7.1]."""
    for p in range(begin, end):
        first, last = int_at(body_starts, p), int_at(body_starts, p + 1)
        for e in range(first, last):
            for c in range(6):
                put_double(local_w, BODY * e + c, double_at(w, BODY * int_at(body_list, e) + c))
        largest = 0.0
        for k in range(int_at(parts, p), int_at(parts, p + 1)):
            i, j = int_at(local_pairs, 2 * k), int_at(local_pairs, 2 * k + 1)
            n, s, t, r = solve_contact(rows, k, impulses, local_w, i, j)
            largest = max(largest, change_impulse(impulses, previous, k, n, s, t, r))
            apply_change(local_w, local_bodies, rows, k, i, j, n, s, t, r)
        put_double(change, int_at(parts, p), largest)


@phase_kernel(items="starts-1")
def measure(
    begin,
    end,
    iteration,
    starts: ints.address,
    rows: doubles.address,
    pairs: ints.address,
    impulses: doubles.address,
    w: doubles.address,
    out: doubles.address,
):
    """Chunk by chunk, ½ ‖prox(λ - R v) - λ‖²: the quality γ of an answer, if R is one constant (3.32)."""
    for chunk in range(begin, end):
        total = 0.0
        for k in range(int_at(starts, chunk), int_at(starts, chunk + 1)):
            n, s, t, r = solve_contact(rows, k, impulses, w, int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1))
            total += n * n + s * s + t * t + r * r
        put_double(out, chunk, 0.5 * total)
