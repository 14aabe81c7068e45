"""Before and after the search: boxes around bodies, pairs worth a closer look, their order, and lists without gaps."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, ints, longs, phase_kernel
from ...backends.cpu.compiling import compiled

SPOT = 7  # numbers of a contact: point, normal, gap


@phase_kernel(items="order")
def bounds(
    begin, end, iteration, order: ints, dimensions: ints, first: longs, last: longs, radii: doubles,
    vertices: doubles, positions: doubles, rotations: doubles, reaches: doubles, lower: doubles, upper: doubles,
):  # fmt: skip
    """Boxes around bodies order[begin] to order[end], and all that is within their reach."""
    for k in range(begin, end):
        i = np.int64(order[k])
        more = radii[i] + reaches[i]
        for axis in range(3):
            low = high = 0.0
            if dimensions[i] > 0:
                r = 9 * i + 3 * axis
                low, high = np.inf, -np.inf
                for v in range(3 * first[i], 3 * last[i], 3):
                    x = (
                        rotations[r] * vertices[v]
                        + rotations[r + 1] * vertices[v + 1]
                        + rotations[r + 2] * vertices[v + 2]
                    )
                    low, high = min(low, x), max(high, x)
            lower[3 * k + axis] = positions[3 * i + axis] + low - more
            upper[3 * k + axis] = positions[3 * i + axis] + high + more


@compiled
def all_pairs(lower, upper, moving):
    """Pairs of boxes that overlap, one of the first `moving` at least: each against each, for few of them."""
    count = lower.shape[0]
    found, w = np.empty((count * moving, 2), np.int32), 0
    for i in range(moving):
        for j in range(i + 1, count):
            apart = False
            for axis in range(3):
                apart |= (lower[i, axis] > upper[j, axis]) | (upper[i, axis] < lower[j, axis])
            if not apart:
                found[w, 0], found[w, 1] = i, j
                w += 1
    return found[:w]


@compiled
def over_planes(planes, moving, positions, rotations, sizes, reaches):
    """Pairs of half spaces and of bodies whose balls come within reach of them."""
    rooms = 64
    found, count = np.empty((rooms, 2), np.int32), 0
    for plane in planes:
        x, y, z = rotations[plane, 0, 1], rotations[plane, 1, 1], rotations[plane, 2, 1]
        for i in moving:
            height = x * (positions[i, 0] - positions[plane, 0])
            height += y * (positions[i, 1] - positions[plane, 1])
            height += z * (positions[i, 2] - positions[plane, 2])
            if height <= sizes[i] + reaches[i] + reaches[plane]:
                if count == rooms:
                    rooms *= 2
                    larger = np.empty((rooms, 2), np.int32)
                    larger[:count] = found
                    found = larger
                found[count, 0], found[count, 1] = plane, i
                count += 1
    return found[:count]


@phase_kernel(items="keep")
def near(
    begin, end, iteration, pairs: ints, positions: doubles, sizes: doubles, reaches: doubles, keep: ints,
):  # fmt: skip
    """Put the lower number of each pair first; keep those whose balls come within reach of each other."""
    for p in range(begin, end):
        a, b = pairs[2 * p], pairs[2 * p + 1]
        i, j = min(a, b), max(a, b)
        pairs[2 * p], pairs[2 * p + 1] = i, j
        x = positions[3 * j] - positions[3 * i]
        y = positions[3 * j + 1] - positions[3 * i + 1]
        z = positions[3 * j + 2] - positions[3 * i + 2]
        limit = sizes[i] + sizes[j] + reaches[i] + reaches[j]
        keep[p] = np.int32(x * x + y * y + z * z <= limit * limit)


@compiled
def sort_pairs(pairs, keep, bodies):
    """The pairs that are kept, by the first body and then by the second: two counting sorts, the second one first."""
    starts, count = np.zeros(bodies + 1, np.int64), 0
    for p in range(keep.shape[0]):
        if keep[p]:
            starts[pairs[p, 1] + 1] += 1
            count += 1
    for i in range(bodies):
        starts[i + 1] += starts[i]
    middle = np.empty((count, 2), np.int32)
    for p in range(keep.shape[0]):
        if keep[p]:
            place = starts[pairs[p, 1]]
            starts[pairs[p, 1]] = place + 1
            middle[place, 0], middle[place, 1] = pairs[p, 0], pairs[p, 1]
    starts[:] = 0
    for p in range(count):
        starts[middle[p, 0] + 1] += 1
    for i in range(bodies):
        starts[i + 1] += starts[i]
    out = np.empty((count, 2), np.int32)
    for p in range(count):
        place = starts[middle[p, 0]]
        starts[middle[p, 0]] = place + 1
        out[place, 0], out[place, 1] = middle[p, 0], middle[p, 1]
    return out


@compiled
def rooms(pairs, most):
    """Where the room for each pair's contacts begins, if no body has more than `most` with another; and its end."""
    starts = np.empty(pairs.shape[0] + 1, np.int64)
    starts[0] = 0
    for p in range(pairs.shape[0]):
        starts[p + 1] = starts[p] + min(most[pairs[p, 0]], most[pairs[p, 1]])
    return starts


@compiled
def running(counts):
    """Where each begins, if they follow each other; and where the last one ends."""
    starts = np.empty(counts.shape[0] + 1, np.int64)
    starts[0] = 0
    for p in range(counts.shape[0]):
        starts[p + 1] = starts[p] + counts[p]
    return starts


@phase_kernel(items="counts")
def gather(
    begin, end, iteration, pairs: ints, counts: ints, starts: longs, places: longs, spots: doubles, found: longs,
    bodies: ints, points: doubles, normals: doubles, gaps: doubles, features: longs,
):  # fmt: skip
    """The contacts of pairs begin to end, from where there was room for them to where they belong."""
    for p in range(begin, end):
        source = starts[p]
        for c in range(places[p], places[p + 1]):
            bodies[2 * c], bodies[2 * c + 1] = pairs[2 * p], pairs[2 * p + 1]
            for axis in range(3):
                points[3 * c + axis] = spots[SPOT * source + axis]
                normals[3 * c + axis] = spots[SPOT * source + 3 + axis]
            gaps[c] = spots[SPOT * source + 6]
            features[c] = found[source]
            source += 1


@compiled
def match(bodies, features, earlier_bodies, earlier_features):
    """Where each contact of a sorted list stands in another sorted list; -1 if it does not."""
    places = np.full(features.shape[0], np.int64(-1))
    e, count = 0, earlier_features.shape[0]
    for c in range(features.shape[0]):
        i, j, feature = bodies[c, 0], bodies[c, 1], features[c]
        while e < count:
            a, b, other = earlier_bodies[e, 0], earlier_bodies[e, 1], earlier_features[e]
            if not (a < i or (a == i and (b < j or (b == j and other < feature)))):
                break
            e += 1
        if e < count and earlier_bodies[e, 0] == i and earlier_bodies[e, 1] == j and earlier_features[e] == feature:
            places[c] = e
    return places
