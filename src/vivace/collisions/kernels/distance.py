"""Signed distances of colliders, and the search for vertices that meet them.

Three kinds are enough: a half space, a rounded box, and samples on a grid. A sphere is a rounded box whose core is a
point, a capsule one whose core is a line, so both cost a box and need no code.

Everything is float64: a vertex at rest on a collider is where the search is asked the finest questions, and float32
positions resolve no more than what float64 differences of them keep. For the convex kinds the tangent plane is computed
from its normal alone (centre + support), never from the vertex: on a flat face it has the same bits in every step.

A collider is a row of `sizes` (kind, where its samples start, how many in x, y and z), a row of `shape`:

    half space   normal 0-2, offset 3
    rounded box  centre 0-2, rotation 3-11 (row major, local to world), half sides of the core 12-14, rounding 15
    samples      lowest corner 0-2, spacing 3

and a row of `bounds`: the lowest and the highest corner of the box around it. Functions get the addresses
of `sizes`, `shape` and the samples of all colliders: Numba counts references to arrays that are handed on, which here
would take longer than the arithmetic.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.addresses import double_at, float_at, long_at
from ...backends.cpu.arguments import doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import compiled
from ...backends.cpu.simd import at

HALF_SPACE, ROUNDED, SAMPLES = 0, 1, 2
SIZES, SHAPE, BOUNDS = 5, 16, 6  # widths of the rows
BLOCK = 256  # vertices whose contacts are gathered together: fixed, so that the order never depends on the threads
STEPS = 1024  # of one walk; one that needs more ends where it is, as if it had met the surface
AIM = 0.99  # of the thickness: where Newton's steps to a convex collider lead, so that they end just inside it
LIPSCHITZ = 3**0.5  # of interpolated samples: along each axis they change no faster than distances do


@compiled
def _half_space(fields, k, x, y, z):
    shape, o = fields[1], SHAPE * k
    nx, ny, nz, offset = double_at(shape, o), double_at(shape, o + 1), double_at(shape, o + 2), double_at(shape, o + 3)
    return nx * x + ny * y + nz * z - offset, nx, ny, nz, offset


@compiled
def _rounded(fields, k, x, y, z):
    shape, o = fields[1], SHAPE * k
    cx, cy, cz, rounding = (
        double_at(shape, o),
        double_at(shape, o + 1),
        double_at(shape, o + 2),
        double_at(shape, o + 15),
    )
    hx, hy, hz = double_at(shape, o + 12), double_at(shape, o + 13), double_at(shape, o + 14)
    x, y, z = x - cx, y - cy, z - cz
    lx = double_at(shape, o + 3) * x + double_at(shape, o + 6) * y + double_at(shape, o + 9) * z
    ly = double_at(shape, o + 4) * x + double_at(shape, o + 7) * y + double_at(shape, o + 10) * z
    lz = double_at(shape, o + 5) * x + double_at(shape, o + 8) * y + double_at(shape, o + 11) * z
    ax, ay, az = abs(lx) - hx, abs(ly) - hy, abs(lz) - hz
    ox, oy, oz = max(ax, 0.0), max(ay, 0.0), max(az, 0.0)
    gap = np.sqrt(ox * ox + oy * oy + oz * oz)
    if gap > 0.0:
        ox, oy, oz = ox / gap, oy / gap, oz / gap
    elif ax >= ay and ax >= az:  # in the core: out by the nearest face
        gap, ox = ax, 1.0
    elif ay >= az:
        gap, oy = ay, 1.0
    else:
        gap, oz = az, 1.0
    support = hx * ox + hy * oy + hz * oz + rounding
    ox, oy, oz = np.copysign(ox, lx), np.copysign(oy, ly), np.copysign(oz, lz)
    nx = double_at(shape, o + 3) * ox + double_at(shape, o + 4) * oy + double_at(shape, o + 5) * oz
    ny = double_at(shape, o + 6) * ox + double_at(shape, o + 7) * oy + double_at(shape, o + 8) * oz
    nz = double_at(shape, o + 9) * ox + double_at(shape, o + 10) * oy + double_at(shape, o + 11) * oz
    return gap - rounding, nx, ny, nz, nx * cx + ny * cy + nz * cz + support


@compiled
def _between(x, low, spacing, count):
    """The sample below x, how far x is beyond it (0 to 1), and how far x lies outside the grid (m)."""
    g = (x - low) / spacing
    inside = min(max(g, 0.0), count - 1.0)
    i = min(np.int64(inside), count - 2)
    return i, inside - i, (g - inside) * spacing


@compiled
def _samples(fields, k, x, y, z):
    """Trilinear; outside the grid, the value at its nearest point plus the distance to it."""
    sizes, shape, grid = fields
    m, o = SIZES * k, SHAPE * k
    spacing = double_at(shape, o + 3)
    nx, ny = long_at(sizes, m + 2), long_at(sizes, m + 3)
    i, fx, gx = _between(x, double_at(shape, o), spacing, nx)
    j, fy, gy = _between(y, double_at(shape, o + 1), spacing, ny)
    k, fz, gz = _between(z, double_at(shape, o + 2), spacing, long_at(sizes, m + 4))
    low = long_at(sizes, m + 1) + (k * ny + j) * nx + i
    high = low + nx * ny
    a, b = np.float64(float_at(grid, low)), np.float64(float_at(grid, low + 1))
    c, d = np.float64(float_at(grid, low + nx)), np.float64(float_at(grid, low + nx + 1))
    e, f = np.float64(float_at(grid, high)), np.float64(float_at(grid, high + 1))
    g, h = np.float64(float_at(grid, high + nx)), np.float64(float_at(grid, high + nx + 1))
    ab, cd, ef, gh = a + fx * (b - a), c + fx * (d - c), e + fx * (f - e), g + fx * (h - g)
    lower, upper = ab + fy * (cd - ab), ef + fy * (gh - ef)
    value = lower + fz * (upper - lower)
    px = ((1 - fz) * ((b - a) + fy * ((d - c) - (b - a))) + fz * ((f - e) + fy * ((h - g) - (f - e)))) / spacing
    py = ((cd - ab) + fz * ((gh - ef) - (cd - ab))) / spacing
    pz = (upper - lower) / spacing
    gap = np.sqrt(gx * gx + gy * gy + gz * gz)
    if gap > 0.0:
        value += gap
        px = gx / gap if gx != 0.0 else px
        py = gy / gap if gy != 0.0 else py
        pz = gz / gap if gz != 0.0 else pz
    length = np.sqrt(px * px + py * py + pz * pz)
    if length > 1e-12:
        px, py, pz = px / length, py / length, pz / length
    else:  # every way is out
        px, py, pz = 0.0, 1.0, 0.0
    return value, px, py, pz, px * x + py * y + pz * z - value


@compiled
def field(fields, k, x, y, z):
    """Collider k at (x, y, z): its distance, the unit normal there, and the offset of its tangent plane n . x."""
    kind = long_at(fields[0], SIZES * k)
    if kind == ROUNDED:
        return _rounded(fields, k, x, y, z)
    if kind == HALF_SPACE:
        return _half_space(fields, k, x, y, z)
    return _samples(fields, k, x, y, z)


@phase_kernel(items="distance")
def evaluate(
    begin, end, iteration, sizes: longs.address, shape: doubles.address, grid: floats.address,
    points: doubles, distance: doubles, normal: doubles,
):  # fmt: skip
    """Distances and normals of collider 0 at points begin to end."""
    fields = sizes, shape, grid
    for i in range(begin, end):
        d, nx, ny, nz, _ = field(fields, 0, points[3 * i], points[3 * i + 1], points[3 * i + 2])
        distance[i] = d
        normal[3 * i], normal[3 * i + 1], normal[3 * i + 2] = nx, ny, nz


# --- one vertex, one collider: (whether there is a contact, normal, offset) ---------------------------------------


@compiled
def _tangent(fields, k, x, y, z):
    _, nx, ny, nz, offset = field(fields, k, x, y, z)
    return True, nx, ny, nz, offset


@compiled
def meet_convex(fields, k, x, y, z, ux, uy, uz, thickness, reach, length):
    """Where the way from x to x + u comes closer than the thickness.

    Sphere tracing [hart1996] with longer steps: the distance to a convex body is convex along a line, so it stays above
    its tangent, and Newton's step to just below the thickness never goes too far. A slope that is not negative says
    that the way has passed its nearest point.
    """
    d, nx, ny, nz, offset = field(fields, k, x, y, z)
    if d - length > reach:
        return False, nx, ny, nz, offset
    if d < -thickness:  # too deep for the nearest face to be the one it came through
        return _tangent(fields, k, x + ux, y + uy, z + uz)
    t = before = 0.0
    slope = nx * ux + ny * uy + nz * uz
    for _ in range(STEPS):
        if d < thickness:
            return True, nx, ny, nz, offset
        if slope >= 0.0:
            break
        before, t = t, t - (d - AIM * thickness) / slope
        if t >= 1.0:
            t = 1.0
            break
        d, nx, ny, nz, offset = field(fields, k, x + t * ux, y + t * uy, z + t * uz)
        slope = nx * ux + ny * uy + nz * uz
    d, nx, ny, nz, offset = field(fields, k, x + ux, y + uy, z + uz)
    if d < thickness:
        return True, nx, ny, nz, offset
    if d > reach:
        return False, nx, ny, nz, offset
    # Not met, but near at the end. The plane at the nearest point of the way has the whole way before it.
    if nx * ux + ny * uy + nz * uz > 0.0:
        for _ in range(12):
            middle = 0.5 * (before + t)
            _, nx, ny, nz, offset = field(fields, k, x + middle * ux, y + middle * uy, z + middle * uz)
            if nx * ux + ny * uy + nz * uz < 0.0:
                before = middle
            else:
                t = middle
        return _tangent(fields, k, x + t * ux, y + t * uy, z + t * uz)
    return True, nx, ny, nz, offset


@compiled
def meet_samples(fields, k, x, y, z, ux, uy, uz, thickness, reach, length):
    """As above, for a body of any shape: steps as long as the distance allows [hart1996].

    A way that starts at one side of a valley may end below its floor: a plane that the end of the way satisfies is kept
    for the case that no other is met. No step is shorter than a quarter of the spacing: nothing thinner is sampled.
    """
    d, nx, ny, nz, offset = field(fields, k, x, y, z)
    if d - LIPSCHITZ * length > reach:
        return False, nx, ny, nz, offset
    ex, ey, ez = x + ux, y + uy, z + uz
    if d < -thickness:
        return _tangent(fields, k, ex, ey, ez)
    touched = d < thickness
    kx, ky, kz, kept = nx, ny, nz, offset
    shortest = 0.25 * double_at(fields[1], SHAPE * k + 3)
    t = 0.0
    for step in range(STEPS):
        if (d < thickness and nx * ex + ny * ey + nz * ez < offset + thickness) or step == STEPS - 1:
            return True, nx, ny, nz, offset
        t += max((d - 0.5 * thickness) / LIPSCHITZ, shortest) / length if length > 0.0 else 1.0
        if t >= 1.0:
            break
        d, nx, ny, nz, offset = field(fields, k, x + t * ux, y + t * uy, z + t * uz)
    d, nx, ny, nz, offset = field(fields, k, ex, ey, ez)
    if d < thickness:
        return True, nx, ny, nz, offset
    if touched:
        return True, kx, ky, kz, kept
    return d <= reach, nx, ny, nz, offset


# --- all vertices, all colliders ----------------------------------------------------------------------------------


@phase_kernel(items="q")
def search(
    begin, end, iteration, sizes: longs.span, shape: doubles.address, grid: floats.address, bounds: doubles,
    thicknesses: doubles, q: rows, s: rows, planes: rows, vertex: ints, collider: ints, counts: longs,
):  # fmt: skip
    """The contacts of vertices begin to end, block by block, from the front of each block's room; and their number.

    `thicknesses`: one for all, or one for each vertex (m).
    """
    fields, colliders = (sizes[0], shape, grid), sizes[1] // SIZES
    differ = thicknesses.shape[0] > 1
    for block in range(begin // BLOCK, (end + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        c = first * colliders
        for i in range(first, min(first + BLOCK, end)):
            x, y, z = np.float64(q[i, 0]), np.float64(q[i, 1]), np.float64(q[i, 2])
            ux, uy, uz = s[i, 0] - x, s[i, 1] - y, s[i, 2] - z
            length = np.sqrt(ux * ux + uy * uy + uz * uz)
            if not (length < np.inf):  # the simulation will say that it has blown up
                continue
            thickness = thicknesses[i if differ else 0]
            reach = thickness + max(thickness, 0.5 * length)
            low_x, high_x = x + min(ux, 0.0) - reach, x + max(ux, 0.0) + reach
            low_y, high_y = y + min(uy, 0.0) - reach, y + max(uy, 0.0) + reach
            low_z, high_z = z + min(uz, 0.0) - reach, z + max(uz, 0.0) + reach
            for k in range(colliders):
                b = BOUNDS * k
                apart = (low_x > at(bounds, b + 3)) | (high_x < at(bounds, b))
                apart |= (low_y > at(bounds, b + 4)) | (high_y < at(bounds, b + 1))
                apart |= (low_z > at(bounds, b + 5)) | (high_z < at(bounds, b + 2))
                kind = long_at(sizes[0], SIZES * k)
                if kind == HALF_SPACE:  # nearest at one of the ends
                    p = SHAPE * k
                    d = (
                        double_at(shape, p) * x
                        + double_at(shape, p + 1) * y
                        + double_at(shape, p + 2) * z
                        - double_at(shape, p + 3)
                    )
                    along = double_at(shape, p) * ux + double_at(shape, p + 1) * uy + double_at(shape, p + 2) * uz
                    apart = d + min(along, 0.0) > reach
                if apart:
                    continue
                if kind == SAMPLES:
                    met, nx, ny, nz, offset = meet_samples(fields, k, x, y, z, ux, uy, uz, thickness, reach, length)
                else:
                    met, nx, ny, nz, offset = meet_convex(fields, k, x, y, z, ux, uy, uz, thickness, reach, length)
                if met:
                    planes[c, 0], planes[c, 1], planes[c, 2], planes[c, 3] = nx, ny, nz, offset + thickness
                    vertex[c], collider[c] = i, k
                    c += 1
        counts[block] = c - first * colliders


@phase_kernel
def gather(
    begin, end, iteration, planes: rows, vertex: ints, collider: ints, starts: longs, friction: floats,
    to_planes: rows, to_vertex: ints, to_collider: ints, to_friction: floats,
):  # fmt: skip
    """What `search` found, without the gaps between the blocks."""
    colliders = friction.shape[0] // 2
    for block in range(begin // BLOCK, (end + BLOCK - 1) // BLOCK):
        source = block * BLOCK * colliders
        for c in range(starts[block], starts[block + 1]):
            for lane in range(4):
                to_planes[c, lane] = planes[source, lane]
            k = collider[source]
            to_vertex[c], to_collider[c] = vertex[source], k
            to_friction[2 * c], to_friction[2 * c + 1] = friction[2 * k], friction[2 * k + 1]
            source += 1


@compiled
def may_enter(sizes, shape, bounds, q, x, held):
    """Which vertices that are not held might be inside a collider somewhere on the way from q to x, by its bounds."""
    found, count = np.empty(q.shape[0], np.int32), 0
    for i in range(q.shape[0]):
        if held[i]:
            continue
        for k in range(sizes.shape[0]):
            if sizes[k, 0] == HALF_SPACE:
                inside = shape[k, 0] * x[i, 0] + shape[k, 1] * x[i, 1] + shape[k, 2] * x[i, 2] < shape[k, 3]
            else:
                inside = True
                for axis in range(3):
                    inside &= min(q[i, axis], x[i, axis]) < bounds[k, axis + 3]
                    inside &= max(q[i, axis], x[i, axis]) > bounds[k, axis]
            if inside:
                found[count] = i
                count += 1
                break
    return found[:count]
