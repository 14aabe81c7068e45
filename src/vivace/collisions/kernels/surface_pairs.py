"""Which features of surfaces may meet in a step: boxes that overlap, less what float32 can rule out.

The quick tests only discard what `proximity.approach` would discard or not count, with room for rounding; they have no
branches, because nobody can guess how they come out.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.addresses import int_at, put_int, put_long, row_at
from ...backends.cpu.arguments import doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import function, spliced
from ...backends.cpu.simd import at_most4, lane4, max4, min4, splat4, sqrt4, transpose4
from .hash_grid import (
    CHUNKS,
    LEVELS,
    is_empty,
    keep_pair,
    level_at,
    list_of,
    scratch_of,
    walker,
)
from .proximity import END, GRAZE, PARALLEL, STEPS, TOUCH
from .surface_boxes import FAR, REACH, ROUNDING, THICKEST

GRAZED = np.float32(
    1.02
)  # times the reach: beyond that `proximity.follow_pair` finds nothing (1 + GRAZE, and rounding)
FAST = np.float32(4)  # times the reach: what goes farther it may lose out of sight, and is left to it
assert GRAZED > 1.004 * (1 + GRAZE)
assert FAST < 0.99 * STEPS * GRAZE


@spliced
def _may_meet(q, v, same, drift, corners, planes, drifts, j, reach):
    """1 if vertex v and the triangle at position j may come within reach, else 0; no branches, which nobody can guess.

    The distance is at least that from the plane and from the furthest of the sides, together. And what is on one side
    of one of these planes, and stays there by more than the reach, does not come within it. `same`: v, or the first of
    the vertices that it is sewn to; so are the corners.
    """
    d = row_at(q, v) - row_at(planes, 5 * j)
    x, y, z = row_at(planes, 5 * j + 1), row_at(planes, 5 * j + 2), row_at(planes, 5 * j + 3)
    height = row_at(planes, 5 * j + 4) + x * lane4(d, 0) + y * lane4(d, 1) + z * lane4(d, 2)
    over = lane4(height, 0)
    beside = max(np.float32(0), max(lane4(height, 1), max(lane4(height, 2), lane4(height, 3))))
    other = row_at(drifts, j)
    apart = drift - other
    away = lane4(apart, 0) * lane4(apart, 0) + lane4(apart, 1) * lane4(apart, 1) + lane4(apart, 2) * lane4(apart, 2)
    within = reach + lane4(drift, 3) + lane4(other, 3)
    limit = within + np.float32(np.sqrt(away))
    near = over * over + beside * beside <= limit * limit
    # How far it gets from each plane; from that of the triangle, on the side where it is.
    way = x * lane4(apart, 0) + y * lane4(apart, 1) + z * lane4(apart, 2)
    ends = height + way
    stays = np.copysign(np.float32(1), over)
    least = min(stays * over, stays * lane4(ends, 0))
    least = max(least, min(lane4(height, 1), lane4(ends, 1)))
    least = max(least, min(lane4(height, 2), lane4(ends, 2)))
    least = max(least, min(lane4(height, 3), lane4(ends, 3)))
    near &= (least <= GRAZED * within) | (limit > FAST * reach)
    a, b, c = int_at(corners, 3 * j), int_at(corners, 3 * j + 1), int_at(corners, 3 * j + 2)
    return np.int64(near & (same != a) & (same != b) & (same != c))


@function
def _visit_triangles(state, i, scratch, held, w):
    q, alike, vertices, drifts, others, corners, planes, drifts_t, reach, out, room = state
    v, mine = int_at(vertices, i), row_at(drifts, i)
    same = int_at(alike, v)
    for e in range(held):
        j = np.int64(int_at(scratch, e))
        keep = _may_meet(q, v, same, mine, corners, planes, drifts_t, j, reach)
        w = keep_pair(out, room, w, keep, v, int_at(others, j))
    return w


@function
def _visit_vertices(state, i, scratch, held, w):
    q, alike, vertices, drifts, others, corners, planes, drifts_t, reach, out, room = state
    for e in range(held):
        j = np.int64(int_at(scratch, e))
        v = int_at(vertices, j)
        keep = _may_meet(q, v, int_at(alike, v), row_at(drifts, j), corners, planes, drifts_t, i, reach)
        w = keep_pair(out, room, w, keep, v, int_at(others, i))
    return w


@spliced
def _square(a):
    return lane4(a, 0) * lane4(a, 0) + lane4(a, 1) * lane4(a, 1) + lane4(a, 2) * lane4(a, 2)


@function
def _near_balls(i, start, vector, drifts, reach, rounding, scratch, held):
    """Keep those of the edges in scratch whose ball may meet that of edge i, by their relative motion; how many.

    Boxes hold the whole way of an edge. Where that is longer than the edge, most that they overlap moves along.
    """
    half = np.float32(0.5)
    mine, drift = row_at(vector, i), row_at(drifts, i)
    from_mine = row_at(start, i)
    middle = from_mine + half * mine
    size = half * np.float32(np.sqrt(lane4(mine, 3))) + lane4(drift, 3) + lane4(from_mine, 3) + reach + rounding
    kept = 0
    for e in range(held):
        j = int_at(scratch, e)
        other, along = row_at(vector, np.int64(j)), row_at(drifts, np.int64(j))
        begins = row_at(start, np.int64(j))
        apart = begins + half * other - middle
        limit = size + half * np.float32(np.sqrt(lane4(other, 3))) + lane4(along, 3) + lane4(begins, 3)
        limit += np.float32(np.sqrt(_square(along - drift)))
        put_int(scratch, kept, j)
        kept += np.int64(_square(apart) <= np.float32(1.001) * limit * limit)
    return kept


@function
def _visit_edges(state, i, scratch, held, w):
    """Discard edges that stay apart, and those too slow to touch and parallel or closest at an end; four at a time.

    With u, v the edges and w the way between their starts, the lines are closest at t = along / sine and r = across /
    sine. A segment that ends short of that by δt stays δt |u| sin(u, v) away from the other line, whatever the other
    segment. Parallel edges are at least as far apart as their lines, and as the gap between their shadows on u.
    """
    order, ends, start, vector, drifts, reach, touch, rounding, out, room = state
    mine, from_mine, drift = row_at(vector, i), row_at(start, i), row_at(drifts, i)
    if _square(drift) > lane4(mine, 3):
        held = _near_balls(i, start, vector, drifts, reach, rounding, scratch, held)
    mx, my, mz = splat4(lane4(drift, 0)), splat4(lane4(drift, 1)), splat4(lane4(drift, 2))
    ux, uy, uz, uu = splat4(lane4(mine, 0)), splat4(lane4(mine, 1)), splat4(lane4(mine, 2)), splat4(lane4(mine, 3))
    sx, sy, sz = splat4(lane4(from_mine, 0)), splat4(lane4(from_mine, 1)), splat4(lane4(from_mine, 2))
    moving = splat4(lane4(drift, 3) + rounding)
    a, b, number = int_at(ends, 2 * i), int_at(ends, 2 * i + 1), int_at(order, i)
    zero, one, tiny = splat4(np.float32(0)), splat4(np.float32(1)), splat4(np.float32(1e-37))
    own_reach, fast = splat4(reach + lane4(from_mine, 3)), splat4(FAST * reach)
    for e in range(held, held + 3):
        put_int(scratch, e, i)  # the last four may be fewer; a pair with itself shares its ends
    for e in range(0, held, 4):
        j0, j1 = np.int64(int_at(scratch, e)), np.int64(int_at(scratch, e + 1))
        j2, j3 = np.int64(int_at(scratch, e + 2)), np.int64(int_at(scratch, e + 3))
        vx, vy, vz, vv = transpose4(row_at(vector, j0), row_at(vector, j1), row_at(vector, j2), row_at(vector, j3))
        wx, wy, wz, farther = transpose4(row_at(start, j0), row_at(start, j1), row_at(start, j2), row_at(start, j3))
        wx, wy, wz = wx - sx, wy - sy, wz - sz
        ax, ay, az, slow = transpose4(row_at(drifts, j0), row_at(drifts, j1), row_at(drifts, j2), row_at(drifts, j3))
        ax, ay, az = ax - mx, ay - my, az - mz
        spread = slow + moving
        slow = spread + sqrt4(ax * ax + ay * ay + az * az)
        uv, uw = ux * vx + uy * vy + uz * vz, ux * wx + uy * wy + uz * wz
        vw, ww = vx * wx + vy * wy + vz * wz, wx * wx + wy * wy + wz * wz
        sine = max4(uu * vv - uv * uv, zero)
        within = own_reach + farther
        limit, close = slow + within, slow + touch
        inner = max4(within - np.float32(2) * splat4(rounding), zero)
        inner = inner * inner
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
        # What is on two sides of a plane across z by more than the reach, and ends there, stays apart on the way.
        from_w, on_u = wx * zx + wy * zy + wz * zz, ux * zx + uy * zy + uz * zz
        sides = min4(from_w, from_w + vx * zx + vy * zy + vz * zz) - max4(zero, on_u)
        sides = sides + min4(zero, ax * zx + ay * zy + az * zz)
        bits &= at_most4(sides, GRAZED * (within + spread) * sqrt4(distance)) | at_most4(fast, slow)
        for lane in range(4):
            j = np.int64(int_at(scratch, e + lane))
            c, d = int_at(ends, 2 * j), int_at(ends, 2 * j + 1)
            keep = ((bits >> lane) & 1) & np.int64((a != c) & (a != d) & (b != c) & (b != d))
            w = keep_pair(out, room, w, keep, number, int_at(order, j))
    return w


_walk_triangles, _walk_vertices, _walk_edges = walker(_visit_triangles), walker(_visit_vertices), walker(_visit_edges)


@phase_kernel(items="counts/8")
def pair_vertices(
    begin, end, iteration, whole: longs.address, lengths: doubles.address, starts: ints.address, order: ints.span,
    low: rows.address, high: rows.address, blocks: floats.address,
    whole_t: longs.address, lengths_t: doubles.address, starts_t: ints.address, order_t: ints.span,
    low_t: rows.address, high_t: rows.address, blocks_t: floats.address, q: rows.address, settings: doubles,
    alike: ints.address, vertices: ints.address, drifts: rows.address, corners: ints.address, planes: rows.address,
    drifts_t: rows.address, scratch: ints.address, lists: ints.span, counts: longs.address,
):  # fmt: skip
    """Chunk by chunk, vertices and triangles that may meet: the smaller box looks for the larger."""
    grid, n = (whole, lengths, starts, blocks), order[1]
    grid_t, m = (whole_t, lengths_t, starts_t, blocks_t), order_t[1]
    reach = np.float32(1.001 * settings[REACH] + settings[ROUNDING])
    for chunk in range(begin, end):
        own_scratch, (out, room), w, met = scratch_of(scratch, chunk), list_of(lists, chunk), 0, 0
        state = q, alike, vertices, drifts, order_t[0], corners, planes, drifts_t, reach, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            box = row_at(low, i), row_at(high, i)
            if lane4(box[0], 3) > FAR:
                continue
            for k in range(level_at(whole, i), LEVELS):
                if is_empty(whole_t, k):
                    continue
                more, w = _walk_triangles(grid_t, k, box[0], box[1], i, False, state, w, own_scratch)
                met += more
        for i in range(m * chunk // CHUNKS, m * (chunk + 1) // CHUNKS):
            box = row_at(low_t, i), row_at(high_t, i)
            if lane4(box[0], 3) > FAR:
                continue
            for k in range(level_at(whole_t, i) + 1, LEVELS):
                if is_empty(whole, k):
                    continue
                more, w = _walk_vertices(grid, k, box[0], box[1], i, False, state, w, own_scratch)
                met += more
        put_long(counts, 8 * chunk, w)
        put_long(counts, 8 * chunk + 1, met)


@phase_kernel(items="counts/8")
def pair_edges(
    begin, end, iteration, whole: longs.address, lengths: doubles.address, starts: ints.address, order: ints.span,
    low: rows.address, high: rows.address, blocks: floats.address,
    settings: doubles, ends: ints.address, start: rows.address, vector: rows.address, drifts: rows.address,
    scratch: ints.address, lists: ints.span, counts: longs.address,
):  # fmt: skip
    """Chunk by chunk, edges that may meet."""
    grid, n = (whole, lengths, starts, blocks), order[1]
    reach, touch = np.float32(1.001 * settings[REACH]), np.float32(TOUCH * settings[THICKEST])
    rounding = np.float32(2 * settings[ROUNDING])
    for chunk in range(begin, end):
        own_scratch, (out, room), w, met = scratch_of(scratch, chunk), list_of(lists, chunk), 0, 0
        state = order[0], ends, start, vector, drifts, reach, touch, rounding, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            own = level_at(whole, i)
            if lane4(row_at(low, i), 3) > FAR:
                continue
            for k in range(own, LEVELS):
                if is_empty(whole, k):
                    continue
                more, w = _walk_edges(grid, k, row_at(low, i), row_at(high, i), i, k == own, state, w, own_scratch)
                met += more
        put_long(counts, 8 * chunk, w)
        put_long(counts, 8 * chunk + 1, met)
