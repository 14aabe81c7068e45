"""What a smooth rescaling of impulses does: its small system, body by body, and the rescaling itself.

Hats stand along each axis of the world; a contact at t cells along an axis lies between hats floor(t) and floor(t) + 1.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.addresses import double_at, int_at, put_double
from ....backends.cpu.arguments import doubles, ints, phase_kernel
from ....backends.cpu.compiling import function
from .factorised import BODY, MATRIX, ROW, is_idle

LABEL = "rescaling"
AXES = 3
WIDTH = 18  # of a hat's row: Jᵀ of its normal impulses, of all its impulses, and W times the latter
MOST = 4.0  # times what it was, at most: a hat may rest on one contact that has hardly begun to push


@function
def place(places, firsts, k, axis):
    """The first of the two hats that a contact lies between along an axis, and the weight of the second."""
    t = double_at(places, AXES * k + axis)
    first = int_at(firsts, axis)
    cell = min(np.int64(t), np.int64(int_at(firsts, axis + 1)) - first - 2)
    return first + cell, t - cell


@function
def add_impulse(table, at, weight, sign, arm, rows, o, n, s, t, r):
    """Add what a contact gives to a body, times a weight: of its normal impulse, and of all of it."""
    nx, ny, nz = double_at(rows, o), double_at(rows, o + 1), double_at(rows, o + 2)
    sx, sy, sz = double_at(rows, o + 3), double_at(rows, o + 4), double_at(rows, o + 5)
    tx, ty, tz = ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
    px, py, pz = double_at(rows, o + arm), double_at(rows, o + arm + 1), double_at(rows, o + arm + 2)
    w = weight * sign
    fx, fy, fz = w * n * nx, w * n * ny, w * n * nz
    add_six(table, at, fx, fy, fz, py * fz - pz * fy, pz * fx - px * fz, px * fy - py * fx)
    fx, fy, fz = fx + w * (s * sx + t * tx), fy + w * (s * sy + t * ty), fz + w * (s * sz + t * tz)
    turn = w * r * double_at(rows, o + 22)
    gx, gy, gz = py * fz - pz * fy + turn * nx, pz * fx - px * fz + turn * ny, px * fy - py * fx + turn * nz
    add_six(table, at + 6, fx, fy, fz, gx, gy, gz)


@function
def add_six(table, at, a, b, c, d, e, f):
    """Add six numbers to a row."""
    put_double(table, at, double_at(table, at) + a)
    put_double(table, at + 1, double_at(table, at + 1) + b)
    put_double(table, at + 2, double_at(table, at + 2) + c)
    put_double(table, at + 3, double_at(table, at + 3) + d)
    put_double(table, at + 4, double_at(table, at + 4) + e)
    put_double(table, at + 5, double_at(table, at + 5) + f)


@function
def accelerate(table, at, bodies, a):
    """W times the impulse and torque at `at + 6`, written behind it."""
    matrix = np.int64(double_at(bodies, a + MATRIX))
    if matrix > 0:
        for c in range(6):
            total = 0.0
            for d in range(6):
                total += double_at(bodies, matrix + 6 * c + d) * double_at(table, at + 6 + d)
            put_double(table, at + 12 + c, total)
        return
    m = double_at(bodies, a)
    for c in range(3):
        put_double(table, at + 12 + c, m * double_at(table, at + 6 + c))
    gx, gy, gz = double_at(table, at + 9), double_at(table, at + 10), double_at(table, at + 11)
    xy, xz, yz = double_at(bodies, a + 2), double_at(bodies, a + 3), double_at(bodies, a + 5)
    put_double(table, at + 15, double_at(bodies, a + 1) * gx + xy * gy + xz * gz)
    put_double(table, at + 16, xy * gx + double_at(bodies, a + 4) * gy + yz * gz)
    put_double(table, at + 17, xz * gx + yz * gy + double_at(bodies, a + 6) * gz)


@function
def product(one, at, two, to):
    """Of six numbers and six numbers."""
    total = 0.0
    for c in range(6):
        total += double_at(one, at + c) * double_at(two, to + c)
    return total


@phase_kernel(items="chunks-1")
def assemble(
    begin, end, iteration, chunks: ints.address, starts: ints.address, touching: ints.address, firsts: ints.address,
    places: doubles.address, rows: doubles.address, bodies: doubles.address, impulses: doubles.address,
    w: doubles.address, scratch: doubles.address, marks: ints, out: doubles.address,
):  # fmt: skip
    """Chunk by chunk of bodies, Σ (Jᵀ pᵢ)ᵀ W Jᵀ Pⱼ and pᵢᵀ v: for hats φ, p = φ λₙ and P = φ λ."""
    hats = np.int64(int_at(firsts, AXES))
    for chunk in range(begin, end):
        table, matrix = scratch + 8 * WIDTH * hats * chunk, out + 8 * hats * (hats + 1) * chunk
        marked = 2 * hats * chunk  # `marks`: the hats of a body, and whether a hat is one of them
        for at in range(hats * (hats + 1)):
            put_double(matrix, at, 0.0)
        for m in range(int_at(chunks, chunk), int_at(chunks, chunk + 1)):
            count, a = 0, BODY * m
            moves = double_at(bodies, a) > 0.0
            for e in range(int_at(starts, m), int_at(starts, m + 1)):
                k, side = np.int64(int_at(touching, e) // 2), int_at(touching, e) % 2
                if is_idle(impulses, 4 * k):
                    continue
                n, s = double_at(impulses, 4 * k), double_at(impulses, 4 * k + 1)
                t, r = double_at(impulses, 4 * k + 2), double_at(impulses, 4 * k + 3)
                for axis in range(AXES):
                    if int_at(firsts, axis) == int_at(firsts, axis + 1):
                        continue
                    first, second = place(places, firsts, k, axis)
                    for hat in range(first, first + 2):
                        weight = second if hat > first else 1.0 - second
                        if side == 0:
                            at = hats * hats + hat
                            put_double(matrix, at, double_at(matrix, at) + weight * n * double_at(rows, ROW * k + 12))
                        if not moves:
                            continue
                        if marks[marked + hats + hat] == 0:
                            marks[marked + hats + hat] = 1
                            marks[marked + count] = hat
                            count += 1
                            for c in range(12):
                                put_double(table, WIDTH * hat + c, 0.0)
                        add_impulse(
                            table, WIDTH * hat, weight, 2.0 * side - 1.0, 6 + 3 * side, rows, ROW * k, n, s, t, r
                        )
            for i in range(count):
                hat = np.int64(marks[marked + i])
                marks[marked + hats + hat] = 0
                accelerate(table, WIDTH * hat, bodies, a)
                at = hats * hats + hat
                put_double(matrix, at, double_at(matrix, at) + product(table, WIDTH * hat, w, a))
            for i in range(count):
                one = np.int64(marks[marked + i])
                for j in range(count):
                    two = np.int64(marks[marked + j])
                    at = hats * one + two
                    found = product(table, WIDTH * one, table, WIDTH * two + 12)
                    put_double(matrix, at, double_at(matrix, at) + found)


@phase_kernel(items="places/3")
def rescale(
    begin, end, iteration, places: doubles.address, firsts: ints.address, factors: doubles.address,
    impulses: doubles.address,
):  # fmt: skip
    """λ times 1 + Σ μ φ, which is neither negative nor above MOST: what was in its cone stays in it."""
    for k in range(begin, end):
        if is_idle(impulses, 4 * k):
            continue
        factor = 1.0
        for axis in range(AXES):
            if int_at(firsts, axis) < int_at(firsts, axis + 1):
                first, second = place(places, firsts, k, axis)
                factor += (1.0 - second) * double_at(factors, first) + second * double_at(factors, first + 1)
        factor = min(max(factor, 0.0), MOST)
        for at in range(4 * k, 4 * k + 4):
            put_double(impulses, at, factor * double_at(impulses, at))
