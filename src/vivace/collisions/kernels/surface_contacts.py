"""From pairs that may meet to contacts, each a plane that two points of surfaces must stay on their sides of.

Reported is every pair that comes within reach in the step, but what says the same twice. Of the pairs that are
described as they are at the start of the step,

- an edge-edge pair counts only if its closest points are inside both edges, and these are not parallel: otherwise one
  of the ends is a vertex whose pair with a triangle of the other edge is as near;
- a vertex-triangle pair whose closest point is on a side or a corner counts only if that point is nearest among all
  triangles around that side or corner (otherwise the vertex is nearer to one of those, and that pair is there for it),
  and only for the first of these triangles.

Pairs that meet on the way are all kept, but for edges that meet at an end.

A pair keeps the mean of both sides' thickness, between vertices that of the point that is touched; of a passive side
and another, the other's. It comes within reach as far off as its thickest corners say, and passes through nearer than
its thinnest do.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import function, spliced
from ...backends.cpu.simd import at, lane4, load4, make4, store4
from ..contacts import BITS, OF_EDGES
from .proximity import (
    ALONG,
    AT_START,
    CORNER,
    INSIDE,
    LOST,
    NONE,
    ON_THE_WAY,
    SIDE,
    TOUCH,
    UNSURE,
    classify,
    follow_pair,
    length,
    measure,
    normal_of,
)
from .surface_boxes import EVERY, EXTRA, REACH, SMALLEST, THICKNESS

REST_SHARE = 0.9  # neighbours at rest keep this share of their rest distance, if that is less than the thickness
DOWNHILL = 0.01  # cosine beyond which the next triangle is nearer, and not only by rounding


@spliced
def _relative(x, o, a, b, c):
    """Points a, b, c of float32 rows, relative to point o; their differences are exact in float64."""
    p, qa, qb, qc = load4(x, o), load4(x, a), load4(x, b), load4(x, c)
    px, py, pz = np.float64(lane4(p, 0)), np.float64(lane4(p, 1)), np.float64(lane4(p, 2))
    return (
        *(np.float64(lane4(qa, 0)) - px, np.float64(lane4(qa, 1)) - py, np.float64(lane4(qa, 2)) - pz),
        *(np.float64(lane4(qb, 0)) - px, np.float64(lane4(qb, 1)) - py, np.float64(lane4(qb, 2)) - pz),
        *(np.float64(lane4(qc, 0)) - px, np.float64(lane4(qc, 1)) - py, np.float64(lane4(qc, 2)) - pz),
    )


@spliced
def _less(y, x):
    return (
        *(y[0] - x[0], y[1] - x[1], y[2] - x[2]),
        *(y[3] - x[3], y[4] - x[4], y[5] - x[5]),
        *(y[6] - x[6], y[7] - x[7], y[8] - x[8]),
    )


@spliced
def _limits(is_edges, settings, thicknesses, passive, o, a, b, c):
    """The least distance that a pair may have to keep, and how near it has to come to count."""
    farther = settings[EXTRA] if at(passive, o) != at(passive, b) else 0.0
    if thicknesses.shape[0] == 1:
        return settings[THICKNESS], settings[REACH] + farther
    first, second, third, fourth = at(thicknesses, o), at(thicknesses, a), at(thicknesses, b), at(thicknesses, c)
    low, high = first, first
    if is_edges:
        low, high, second = min(first, second), max(first, second), third
    low_b, high_b = min(second, min(third, fourth)), max(second, max(third, fourth))
    reach = 0.5 * (high + high_b) * (settings[REACH] / settings[THICKNESS]) + farther
    if at(passive, o) != at(passive, b):
        return low_b if at(passive, o) != 0 else low, reach
    return 0.5 * (low + low_b), reach


@spliced
def _apart(is_edges, settings, thicknesses, passive, o, a, b, c, k):
    """What a pair keeps where its points with the coefficients k are."""
    if thicknesses.shape[0] == 1:
        return settings[THICKNESS]
    one, two, three, four = at(thicknesses, o), at(thicknesses, a), at(thicknesses, b), at(thicknesses, c)
    if is_edges:
        first, second = one + k[1] * (two - one), three - k[3] * (four - three)
    else:
        first, second = one, two - k[2] * (three - two) - k[3] * (four - two)
    if at(passive, o) != at(passive, b):
        return second if at(passive, o) != 0 else first
    return 0.5 * (first + second)


@function
def _gap(is_edges, rest, bodies, o, a, b, c, thickness):
    """The thickness, or less for features of one body that are nearer than that at rest."""
    if at(bodies, o) != at(bodies, a if not is_edges else b):
        return thickness
    ox, oy, oz = rest[3 * o], rest[3 * o + 1], rest[3 * o + 2]
    x = (
        *(rest[3 * a] - ox, rest[3 * a + 1] - oy, rest[3 * a + 2] - oz),
        *(rest[3 * b] - ox, rest[3 * b + 1] - oy, rest[3 * b + 2] - oz),
        *(rest[3 * c] - ox, rest[3 * c + 1] - oy, rest[3 * c + 2] - oz),
    )
    _, z, _ = measure(is_edges, x)
    return min(thickness, REST_SHARE * length(z))


@spliced
def _touched(found, z, thickness):
    """In the place of a gap, for a check: whether the pair touches on the way, or may."""
    if found == LOST:
        return 1.0
    return 1.0 if found == ON_THE_WAY and length(z) <= 1.01 * TOUCH * thickness else 0.0


@spliced
def _leads_nearer(q, v, z, from_x, from_y, from_z, j):
    """Whether the way from the closest point to vertex j leads nearer to v; z leads to v."""
    p, y = load4(q, v), load4(q, j)
    wx = np.float64(lane4(y, 0)) - np.float64(lane4(p, 0)) - from_x
    wy = np.float64(lane4(y, 1)) - np.float64(lane4(p, 1)) - from_y
    wz = np.float64(lane4(y, 2)) - np.float64(lane4(p, 2)) - from_z
    along = z[0] * wx + z[1] * wy + z[2] * wz
    if along <= 0:
        return False
    return along * along > DOWNHILL**2 * (wx * wx + wy * wy + wz * wz) * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2])


@function
def _is_nearest(q, v, corners, z, region, opposite, triangle, pointers, neighbours):
    """Whether no triangle round the side or corner that v is closest to comes nearer to it."""
    fx, fy, fz = -z[0], -z[1], -z[2]  # the closest point, relative to v
    if region >= SIDE:
        across = at(opposite, 3 * triangle + region - SIDE)
        return across < 0 or not _leads_nearer(q, v, z, fx, fy, fz, across)
    corner = corners[region - CORNER]
    for e in range(at(pointers, corner), at(pointers, corner + 1)):
        if _leads_nearer(q, v, z, fx, fy, fz, at(neighbours, e)):
            return False
    return True


@spliced
def _slow(motion, o, a, b, c):
    """At least the largest relative displacement of two of the points."""
    return 2.0 * max(
        np.float64(at(motion, o)), np.float64(at(motion, a)), np.float64(at(motion, b)), np.float64(at(motion, c))
    )


@spliced
def _write(vertices, coefficients, planes, ids, w, o, a, b, c, k, n, gap, own):
    vertices[4 * w], vertices[4 * w + 1], vertices[4 * w + 2], vertices[4 * w + 3] = o, a, b, c
    store4(coefficients, w, make4(np.float32(k[0]), np.float32(k[1]), np.float32(k[2]), np.float32(k[3])))
    store4(planes, w, make4(np.float32(n[0]), np.float32(n[1]), np.float32(n[2]), np.float32(gap)))
    ids[w] = own


@phase_kernel(items="counts/8")
def touch_triangles(
    begin, end, iteration, pairs: ints, counts: longs, triangles: ints, q: rows, s: rows, settings: doubles,
    rest: doubles, bodies: ints, vertices: ints, coefficients: rows, planes: rows, ids: longs, motion: floats,
    owner: ints, opposite: ints, pointers: ints, neighbours: ints, wanted: ints, passive: ints, thicknesses: doubles,
):  # fmt: skip
    """Chunk by chunk, contacts of the vertex-triangle pairs."""
    smallest = settings[SMALLEST]
    for chunk in range(begin, end):
        capacity = pairs.shape[0] // (counts.shape[0] // 4)
        first = chunk * capacity
        w = first
        for k in range(first, first + counts[8 * chunk]):
            v, triangle = at(pairs, 2 * k), at(pairs, 2 * k + 1)
            a, b, c = at(triangles, 3 * triangle), at(triangles, 3 * triangle + 1), at(triangles, 3 * triangle + 2)
            if at(wanted, v) + at(wanted, a) + at(wanted, b) + at(wanted, c) == 0:
                continue
            thickness, reach = _limits(False, settings, thicknesses, passive, v, a, b, c)
            x = _relative(q, v, a, b, c)
            coefficient, z, region = measure(False, x)
            found, time, d = classify(length(z), _slow(motion, v, a, b, c), thickness, reach), 0.0, x
            if found == UNSURE:
                d = _less(_relative(s, v, a, b, c), x)
                found, time, coefficient, z, region = follow_pair(False, x, d, thickness, reach, coefficient, z, region)
            if found == NONE:
                continue
            if found == AT_START and region != INSIDE and settings[EVERY] == 0:
                if (at(owner, triangle) >> region) & 1 == 0:
                    continue
                if not _is_nearest(q, v, (a, b, c), z, region, opposite, triangle, pointers, neighbours):
                    continue
            n = normal_of(False, x, d, time, coefficient, z, smallest)
            if n[0] == 0 and n[1] == 0 and n[2] == 0:
                continue
            if settings[EVERY] != 0:
                gap = _touched(found, z, thickness)
            else:
                keeps = _apart(False, settings, thicknesses, passive, v, a, b, c, coefficient)
                gap = _gap(False, rest, bodies, v, a, b, c, keeps)
            own = (np.int64(v) << BITS) | np.int64(triangle)
            _write(vertices, coefficients, planes, ids, w, v, a, b, c, coefficient, n, gap, own)
            w += 1
        counts[8 * chunk + 2] = w - first


@phase_kernel(items="counts/8")
def touch_edges(
    begin, end, iteration, pairs: ints, counts: longs, edges: ints, q: rows, s: rows, settings: doubles, rest: doubles,
    bodies: ints, vertices: ints, coefficients: rows, planes: rows, ids: longs, motion: floats, wanted: ints,
    passive: ints, thicknesses: doubles,
):  # fmt: skip
    """Chunk by chunk, contacts of the edge-edge pairs."""
    smallest = settings[SMALLEST]
    for chunk in range(begin, end):
        capacity = pairs.shape[0] // (counts.shape[0] // 4)
        first = chunk * capacity
        w = first
        for k in range(first, first + counts[8 * chunk]):
            e, f = at(pairs, 2 * k), at(pairs, 2 * k + 1)
            a, b, c, d = at(edges, 2 * e), at(edges, 2 * e + 1), at(edges, 2 * f), at(edges, 2 * f + 1)
            if at(wanted, a) + at(wanted, b) + at(wanted, c) + at(wanted, d) == 0:
                continue
            thickness, reach = _limits(True, settings, thicknesses, passive, a, b, c, d)
            x = _relative(q, a, b, c, d)
            coefficient, z, region = measure(True, x)
            found, time, move = classify(length(z), _slow(motion, a, b, c, d), thickness, reach), 0.0, x
            if found == UNSURE:
                move = _less(_relative(s, a, b, c, d), x)
                found, time, coefficient, z, region = follow_pair(
                    True, x, move, thickness, reach, coefficient, z, region
                )
            if found == NONE:
                continue
            if region != INSIDE and (region != ALONG or found == AT_START) and settings[EVERY] == 0:
                continue
            n = normal_of(True, x, move, time, coefficient, z, smallest)
            if n[0] == 0 and n[1] == 0 and n[2] == 0:
                continue
            if settings[EVERY] != 0:
                gap = _touched(found, z, thickness)
            else:
                keeps = _apart(True, settings, thicknesses, passive, a, b, c, d, coefficient)
                gap = _gap(True, rest, bodies, a, b, c, d, keeps)
            own = OF_EDGES | (np.int64(e) << BITS) | np.int64(f)
            _write(vertices, coefficients, planes, ids, w, a, b, c, d, coefficient, n, gap, own)
            w += 1
        counts[8 * chunk + 2] = w - first


@phase_kernel(items="offsets")
def gather(
    begin, end, iteration, counts: longs, offsets: longs, vertices: rows, coefficients: rows, planes: rows,
    ids: longs, to_vertices: rows, to_coefficients: rows, to_planes: rows, to_ids: longs,
):  # fmt: skip
    """Copy the chunks' contacts one after the other; vertex numbers are moved as if they were floats, bit by bit."""
    capacity = vertices.shape[0] // (counts.shape[0] // 8)
    for chunk in range(begin, end):
        w = offsets[chunk]
        for k in range(chunk * capacity, chunk * capacity + counts[8 * chunk + 2]):
            store4(to_vertices, w, load4(vertices, k))
            store4(to_coefficients, w, load4(coefficients, k))
            store4(to_planes, w, load4(planes, k))
            to_ids[w] = ids[k]
            w += 1
