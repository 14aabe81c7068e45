"""Where two convex cores touch, once it is known along which normal.

Each core has a feature that lies foremost along the normal: a face, a line or a point. Seen along the normal, the two
overlap in a polygon. Its corners are the contacts: corners of one feature that lie over the other, and crossings of
their edges. Each has its own gap, measured along the normal. So nothing has to be said about which of the two bodies
is the one that touches, and how far features may be tilted: what is tilted away has a larger gap.

What lies over an edge but for a small tolerance counts as over the face, and corners that fall together are one: so
the names of contacts do not change with rounding where bodies are stacked edge over edge.

A feature is a table of rows x, y, h: seen along the normal, and the height along it. Its numbers are those of the
corners and of the edges that follow them.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function
from ...backends.cpu.vectors import cross, dot, times
from ...collisions.kernels.closest import farthest, minus, row

STEEP = 0.1  # cosine between a face and the normal, or sine for a line: what is steeper is not seen along it
OWN_CORNER, OTHER_CORNER, CROSSING, NEAREST = 0, 1, 2, 3  # kinds of features that touch
LESS = 0.01  # of the slack: a gap that is smaller by that is smaller
CANDIDATE = 4  # numbers of a candidate: x, y, and the heights of both cores


@function
def name(kind, first, second):
    """The number of a contact's features."""
    return (np.int64(kind) << 60) | (np.int64(first) << 30) | np.int64(second)


@function
def across(n):
    """Two unit vectors that stand on n and on each other, and turn with it to the left."""
    u = (0.0, n[2], -n[1]) if abs(n[0]) < 0.6 else (-n[2], 0.0, n[0])
    u = times(1.0 / np.sqrt(dot(u, u)), u)
    return u, cross(n, u)


@function
def foremost(points, count, n, slack):
    """The middle of the points that are foremost along n, but for a slack; and the number of the first."""
    place, top = farthest(points, count, n)
    x = y = z = 0.0
    found = 0
    for k in range(count):
        if dot(row(points, k), n) >= top - slack:
            x, y, z, found = x + points[k, 0], y + points[k, 1], z + points[k, 2], found + 1
    return place, (x / found, y / found, z / found)


@function
def _put_corner(shape, numbers, k, p, n, u, v, sign, corner, edge):
    shape[k, 0], shape[k, 1], shape[k, 2] = dot(p, u), dot(p, v), sign * dot(p, n)
    numbers[k, 0], numbers[k, 1] = corner, edge


@function
def feature(tables, pattern, normals, points, count, n, u, v, sign, slack, shape, numbers):
    """The feature of a core that is foremost along n; how many corners it has, and its slope (per x, per y).

    Heights are multiplied by `sign`: of the core that is foremost against the normal they count along it, too.
    """
    faces_at, loops_at, loops, loop_edges = tables[2], tables[5], tables[6], tables[7]
    first = faces_at[pattern]
    place, middle = foremost(points, count, n, slack)
    best, face = STEEP, -1
    for f in range(first, faces_at[pattern + 1]):
        m = row(normals, f - first)
        steep = dot(m, n)
        if steep > best and dot(m, minus(row(points, loops[loops_at[f]]), middle)) <= 10.0 * slack:
            best, face = steep, f
    if face >= 0:
        begin = loops_at[face]
        corners = loops_at[face + 1] - begin
        for k in range(corners):
            corner = loops[begin + k]
            _put_corner(shape, numbers, k, row(points, corner), n, u, v, sign, corner, loop_edges[begin + k])
        m = row(normals, face - first)
        return corners, -sign * dot(m, u) / best, -sign * dot(m, v) / best
    # Lines, and flat cores seen along their plane: the edge that is foremost and least steep.
    edges_at, edges = tables[3], tables[4]
    top, best, edge = dot(row(points, place), n) - slack, 1.0 - STEEP, -1
    for e in range(edges_at[pattern], edges_at[pattern + 1]):
        p, q = row(points, edges[4 * e]), row(points, edges[4 * e + 1])
        way = minus(q, p)
        steep = abs(dot(way, n)) / np.sqrt(dot(way, way))
        if steep < best and max(dot(p, n), dot(q, n)) >= top:
            best, edge = steep, e
    if edge >= 0:
        p, q = row(points, edges[4 * edge]), row(points, edges[4 * edge + 1])
        _put_corner(shape, numbers, 0, p, n, u, v, sign, edges[4 * edge], edge - edges_at[pattern])
        _put_corner(shape, numbers, 1, q, n, u, v, sign, edges[4 * edge + 1], edge - edges_at[pattern])
        way = minus(q, p)
        x, y = dot(way, u), dot(way, v)
        slope = sign * dot(way, n) / (x * x + y * y)
        return 2, slope * x, slope * y
    _put_corner(shape, numbers, 0, row(points, place), n, u, v, sign, place, 0)
    return 1, 0.0, 0.0


@function
def over(shape, corners, sign, x, y, slack, aside):
    """Whether (x, y) lies over a feature; `aside` is how far beside a line. `sign`: which way the corners turn."""
    if corners == 2:
        ex, ey = shape[1, 0] - shape[0, 0], shape[1, 1] - shape[0, 1]
        length = np.sqrt(ex * ex + ey * ey)
        px, py = x - shape[0, 0], y - shape[0, 1]
        along = (ex * px + ey * py) / length
        return abs(ex * py - ey * px) <= aside * length and -slack <= along <= length + slack
    for k in range(corners):
        m = k + 1 if k + 1 < corners else 0
        ex, ey = shape[m, 0] - shape[k, 0], shape[m, 1] - shape[k, 1]
        beside = sign * (ex * (y - shape[k, 1]) - ey * (x - shape[k, 0]))
        if beside < 0.0 and beside * beside > slack * slack * (ex * ex + ey * ey):
            return False
    return True


@function
def keep(spots, names, count, x, y, low, high, number, limit, slack):
    """Add a candidate, unless its gap is too large; how many there are.

    Of two at the same place, the first stays, unless the other has a smaller gap by more than rounding. Without a
    slack, no place is the same.
    """
    if high - low > limit:
        return count
    place = count
    for k in range(count if slack > 0.0 else 0):
        dx, dy = spots[k, 0] - x, spots[k, 1] - y
        if dx * dx + dy * dy <= 4.0 * slack * slack:
            if high - low >= spots[k, 3] - spots[k, 2] - LESS * slack:
                return count
            place = k
            break
    if place == names.shape[0]:
        return count
    spots[place, 0], spots[place, 1], spots[place, 2], spots[place, 3] = x, y, low, high
    names[place] = number
    return max(count, place + 1)


@function
def overlap(
    a, corners_a, numbers_a, slope_a, b, corners_b, numbers_b, slope_b, least, limit, slack, aside, spots, names
):  # fmt: skip
    """The candidates of two features, each with a gap of at most `limit`; how many there are.

    No gap is smaller than `least`, how far the cores are apart: that of a corner beside a feature would be, where the
    feature is steep, if it went on there.
    """
    count = 0
    lines = corners_a == 2 and corners_b == 2
    aside = aside if lines else slack
    for k in range(corners_a):
        x, y = a[k, 0], a[k, 1]
        if over(b, corners_b, -1.0, x, y, slack, aside):
            high = max(b[0, 2] + slope_b[0] * (x - b[0, 0]) + slope_b[1] * (y - b[0, 1]), a[k, 2] + least)
            number = name(OWN_CORNER, numbers_a[k, 0], 0)
            count = keep(spots, names, count, x, y, a[k, 2], high, number, limit, slack)
    for k in range(corners_b):
        x, y = b[k, 0], b[k, 1]
        if over(a, corners_a, 1.0, x, y, slack, aside):
            low = min(a[0, 2] + slope_a[0] * (x - a[0, 0]) + slope_a[1] * (y - a[0, 1]), b[k, 2] - least)
            number = name(OTHER_CORNER, 0, numbers_b[k, 0])
            count = keep(spots, names, count, x, y, low, b[k, 2], number, limit, slack)
    if lines and count > 1:
        return count
    for k in range(1 if corners_a == 2 else corners_a):
        m = k + 1 if k + 1 < corners_a else 0
        ax, ay = a[m, 0] - a[k, 0], a[m, 1] - a[k, 1]
        length_a = ax * ax + ay * ay
        for o in range(1 if corners_b == 2 else corners_b):
            p = o + 1 if o + 1 < corners_b else 0
            bx, by = b[p, 0] - b[o, 0], b[p, 1] - b[o, 1]
            area = ax * by - ay * bx
            if area * area <= slack * slack * max(length_a, bx * bx + by * by):  # over each other all along
                continue
            dx, dy = b[o, 0] - a[k, 0], b[o, 1] - a[k, 1]
            s, t = (dx * by - dy * bx) / area, (dx * ay - dy * ax) / area
            if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
                low, high = a[k, 2] + s * (a[m, 2] - a[k, 2]), b[o, 2] + t * (b[p, 2] - b[o, 2])
                number = name(CROSSING, numbers_a[k, 1], numbers_b[o, 1])
                count = keep(spots, names, count, a[k, 0] + s * ax, a[k, 1] + s * ay, low, high, number, limit, slack)
    return count


@function
def _exchange(spots, names, k, m):
    if k != m:
        for c in range(CANDIDATE):
            spots[k, c], spots[m, c] = spots[m, c], spots[k, c]
        names[k], names[m] = names[m], names[k]


@function
def _outside(spots, x, y):
    """How far a point is outside the triangle of the first three candidates."""
    x0, y0, x1, y1, x2, y2 = spots[0, 0], spots[0, 1], spots[1, 0], spots[1, 1], spots[2, 0], spots[2, 1]
    sign = 1.0 if (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0) > 0.0 else -1.0
    most = -np.inf
    for side in range(3):
        ax, ay, bx, by = (x0, y0, x1, y1) if side == 0 else (x1, y1, x2, y2) if side == 1 else (x2, y2, x0, y0)
        ex, ey = bx - ax, by - ay
        away = sign * (ey * (x - ax) - ex * (y - ay)) / np.sqrt(ex * ex + ey * ey)
        most = max(most, away)
    return most


@function
def _take(spots, names, count, most, least, slack):
    """Put the candidates that hold the bodies best in front, `most` of them at most; how many there are."""
    for taken in range(most):
        best, place = -np.inf if taken == 0 else slack, -1
        for k in range(taken, count):
            cost = spots[k, 3] - spots[k, 2] - least
            x, y = spots[k, 0], spots[k, 1]
            worth = 0.0
            if taken == 1:
                worth = np.sqrt((x - spots[0, 0]) ** 2 + (y - spots[0, 1]) ** 2)
            elif taken == 2:
                ex, ey = spots[1, 0] - spots[0, 0], spots[1, 1] - spots[0, 1]
                worth = abs(ex * (y - spots[0, 1]) - ey * (x - spots[0, 0])) / np.sqrt(ex * ex + ey * ey)
            elif taken == 3:
                worth = _outside(spots, x, y)
            if worth - cost > best + slack:
                best, place = worth - cost, k
        if place < 0:
            return taken
        _exchange(spots, names, taken, place)
    return most


@function
def choose(spots, names, count, most, slack):
    """Put at most `most` candidates, no more than four, in front that hold the bodies as all do; how many there are.

    The nearest; the one farthest from it; the one farthest from the line between them; the one farthest outside the
    triangle of these. A larger gap counts against a candidate as much as distance counts for it. Of two that are
    equal but for a slack the first is taken, in every step; the smallest gap of all is among them in any case.
    """
    if count <= most:
        return count
    nearest = 0
    for k in range(1, count):
        if spots[k, 3] - spots[k, 2] < spots[nearest, 3] - spots[nearest, 2]:
            nearest = k
    least, number = spots[nearest, 3] - spots[nearest, 2], names[nearest]
    taken = _take(spots, names, count, most, least, slack)
    for k in range(taken):
        if spots[k, 3] - spots[k, 2] <= least + LESS * slack:
            return taken
    for k in range(taken, count):
        if names[k] == number:
            nearest = k
    place, best = 0, np.inf
    for k in range(taken):
        away = (spots[k, 0] - spots[nearest, 0]) ** 2 + (spots[k, 1] - spots[nearest, 1]) ** 2
        if away < best:
            place, best = k, away
    _exchange(spots, names, place, nearest)
    return taken


@function
def sort_names(spots, names, count):
    """Candidates by the number of their features."""
    for k in range(1, count):
        m = k
        while m > 0 and names[m - 1] > names[m]:
            _exchange(spots, names, m - 1, m)
            m -= 1
