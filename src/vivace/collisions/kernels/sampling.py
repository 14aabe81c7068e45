"""Sampling the distance to a closed surface on a grid: signs by crossings of lines, distances by a tree of boxes."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, floats, longs, phase_kernel
from ...backends.cpu.compiling import compiled
from ...backends.cpu.simd import at


@compiled
def _side(vertices, a, b, y, z):
    """On which side of the edge a -> b, seen along x, the line at (y, z) passes.

    Both triangles of an edge get the same magnitude, because the lower number always comes first: no line slips through
    between them. A line that passes exactly through an edge is moved by (ε, ε²) in thought.
    """
    flip = a > b
    if flip:
        a, b = b, a
    along_y, along_z = vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    side = along_y * (z - vertices[a, 2]) - along_z * (y - vertices[a, 1])
    if side == 0.0:
        side = np.copysign(1e-300, -along_z if along_z != 0.0 else along_y)
    return -side if flip else side


@compiled
def count_crossings(vertices, triangles, low, spacing, crossings):
    """Add to `crossings` (z, y, x) where lines along x enter (+1) or leave (-1) the surface, at the next sample.

    Sums along x are winding numbers. The lines pass a millionth of the spacing beside the samples, so that flat faces
    and symmetric meshes, whose edges lie where the samples are, are no special case.
    """
    nz, ny, nx = crossings.shape
    aside_y, aside_z = low[1] + 0.618e-6 * spacing, low[2] + 0.414e-6 * spacing
    for m in range(triangles.shape[0]):
        a, b, c = triangles[m, 0], triangles[m, 1], triangles[m, 2]
        ya, yb, yc = vertices[a, 1], vertices[b, 1], vertices[c, 1]
        za, zb, zc = vertices[a, 2], vertices[b, 2], vertices[c, 2]
        first_j = max(np.int64(np.floor((min(ya, yb, yc) - aside_y) / spacing)), 0)
        last_j = min(np.int64(np.ceil((max(ya, yb, yc) - aside_y) / spacing)), ny - 1)
        first_k = max(np.int64(np.floor((min(za, zb, zc) - aside_z) / spacing)), 0)
        last_k = min(np.int64(np.ceil((max(za, zb, zc) - aside_z) / spacing)), nz - 1)
        for k in range(first_k, last_k + 1):
            z = aside_z + k * spacing
            for j in range(first_j, last_j + 1):
                y = aside_y + j * spacing
                at_c = _side(vertices, a, b, y, z)
                at_a = _side(vertices, b, c, y, z)
                at_b = _side(vertices, c, a, y, z)
                if (at_a > 0.0) != (at_b > 0.0) or (at_b > 0.0) != (at_c > 0.0):
                    continue
                total = at_a + at_b + at_c
                x = (at_a * vertices[a, 0] + at_b * vertices[b, 0] + at_c * vertices[c, 0]) / total
                i = min(max(np.int64(np.ceil((x - low[0]) / spacing)), 0), nx - 1)
                crossings[k, j, i] += -1 if total > 0.0 else 1


@compiled
def _square_to_edge(ax, ay, az, bx, by, bz, x, y, z):
    ux, uy, uz, px, py, pz = bx - ax, by - ay, bz - az, x - ax, y - ay, z - az
    t = min(max((ux * px + uy * py + uz * pz) / (ux * ux + uy * uy + uz * uz), 0.0), 1.0)
    px, py, pz = px - t * ux, py - t * uy, pz - t * uz
    return px * px + py * py + pz * pz


@compiled
def _beyond(ax, ay, az, bx, by, bz, nx, ny, nz, x, y, z):
    """Whether a point lies outside the edge a -> b of a triangle with normal n."""
    ux, uy, uz, px, py, pz = bx - ax, by - ay, bz - az, x - ax, y - ay, z - az
    return nx * (uy * pz - uz * py) + ny * (uz * px - ux * pz) + nz * (ux * py - uy * px) < 0.0


@compiled
def square_to_triangle(t, o, x, y, z):
    """Squared distance to the triangle whose corners are t[o:o + 9]: to its plane, or to an edge it lies beyond."""
    ax, ay, az = t[o], t[o + 1], t[o + 2]
    bx, by, bz = t[o + 3], t[o + 4], t[o + 5]
    cx, cy, cz = t[o + 6], t[o + 7], t[o + 8]
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    best = np.inf
    if _beyond(ax, ay, az, bx, by, bz, nx, ny, nz, x, y, z):
        best = _square_to_edge(ax, ay, az, bx, by, bz, x, y, z)
    if _beyond(bx, by, bz, cx, cy, cz, nx, ny, nz, x, y, z):
        best = min(best, _square_to_edge(bx, by, bz, cx, cy, cz, x, y, z))
    if _beyond(cx, cy, cz, ax, ay, az, nx, ny, nz, x, y, z):
        best = min(best, _square_to_edge(cx, cy, cz, ax, ay, az, x, y, z))
    if best < np.inf:
        return best
    height = nx * (x - ax) + ny * (y - ay) + nz * (z - az)
    return height * height / (nx * nx + ny * ny + nz * nz)


@phase_kernel
def nearest(begin, end, iteration, corners: doubles, boxes: doubles, grid: doubles, counts: longs, values: floats):
    """Give the signs in `values` their distance to the nearest triangle, for rows of samples along x begin to end.

    Triangles stand four to a leaf of a binary tree of boxes without pointers: node i has the children 2i and 2i + 1.
    The nearest triangle of one sample is nearly that of the next, so almost all of the tree is passed over.
    """
    low_x, low_y, low_z, spacing = grid[0], grid[1], grid[2], grid[3]
    nx, ny = counts[0], counts[1]
    leaves = boxes.shape[0] // 12
    for row in range(begin, end):
        y, z = low_y + (row % ny) * spacing, low_z + (row // ny) * spacing
        close = np.int64(0)
        for i in range(nx):
            x = low_x + i * spacing
            best = square_to_triangle(corners, 9 * close, x, y, z)
            node = np.int64(1)
            while node != 0:
                b = 6 * node
                gx = max(at(boxes, b) - x, x - at(boxes, b + 3), 0.0)
                gy = max(at(boxes, b + 1) - y, y - at(boxes, b + 4), 0.0)
                gz = max(at(boxes, b + 2) - z, z - at(boxes, b + 5), 0.0)
                if gx * gx + gy * gy + gz * gz < best:
                    if node < leaves:
                        node *= 2
                        continue
                    for m in range(4 * (node - leaves), 4 * (node - leaves) + 4):
                        square = square_to_triangle(corners, 9 * m, x, y, z)
                        if square < best:
                            best, close = square, m
                while node & 1:  # up from right children, then over to the sibling; from the root, out
                    node >>= 1
                if node != 0:
                    node += 1
            values[row * nx + i] *= np.float32(np.sqrt(best))
