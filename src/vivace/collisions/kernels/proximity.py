"""How near two features are, now and on the way: vertex and triangle, edge and edge, in float64.

A pair is four points, and everything is relative to the first of them: nine numbers say where the other three are, nine
more how they move in a step. Vertex-triangle: the vertex, then the corners. Edge-edge: the ends of one, then the other.

`measure` returns where the closest points are: coefficients c and z = Σ c_k x_k, the way from the second feature to
the first, and the region: INSIDE both features, or on a border of one.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function, spliced

# The region of a triangle that the closest point lies in; a vertex-triangle pair only.
INSIDE, CORNER, SIDE = 0, 1, 4  # CORNER + k: corner k; SIDE + k: the side from corner k to the next
BORDER = 7  # an edge-edge pair whose closest points are not inside both edges, or are not unique
ALONG = 8  # ... whose closest points are inside, but which are so nearly parallel that their ends are as near

FLAT = 1e-12  # sin² below which two edges are parallel, or two sides of a triangle are one line
PARALLEL = 1e-4  # ... below which they are nearly so: an edge's end is as near as its inside, to 1e-2 of its length
END = 1e-2  # an edge's parameter so near 0 or 1 is its end: the pair of that vertex is there for it
NONE, AT_START, ON_THE_WAY, UNSURE = 0, 1, 2, 3  # what `approach` finds
LOST = 4  # ... when it gave up, or edges passed each other at an end: they may have crossed
TOUCH = 1 / 16  # of the thickness: nearer than this, features are on their way through each other
GRAZE = 1 / 64  # pairs may be reported that come this share of the reach nearer than it
STEPS = 400


@spliced
def dot(ax, ay, az, bx, by, bz):
    """The scalar product of two vectors, coordinate by coordinate."""
    return ax * bx + ay * by + az * bz


@spliced
def cross(ax, ay, az, bx, by, bz):
    """The vector product of two vectors, coordinate by coordinate."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@spliced
def unit_interval(x):
    """The number of [0, 1] next to x."""
    return min(max(x, 0.0), 1.0)


@function
def on_segment(ax, ay, az, bx, by, bz):
    """The parameter of the point of ab next to the origin, and its squared distance."""
    ux, uy, uz = bx - ax, by - ay, bz - az
    square = dot(ux, uy, uz, ux, uy, uz)
    t = unit_interval(-dot(ax, ay, az, ux, uy, uz) / square) if square > 0 else 0.0
    px, py, pz = ax + t * ux, ay + t * uy, az + t * uz
    return t, dot(px, py, pz, px, py, pz)


@function
def on_triangle(ax, ay, az, bx, by, bz, cx, cy, cz):
    """Barycentric coordinates and region of the point of abc next to the origin.

    The regions are told apart by projections on the sides, as in [ericson2005, 5.1.5]. A triangle that is nearly a line
    has no inside to speak of: its sides are searched instead.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    uu, vv, uv = dot(ux, uy, uz, ux, uy, uz), dot(vx, vy, vz, vx, vy, vz), dot(ux, uy, uz, vx, vy, vz)
    longest = max(uu, vv, uu + vv - 2 * uv)
    if uu * vv - uv * uv <= FLAT * longest * longest:
        t, best = on_segment(ax, ay, az, bx, by, bz)
        u, v, w, side = 1 - t, t, 0.0, 0
        t, d = on_segment(bx, by, bz, cx, cy, cz)
        if d < best:
            u, v, w, side, best = 0.0, 1 - t, t, 1, d
        t, d = on_segment(cx, cy, cz, ax, ay, az)
        if d < best:
            u, v, w, side = t, 0.0, 1 - t, 2
        region = CORNER if u == 1 else CORNER + 1 if v == 1 else CORNER + 2 if w == 1 else SIDE + side
        return u, v, w, region
    d1, d2 = -dot(ux, uy, uz, ax, ay, az), -dot(vx, vy, vz, ax, ay, az)
    if d1 <= 0 and d2 <= 0:
        return 1.0, 0.0, 0.0, CORNER
    d3, d4 = d1 - uu, d2 - uv
    if d3 >= 0 and d4 <= d3:
        return 0.0, 1.0, 0.0, CORNER + 1
    d5, d6 = d1 - uv, d2 - vv
    if d6 >= 0 and d5 <= d6:
        return 0.0, 0.0, 1.0, CORNER + 2
    over_c = d1 * d4 - d3 * d2  # twice the areas that the projection makes with the sides, times 2 |abc|
    if over_c <= 0 and d1 >= 0 and d3 <= 0:
        t = d1 / (d1 - d3)
        return 1 - t, t, 0.0, SIDE
    over_b = d5 * d2 - d1 * d6
    if over_b <= 0 and d2 >= 0 and d6 <= 0:
        t = d2 / (d2 - d6)
        return 1 - t, 0.0, t, SIDE + 2
    over_a = d3 * d6 - d5 * d4
    if over_a <= 0 and d4 >= d3 and d5 >= d6:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1 - t, t, SIDE + 1
    total = over_a + over_b + over_c
    v, w = over_b / total, over_c / total
    return 1 - v - w, v, w, INSIDE


@function
def between_segments(bx, by, bz, cx, cy, cz, dx, dy, dz):
    """(t, r, region): the closest points of the segments from the origin to b, at t, and from c to d, at r."""
    vx, vy, vz = dx - cx, dy - cy, dz - cz
    uu, vv, uv = dot(bx, by, bz, bx, by, bz), dot(vx, vy, vz, vx, vy, vz), dot(bx, by, bz, vx, vy, vz)
    uw, vw = dot(bx, by, bz, cx, cy, cz), dot(vx, vy, vz, cx, cy, cz)
    nx, ny, nz = cross(bx, by, bz, vx, vy, vz)
    sine = dot(nx, ny, nz, nx, ny, nz)  # uu vv - uv², without the cancellation
    if sine > FLAT * uu * vv:
        t, r = (uw * vv - uv * vw) / sine, (uv * uw - uu * vw) / sine
        if 0 <= t <= 1 and 0 <= r <= 1:
            inside = END < t < 1 - END and END < r < 1 - END
            return t, r, BORDER if not inside else ALONG if sine <= PARALLEL * uu * vv else INSIDE
    # On a border, then: the best of the four ends. (The closest points of parallel segments are not unique; one of
    # them is at an end, too.)
    t, r = 0.0, unit_interval(-vw / vv) if vv > 0 else 0.0
    best = _square_between(bx, by, bz, cx, cy, cz, vx, vy, vz, t, r)
    for k in range(3):
        if k == 0:
            t1, r1 = 1.0, unit_interval((uv - vw) / vv) if vv > 0 else 0.0
        elif k == 1:
            t1, r1 = unit_interval(uw / uu) if uu > 0 else 0.0, 0.0
        else:
            t1, r1 = unit_interval((uw + uv) / uu) if uu > 0 else 0.0, 1.0
        d = _square_between(bx, by, bz, cx, cy, cz, vx, vy, vz, t1, r1)
        if d < best:
            t, r, best = t1, r1, d
    return t, r, BORDER


@spliced
def _square_between(bx, by, bz, cx, cy, cz, vx, vy, vz, t, r):
    zx, zy, zz = t * bx - cx - r * vx, t * by - cy - r * vy, t * bz - cz - r * vz
    return dot(zx, zy, zz, zx, zy, zz)


# --- the same, as coefficients and separation -------------------------------------------------------------------------


@function
def measure(is_edges, x):
    """((c0, c1, c2, c3), (zx, zy, zz), region) of a pair whose points 1 to 3 are at x, relative to point 0."""
    ax, ay, az, bx, by, bz, cx, cy, cz = x
    if is_edges:
        t, r, region = between_segments(ax, ay, az, bx, by, bz, cx, cy, cz)
        c = (1 - t, t, -(1 - r), -r)
    else:
        u, v, w, region = on_triangle(ax, ay, az, bx, by, bz, cx, cy, cz)
        c = (1.0, -u, -v, -w)
    z = (c[1] * ax + c[2] * bx + c[3] * cx, c[1] * ay + c[2] * by + c[3] * cy, c[1] * az + c[2] * bz + c[3] * cz)
    return c, z, region


@spliced
def length(z):
    """The length of a vector of three."""
    return np.sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2])


@spliced
def moved(x, d, time):
    """Nine coordinates x after `time` at velocities d."""
    return (
        *(x[0] + time * d[0], x[1] + time * d[1], x[2] + time * d[2]),
        *(x[3] + time * d[3], x[4] + time * d[4], x[5] + time * d[5]),
        *(x[6] + time * d[6], x[7] + time * d[7], x[8] + time * d[8]),
    )


@function
def fastest(is_edges, d):
    """The largest relative displacement of a point of one feature and one of the other: their corners have it."""
    b2 = dot(d[3], d[4], d[5], d[3], d[4], d[5])
    c2 = dot(d[6], d[7], d[8], d[6], d[7], d[8])
    if is_edges:
        ex, ey, ez = d[3] - d[0], d[4] - d[1], d[5] - d[2]
        fx, fy, fz = d[6] - d[0], d[7] - d[1], d[8] - d[2]
        a2 = max(dot(ex, ey, ez, ex, ey, ez), dot(fx, fy, fz, fx, fy, fz))
    else:
        a2 = dot(d[0], d[1], d[2], d[0], d[1], d[2])
    return np.sqrt(max(a2, b2, c2))


@function
def least_apart(is_edges, x, d, z):
    """How far apart the plane across z has the two features of a pair, at least, on the whole way.

    Whatever z is: on each side of it that is a minimum of linear functions of time, so it is least at the start or at
    the end.
    """
    least, size = np.inf, length(z)
    for time in (0.0, 1.0):
        ax, ay, az, bx, by, bz, cx, cy, cz = moved(x, d, time)
        a, b = dot(z[0], z[1], z[2], ax, ay, az), dot(z[0], z[1], z[2], bx, by, bz)
        c = dot(z[0], z[1], z[2], cx, cy, cz)
        least = min(least, min(0.0, a) - max(b, c) if is_edges else -max(a, b, c))
    return least / size if size > 0 else 0.0


@spliced
def classify(start, speed, thickness, reach):
    """What can be said of a pair from its distance at the start and a bound on its relative displacement."""
    if start >= reach + speed:
        return NONE
    touch = TOUCH * thickness
    if start < reach and speed < start - touch:
        return AT_START
    return UNSURE


@function
def approach(is_edges, x, d, thickness, reach):
    """(NONE, AT_START, ON_THE_WAY or LOST, time, c, z, region) of the pair at x that moves by d in the step.

    The distance changes by no more than the largest relative displacement L in a step, so within a time of
    (distance - reach) / L nothing comes within reach: conservative advancement, which misses nothing. A pair that comes
    within reach is followed further, until it touches; before that z cannot change sides, so its direction is the
    normal of a plane with both features on their right sides, however fast they are. (The roots of the coplanarity
    cubic [bridson2002, 7.4] are the same times for zero thickness, but badly conditioned when the motion is small.)

    Pairs that do not touch in the step are described as they are at the start, if they are within reach there, and
    otherwise when they are nearest, as far as it was looked at.
    """
    c, z, region = measure(is_edges, x)
    return follow_pair(is_edges, x, d, thickness, reach, c, z, region)


@function
def follow_pair(is_edges, x, d, thickness, reach, c, z, region):
    """`approach`, of a pair whose closest points at the start are known."""
    start = length(z)
    speed = fastest(is_edges, d)
    touch = TOUCH * thickness
    if start >= reach + speed:
        return NONE, 0.0, c, z, region
    if start < reach and (
        speed < start - touch or (start <= touch and speed < 4 * touch)
    ):  # apart for the whole step, or touching already
        return AT_START, 0.0, c, z, region
    if start <= touch and speed >= 4 * touch:  # touching, and moving too fast to say on which side it ends
        return LOST, 0.0, c, z, region
    if start >= reach:  # nothing to find where they stay apart, and steps enough to see it
        apart = least_apart(is_edges, x, d, z)
        if apart > (1 + 2 * GRAZE) * reach and speed < 0.9 * STEPS * (apart - reach):
            return NONE, 0.0, c, z, region
    time, distance, near = 0.0, start, 0.0
    best, c1, z1, region1 = start, c, z, region
    found, passing, passed = False, False, False
    for _ in range(STEPS):
        found = found or distance < reach * (1 + GRAZE)
        if time >= 1 or (best <= touch and not passing):
            break
        if found:
            time = min(1.0, time + max(distance - 0.5 * touch, 0.5 * touch) / speed)
        else:
            time += (distance - reach) / speed
            if time > 1:
                return NONE, 0.0, c, z, region
        c2, z2, region2 = measure(is_edges, moved(x, d, time))
        distance = length(z2)
        # Edges that pass each other at an end are left to that vertex, and may meet again further on; until they are
        # apart, z may have changed sides and does not count.
        passing = distance <= touch and (passing or region2 == BORDER)
        passed = passed or passing
        if distance < best and not passing:
            best, near, c1, z1, region1 = distance, time, c2, z2, region2
    if (time < 1 and distance > touch) or (passed and best > touch):  # steps too small, or past an end
        return LOST, near, c1, z1, region1
    if near == 0 or (start < reach and best > touch):
        return AT_START, 0.0, c, z, region
    return ON_THE_WAY, near, c1, z1, region1


@function
def normal_of(is_edges, x, d, time, c, z, smallest):
    """The contact's unit normal (nx, ny, nz); zeros where no side can be told.

    It is the direction of z. When z is shorter than `smallest`, its direction is mostly rounding: then the normal of
    the triangle, or the cross product of the edges, towards z, or if z does not say, to where the first feature comes
    from.
    """
    distance = length(z)
    if distance > smallest:
        return z[0] / distance, z[1] / distance, z[2] / distance
    ax, ay, az, bx, by, bz, cx, cy, cz = moved(x, d, time)
    if is_edges:
        nx, ny, nz = cross(ax, ay, az, cx - bx, cy - by, cz - bz)
        size = np.sqrt(dot(ax, ay, az, ax, ay, az)) * np.sqrt(dot(cx - bx, cy - by, cz - bz, cx - bx, cy - by, cz - bz))
    else:
        ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
        nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
        size = max(dot(ux, uy, uz, ux, uy, uz), dot(vx, vy, vz, vx, vy, vz))
    norm = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
    if norm <= 1e-6 * size:
        return 0.0, 0.0, 0.0
    side = dot(nx, ny, nz, z[0], z[1], z[2])
    if abs(side) <= 1e-3 * smallest * norm:
        wx = c[1] * d[0] + c[2] * d[3] + c[3] * d[6]
        wy = c[1] * d[1] + c[2] * d[4] + c[3] * d[7]
        wz = c[1] * d[2] + c[2] * d[5] + c[3] * d[8]
        side = -dot(nx, ny, nz, wx, wy, wz)
        if abs(side) <= 1e-3 * smallest * norm:
            return 0.0, 0.0, 0.0
    norm = np.copysign(norm, side)
    return nx / norm, ny / norm, nz / norm
