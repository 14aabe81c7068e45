"""Passes over contacts with animated meshes: which of them count, and the planes over soft vertices that they become.

Everything is float64, and sums are made in the order of their terms. Vertices of animated meshes have numbers from
`soft` on, how many vertices the soft bodies have. `some`: numbers of the contacts that are asked for.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, function, spliced
from ..contacts import BITS, OF_EDGES, OF_PATCH

EDGE = 1e-6  # weight below which a corner has none
ASKEW = 0.06  # how much less than that of the triangles around may the cosine of a normal with that of the body be
FACING = 0.5  # cosine of the largest angle between the normal of what is met on the way and that of the surface
FEATURE = (1 << BITS) - 1


@spliced
def _size(x, y, z):
    return np.sqrt(x * x + y * y + z * z)


@function
def _side(q, one, two):
    """The way between two vertices."""
    x, y, z = np.float64(q[two, 0]), np.float64(q[two, 1]), np.float64(q[two, 2])
    return x - np.float64(q[one, 0]), y - np.float64(q[one, 1]), z - np.float64(q[one, 2])


@spliced
def _cross(u, v):
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@compiled
def look_outwards(q, soft, faces, border):
    """Normals of animated vertices, and their least cosine with triangles around them; -1 for those on a `border`.

    `faces`: triangles of animated meshes, by numbers that begin at 0.
    """
    count = border.shape[0]
    normals, least = np.zeros((count, 3)), np.ones(count)
    across = np.empty((faces.shape[0], 3))
    for t in range(faces.shape[0]):
        a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
        x, y, z = _cross(_side(q, soft + a, soft + b), _side(q, soft + a, soft + c))
        across[t, 0], across[t, 1], across[t, 2] = x, y, z
        for k in range(3):
            v = faces[t, k]
            normals[v, 0] += x
            normals[v, 1] += y
            normals[v, 2] += z
    for v in range(count):
        size = max(_size(normals[v, 0], normals[v, 1], normals[v, 2]), 1e-30)
        for k in range(3):
            normals[v, k] /= size
    for t in range(faces.shape[0]):
        size = max(_size(across[t, 0], across[t, 1], across[t, 2]), 1e-30)
        x, y, z = across[t, 0] / size, across[t, 1] / size, across[t, 2] / size
        for k in range(3):
            v = faces[t, k]
            least[v] = min(least[v], normals[v, 0] * x + normals[v, 1] * y + normals[v, 2] * z)
    for v in range(count):
        if border[v]:
            least[v] = -1.0
    return normals, least


@function
def _outwards(vertices, coefficients, c, soft, nx, ny, nz, normals, least):
    """Whether a contact's normal is one that animated meshes have there, between those of the triangles around."""
    x, y, z, lowest = 0.0, 0.0, 0.0, 1.0
    for k in range(4):
        v = vertices[c, k] - soft
        if v < 0:
            continue
        weight = abs(np.float64(coefficients[c, k]))
        x += weight * normals[v, 0]
        y += weight * normals[v, 1]
        z += weight * normals[v, 2]
        if weight > EDGE:
            lowest = min(lowest, least[v])
    size = max(_size(x, y, z), 1e-30)
    return abs(x / size * nx + y / size * ny + z / size * nz) >= lowest - ASKEW


@compiled
def met_first(
    some, vertices, coefficients, planes, vertex_triangle, q, s, soft, owner, meshes, normals, least, thickness, reach
):
    """Which contacts count, see `driven.Driven._met_first`; normals and least are what `look_outwards` gave.

    `thickness`, `reach`: of each of them (m).
    """
    count = some.shape[0]
    use, met = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    times, whose = np.empty(count), np.empty(count, np.int64)
    first, first_alone = np.full(soft * meshes, np.inf), np.full(soft * meshes, np.inf)
    began, ended = np.empty(3), np.empty(3)
    for k in range(count):
        c = some[k]
        edges = c >= vertex_triangle
        v0, v1, v2, v3 = vertices[c, 0], vertices[c, 1], vertices[c, 2], vertices[c, 3]
        for axis in range(3):
            began[axis] = ended[axis] = 0.0
            for corner in range(4):
                a, v = np.float64(coefficients[c, corner]), vertices[c, corner]
                began[axis] += a * np.float64(q[v, axis])
                ended[axis] += a * np.float64(s[v, axis])
        nx, ny, nz = np.float64(planes[c, 0]), np.float64(planes[c, 1]), np.float64(planes[c, 2])
        before = nx * began[0] + ny * began[1] + nz * began[2]
        after = nx * ended[0] + ny * ended[1] + nz * ended[2]
        apart = _size(began[0], began[1], began[2])
        met[k] = apart > reach[k] or before < 0.99 * apart  # on the way, and not there when the step began
        if edges:
            x, y, z = _cross(_side(q, v0, v1), _side(q, v2, v3))
        else:
            x, y, z = _cross(_side(q, v1, v2), _side(q, v1, v3))
        facing = abs(nx * x + ny * y + nz * z) > FACING * _size(x, y, z)
        use[k] = (not met[k] or facing) and _outwards(vertices, coefficients, c, soft, nx, ny, nz, normals, least)
        # When it is met; what is not is met last, and what is close already at once.
        times[k] = before / max(before - after, max(before, 1e-30)) if before > thickness[k] else 0.0
        way = _size(ended[0] - began[0], ended[1] - began[1], ended[2] - began[2])
        until = times[k] + thickness[k] / max(way, thickness[k])
        whose[k] = owner[max(v0, v1, v2, v3) - soft]
        if not use[k]:
            continue
        alone = not edges and v0 < soft
        for corner in range(4):
            v = vertices[c, corner]
            if v < soft and abs(np.float64(coefficients[c, corner])) > EDGE:
                slot = v * meshes + whose[k]
                first[slot] = min(first[slot], until)
                if alone:
                    first_alone[slot] = min(first_alone[slot], until)
    for k in range(count):
        c = some[k]
        if not (use[k] and met[k]):
            continue
        # Of one vertex: what triangles around it meet before says nothing of where it does.
        alone = c < vertex_triangle and vertices[c, 0] < soft
        for corner in range(4):
            v = vertices[c, corner]
            if v < soft and abs(np.float64(coefficients[c, corner])) > EDGE:
                slot = v * meshes + whose[k]
                if times[k] > (first_alone[slot] if alone else first[slot]):
                    use[k] = False
    return use


@function
def _place(row, nx, ny, nz, gap, shares, other, q, s, planes, motion):
    """Write the plane in front of a point of animated meshes, the mean of three vertices, and how far it goes."""
    offset = 0.0
    for axis in range(3):
        began, ended = 0.0, 0.0
        for k in range(3):
            began += shares[k] * np.float64(q[other[k], axis])
            ended += shares[k] * np.float64(s[other[k], axis])
        n = nx if axis == 0 else ny if axis == 1 else nz
        offset += n * ended
        planes[row, axis] = np.float32(n)
        motion[row, axis] = np.float32(ended - began)
    planes[row, 3] = np.float32(gap + offset)


@compiled
def wall_rows(some, vertices, coefficients, given, ids, q, s, soft, owner, meshes, first_id):
    """A vertex against a triangle as a plane over that vertex: (vertices, planes, motion, owners, ids)."""
    count = some.shape[0]
    own, which, keys = np.empty((count, 1), np.int32), np.empty(count, np.int64), np.empty(count, np.int64)
    planes, motion = np.empty((count, 4), np.float32), np.empty((count, 3), np.float32)
    shares, other, has = np.empty(3), np.empty(3, np.int64), np.zeros(soft, np.int64)
    for row in range(count):
        has[vertices[some[row], 0]] += 1
    for row in range(count):
        c = some[row]
        v = np.int64(vertices[c, 0])
        for k in range(3):
            shares[k], other[k] = -np.float64(coefficients[c, k + 1]), vertices[c, k + 1]
        own[row, 0], which[row] = v, owner[other[0] - soft]
        # A vertex that is alone with a mesh calls it by the same number, whichever triangle it is.
        feature = 0 if has[v] == 1 else 1 + (ids[c] & FEATURE)
        keys[row] = (v << BITS) | (first_id + which[row] + meshes * feature)
        nx, ny, nz = np.float64(given[c, 0]), np.float64(given[c, 1]), np.float64(given[c, 2])
        _place(row, nx, ny, nz, np.float64(given[c, 3]), shares, other, q, s, planes, motion)
    return own, planes, motion, which, keys


@compiled
def patch_rows(
    some, vertices, coefficients, given, ids, vertex_triangle, q, s, soft, across, triangles, owner, meshes, first_id,
    near,
):  # fmt: skip
    """A triangle against a vertex, and an edge against an edge, as planes over three vertices and the first again.

    `across`: a third corner for each edge; `triangles`: how many the soft bodies have; `near`: the largest gap of
    each (m), float32. Returns (vertices, coefficients, planes, motion, owners, ids).
    """
    count = some.shape[0]
    own, weights = np.empty((count, 4), np.int32), np.zeros((count, 4), np.float32)
    planes, motion = np.empty((count, 4), np.float32), np.empty((count, 3), np.float32)
    which, keys = np.empty(count, np.int64), np.empty(count, np.int64)
    shares, other = np.empty(3), np.empty(3, np.int64)
    for row in range(count):
        c = some[row]
        ahead = vertices[c, 0] < soft  # an edge that comes first; a triangle comes second
        one, two = (ids[c] & ~OF_EDGES) >> BITS, ids[c] & FEATURE
        if c < vertex_triangle:
            for k in range(3):
                own[row, k], weights[row, k] = vertices[c, k + 1], -coefficients[c, k + 1]
                shares[k], other[k] = 0.0, vertices[c, 0]
            shares[0] = 1.0
            feature, touched = two, one
        else:
            mine, its = (0, 2) if ahead else (2, 0)
            feature, touched = (one, two) if ahead else (two, one)
            for k in range(2):
                own[row, k], weights[row, k] = vertices[c, mine + k], abs(coefficients[c, mine + k])
                shares[k], other[k] = abs(np.float64(coefficients[c, its + k])), vertices[c, its + k]
            own[row, 2], other[2], shares[2] = across[feature], other[0], 0.0
            feature += triangles
        own[row, 3] = own[row, 0]
        which[row] = owner[other[0] - soft]
        keys[row] = OF_PATCH | (feature << BITS) | (first_id + which[row] + meshes * (1 + (touched & FEATURE)))
        sign = 1.0 if ahead else -1.0
        nx, ny, nz = np.float64(given[c, 0]), np.float64(given[c, 1]), np.float64(given[c, 2])
        gap = np.float64(min(given[c, 3], near[row]))
        _place(row, sign * nx, sign * ny, sign * nz, gap, shares, other, q, s, planes, motion)
    return own, weights, planes, motion, which, keys


@compiled
def in_front(vertices, planes, s, soft, rounds):
    """Where vertices end that are moved in front of their deepest walls, some rounds long, (soft, 3); and which are.

    The walls of a vertex follow each other. At first all come down to their walls.
    """
    x, held = np.empty((soft, 3)), np.zeros(soft, np.bool_)
    for v in range(soft):
        for axis in range(3):
            x[v, axis] = s[v, axis]
    begin = 0
    while begin < vertices.shape[0]:
        v, end = vertices[begin, 0], begin + 1
        while end < vertices.shape[0] and vertices[end, 0] == v:
            end += 1
        held[v] = True
        for k in range(rounds):
            deepest, deep = begin, -np.inf
            for c in range(begin, end):
                along = 0.0
                for axis in range(3):
                    along += np.float64(planes[c, axis]) * x[v, axis]
                depth = np.float64(planes[c, 3]) - along
                if depth >= deep:
                    deepest, deep = c, depth
            if k == 0 or deep > 0:
                for axis in range(3):
                    x[v, axis] += deep * np.float64(planes[deepest, axis])
        begin = end
    return x, held


@compiled
def left_over(vertices, coefficients, planes, motion, x, held, q, spare):
    """Which patches have less than `spare` (m, of each) to spare where vertices are at x.

    Vertices that are not `held` end nobody knows where: perhaps as far off as they were at q.
    """
    out = np.empty(vertices.shape[0], np.bool_)
    for c in range(vertices.shape[0]):
        over, over_before, loose = 0.0, 0.0, False
        for axis in range(3):
            z, began = 0.0, 0.0
            for k in range(4):
                a, v = np.float64(coefficients[c, k]), vertices[c, k]
                z += a * x[v, axis]
                began += a * np.float64(q[v, axis])
                loose = loose or (a > EDGE and not held[v])
            n = np.float64(planes[c, axis])
            over += z * n
            over_before += (began + np.float64(motion[c, axis])) * n
        gap = np.float64(planes[c, 3])
        least = min(over - gap, over_before - gap) if loose else over - gap
        out[c] = least < spare[c]
    return out
