"""Which features of surfaces may meet in a step: their boxes, and quick float32 tests that spare the narrow phase.

The boxes hold the way from q to s, in a frame that moves with the mean of everything: a heap that falls has the boxes
of a heap at rest. The quick tests only discard what `proximity.approach` would discard, with room for rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .addresses import address_of, float_at, int_at, put_long, row_at, size_of
from .hash_grid import (
    CHUNKS,
    LEVELS,
    SLOTS,
    grid_at,
    keep_pair,
    level_at,
    level_of,
    list_of,
    scratch_of,
    walker,
)
from .proximity import PARALLEL, TOUCH, cross
from .simd import at, dot4, lane4, load4, make4, max4, splat4, store4
from .team import doubles, floats, ints, longs, phase_kernel, rows

# Settings of a step, in float64.
MOTION, INFLATE, REACH, THICKNESS, SMALLEST, ROUNDING, TYPICAL_SIZE, SETTINGS = 0, 3, 4, 5, 6, 7, 8, 9
THIN = 1e-2  # twice the area over the longest side squared, below which float32 has no normal for a triangle


@njit(cache=True, nogil=True)
def survey(q, s, used, edges, settings):
    """Write mean motion, rounding and typical size into the settings; False if something is not finite."""
    mx, my, mz, highest = 0.0, 0.0, 0.0, 0.0
    for v in used:
        for axis in range(3):
            highest = max(highest, abs(np.float64(q[v, axis])), abs(np.float64(s[v, axis])))
            if not (np.isfinite(q[v, axis]) and np.isfinite(s[v, axis])):
                return False
        mx += np.float64(s[v, 0]) - np.float64(q[v, 0])
        my += np.float64(s[v, 1]) - np.float64(q[v, 1])
        mz += np.float64(s[v, 2]) - np.float64(q[v, 2])
    n = max(1, used.shape[0])
    settings[MOTION], settings[MOTION + 1], settings[MOTION + 2] = mx / n, my / n, mz / n
    settings[ROUNDING] = 4e-7 * highest  # of the differences of positions, with room
    settings[INFLATE] = 0.5 * settings[REACH] + settings[ROUNDING]
    settings[SMALLEST] = max(1e-3 * settings[THICKNESS], 4 * settings[ROUNDING])
    total, count = 0.0, min(edges.shape[0], 1024)
    for k in range(count):
        a, b = edges[k * edges.shape[0] // count]
        x, y, z = abs(q[a, 0] - q[b, 0]), abs(q[a, 1] - q[b, 1]), abs(q[a, 2] - q[b, 2])
        total += np.log(np.float64(max(x, y, z)) + 2 * settings[INFLATE])
    settings[TYPICAL_SIZE] = 2 * np.exp(total / count) if count else 1.0
    return True


@phase_kernel
def follow(table, begin, end, iteration):
    """s in the frame that moves with everything, and how far each vertex moves in it."""
    q, s, settings, shifted, motion = (
        rows(table, 0),
        rows(table, 1),
        doubles(table, 2),
        rows(table, 3),
        floats(table, 4),
    )
    mean = make4(
        *(np.float32(settings[MOTION]), np.float32(settings[MOTION + 1]), np.float32(settings[MOTION + 2])),
        np.float32(0),
    )
    for i in range(begin, end):
        y = load4(s, i) - mean
        store4(shifted, i, y)
        d = y - load4(q, i)
        motion[i] = np.sqrt(dot4(d, d))


@phase_kernel
def bound(table, begin, end, iteration):
    """Boxes, levels and motions of features with `width` corners each."""
    low, high, level = rows(table, 0), rows(table, 1), ints(table, 2)
    corners, width, motion = ints(table, SLOTS), longs(table, SLOTS + 1)[0], floats(table, SLOTS + 2)
    q, shifted, settings = rows(table, SLOTS + 3), rows(table, SLOTS + 4), doubles(table, SLOTS + 5)
    inflate = np.float32(settings[INFLATE])
    base = settings[TYPICAL_SIZE]
    out = make4(inflate, inflate, inflate, np.float32(0))
    for i in range(begin, end):
        x, y = load4(q, at(corners, width * i)), load4(shifted, at(corners, width * i))
        upper, lower = max4(x, y), min4(x, y)
        d = y - x
        fastest = dot4(d, d)
        for k in range(1, width):
            x, y = load4(q, at(corners, width * i + k)), load4(shifted, at(corners, width * i + k))
            upper, lower = max4(upper, max4(x, y)), min4(lower, min4(x, y))
            d = y - x
            fastest = max(fastest, dot4(d, d))
        upper, lower = upper + out, lower - out
        store4(low, i, lower)
        store4(high, i, upper)
        motion[i] = np.sqrt(fastest)
        size = upper - lower
        level[i] = level_of(np.float64(max(lane4(size, 0), lane4(size, 1), lane4(size, 2))), base)


@njit(forceinline=True)
def min4(a, b):
    zero = splat4(np.float32(0))
    return zero - max4(zero - a, zero - b)


# --- features in the order of the grid --------------------------------------------------------------------------------


@phase_kernel
def arrange_vertices(table, begin, end, iteration):
    """Numbers and motions of the vertices in sorted order."""
    order, used, motion = ints(table, 7), ints(table, SLOTS), floats(table, SLOTS + 2)
    vertices, speed = ints(table, SLOTS + 6), floats(table, SLOTS + 7)
    for i in range(begin, end):
        vertices[i] = at(used, at(order, i))
        speed[i] = at(motion, at(order, i))


@phase_kernel
def arrange_edges(table, begin, end, iteration):
    """Ends, start, vector, square length and motion of the edges in sorted order."""
    order, edges, motion = ints(table, 7), ints(table, SLOTS), floats(table, SLOTS + 2)
    q = rows(table, SLOTS + 3)
    ends, start, vector = ints(table, SLOTS + 6), rows(table, SLOTS + 7), rows(table, SLOTS + 8)
    square, speed = floats(table, SLOTS + 9), floats(table, SLOTS + 10)
    for i in range(begin, end):
        o = at(order, i)
        a, b = at(edges, 2 * o), at(edges, 2 * o + 1)
        ends[2 * i], ends[2 * i + 1] = a, b
        x = load4(q, a)
        u = load4(q, b) - x
        store4(start, i, x)
        store4(vector, i, u)
        square[i] = dot4(u, u)
        speed[i] = at(motion, o)


@phase_kernel
def arrange_triangles(table, begin, end, iteration):
    """Corners, motion, and four planes of the triangles in sorted order: their own, and outwards through the sides.

    The planes are transposed: rows of x, y, z components and offsets, so that a point meets all four in three
    multiply-adds. Triangles that are too thin for float32 have zeros: no point is far from them.
    """
    order, triangles, motion = ints(table, 7), ints(table, SLOTS), floats(table, SLOTS + 2)
    q, settings = rows(table, SLOTS + 3), doubles(table, SLOTS + 5)
    corners, planes, speed = ints(table, SLOTS + 6), rows(table, SLOTS + 7), floats(table, SLOTS + 8)
    rounding = np.float32(settings[ROUNDING])
    zero = splat4(np.float32(0))
    for i in range(begin, end):
        o = at(order, i)
        ia, ib, ic = at(triangles, 3 * o), at(triangles, 3 * o + 1), at(triangles, 3 * o + 2)
        corners[3 * i], corners[3 * i + 1], corners[3 * i + 2] = ia, ib, ic
        a = load4(q, ia)
        u, v = load4(q, ib) - a, load4(q, ic) - a
        ux, uy, uz, vx, vy, vz = lane4(u, 0), lane4(u, 1), lane4(u, 2), lane4(v, 0), lane4(v, 1), lane4(v, 2)
        wx, wy, wz = vx - ux, vy - uy, vz - uz
        uu, vv, ww = dot4(u, u), dot4(v, v), dot4(v - u, v - u)
        longest = max(uu, vv, ww)
        nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
        norm = np.sqrt(nx * nx + ny * ny + nz * nz)
        store4(planes, 5 * i, a)
        speed[i] = at(motion, o) + np.float32(1e-4) * np.sqrt(longest) + rounding
        if norm <= np.float32(THIN) * longest:
            for k in range(1, 5):
                store4(planes, 5 * i + k, zero)
            continue
        nx, ny, nz = nx / norm, ny / norm, nz / norm
        m1x, m1y, m1z = cross(ux, uy, uz, nx, ny, nz)  # out of the triangle, across the side from a to b
        m2x, m2y, m2z = cross(wx, wy, wz, nx, ny, nz)
        m3x, m3y, m3z = cross(nx, ny, nz, vx, vy, vz)
        r1, r2, r3 = np.float32(1) / np.sqrt(uu), np.float32(1) / np.sqrt(ww), np.float32(1) / np.sqrt(vv)
        store4(planes, 5 * i + 1, make4(nx, m1x * r1, m2x * r2, m3x * r3))
        store4(planes, 5 * i + 2, make4(ny, m1y * r1, m2y * r2, m3y * r3))
        store4(planes, 5 * i + 3, make4(nz, m1z * r1, m2z * r2, m3z * r3))
        zero32 = np.float32(0)
        store4(planes, 5 * i + 4, make4(zero32, zero32, -(m2x * ux + m2y * uy + m2z * uz) * r2, zero32))


# --- quick tests ------------------------------------------------------------------------------------------------------


@njit(forceinline=True)
def _may_meet(q, v, motion_v, corners, planes, speed, j, reach):
    """1 if vertex v and the triangle at position j may come within reach, else 0; no branches, which nobody can guess.

    The distance is at least that from the plane and from the furthest of the sides, together.
    """
    d = row_at(q, v) - row_at(planes, 5 * j)
    height = (
        row_at(planes, 5 * j + 4)
        + row_at(planes, 5 * j + 1) * lane4(d, 0)
        + row_at(planes, 5 * j + 2) * lane4(d, 1)
        + row_at(planes, 5 * j + 3) * lane4(d, 2)
    )
    over = lane4(height, 0)
    beside = max(np.float32(0), max(lane4(height, 1), max(lane4(height, 2), lane4(height, 3))))
    limit = reach + motion_v + float_at(speed, j)
    near = over * over + beside * beside <= limit * limit
    a, b, c = int_at(corners, 3 * j), int_at(corners, 3 * j + 1), int_at(corners, 3 * j + 2)
    return np.int64(near & (v != a) & (v != b) & (v != c))


@njit(forceinline=True)
def _visit_triangle(state, i, j, w):
    q, vertices, motion, others, corners, planes, speed, reach, out, room = state
    v = int_at(vertices, i)
    keep = _may_meet(q, v, float_at(motion, i), corners, planes, speed, j, reach)
    return keep_pair(out, room, w, keep, v, int_at(others, j))


@njit(forceinline=True)
def _visit_vertex(state, i, j, w):
    q, vertices, motion, others, corners, planes, speed, reach, out, room = state
    v = int_at(vertices, j)
    keep = _may_meet(q, v, float_at(motion, j), corners, planes, speed, i, reach)
    return keep_pair(out, room, w, keep, v, int_at(others, i))


@njit(forceinline=True)
def _visit_edge(state, i, j, w):
    """Discard edges that stay apart, and those too slow to touch whose pair says nothing: closest at an end, or parallel.

    With u, v the edges and w the way between their starts, the lines are closest at t = along / sine, r = across / sine.
    A segment that ends short of that by δt stays δt |u| sin(u, v) away from the other line, whatever the other segment.
    Parallel edges are at least as far apart as their lines, and as the gap between their shadows on u.
    """
    order, ends, start, vector, square, speed, reach, touch, rounding, out, room = state
    u, v, way = row_at(vector, i), row_at(vector, j), row_at(start, j) - row_at(start, i)
    uu, vv, uv, uw, vw, ww = (
        float_at(square, i),
        float_at(square, j),
        dot4(u, v),
        dot4(u, way),
        dot4(v, way),
        dot4(way, way),
    )
    zero = np.float32(0)
    sine = max(uu * vv - uv * uv, zero)
    slow = float_at(speed, i) + float_at(speed, j) + rounding
    limit = reach + slow
    apart = np.float32(2) * (slow + touch) * (slow + touch) + np.float32(1e-6) * ww
    along, across = uw * vv - uv * vw, uv * uw - uu * vw
    short = max(max(-along, along - sine), zero)
    short_too = max(max(-across, across - sine), zero)
    vx, vy, vz = lane4(v, 0), lane4(v, 1), lane4(v, 2)
    nx, ny, nz = cross(lane4(u, 0), lane4(u, 1), lane4(u, 2), vx, vy, vz)
    height = nx * lane4(way, 0) + ny * lane4(way, 1) + nz * lane4(way, 2)
    crossing = (
        (short * short <= apart * sine * vv)
        & (short_too * short_too <= apart * sine * uu)
        & (height * height <= np.float32(1.01) * limit * limit * sine)
    )
    # Of parallel edges the square of the distance is known to 0.01 of the length, so: (a + b)² <= 1.05 a² + 21 b².
    gap = max(max(min(uw, uw + uv) - uu, -max(uw, uw + uv)), zero)
    unsure = np.float32(1.05) * apart + np.float32(21 * 0.015**2) * max(uu, vv)
    beside = (ww * uu - uw * uw) + gap * gap <= unsure * uu
    parallel = sine <= np.float32(0.95 * PARALLEL) * uu * vv
    keep = (parallel & beside) | (crossing & (not parallel))
    a, b, c, d = int_at(ends, 2 * i), int_at(ends, 2 * i + 1), int_at(ends, 2 * j), int_at(ends, 2 * j + 1)
    keep = keep & (a != c) & (a != d) & (b != c) & (b != d)
    return keep_pair(out, room, w, np.int64(keep), int_at(order, i), int_at(order, j))


_walk_triangles, _walk_vertices, _walk_edges = walker(_visit_triangle), walker(_visit_vertex), walker(_visit_edge)


@phase_kernel
def pair_vertices(table, begin, end, iteration):
    """Chunk by chunk, vertices and triangles that may meet: the smaller box looks for the larger."""
    grid, n = grid_at(table, 0), size_of(table, 7)
    grid_t, order_t, m = grid_at(table, SLOTS), address_of(table, SLOTS + 7), size_of(table, SLOTS + 7)
    f = 2 * SLOTS
    q, settings = address_of(table, f), doubles(table, f + 1)
    vertices, motion = address_of(table, f + 2), address_of(table, f + 3)
    corners, planes, speed = address_of(table, f + 4), address_of(table, f + 5), address_of(table, f + 6)
    reach = np.float32(1.001 * settings[REACH] + settings[ROUNDING])
    for chunk in range(begin, end):
        scratch, (out, room), w, met = scratch_of(table, f + 7, chunk), list_of(table, f + 8, chunk), 0, 0
        state = q, vertices, motion, order_t, corners, planes, speed, reach, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            low, high = row_at(grid[3], i), row_at(grid[4], i)
            for k in range(level_at(grid[0], i), LEVELS):
                more, w = _walk_triangles(grid_t, k, low, high, i, False, state, w, scratch)
                met += more
        for i in range(m * chunk // CHUNKS, m * (chunk + 1) // CHUNKS):
            low, high = row_at(grid_t[3], i), row_at(grid_t[4], i)
            for k in range(level_at(grid_t[0], i) + 1, LEVELS):
                more, w = _walk_vertices(grid, k, low, high, i, False, state, w, scratch)
                met += more
        put_long(address_of(table, f + 9), 8 * chunk, w)
        put_long(address_of(table, f + 9), 8 * chunk + 1, met)


@phase_kernel
def pair_edges(table, begin, end, iteration):
    """Chunk by chunk, edges that may meet."""
    grid, order, n = grid_at(table, 0), address_of(table, 7), size_of(table, 7)
    f = SLOTS
    settings, ends, start = doubles(table, f + 5), address_of(table, f + 6), address_of(table, f + 7)
    vector, square, speed = address_of(table, f + 8), address_of(table, f + 9), address_of(table, f + 10)
    reach, touch = np.float32(1.001 * settings[REACH]), np.float32(TOUCH * settings[THICKNESS])
    rounding = np.float32(2 * settings[ROUNDING])
    for chunk in range(begin, end):
        scratch, (out, room), w, met = scratch_of(table, f + 11, chunk), list_of(table, f + 12, chunk), 0, 0
        state = order, ends, start, vector, square, speed, reach, touch, rounding, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            low, high, own = row_at(grid[3], i), row_at(grid[4], i), level_at(grid[0], i)
            for k in range(own, LEVELS):
                more, w = _walk_edges(grid, k, low, high, i, k == own, state, w, scratch)
                met += more
        put_long(address_of(table, f + 13), 8 * chunk, w)
        put_long(address_of(table, f + 13), 8 * chunk + 1, met)
