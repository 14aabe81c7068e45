"""The axis along which two convex cores are farthest apart, or overlap least.

It is the normal of a face of one of them, or stands on an edge of each. Of the pairs of edges, those matter whose
sides see each other: on the sphere of directions an edge is an arc between the normals beside it, and only where an
arc of one core crosses one of the other, turned round, does their difference have a face [gregorius2013]. Flat cores
and lines have no such arcs; they have few edges, and every pair of edges is tried.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function
from ...backends.cpu.vectors import cross, dot, plus, times
from ...collisions.kernels.closest import farthest, minus, put, row

PARALLEL = 1e-6  # sine of the angle between edges: below, faces say it better
STAY = 1e-5  # of the size: an axis that is better by less is not preferred to one that was tried before
PART = 1e-3  # ... or by less than this part of the depth


@function
def turn(rotations, i, x, y, z):
    """From the frame of body i to the world."""
    o = 9 * i
    return (
        rotations[o] * x + rotations[o + 1] * y + rotations[o + 2] * z,
        rotations[o + 3] * x + rotations[o + 4] * y + rotations[o + 5] * z,
        rotations[o + 6] * x + rotations[o + 7] * y + rotations[o + 8] * z,
    )


@function
def turn_back(rotations, i, v):
    """From the world to the frame of body i."""
    o = 9 * i
    return (
        rotations[o] * v[0] + rotations[o + 3] * v[1] + rotations[o + 6] * v[2],
        rotations[o + 1] * v[0] + rotations[o + 4] * v[1] + rotations[o + 7] * v[2],
        rotations[o + 2] * v[0] + rotations[o + 5] * v[1] + rotations[o + 8] * v[2],
    )


@function
def separation(a, count_a, b, count_b, n):
    """How far b is beyond a along n."""
    return -farthest(b, count_b, times(-1.0, n))[1] - farthest(a, count_a, n)[1]


@function
def turned_normals(tables, pattern, rotations, i, out):
    """The normals of a core's faces in the world."""
    normals, first = tables[1], tables[2][pattern]
    for f in range(tables[2][pattern + 1] - first):
        k = 3 * (first + f)
        put(out, f, turn(rotations, i, normals[k], normals[k + 1], normals[k + 2]))


@function
def best_face(tables, pattern, normals, own, others, count):
    """The face of a core that has another core farthest before it: how far that is, and its normal."""
    faces_at, loops_at, loops = tables[2], tables[5], tables[6]
    first, best, out = faces_at[pattern], -np.inf, (0.0, 1.0, 0.0)
    for f in range(first, faces_at[pattern + 1]):
        n = row(normals, f - first)
        found = -farthest(others, count, times(-1.0, n))[1] - dot(n, row(own, loops[loops_at[f]]))
        if found > best:
            best, out = found, n
    return best, out


@function
def best_edges(tables, pattern_a, pattern_b, a, b, normals_a, normals_b):
    """The pair of edges of two solid cores that is farthest apart: how far, and along which axis."""
    edges_at, edges = tables[3], tables[4]
    best, out = -np.inf, (0.0, 1.0, 0.0)
    for e in range(edges_at[pattern_a], edges_at[pattern_a + 1]):
        a0 = row(a, edges[4 * e])
        way_a = minus(row(a, edges[4 * e + 1]), a0)
        left_a, right_a = row(normals_a, edges[4 * e + 2]), row(normals_a, edges[4 * e + 3])
        middle_a = plus(left_a, right_a)
        for g in range(edges_at[pattern_b], edges_at[pattern_b + 1]):
            # The arcs, that of b turned round, cross if each has its ends on both sides of the other ...
            left_b, right_b = row(normals_b, edges[4 * g + 2]), row(normals_b, edges[4 * g + 3])
            if dot(left_b, way_a) * dot(right_b, way_a) >= 0.0:
                continue
            b0 = row(b, edges[4 * g])
            way_b = minus(row(b, edges[4 * g + 1]), b0)
            if dot(left_a, way_b) * dot(right_a, way_b) >= 0.0:
                continue
            n = cross(way_a, way_b)
            square = dot(n, n)
            if square <= PARALLEL * PARALLEL * dot(way_a, way_a) * dot(way_b, way_b):
                continue
            n = times((1.0 if dot(n, middle_a) > 0.0 else -1.0) / np.sqrt(square), n)
            if dot(n, left_b) + dot(n, right_b) >= 0.0:  # ... and they are not opposite to each other
                continue
            found = dot(n, minus(b0, a0))
            if found > best:
                best, out = found, n
    return best, out


@function
def _better(found, best, size):
    return best == -np.inf or found > best + STAY * size + PART * abs(best)


@function
def _try(a, count_a, b, count_b, n, best, out):
    """An axis, in both directions."""
    found = separation(a, count_a, b, count_b, n)
    if found > best:
        best, out = found, n
    n = times(-1.0, n)
    found = separation(a, count_a, b, count_b, n)
    if found > best:
        best, out = found, n
    return best, out


@function
def axis(tables, pattern_a, pattern_b, solid, a, count_a, b, count_b, normals_a, normals_b, size):
    """How far two cores are apart, negative if they overlap, and the axis from the first to the second.

    Faces of the first go before faces of the second, and these before edges, if they are as good: an axis that is as
    good as another would otherwise change places with it from step to step.
    """
    best, out = best_face(tables, pattern_a, normals_a, a, b, count_b)
    found, n = best_face(tables, pattern_b, normals_b, b, a, count_a)
    if found > -np.inf and _better(found, best, size):
        best, out = found, times(-1.0, n)
    if solid:
        found, n = best_edges(tables, pattern_a, pattern_b, a, b, normals_a, normals_b)
    else:
        found, n = -np.inf, out
        edges_at, edges = tables[3], tables[4]
        for e in range(edges_at[pattern_a], edges_at[pattern_a + 1]):
            way_a = minus(row(a, edges[4 * e + 1]), row(a, edges[4 * e]))
            for g in range(edges_at[pattern_b], edges_at[pattern_b + 1]):
                way_b = minus(row(b, edges[4 * g + 1]), row(b, edges[4 * g]))
                m = cross(way_a, way_b)
                square = dot(m, m)
                if square > PARALLEL * PARALLEL * dot(way_a, way_a) * dot(way_b, way_b):
                    found, n = _try(a, count_a, b, count_b, times(1.0 / np.sqrt(square), m), found, n)
    if found > -np.inf and _better(found, best, size):
        best, out = found, n
    if best == -np.inf:  # two lines along each other, or a point on a line: away from the line, and up if possible
        way = minus(row(a, count_a - 1), row(a, 0)) if count_a > 1 else minus(row(b, count_b - 1), row(b, 0))
        m = cross(cross(way, (0.0, 1.0, 0.0)), way)
        if dot(m, m) <= 1e-12 * dot(way, way) ** 2:
            m = cross(cross(way, (1.0, 0.0, 0.0)), way)
        best, out = _try(a, count_a, b, count_b, times(1.0 / np.sqrt(dot(m, m)), m), best, out)
    return best, out
