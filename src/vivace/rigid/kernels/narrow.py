"""Contacts of pairs of bodies: pairs in, points, normals and gaps out.

Two spheres are a line of arithmetic. A half space meets the corners of a core. Of two other bodies the shortest way
between the cores is the normal. Where the cores are closer than a hair or overlap, that way has no direction; then the
normal is the axis along which they overlap least. Bodies without a radius touch so; of others, one is deep in the
other then.

Everything is computed from the position of the first body, so that nothing cancels far from the origin.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, ints, longs, phase_kernel
from ...backends.cpu.compiling import function
from ...backends.cpu.vectors import dot, plus, times
from ...collisions.kernels.closest import minus, put, row, shortest
from .manifold import (
    CANDIDATE,
    LESS,
    NEAREST,
    OTHER_CORNER,
    OWN_CORNER,
    across,
    choose,
    feature,
    foremost,
    keep,
    name,
    overlap,
    sort_names,
)
from .pairs import SPOT
from .separation import axis, separation, turn, turned_normals

HAIR = 1e-4  # of the smaller body's size: cores that are closer have the axis of least overlap
SAME = 1e-3  # ... corners that are closer, seen along the normal, are one
EVEN = 1e-6  # ... corners as high as that are equally high
DOUBT = 1e-6  # ... if a way is longer by that than its own normal says, it is not the shortest
ASIDE = 0.02  # of the radii: lines that are beside each other by less, all along, touch at both ends


@function
def _load(tables, first, last, rotations, i, offset, points):
    """The corners of a core along the world's axes, from the position of the first body; how many there are."""
    vertices = tables[0]
    for k in range(first, last):
        p = turn(rotations, i, vertices[3 * k], vertices[3 * k + 1], vertices[3 * k + 2])
        put(points, k - first, plus(p, offset))
    return last - first


@function
def _one(spots, names, p, u, v, n, apart, number):
    """A single candidate, at a point of the first core."""
    low = dot(p, n)
    spots[0, 0], spots[0, 1], spots[0, 2], spots[0, 3] = dot(p, u), dot(p, v), low, low + apart
    names[0] = number
    return 1


@function
def _write(spots, names, found, u, v, n, origin, radius_a, radius_b, out, features, place):
    """Candidates as contacts: points in the world, midway between the surfaces."""
    sort_names(spots, names, found)
    for k in range(found):
        low, high = spots[k, 2] + radius_a, spots[k, 3] - radius_b
        p = plus(times(spots[k, 0], u), plus(times(spots[k, 1], v), times(0.5 * (low + high), n)))
        o = SPOT * (place + k)
        for c in range(3):
            out[o + c], out[o + 3 + c] = origin[c] + p[c], n[c]
        out[o + 6] = high - low
        features[place + k] = names[k]


@function
def _over_half_space(points, corners, n, second, most, limit, slack, spots, names):
    """Candidates of a core over the half space below a plane through zero; `second`: it is the second body's core.

    The normal n is from the first body to the second: out of the half space if the core is the second's.
    """
    u, v = across(n)
    found = 0
    for k in range(corners):
        p = row(points, k)
        low, high = (0.0, dot(p, n)) if second else (dot(p, n), 0.0)
        number = name(OTHER_CORNER, 0, k) if second else name(OWN_CORNER, k, 0)
        found = keep(spots, names, found, dot(p, u), dot(p, v), low, high, number, limit, 0.0)
    return choose(spots, names, found, most, slack)


@function
def _normal(tables, pattern_a, pattern_b, solid, a, count_a, b, count_b, guess, limit, size, work):
    """Along which normal two cores are how far apart (-inf: too far), and a point of the first where they are.

    Also whether they certainly are so near there: that is not said of the axis of least overlap, which may be one that
    is only as good but for a little.
    """
    normals_a, normals_b, corners, weights, numbers = work[2], work[3], work[4], work[5], work[6]
    way, square, used = shortest(a, count_a, b, count_b, guess, HAIR * size, limit, corners, weights, numbers)
    n, best, near = (0.0, 1.0, 0.0), -np.inf, (0.0, 0.0, 0.0)
    if square > 0.0:
        if square > limit * limit:
            return n, best, near, False
        n = times(-1.0 / np.sqrt(dot(way, way)), way)
        best = separation(a, count_a, b, count_b, n)
        for k in range(used):
            near = plus(near, times(weights[k], row(a, numbers[k, 0])))
        if best >= np.sqrt(square) - DOUBT * size:
            return n, best, near, True
    found, m = axis(tables, pattern_a, pattern_b, solid, a, count_a, b, count_b, normals_a, normals_b, size)
    if found > best:
        best, n = found, m
        middle = foremost(b, count_b, times(-1.0, n), EVEN * size)[1]
        near = row(a, 0) if count_a == 1 else minus(middle, times(best, n))
    return n, best, near, False


@function
def _between_cores(
    tables, pattern_a, pattern_b, solid, a, count_a, b, count_b, guess, radii, reach, size, most, work
):  # fmt: skip
    """Candidates of two bodies with cores: how many, and the normal."""
    normals_a, normals_b, shape_a, shape_b, numbers_a, numbers_b, spots, names = work[2:4] + work[7:13]
    limit = reach + radii
    n, best, near, certain = _normal(
        tables, pattern_a, pattern_b, solid, a, count_a, b, count_b, guess, limit, size, work
    )
    if best == -np.inf or best > limit:
        return 0, n
    u, v = across(n)
    if most == 1:  # one of them is a sphere: there is one contact, whatever it touches
        end = row(a, 0) if count_a == 1 else minus(row(b, 0), times(best, n))
        return _one(spots, names, end, u, v, n, best, name(OWN_CORNER, 0, 0)), n
    even, slack = EVEN * size, SAME * size
    corners_a, ax, ay = feature(tables, pattern_a, normals_a, a, count_a, n, u, v, 1.0, even, shape_a, numbers_a)
    m = times(-1.0, n)
    corners_b, bx, by = feature(tables, pattern_b, normals_b, b, count_b, m, u, v, -1.0, even, shape_b, numbers_b)
    if corners_a == 1:
        return _one(spots, names, near, u, v, n, best, name(OWN_CORNER, numbers_a[0, 0], 0)), n
    if corners_b == 1:
        return _one(spots, names, near, u, v, n, best, name(OTHER_CORNER, 0, numbers_b[0, 0])), n
    aside = max(slack, ASIDE * radii)
    found = overlap(
        shape_a, corners_a, numbers_a, (ax, ay), shape_b, corners_b, numbers_b, (bx, by), best, limit, slack,
        aside, spots, names,
    )  # fmt: skip
    nearest = np.inf
    for k in range(found):
        nearest = min(nearest, spots[k, 3] - spots[k, 2])
    if found == 0 or (certain and nearest > best + LESS * slack):  # the features do not show where cores are closest
        low = dot(near, n)
        number = name(NEAREST, numbers_a[0, 0], numbers_b[0, 0])
        found = keep(spots, names, found, dot(near, u), dot(near, v), low, low + best, number, limit, slack)
    return choose(spots, names, found, most, slack), n


@function
def _pair(i, j, tables, bodies, poses, reach, most, work, out, features, place):
    """The contacts of two bodies, `most` at most, written from `place` on; how many there are."""
    dimensions, patterns, first, last, radii, sizes = bodies
    positions, rotations = poses
    origin = positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]
    offset = minus((positions[3 * j], positions[3 * j + 1], positions[3 * j + 2]), origin)
    zero = (0.0, 0.0, 0.0)
    a, b, spots, names = work[0], work[1], work[11], work[12]
    radii_both, size = radii[i] + radii[j], min(sizes[i], sizes[j])
    if dimensions[i] < 0 or dimensions[j] < 0:
        if dimensions[i] < 0 and dimensions[j] < 0:
            return 0
        second = dimensions[i] < 0
        n = turn(rotations, i if second else j, 0.0, 1.0, 0.0)
        if second:
            corners = _load(tables, first[j], last[j], rotations, j, offset, b)
        else:
            n = times(-1.0, n)
            corners = _load(tables, first[i], last[i], rotations, i, times(-1.0, offset), b)
            origin = plus(origin, offset)
        found = _over_half_space(b, corners, n, second, most, reach + radii_both, SAME * size, spots, names)
    else:
        corners_a = _load(tables, first[i], last[i], rotations, i, zero, a)
        corners_b = _load(tables, first[j], last[j], rotations, j, offset, b)
        turned_normals(tables, patterns[i], rotations, i, work[2])
        turned_normals(tables, patterns[j], rotations, j, work[3])
        found, n = _between_cores(
            tables, patterns[i], patterns[j], dimensions[i] == 3 and dimensions[j] == 3, a, corners_a, b, corners_b,
            times(-1.0, offset), radii_both, reach, size, most, work,
        )  # fmt: skip
    if found > 0:
        u, v = across(n)
        _write(spots, names, found, u, v, n, origin, radii[i], radii[j], out, features, place)
    return found


@phase_kernel(items="counts")
def narrow(
    begin, end, iteration, pairs: ints, starts: longs, counts: ints, spots: doubles, features: longs,
    dimensions: ints, patterns: ints, first: longs, last: longs, radii: doubles, sizes: doubles,
    vertices: doubles, normals: doubles, faces_at: longs, edges_at: longs, edges: ints, loops_at: longs, loops: ints,
    loop_edges: ints, positions: doubles, rotations: doubles, reaches: doubles, room: longs,
):  # fmt: skip
    """The contacts of pairs begin to end, each from its own place on, and their numbers.

    `room`: the largest number of corners, of faces, and of corners of a face, of any core.
    """
    tables = vertices, normals, faces_at, edges_at, edges, loops_at, loops, loop_edges
    bodies = dimensions, patterns, first, last, radii, sizes
    poses = positions, rotations
    most = max(room[0], 4 * room[2] + 8)  # candidates
    work = (
        np.empty((room[0], 3)), np.empty((room[0], 3)),  # corners of both cores
        np.empty((room[1], 3)), np.empty((room[1], 3)),  # normals of their faces
        np.empty((4, 3)), np.empty(4), np.empty((4, 2), np.int64),  # the simplex
        np.empty((room[2], 3)), np.empty((room[2], 3)),  # features
        np.empty((room[2], 2), np.int64), np.empty((room[2], 2), np.int64),
        np.empty((most, CANDIDATE)), np.empty(most, np.int64),
    )  # fmt: skip
    for p in range(begin, end):
        i, j = np.int64(pairs[2 * p]), np.int64(pairs[2 * p + 1])
        reach, place = reaches[i] + reaches[j], starts[p]
        if dimensions[i] == 0 and dimensions[j] == 0:
            x = positions[3 * j] - positions[3 * i]
            y = positions[3 * j + 1] - positions[3 * i + 1]
            z = positions[3 * j + 2] - positions[3 * i + 2]
            length = np.sqrt(x * x + y * y + z * z)
            gap = length - radii[i] - radii[j]
            counts[p] = 0
            if gap <= reach:
                if length > 0.0:
                    x, y, z = x / length, y / length, z / length
                else:  # every way is out
                    x, y, z = 0.0, 1.0, 0.0
                o, away = SPOT * place, radii[i] + 0.5 * gap
                spots[o], spots[o + 3] = positions[3 * i] + away * x, x
                spots[o + 1], spots[o + 4] = positions[3 * i + 1] + away * y, y
                spots[o + 2], spots[o + 5] = positions[3 * i + 2] + away * z, z
                spots[o + 6] = gap
                features[place] = 0
                counts[p] = 1
        else:
            room_here = starts[p + 1] - place
            counts[p] = _pair(i, j, tables, bodies, poses, reach, room_here, work, spots, features, place)
