"""Which features of surfaces may meet in a step: their boxes, and quick float32 tests that spare the narrow phase.

The boxes hold the way from q to s, in a frame that moves with the mean of everything: a heap that falls has the boxes
of a heap at rest. The quick tests only discard what `proximity.approach` would discard, with room for rounding.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from .addresses import address_of, float_at, int_at, put_int, put_long, row_at, size_of
from .hash_grid import (
    CHUNKS,
    LEVELS,
    SLOTS,
    grid_at,
    keep_pair,
    level_at,
    level_of,
    list_of,
    min4,
    scratch_of,
    walker,
)
from .proximity import END, PARALLEL, TOUCH, cross
from .simd import at, dot4, float4, lane4, load4, make4, max4, splat4, store4, transpose4
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
    """Ends of the edges in sorted order; rows of start and motion, and of vector and square length."""
    order, edges, motion = ints(table, 7), ints(table, SLOTS), floats(table, SLOTS + 2)
    q = rows(table, SLOTS + 3)
    ends, start, vector = ints(table, SLOTS + 6), rows(table, SLOTS + 7), rows(table, SLOTS + 8)
    for i in range(begin, end):
        o = at(order, i)
        a, b = at(edges, 2 * o), at(edges, 2 * o + 1)
        ends[2 * i], ends[2 * i + 1] = a, b
        x = load4(q, a)
        u = load4(q, b) - x
        store4(start, i, make4(lane4(x, 0), lane4(x, 1), lane4(x, 2), at(motion, o)))
        store4(vector, i, make4(lane4(u, 0), lane4(u, 1), lane4(u, 2), dot4(u, u)))


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


@njit(nogil=True)
def _visit_triangles(state, i, scratch, held, w):
    q, vertices, motion, others, corners, planes, speed, reach, out, room = state
    v = int_at(vertices, i)
    for e in range(held):
        j = np.int64(int_at(scratch, e))
        keep = _may_meet(q, v, float_at(motion, i), corners, planes, speed, j, reach)
        w = keep_pair(out, room, w, keep, v, int_at(others, j))
    return w


@njit(nogil=True)
def _visit_vertices(state, i, scratch, held, w):
    q, vertices, motion, others, corners, planes, speed, reach, out, room = state
    for e in range(held):
        j = np.int64(int_at(scratch, e))
        v = int_at(vertices, j)
        keep = _may_meet(q, v, float_at(motion, j), corners, planes, speed, i, reach)
        w = keep_pair(out, room, w, keep, v, int_at(others, i))
    return w


@intrinsic
def at_most4(typingctx, a, b):
    """Four bits: in which lanes a <= b."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        lanes = builder.fcmp_ordered("<=", *args)
        return builder.zext(builder.bitcast(lanes, ir.IntType(4)), ir.IntType(64))

    return types.int64(a, b), codegen


@njit(nogil=True)
def _visit_edges(state, i, scratch, held, w):
    """Discard edges that stay apart, and those too slow to touch and parallel or closest at an end; four at a time.

    With u, v the edges and w the way between their starts, the lines are closest at t = along / sine and r = across /
    sine. A segment that ends short of that by δt stays δt |u| sin(u, v) away from the other line, whatever the other
    segment. Parallel edges are at least as far apart as their lines, and as the gap between their shadows on u.
    """
    order, ends, start, vector, reach, touch, rounding, out, room = state
    mine, from_mine = row_at(vector, i), row_at(start, i)
    ux, uy, uz, uu = splat4(lane4(mine, 0)), splat4(lane4(mine, 1)), splat4(lane4(mine, 2)), splat4(lane4(mine, 3))
    sx, sy, sz = splat4(lane4(from_mine, 0)), splat4(lane4(from_mine, 1)), splat4(lane4(from_mine, 2))
    moving = lane4(from_mine, 3) + rounding
    a, b, number = int_at(ends, 2 * i), int_at(ends, 2 * i + 1), int_at(order, i)
    zero, one, tiny = splat4(np.float32(0)), splat4(np.float32(1)), splat4(np.float32(1e-37))
    inner = max4(splat4(reach) - np.float32(2) * splat4(rounding), zero)
    inner = inner * inner
    for e in range(held, held + 3):
        put_int(scratch, e, i)  # the last four may be fewer; a pair with itself shares its ends
    for e in range(0, held, 4):
        j0, j1 = np.int64(int_at(scratch, e)), np.int64(int_at(scratch, e + 1))
        j2, j3 = np.int64(int_at(scratch, e + 2)), np.int64(int_at(scratch, e + 3))
        vx, vy, vz, vv = transpose4(row_at(vector, j0), row_at(vector, j1), row_at(vector, j2), row_at(vector, j3))
        wx, wy, wz, slow = transpose4(row_at(start, j0), row_at(start, j1), row_at(start, j2), row_at(start, j3))
        wx, wy, wz, slow = wx - sx, wy - sy, wz - sz, slow + moving
        uv, uw = ux * vx + uy * vy + uz * vz, ux * wx + uy * wy + uz * wz
        vw, ww = vx * wx + vy * wy + vz * wz, wx * wx + wy * wy + wz * wz
        sine = max4(uu * vv - uv * uv, zero)
        limit, close = slow + reach, slow + touch
        parallel = at_most4(sine, np.float32(0.95 * PARALLEL) * uu * vv)
        along, across = uw * vv - uv * vw, uv * uw - uu * vw
        # May they touch, and are they on the way there closest inside? Then the narrow phase must see them.
        apart = np.float32(2) * close * close + np.float32(1e-6) * ww
        short = max4(max4(zero - along, along - sine), zero)
        short_too = max4(max4(zero - across, across - sine), zero)
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        height = nx * wx + ny * wy + nz * wz
        height = height * height
        room_here = apart * sine
        crossing = at_most4(short * short, room_here * vv) & at_most4(short_too * short_too, room_here * uu)
        crossing &= at_most4(height, np.float32(1.01) * limit * limit * sine)
        # Too slow to touch, and closest so near to an end that it counts as the end: if float32 can tell.
        sure = at_most4(np.float32(2) * close * close * sine, height)
        sure &= at_most4(ww, np.float32(100) * min4(uu, vv)) & at_most4(np.float32(1e-3) * uu * vv, sine)
        near_end = np.float32(0.5 * END) * sine
        at_end = at_most4(min4(min4(along, sine - along), min4(across, sine - across)), near_end)
        crossing &= ~(sure & at_end)
        shadow = uw + uv
        gap = max4(max4(min4(uw, shadow) - uu, zero - max4(uw, shadow)), zero)
        # The distance of parallel edges is known to 0.015 of their length: (a + b)² <= 1.05 a² + 21 b².
        unsure = np.float32(0.015**2) * max4(uu, vv)
        beside = at_most4((ww * uu - uw * uw) + gap * gap, (np.float32(1.05) * apart + np.float32(21) * unsure) * uu)
        # Those that are out of reach at the start, but not for long, are described where they are nearest.
        t = min4(max4(along / max4(sine, tiny), zero), one)
        r = min4(max4((uv * t - vw) / max4(vv, tiny), zero), one)
        t = min4(max4((uw + uv * r) / max4(uu, tiny), zero), one)
        zx, zy, zz = wx + r * vx - t * ux, wy + r * vy - t * uy, wz + r * vz - t * uz
        distance = zx * zx + zy * zy + zz * zz
        coming = at_most4(np.float32(0.98) * inner, distance) & at_most4(distance, np.float32(1.02) * limit * limit)
        coming_along = at_most4(np.float32(0.95) * inner - np.float32(19) * unsure, distance)
        coming_along &= at_most4(distance, np.float32(1.05) * limit * limit + np.float32(21) * unsure)
        bits = (parallel & (beside | coming_along)) | (~parallel & (crossing | coming))
        for lane in range(4):
            j = np.int64(int_at(scratch, e + lane))
            c, d = int_at(ends, 2 * j), int_at(ends, 2 * j + 1)
            keep = ((bits >> lane) & 1) & np.int64((a != c) & (a != d) & (b != c) & (b != d))
            w = keep_pair(out, room, w, keep, number, int_at(order, j))
    return w


_walk_triangles, _walk_vertices, _walk_edges = walker(_visit_triangles), walker(_visit_vertices), walker(_visit_edges)


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
    vector = address_of(table, f + 8)
    reach, touch = np.float32(1.001 * settings[REACH]), np.float32(TOUCH * settings[THICKNESS])
    rounding = np.float32(2 * settings[ROUNDING])
    for chunk in range(begin, end):
        scratch, (out, room), w, met = scratch_of(table, f + 9, chunk), list_of(table, f + 10, chunk), 0, 0
        state = order, ends, start, vector, reach, touch, rounding, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            low, high, own = row_at(grid[3], i), row_at(grid[4], i), level_at(grid[0], i)
            for k in range(own, LEVELS):
                more, w = _walk_edges(grid, k, low, high, i, k == own, state, w, scratch)
                met += more
        put_long(address_of(table, f + 11), 8 * chunk, w)
        put_long(address_of(table, f + 11), 8 * chunk + 1, met)
