"""The features of surfaces in a step: their boxes, and their shapes in the order of the grid.

The boxes hold the way from q to s, in a frame that moves with the mean of everything: a heap that falls has the boxes
of a heap at rest.

Some vertices may be passive: features of them do not meet each other. Their boxes have a fourth side that lies the
wrong way round, from 1 to -1 where that of others lies from -1 to 1: it overlaps theirs, and none of its like. What is
far from all others has one that overlaps nothing. Passive features may reach farther than others reach each other.

REACH and THICKNESS are those of the thinnest. Where vertices differ, a feature reaches as much farther as half of its
own thickness is more than half of that, in proportion (`wider`): two of them together as far as their pair.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import count, doubles, floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import compiled, spliced
from ...backends.cpu.simd import at, dot4, lane4, load4, make4, max4, min4, splat4, store4
from .hash_grid import level_of
from .proximity import cross

# Settings of a step, in float64.
MOTION, INFLATE, REACH, THICKNESS, SMALLEST, ROUNDING, TYPICAL_SIZE, EVERY = 0, 3, 4, 5, 6, 7, 8, 9
LOWEST, HIGHEST = 10, 13  # corners of the box around all that is not passive
EXTRA, THICKEST, SETTINGS = 16, 17, 18  # how much farther than REACH passive features reach; the largest thickness
FAR = np.float32(2)  # the fourth side of a box that overlaps nothing begins beyond
ROUNDED = np.float32(1e-5)  # of a displacement: what float32 may have lost of it
# Times the typical box at the start of a step: the largest on the level of most. With their way boxes are larger: with
# twice, those of a dress that turns were on two levels, and took a fifth to two fifths longer to pair.
LARGER = 4.0
THIN = 1e-2  # twice the area over the longest side squared, below which float32 has no normal for a triangle


@compiled
def survey(q, s, used, edges, passive, settings):
    """Write mean motion, rounding, typical size and box into the settings; False if something is not finite."""
    mx, my, mz, highest = 0.0, 0.0, 0.0, 0.0
    low, high, low_after, high_after = np.full(3, np.inf), np.full(3, -np.inf), np.full(3, np.inf), np.full(3, -np.inf)
    for v in used:
        for axis in range(3):
            highest = max(highest, abs(np.float64(q[v, axis])), abs(np.float64(s[v, axis])))
            if not (np.isfinite(q[v, axis]) and np.isfinite(s[v, axis])):
                return False
            if passive[v] == 0:
                low[axis], high[axis] = min(low[axis], q[v, axis]), max(high[axis], q[v, axis])
                low_after[axis] = min(low_after[axis], s[v, axis])
                high_after[axis] = max(high_after[axis], s[v, axis])
        mx += np.float64(s[v, 0]) - np.float64(q[v, 0])
        my += np.float64(s[v, 1]) - np.float64(q[v, 1])
        mz += np.float64(s[v, 2]) - np.float64(q[v, 2])
    n = max(1, used.shape[0])
    settings[MOTION], settings[MOTION + 1], settings[MOTION + 2] = mx / n, my / n, mz / n
    settings[ROUNDING] = 4e-7 * highest  # of the differences of positions, with room
    settings[INFLATE] = 0.5 * settings[REACH] + settings[ROUNDING]
    share = settings[REACH] / settings[THICKNESS] if settings[THICKEST] > settings[THICKNESS] else 0.0
    settings[SMALLEST] = max(1e-3 * settings[THICKNESS], 4 * settings[ROUNDING])
    for axis in range(3):
        room = settings[INFLATE] + settings[ROUNDING] + 0.501 * (settings[THICKEST] - settings[THICKNESS]) * share
        settings[LOWEST + axis] = min(low[axis], low_after[axis] - settings[MOTION + axis]) - room
        settings[HIGHEST + axis] = max(high[axis], high_after[axis] - settings[MOTION + axis]) + room
    total, count = 0.0, min(edges.shape[0], 1024)
    for k in range(count):
        a, b = edges[k * edges.shape[0] // count]
        x, y, z = abs(q[a, 0] - q[b, 0]), abs(q[a, 1] - q[b, 1]), abs(q[a, 2] - q[b, 2])
        total += np.log(np.float64(max(x, y, z)) + 2 * settings[INFLATE])
    settings[TYPICAL_SIZE] = LARGER * np.exp(total / count) if count else 1.0
    return True


@phase_kernel(items="shifted")
def follow(begin, end, iteration, q: rows, s: rows, settings: doubles, shifted: rows, motion: floats):
    """s in the frame that moves with everything, and how far each vertex moves in it."""
    mean = make4(
        *(np.float32(settings[MOTION]), np.float32(settings[MOTION + 1]), np.float32(settings[MOTION + 2])),
        np.float32(0),
    )
    for i in range(begin, end):
        y = load4(s, i) - mean
        store4(shifted, i, y)
        d = y - load4(q, i)
        motion[i] = np.sqrt(dot4(d, d))


@phase_kernel(items="low")
def bound(
    begin, end, iteration, low: rows, high: rows, level: ints, corners: ints, width: count, drift: rows, q: rows,
    shifted: rows, passive: ints, wider: floats, settings: doubles,
):  # fmt: skip
    """Boxes, levels and drifts of features with `width` corners each.

    A drift is a row: the mean displacement of the corners, and how far the displacement of a point may be from it. Two
    features that move alike have a small relative displacement, however fast they are. `wider`: how much farther than
    others each vertex reaches (m), (0,) if none does.
    """
    inflate = np.float32(settings[INFLATE])
    base = settings[TYPICAL_SIZE]
    out = make4(inflate, inflate, inflate, np.float32(1))
    extra = np.float32(1.001 * settings[EXTRA])
    wrong = make4(-extra, -extra, -extra, np.float32(2))
    nowhere = make4(np.float32(0), np.float32(0), np.float32(0), np.float32(2))
    for i in range(begin, end):
        x, y = load4(q, at(corners, width * i)), load4(shifted, at(corners, width * i))
        upper, lower = max4(x, y), min4(x, y)
        mean = y - x
        for k in range(1, width):
            x, y = load4(q, at(corners, width * i + k)), load4(shifted, at(corners, width * i + k))
            upper, lower = max4(upper, max4(x, y)), min4(lower, min4(x, y))
            mean += y - x
        mean = (np.float32(1) / np.float32(width)) * mean
        spread = np.float32(0)
        for k in range(width):
            d = load4(shifted, at(corners, width * i + k)) - load4(q, at(corners, width * i + k)) - mean
            spread = max(spread, dot4(d, d))
        spread = np.sqrt(spread) + ROUNDED * np.sqrt(dot4(mean, mean))
        upper, lower = upper + out, lower - out
        if wider.shape[0] > 0:
            more = np.float32(0)
            for k in range(width):
                more = max(more, at(wider, at(corners, width * i + k)))
            upper, lower = (
                upper + make4(more, more, more, np.float32(0)),
                lower - make4(more, more, more, np.float32(0)),
            )
        if at(passive, at(corners, width * i)) != 0:
            upper, lower = upper - wrong, lower + wrong
            apart = (lane4(upper, 0) < settings[LOWEST]) | (lane4(lower, 0) > settings[HIGHEST])
            apart |= (lane4(upper, 1) < settings[LOWEST + 1]) | (lane4(lower, 1) > settings[HIGHEST + 1])
            apart |= (lane4(upper, 2) < settings[LOWEST + 2]) | (lane4(lower, 2) > settings[HIGHEST + 2])
            if apart:
                lower = lower + nowhere
        store4(low, i, lower)
        store4(high, i, upper)
        store4(drift, i, make4(lane4(mean, 0), lane4(mean, 1), lane4(mean, 2), spread))
        size = upper - lower
        level[i] = level_of(np.float64(max(lane4(size, 0), lane4(size, 1), lane4(size, 2))), base)


# --- features in the order of the grid --------------------------------------------------------------------------------


@spliced
def _fourth(value):
    return make4(np.float32(0), np.float32(0), np.float32(0), value)


@spliced
def _farther(passive, v, settings):
    """How much farther than others a feature with the vertex v reaches, if it is passive."""
    return np.float32(1.001 * settings[EXTRA]) if at(passive, v) != 0 else np.float32(0)


@spliced
def _wider(wider, a, b, c):
    """How much farther than others a feature with the vertices a, b and c reaches, for it is thick."""
    return max(at(wider, a), max(at(wider, b), at(wider, c))) if wider.shape[0] > 0 else np.float32(0)


@phase_kernel(items="vertices")
def arrange_vertices(
    begin, end, iteration, order: ints, used: ints, drift: rows, passive: ints, wider: floats, settings: doubles,
    vertices: ints, drifts: rows,
):  # fmt: skip
    """Numbers and drifts of the vertices in sorted order."""
    for i in range(begin, end):
        v = at(used, at(order, i))
        vertices[i] = v
        store4(drifts, i, load4(drift, at(order, i)) + _fourth(_farther(passive, v, settings) + _wider(wider, v, v, v)))


@phase_kernel(items="start")
def arrange_edges(
    begin, end, iteration, order: ints, edges: ints, drift: rows, q: rows, passive: ints, wider: floats,
    alike: ints, settings: doubles, ends: ints, start: rows, vector: rows, drifts: rows,
):  # fmt: skip
    """Ends of the edges in sorted order; rows of start and extra reach, of vector and square length, and drifts.

    `alike`: of each vertex the first of those that it is sewn to. Ends are told by these alone, and so are corners.
    """
    for i in range(begin, end):
        o = at(order, i)
        a, b = at(edges, 2 * o), at(edges, 2 * o + 1)
        ends[2 * i], ends[2 * i + 1] = at(alike, a), at(alike, b)
        x = load4(q, a)
        u = load4(q, b) - x
        reach = _farther(passive, a, settings) + _wider(wider, a, b, b)
        store4(start, i, make4(lane4(x, 0), lane4(x, 1), lane4(x, 2), reach))
        store4(drifts, i, load4(drift, o))
        store4(vector, i, make4(lane4(u, 0), lane4(u, 1), lane4(u, 2), dot4(u, u)))


@phase_kernel(items="drifts")
def arrange_triangles(
    begin, end, iteration, order: ints, triangles: ints, drift: rows, q: rows, passive: ints, wider: floats,
    alike: ints, settings: doubles, corners: ints, planes: rows, drifts: rows,
):  # fmt: skip
    """Corners, motion, and four planes of the triangles in sorted order: their own, and outwards through the sides.

    The planes are transposed: rows of x, y, z components and offsets, so that a point meets all four in three
    multiply-adds. Triangles that are too thin for float32 have zeros: no point is far from them.
    """
    rounding = np.float32(settings[ROUNDING])
    zero = splat4(np.float32(0))
    for i in range(begin, end):
        o = at(order, i)
        ia, ib, ic = at(triangles, 3 * o), at(triangles, 3 * o + 1), at(triangles, 3 * o + 2)
        corners[3 * i], corners[3 * i + 1], corners[3 * i + 2] = at(alike, ia), at(alike, ib), at(alike, ic)
        a = load4(q, ia)
        u, v = load4(q, ib) - a, load4(q, ic) - a
        ux, uy, uz, vx, vy, vz = lane4(u, 0), lane4(u, 1), lane4(u, 2), lane4(v, 0), lane4(v, 1), lane4(v, 2)
        wx, wy, wz = vx - ux, vy - uy, vz - uz
        uu, vv, ww = dot4(u, u), dot4(v, v), dot4(v - u, v - u)
        longest = max(uu, vv, ww)
        nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
        norm = np.sqrt(nx * nx + ny * ny + nz * nz)
        store4(planes, 5 * i, a)
        room = np.float32(1e-4) * np.sqrt(longest) + rounding + _farther(passive, ia, settings)
        room += _wider(wider, ia, ib, ic)
        store4(drifts, i, load4(drift, o) + _fourth(room))
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
