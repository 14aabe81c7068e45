"""Triangles against convex bodies that move through a step, each from one pose to another.

Vertices meet bodies by themselves (`moving`); what is here is for bodies that come between them: one that is smaller
than an edge, one that pulls the mesh apart, the edge of a box across the edge of a triangle. As there, the body stays
where it was made, and the triangle is seen from it. The way between a triangle and the core of a body is the shortest
one [gilbert1988]; over a step, the triangle is moved on by no more than what that way allows, again and again, until
they are near, or the step is over (conservative advancement [mirtich1996]): along the normal of the shortest way
nothing comes closer faster than the fastest of the three corners.

A body may touch a triangle in more than one point: those of its corners that are over the triangle are contacts of
their own. If the core has come through the triangle, the normal is the triangle's, to the side where less of the body
is: that is the side it came from, or the triangle has been passed by half of the body in one step.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import compiled, function
from ...backends.cpu.simd import at
from ...backends.cpu.vectors import cross, dot, plus, times
from .closest import farthest, minus, on_triangle, put, row, shortest
from .distance import BOUNDS, SIZES, field
from .moving import POSE, brought

BLOCK = 64  # triangles whose contacts are gathered together: fixed, so that the order never depends on the threads
PLACE = 10  # of a contact: normal, offset, where its point was when the step began, and the weights of the corners
SLOTS = 64  # numbers of a triangle's contacts with a body: 0 for the nearest point, 1 + k for corner k of the core
STEPS = 32  # of one advancement; one that needs more ends where it is, as if they had met
AIM = 0.9  # of the distance to keep: where advancement leads, so that it ends just inside it
PIERCED = 1e-3  # of the distance to keep: cores that are nearer touch
SLACK = 0.2  # of the distance to keep: a vertex that is as near but for this is enough
FLAT = 0.3  # cosine between the normals of contact and triangle, above which corners over the triangle are looked at


@function
def _set(start, ways, t, triangle):
    """The triangle at a share t of its way."""
    for k in range(3):
        put(triangle, k, plus(row(start, k), times(t, row(ways, k))))


@function
def _nearest(triangle, core, count, enough, limit, simplex, share):
    """How far triangle and core are apart, and the unit normal from the core to the triangle; weights into `share`.

    Also the number of the core's corner that is nearest, -1 if it is not one alone. A distance of 0 says that they
    touch, one above `limit` that they are at least so far apart.
    """
    corners, weights, numbers = simplex
    guess = minus(row(triangle, 0), row(core, 0))
    way, square, used = shortest(triangle, 3, core, count, guess, enough, limit, corners, weights, numbers)
    apart = np.sqrt(square)
    if square == 0.0 or apart > limit:
        return apart, way, -1
    share[0] = share[1] = share[2] = 0.0
    only = numbers[0, 1]
    for k in range(used):
        share[numbers[k, 0]] += weights[k]
        if numbers[k, 1] != only:
            only = -1
    return apart, times(1.0 / np.sqrt(dot(way, way)), way), only


@function
def _pierced(triangle, core, count, share):
    """The normal along which the core has come through least, how far, and the corner that is farthest through."""
    a = row(triangle, 0)
    m = cross(minus(row(triangle, 1), a), minus(row(triangle, 2), a))
    length = np.sqrt(dot(m, m))
    if not length > 0.0:
        return 0.0, m, -1
    m = times(1.0 / length, m)
    height = dot(m, a)
    top, up = farthest(core, count, m)
    bottom, down = farthest(core, count, times(-1.0, m))
    through, corner = up - height, top
    if down + height < through:
        through, corner, m = down + height, bottom, times(-1.0, m)
    c = row(core, corner)
    _, share[0], share[1], share[2] = on_triangle(minus(a, c), minus(row(triangle, 1), c), minus(row(triangle, 2), c))
    return -through, m, corner


@function
def _meet(start, ways, triangle, core, count, radius, near, reach, simplex, share):
    """Whether they come near in the step; how far the cores are apart then, the normal, and the core's corner.

    `triangle` is where they meet, or where the step ends. `near`: the distance to keep (m); `reach`: as near as that at
    the end counts, too.
    """
    longest = 0.0
    for k in range(3):
        longest = max(longest, dot(row(ways, k), row(ways, k)))
    longest, t = np.sqrt(longest), 0.0
    apart, n, corner = 0.0, (0.0, 1.0, 0.0), -1
    for _ in range(STEPS):
        _set(start, ways, t, triangle)
        limit = radius + reach + (1.0 - t) * longest
        apart, n, corner = _nearest(triangle, core, count, PIERCED * near, limit, simplex, share)
        if apart > limit:
            return False, apart, n, corner
        if apart == 0.0:
            apart, n, corner = _pierced(triangle, core, count, share)
            return corner >= 0, apart, n, corner
        if apart - radius <= near:
            break
        if t >= 1.0:
            return apart - radius <= reach, apart, n, corner
        closing = 0.0
        for k in range(3):
            closing = max(closing, -dot(n, row(ways, k)))
        t = min(t + (apart - radius - AIM * near) / closing, 1.0) if closing > 0.0 else 1.0
    return True, apart, n, corner


@function
def _vertex_is_nearer(triangle, n, core, count, apart, slack, simplex, point):
    """Whether a vertex of the triangle is as near to the core as the triangle, but for the slack."""
    _, top = farthest(core, count, n)
    corners, weights, numbers = simplex
    for k in range(3):
        x = row(triangle, k)
        if dot(n, x) - top <= apart + slack:
            put(point, 0, x)
            limit = apart + slack
            _, square, _ = shortest(
                point, 1, core, count, minus(x, row(core, 0)), 0.0, limit, corners, weights, numbers
            )
            if square <= limit * limit:
                return True
    return False


@function
def _over(triangle, n, c, share):
    """How far above a corner of the core the triangle is along n (inf: it is beside it); weights into `share`."""
    a, ab, ac = row(triangle, 0), minus(row(triangle, 1), row(triangle, 0)), minus(row(triangle, 2), row(triangle, 0))
    m = cross(ab, ac)
    along, square = dot(m, n), dot(m, m)
    if not abs(along) > FLAT * np.sqrt(square):
        return np.inf
    height = dot(m, minus(a, c)) / along
    p = minus(plus(c, times(height, n)), a)
    v, w = dot(cross(p, ac), m) / square, dot(cross(ab, p), m) / square
    if v < 0.0 or w < 0.0 or v + w > 1.0:
        return np.inf
    share[0], share[1], share[2] = 1.0 - v - w, v, w
    return height


@function
def _write(places, c, n, offset, start, share):
    """One contact."""
    o = PLACE * c
    point = times(share[0], row(start, 0))
    point = plus(point, plus(times(share[1], row(start, 1)), times(share[2], row(start, 2))))
    for k in range(3):
        places[o + k], places[o + 4 + k], places[o + 7 + k] = n[k], point[k], share[k]
    places[o + 3] = offset


@function
def _spread(triangles, i, x):
    """A third of the square of the longest edge: no point is further from all corners."""
    longest = 0.0
    for k in range(3):
        v, w, square = triangles[3 * i + k], triangles[3 * i + (k + 1) % 3], 0.0
        for axis in range(3):
            edge = np.float64(x[w, axis]) - np.float64(x[v, axis])
            square += edge * edge
        longest = max(longest, square)
    return longest / 3.0


@function
def _bound(fields, k, start, ways, core, count, radius):
    """How far a triangle and body k are apart at least, on all of the triangle's way.

    Along any direction nothing is nearer than the supporting planes say; the ways out at the three corners are tried.
    """
    most = -np.inf
    for i in range(3):
        x = row(start, i)
        _, nx, ny, nz, _ = field(fields, k, x[0], x[1], x[2])
        n, least = (nx, ny, nz), np.inf
        for j in range(3):
            least = min(least, dot(n, row(start, j)) + min(dot(n, row(ways, j)), 0.0))
        _, top = farthest(core, count, n)
        most = max(most, least - top)
    return most - radius


@function
def _beside(rest, b, start, ways, reach):
    """Whether a triangle stays farther than `reach` from the box around a body, along one of the box's own axes."""
    apart = False
    for axis in range(3):
        low, high = np.inf, -np.inf
        for k in range(3):
            x = start[k, axis]
            y = x + ways[k, axis]
            low, high = min(low, min(x, y)), max(high, max(x, y))
        apart |= (low - reach > at(rest, b + 3 + axis)) | (high + reach < at(rest, b + axis))
    return apart


@phase_kernel(items="triangles/3")
def search_triangles(
    begin, end, iteration, sizes: longs.span, shape: doubles.address, grid: floats.address, bounds: doubles,
    rest: doubles, first: doubles.address, last: doubles.address, near: doubles, thicknesses: doubles,
    corners: doubles, corner_at: longs, radii: doubles, rounds: doubles, triangles: ints, q: rows, s: rows,
    places: doubles, triangle_of: ints, collider: ints, slot: ints, counts: longs,
):  # fmt: skip
    """Contacts of triangles begin to end, block by block, from the front of each block's room; and how many there are.

    `bounds`: boxes around all that bodies reach; `rest`: around them where they were made. `near`: the distance to
    keep, `thicknesses`: what their corners keep, one for all or one for each triangle (m). `corners`: of all cores,
    those of body k from `corner_at[k]` on; a body without any is left out. `rounds`: how round bodies count as (m),
    which tells how small a triangle is that its vertices alone keep off. Where there is no room only the number counts.
    """
    fields, colliders = (sizes[0], shape, grid), sizes[1] // SIZES
    room, most, differ = triangle_of.shape[0] // counts.shape[0], 1, near.shape[0] > 1
    for k in range(colliders):
        most = max(most, corner_at[k + 1] - corner_at[k])
    core, start, ways, triangle = np.empty((most, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    simplex = np.empty((4, 3)), np.empty(4), np.empty((4, 2), np.int64)
    share, other, point, boxes = np.empty(3), np.empty(3), np.empty((1, 3)), np.empty((BLOCK, 7))
    for block in range(begin // BLOCK, (end + BLOCK - 1) // BLOCK):
        front, stop = block * BLOCK, min(block * BLOCK + BLOCK, end)
        whole = _boxes_of(triangles, front, stop, q, s, near, boxes)
        count = 0
        for k in range(colliders):
            b, own = BOUNDS * k, corner_at[k + 1] - corner_at[k]
            apart = (whole[0] > at(bounds, b + 3)) | (whole[3] < at(bounds, b)) | (own == 0)
            apart |= (whole[1] > at(bounds, b + 4)) | (whole[4] < at(bounds, b + 1))
            apart |= (whole[2] > at(bounds, b + 5)) | (whole[5] < at(bounds, b + 2))
            if apart:
                continue
            for c in range(3 * own):
                core[c // 3, c % 3] = corners[3 * corner_at[k] + c]
            radius, round_ = radii[k], rounds[k]
            for i in range(front, stop):
                o = i - front
                keep, thickness = near[i if differ else 0], thicknesses[i if differ else 0]
                apart = (boxes[o, 0] > at(bounds, b + 3)) | (boxes[o, 3] < at(bounds, b))
                apart |= (boxes[o, 1] > at(bounds, b + 4)) | (boxes[o, 4] < at(bounds, b + 1))
                apart |= (boxes[o, 2] > at(bounds, b + 5)) | (boxes[o, 5] < at(bounds, b + 2))
                far, close = round_ + thickness, round_ + keep
                apart |= boxes[o, 6] <= far * far - close * close  # vertices alone keep it off
                if apart:
                    continue
                longest = 0.0
                for c in range(3):
                    v = triangles[3 * i + c]
                    put(start, c, brought(first, POSE * k, q[v, 0], q[v, 1], q[v, 2]))
                    put(ways, c, minus(brought(last, POSE * k, s[v, 0], s[v, 1], s[v, 2]), row(start, c)))
                    longest = max(longest, dot(row(ways, c), row(ways, c)))
                reach = keep + max(keep, 0.5 * np.sqrt(longest))
                if _beside(rest, b, start, ways, reach) or _bound(fields, k, start, ways, core, own, radius) > reach:
                    continue
                met, away, n, corner = _meet(start, ways, triangle, core, own, radius, keep, reach, simplex, share)
                if not met:
                    continue
                if away > 0.0 and _vertex_is_nearer(triangle, n, core, own, away, SLACK * keep, simplex, point):
                    continue
                _, top = farthest(core, own, n)
                over = False
                if own < SLOTS:
                    for c in range(own if own > 1 else 0):
                        height = _over(triangle, n, row(core, c), other)
                        if height - radius > reach:
                            continue
                        if count < room:
                            to = block * room + count
                            _write(places, to, n, dot(n, row(core, c)) + radius + keep, start, other)
                            triangle_of[to], collider[to], slot[to] = i, k, c + 1
                        over |= c == corner or height < away + SLACK * keep
                        count += 1
                if not over:
                    if count < room:
                        to = block * room + count
                        _write(places, to, n, top + radius + keep, start, share)
                        triangle_of[to], collider[to], slot[to] = i, k, 0
                    count += 1
        counts[block] = count


@function
def _boxes_of(triangles, front, stop, q, s, near, boxes):
    """Boxes around the ways of some triangles, with their reach, and spreads; returns the box around all."""
    low_x = low_y = low_z = np.inf
    high_x = high_y = high_z = -np.inf
    for i in range(front, stop):
        o, longest = i - front, 0.0
        for axis in range(3):
            boxes[o, axis], boxes[o, axis + 3] = np.inf, -np.inf
        for c in range(3):
            v, square = triangles[3 * i + c], 0.0
            for axis in range(3):
                x, y = np.float64(q[v, axis]), np.float64(s[v, axis])
                boxes[o, axis] = min(boxes[o, axis], min(x, y))
                boxes[o, axis + 3] = max(boxes[o, axis + 3], max(x, y))
                square += (y - x) * (y - x)
            longest = max(longest, square)
        keep = near[i if near.shape[0] > 1 else 0]
        far = keep + max(keep, 0.5 * np.sqrt(longest))
        boxes[o, 6] = max(_spread(triangles, i, q), _spread(triangles, i, s))
        for axis in range(3):
            boxes[o, axis] -= far
            boxes[o, axis + 3] += far
        low_x, low_y, low_z = min(low_x, boxes[o, 0]), min(low_y, boxes[o, 1]), min(low_z, boxes[o, 2])
        high_x, high_y, high_z = max(high_x, boxes[o, 3]), max(high_y, boxes[o, 4]), max(high_z, boxes[o, 5])
    return low_x, low_y, low_z, high_x, high_y, high_z


@compiled
def push_triangles(vertices, weights, normals, gaps, inverse, x, ways, passes):
    """Move triangles (c, 3) out of bodies, one after the other, again and again; `ways` (c, 3, 3) gets the moves.

    What is moved is what it takes to bring the point with these weights to its plane, shared by how light the corners
    are (`inverse`, 1/kg, 0 for what is held).
    """
    for _ in range(passes):
        still = True
        for c in range(len(vertices)):
            depth, total = gaps[c], 0.0
            for k in range(3):
                v = vertices[c, k]
                for axis in range(3):
                    depth -= weights[c, k] * normals[c, axis] * x[v, axis]
                total += weights[c, k] * weights[c, k] * inverse[v]
            if depth <= 1e-7 or not total > 0.0:
                continue
            still = False
            for k in range(3):
                v = vertices[c, k]
                share = depth * weights[c, k] * inverse[v] / total
                for axis in range(3):
                    before = x[v, axis]
                    x[v, axis] += share * normals[c, axis]
                    ways[c, k, axis] += x[v, axis] - before
        if still:
            break
