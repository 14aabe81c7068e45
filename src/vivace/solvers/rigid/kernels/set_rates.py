"""r-factors for contacts that are solved from the same velocities: as large as the coupling inside their set allows."""

from __future__ import annotations

import numpy as np

from ....backends.cpu.addresses import double_at, int_at, put_double
from ....backends.cpu.arguments import doubles, ints, phase_kernel
from ....backends.cpu.compiling import function
from .factorised import BODY, MATRIX, RATES, ROW

LABEL = "r-factors"
STEP = 1.5  # of the inverse row sums: below 2 nothing inside a set grows, above 1 what agrees is found sooner


@function
def _axis(rows, o, c):
    """Axis c of a contact's frame; the spin's, 3, is the normal times its radius."""
    nx, ny, nz = double_at(rows, o), double_at(rows, o + 1), double_at(rows, o + 2)
    if c == 0:
        return nx, ny, nz
    sx, sy, sz = double_at(rows, o + 3), double_at(rows, o + 4), double_at(rows, o + 5)
    if c == 1:
        return sx, sy, sz
    if c == 2:
        return ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
    radius = double_at(rows, o + 22)
    return radius * nx, radius * ny, radius * nz


@function
def _turn(rows, o, arm, c, x, y, z):
    """What an impulse along axis c turns a body by: the arm times the axis, or the axis itself for the spin."""
    if c == 3:
        return x, y, z
    px, py, pz = double_at(rows, o + arm), double_at(rows, o + arm + 1), double_at(rows, o + arm + 2)
    return py * z - pz * y, pz * x - px * z, px * y - py * x


@function
def _through(bodies, at, moves, x, y, z, turn, moved, u, v, w, turned):
    """The same through an inverse inertia of 6 x 6."""
    m, n = 1.0 if moves else 0.0, 1.0 if moved else 0.0
    one = (m * x, m * y, m * z, turn[0], turn[1], turn[2])
    two = (n * u, n * v, n * w, turned[0], turned[1], turned[2])
    total = 0.0
    for i in range(6):
        for j in range(6):
            total += one[i] * double_at(bodies, at + 6 * i + j) * two[j]
    return total


@function
def _coupled(rows, bodies, body, k, arm, c, other, other_arm, d):
    """The part of A between axis c of contact k and axis d of another that one body makes, but for its sign."""
    o, p, a = ROW * k, ROW * other, BODY * body
    x, y, z = _axis(rows, o, c)
    u, v, w = _axis(rows, p, d)
    at = np.int64(double_at(bodies, a + MATRIX))
    if at > 0:
        one, two = _turn(rows, o, arm, c, x, y, z), _turn(rows, p, other_arm, d, u, v, w)
        return _through(bodies, at, c != 3, x, y, z, one, d != 3, u, v, w, two)
    total = 0.0
    if c != 3 and d != 3:
        total = double_at(bodies, a) * (x * u + y * v + z * w)
    x, y, z = _turn(rows, o, arm, c, x, y, z)
    u, v, w = _turn(rows, p, other_arm, d, u, v, w)
    xy, xz, yz = double_at(bodies, a + 2), double_at(bodies, a + 3), double_at(bodies, a + 5)
    total += x * (double_at(bodies, a + 1) * u + xy * v + xz * w)
    total += y * (xy * u + double_at(bodies, a + 4) * v + yz * w)
    return total + z * (xz * u + yz * v + double_at(bodies, a + 6) * w)


@phase_kernel(items="starts-1")
def bound_rates(
    begin, end, iteration, starts: ints.address, rows: doubles.address, pairs: ints.address, bodies: doubles.address
):
    """No r-factor above STEP ÷ Σ |A_ij| over its set: a Jacobi iteration of the set then contracts (Gershgorin)."""
    for group in range(begin, end):
        first, last = int_at(starts, group), int_at(starts, group + 1)
        for k in range(first, last):
            i, j = int_at(pairs, 2 * k), int_at(pairs, 2 * k + 1)
            at = ROW * k + RATES
            tangents = 0.0
            for c in range(4):
                total = 0.0
                for other in range(first, last):
                    one, two = (6, 9) if int_at(pairs, 2 * other) == i else (9, 6)  # which arm is at which body
                    for d in range(4):
                        part = _coupled(rows, bodies, i, k, 6, c, other, one, d)
                        total += abs(part + _coupled(rows, bodies, j, k, 9, c, other, two, d))
                if c == 1 or c == 2:
                    tangents = max(tangents, total)
                else:
                    slot = at if c == 0 else at + 2
                    if total > 0.0:
                        put_double(rows, slot, min(double_at(rows, slot), STEP / total))
            if tangents > 0.0:
                put_double(rows, at + 1, min(double_at(rows, at + 1), STEP / tangents))
