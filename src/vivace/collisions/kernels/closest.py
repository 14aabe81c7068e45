"""The shortest way between two convex cores that are apart [gilbert1988].

The cores are given by their corners, in one frame. Their differences a - b span a polytope; how far it is from zero is
how far the cores are apart. A simplex of at most four of its corners moves towards zero until no corner is nearer.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function, spliced
from ...backends.cpu.vectors import cross, dot, plus, times

ROUNDS = 64
PRECISE = 1e-14  # of the squared distance: when a step is worth no more, it is enough
ROUNDING = 4e-16


@spliced
def minus(a, b):
    """a - b, of tuples."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@spliced
def row(x, k):
    """Row k as a tuple."""
    return x[k, 0], x[k, 1], x[k, 2]


@spliced
def put(x, k, v):
    """Write a tuple to row k."""
    x[k, 0], x[k, 1], x[k, 2] = v


@function
def farthest(points, count, way):
    """The number of the point that is farthest along a way, and how far it is."""
    best, place = -np.inf, 0
    for k in range(count):
        height = points[k, 0] * way[0] + points[k, 1] * way[1] + points[k, 2] * way[2]
        if height > best:
            best, place = height, k
    return place, best


@function
def on_segment(p, q):
    """The point of a segment that is nearest to zero, and the weights of its ends."""
    way = minus(q, p)
    length = dot(way, way)
    t = min(max(-dot(p, way) / length, 0.0), 1.0) if length > 0.0 else 0.0
    if t == 0.0:
        return p, 1.0, 0.0
    if t == 1.0:
        return q, 0.0, 1.0
    return plus(p, times(t, way)), 1.0 - t, t


@function
def on_triangle(p, q, r):
    """The same for a triangle. Inside it, the point is computed from the normal, which cancels least."""
    pq, pr = minus(q, p), minus(r, p)
    normal = cross(pq, pr)
    square = dot(normal, normal)
    if square > 1e-26 * dot(pq, pq) * dot(pr, pr):
        u, v, w = dot(normal, cross(q, r)), dot(normal, cross(r, p)), dot(normal, cross(p, q))
        if u > 0.0 and v > 0.0 and w > 0.0:
            total = u + v + w
            return times(dot(normal, p) / square, normal), u / total, v / total, w / total
    best, up, uq = on_segment(p, q)
    ur = 0.0
    other, vp, vr = on_segment(p, r)
    if dot(other, other) < dot(best, best):
        best, up, uq, ur = other, vp, 0.0, vr
    other, vq, vr = on_segment(q, r)
    if dot(other, other) < dot(best, best):
        best, up, uq, ur = other, 0.0, vq, vr
    return best, up, uq, ur


@function
def on_tetrahedron(corners, weights):
    """The same for four corners; zero if it is inside. Weights go to `weights`."""
    p, q, r, s = row(corners, 0), row(corners, 1), row(corners, 2), row(corners, 3)
    pq, pr, ps = minus(q, p), minus(r, p), minus(s, p)
    normal = cross(pq, pr)
    six = dot(normal, ps)
    flat = abs(six) <= 1e-13 * np.sqrt(dot(pq, pq) * dot(pr, pr) * dot(ps, ps))
    best, least, inside = p, np.inf, True
    for side in range(4):  # without corner `side`
        a, b, c = (q, r, s) if side == 0 else (p, s, r) if side == 1 else (p, q, s) if side == 2 else (p, r, q)
        # Out of each of them points the way from the corner that it leaves out, whichever way the corners turn.
        way = cross(minus(b, a), minus(c, a))
        out = dot(way, minus(a, p if side == 0 else q if side == 1 else r if side == 2 else s))
        if flat or -dot(way, a) * out >= 0.0:
            inside = False
            point, u, v, w = on_triangle(a, b, c)
            if dot(point, point) < least:
                best, least = point, dot(point, point)
                for k in range(4):
                    weights[k] = 0.0
                if side == 0:
                    weights[1], weights[2], weights[3] = u, v, w
                elif side == 1:
                    weights[0], weights[3], weights[2] = u, v, w
                elif side == 2:
                    weights[0], weights[1], weights[3] = u, v, w
                else:
                    weights[0], weights[2], weights[1] = u, v, w
    if inside:
        return (0.0, 0.0, 0.0)
    return best


@function
def _reduce(corners, weights, numbers, count):
    """Forget the corners that have no weight; how many are left."""
    kept = 0
    for k in range(count):
        if weights[k] > 0.0:
            put(corners, kept, row(corners, k))
            weights[kept], numbers[kept, 0], numbers[kept, 1] = weights[k], numbers[k, 0], numbers[k, 1]
            kept += 1
    return kept


@function
def shortest(a, count_a, b, count_b, guess, enough, limit, corners, weights, numbers):
    """The shortest of all a - b: it, and its length squared; zero if the cores are nearer than `enough`.

    Gives up with a lower bound, larger than `limit`, once that is certain. `corners` (4, 3), `weights` (4,) and
    `numbers` (4, 2) are where the simplex is kept: afterwards, weights times points are the ends of the way. Also
    returns how many corners of the simplex are in use.
    """
    way = guess if dot(guess, guess) > 0.0 else (1.0, 0.0, 0.0)
    i, _ = farthest(a, count_a, times(-1.0, way))
    j, _ = farthest(b, count_b, way)
    put(corners, 0, minus(row(a, i), row(b, j)))
    numbers[0, 0], numbers[0, 1], weights[0] = i, j, 1.0
    count, v = 1, row(corners, 0)
    square = dot(v, v)
    largest = square
    for _ in range(ROUNDS):
        if square <= enough * enough:
            return (0.0, 0.0, 0.0), 0.0, count
        i, _ = farthest(a, count_a, times(-1.0, v))
        j, _ = farthest(b, count_b, v)
        w = minus(row(a, i), row(b, j))
        along = dot(v, w)
        if along > 0.0 and along * along > limit * limit * square:
            return v, along * along / square, count
        largest = max(largest, dot(w, w))
        if square - along <= PRECISE * square + ROUNDING * np.sqrt(largest * square):
            break
        known = False
        for k in range(count):
            known |= numbers[k, 0] == i and numbers[k, 1] == j
        if known:
            break
        put(corners, count, w)
        numbers[count, 0], numbers[count, 1] = i, j
        if count == 1:
            v_new, weights[0], weights[1] = on_segment(row(corners, 0), row(corners, 1))
        elif count == 2:
            v_new, weights[0], weights[1], weights[2] = on_triangle(row(corners, 0), row(corners, 1), row(corners, 2))
        else:
            v_new = on_tetrahedron(corners, weights)
        new = dot(v_new, v_new)
        if new == 0.0:
            return v_new, 0.0, count + 1
        count = _reduce(corners, weights, numbers, count + 1)
        if new >= square:  # no nearer, but for rounding
            v, square = v_new, new
            break
        v, square = v_new, new
    return v, square, count
