"""Vertices against colliders that move through a step, each from one pose to another.

A collider stays where it was made, and the way of a vertex is seen from it: from where the vertex is in the first pose
to where it is in the last one. A pose is twelve numbers, a rotation (row major) and a shift, that lead from the world
to the collider's own place. Planes come back in that place (float64): as the end of a step is guessed anew, they move
with the collider.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.addresses import double_at, long_at
from ...backends.cpu.arguments import doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import compiled
from ...backends.cpu.simd import at
from .distance import BLOCK, BOUNDS, SAMPLES, SIZES, meet_convex, meet_samples

POSE = 12
PLACE = 7  # of a contact: normal, offset and where the vertex was when the step began, as the collider sees it


@compiled
def brought(poses, o, x, y, z):
    """A point of the world as a collider sees it."""
    return (
        double_at(poses, o) * x + double_at(poses, o + 1) * y + double_at(poses, o + 2) * z + double_at(poses, o + 9),
        double_at(poses, o + 3) * x
        + double_at(poses, o + 4) * y
        + double_at(poses, o + 5) * z
        + double_at(poses, o + 10),
        double_at(poses, o + 6) * x
        + double_at(poses, o + 7) * y
        + double_at(poses, o + 8) * z
        + double_at(poses, o + 11),
    )


@phase_kernel(items="q")
def search_moving(
    begin, end, iteration, sizes: longs.span, shape: doubles.address, grid: floats.address, bounds: doubles,
    first: doubles.address, last: doubles.address, thicknesses: doubles, q: rows, s: rows, places: doubles,
    vertex: ints, collider: ints, counts: longs,
):  # fmt: skip
    """Contacts of vertices begin to end, block by block, from the front of each block's room; and how many there are.

    `bounds`: boxes around all that a collider reaches in the step. Where there is no room only the number counts.
    `thicknesses`: one for all, or one for each vertex (m).
    """
    fields, colliders = (sizes[0], shape, grid), sizes[1] // SIZES
    room, differ = vertex.shape[0] // counts.shape[0], thicknesses.shape[0] > 1
    for block in range(begin // BLOCK, (end + BLOCK - 1) // BLOCK):
        start, stop = block * BLOCK, min(block * BLOCK + BLOCK, end)
        low_x = low_y = low_z = np.inf
        high_x = high_y = high_z = -np.inf
        longest, thickness = 0.0, thicknesses[0]
        if differ:
            thickness = thicknesses[start]
        for i in range(start, stop):
            x, y, z, u, v, w = q[i, 0], q[i, 1], q[i, 2], s[i, 0], s[i, 1], s[i, 2]
            low_x, high_x = min(low_x, min(x, u)), max(high_x, max(x, u))
            low_y, high_y = min(low_y, min(y, v)), max(high_y, max(y, v))
            low_z, high_z = min(low_z, min(z, w)), max(high_z, max(z, w))
            if differ:
                thickness = max(thickness, thicknesses[i])
            longest = max(longest, (u - x) * (u - x) + (v - y) * (v - y) + (w - z) * (w - z))
        far = thickness + max(thickness, 0.5 * np.sqrt(longest))
        count = 0
        for k in range(colliders):
            b = BOUNDS * k
            apart = (low_x - far > at(bounds, b + 3)) | (high_x + far < at(bounds, b))
            apart |= (low_y - far > at(bounds, b + 4)) | (high_y + far < at(bounds, b + 1))
            apart |= (low_z - far > at(bounds, b + 5)) | (high_z + far < at(bounds, b + 2))
            if apart:
                continue
            kind = long_at(sizes[0], SIZES * k)
            for i in range(start, stop):
                apart = (min(q[i, 0], s[i, 0]) - far > at(bounds, b + 3)) | (
                    max(q[i, 0], s[i, 0]) + far < at(bounds, b)
                )
                apart |= (min(q[i, 1], s[i, 1]) - far > at(bounds, b + 4)) | (
                    max(q[i, 1], s[i, 1]) + far < at(bounds, b + 1)
                )
                apart |= (min(q[i, 2], s[i, 2]) - far > at(bounds, b + 5)) | (
                    max(q[i, 2], s[i, 2]) + far < at(bounds, b + 2)
                )
                if apart:
                    continue
                x, y, z = brought(first, POSE * k, q[i, 0], q[i, 1], q[i, 2])
                ex, ey, ez = brought(last, POSE * k, s[i, 0], s[i, 1], s[i, 2])
                ux, uy, uz = ex - x, ey - y, ez - z
                length = np.sqrt(ux * ux + uy * uy + uz * uz)
                if differ:
                    thickness = thicknesses[i]
                reach = thickness + max(thickness, 0.5 * length)
                if kind == SAMPLES:
                    met, nx, ny, nz, offset = meet_samples(fields, k, x, y, z, ux, uy, uz, thickness, reach, length)
                else:
                    met, nx, ny, nz, offset = meet_convex(fields, k, x, y, z, ux, uy, uz, thickness, reach, length)
                if not met:
                    continue
                if count < room:
                    c = block * room + count
                    p = PLACE * c
                    places[p], places[p + 1], places[p + 2], places[p + 3] = nx, ny, nz, offset + thickness
                    places[p + 4], places[p + 5], places[p + 6] = x, y, z
                    vertex[c], collider[c] = i, k
                count += 1
        counts[block] = count
