"""The point of a convex set in space nearest to another one, by the set's support mapping: GJK [thesis2010, 2.3].

The set is approached from inside by simplices of its support points: the nearest point x of one gives the direction
z - x of the next support point, which joins, and points that x does not need are dropped. On polytopes that ends with
the face, edge or corner that holds the solution. On curved sets it ends with half of the digits, since the distance to
z hardly changes along the boundary; Newton's method for the direction finds the others. For points within 1e-11 of a
curved boundary, of the size of the set, there is no such direction: there the error is of that size.
"""

from __future__ import annotations

import math

import numpy as np

from ...backends.cpu.compiling import function

EPS = 2.0**-52
FAR = 1e15  # times the set's unit: from there on the direction of z is all that counts
ROUNDS = 100  # calls of the support mapping for one point, at most
ASIDE = 1e-5  # rad: over which the derivative of a support mapping is taken


def support(dx, dy, dz):  # stand-in
    """A point of the set as far as possible in the direction (dx, dy, dz)."""
    return dx, dy, dz


@function
def _direction(x, y, z):
    """(x, y, z) at the length 1."""
    larger = max(abs(x), abs(y), abs(z))
    x, y, z = x / larger, y / larger, z / larger
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@function
def _segment(hull, i, j, z, weights):
    """Weights of the point of a segment nearest to z; the square of its distance."""
    along = square = 0.0
    for c in range(3):
        e = hull[j, c] - hull[i, c]
        along += e * (z[c] - hull[i, c])
        square += e * e
    w = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    weights[:] = 0.0
    weights[i], weights[j] = 1.0 - w, w
    return _apart(hull, z, weights)


@function
def _apart(hull, z, weights):
    """The square of the distance from z to a weighted mean of the points."""
    square = 0.0
    for c in range(3):
        d = z[c]
        for i in range(4):
            if weights[i] > 0.0:
                d -= weights[i] * hull[i, c]
        square += d * d
    return square


@function
def _triangle(hull, i, j, k, z, weights):
    """Likewise of a triangle: of its plane, if that lies inside, or of the nearest of its sides."""
    ee = ef = ff = ez = fz = 0.0
    for c in range(3):
        e, f, d = hull[j, c] - hull[i, c], hull[k, c] - hull[i, c], z[c] - hull[i, c]
        ee += e * e
        ef += e * f
        ff += f * f
        ez += e * d
        fz += f * d
    area = ee * ff - ef * ef
    v, w = ff * ez - ef * fz, ee * fz - ef * ez
    if area > 0.0 and v > 0.0 and w > 0.0 and v + w < area:
        weights[:] = 0.0
        weights[i], weights[j], weights[k] = (area - v - w) / area, v / area, w / area
        return _apart(hull, z, weights)
    best, trial = np.empty(4), np.empty(4)
    least = _segment(hull, i, j, z, best)
    for side in range(2):
        square = _segment(hull, k, i if side == 0 else j, z, trial)
        if square < least:
            least = square
            best[:] = trial
    weights[:] = best
    return least


@function
def _side(hull, i, j, k, p):
    """Six times the signed volume between a triangle and a point."""
    ax, ay, az = hull[j, 0] - hull[i, 0], hull[j, 1] - hull[i, 1], hull[j, 2] - hull[i, 2]
    bx, by, bz = hull[k, 0] - hull[i, 0], hull[k, 1] - hull[i, 1], hull[k, 2] - hull[i, 2]
    cx, cy, cz = p[0] - hull[i, 0], p[1] - hull[i, 1], p[2] - hull[i, 2]
    return cx * (ay * bz - az * by) + cy * (az * bx - ax * bz) + cz * (ax * by - ay * bx)


@function
def _simplex(hull, count, z, weights):
    """Weights of the point of `count` points' hull nearest to z; the square of its distance; -1 if z is inside."""
    if count == 2:
        return _segment(hull, 0, 1, z, weights)
    if count == 3:
        return _triangle(hull, 0, 1, 2, z, weights)
    whole = _side(hull, 0, 1, 2, hull[3])
    inside = whole != 0.0
    least = math.inf
    trial = np.empty(4)
    for skipped in range(4):
        i, j, k = (skipped + 1) % 4, (skipped + 2) % 4, (skipped + 3) % 4
        inside = inside and _side(hull, i, j, k, z) * _side(hull, i, j, k, hull[skipped]) > 0.0
        square = _triangle(hull, i, j, k, z, trial)
        if square < least:
            least = square
            weights[:] = trial
    return -1.0 if inside else least


def polish_template(z, dx, dy, dz, x):
    """Newton's method for the direction d = (dx, dy, dz): S(d) into x, if that is the solution to its last digits.

    With R the derivative of S, a step δ across d solves (h + R) δ = g. On faces of K there is none: x stays as it is.
    """
    before = math.inf
    for _ in range(8):
        px, py, pz = support(dx, dy, dz)
        vx, vy, vz = z[0] - px, z[1] - py, z[2] - pz
        h = vx * dx + vy * dy + vz * dz
        gx, gy, gz = vx - h * dx, vy - h * dy, vz - h * dz
        left = math.sqrt(gx * gx + gy * gy + gz * gz)  # |S(d) - prox(z)| is at most that, see `convex`
        if h > 0.0 and left <= 4.0 * EPS * (abs(px) + abs(py) + abs(pz) + h):
            x[0], x[1], x[2] = px, py, pz
            return
        if not (h > 0.0 and left < 0.5 * before):
            return
        before = left
        # Two directions across d, and how S changes along them.
        if abs(dx) < 0.6:
            ex, ey, ez = 0.0, dz, -dy
        else:
            ex, ey, ez = -dz, 0.0, dx
        length = math.sqrt(ex * ex + ey * ey + ez * ez)
        ex, ey, ez = ex / length, ey / length, ez / length
        fx, fy, fz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
        qx, qy, qz = support(*_direction(dx + ASIDE * ex, dy + ASIDE * ey, dz + ASIDE * ez))
        rx, ry, rz = support(*_direction(dx + ASIDE * fx, dy + ASIDE * fy, dz + ASIDE * fz))
        ee = h + ((qx - px) * ex + (qy - py) * ey + (qz - pz) * ez) / ASIDE
        ff = h + ((rx - px) * fx + (ry - py) * fy + (rz - pz) * fz) / ASIDE
        ef = 0.5 * ((qx - px) * fx + (qy - py) * fy + (qz - pz) * fz) / ASIDE
        ef += 0.5 * ((rx - px) * ex + (ry - py) * ey + (rz - pz) * ez) / ASIDE
        area = ee * ff - ef * ef
        if not area > 0.0:
            return
        e, f = gx * ex + gy * ey + gz * ez, gx * fx + gy * fy + gz * fz
        e, f = (ff * e - ef * f) / area, (ee * f - ef * e) / area
        dx, dy, dz = _direction(dx + e * ex + f * fx, dy + e * ey + f * fy, dz + e * ez + f * fz)


def polish(z, dx, dy, dz, x):  # stand-in
    """Nothing."""


def nearest_template(normal, zs, zt, ztau):
    """The point of normal K nearest to (zs, zt, ztau)."""
    larger = max(abs(zs), abs(zt), abs(ztau))
    if larger == 0.0 or normal == 0.0:
        return 0.0 * zs, 0.0 * zt, 0.0 * ztau
    z, x, point = np.array((zs, zt, ztau)), np.zeros(3), np.empty(3)
    hull, weights = np.empty((4, 3)), np.empty(4)
    z *= FAR / larger if larger > FAR * normal else 1.0 / normal
    count, size, distance = 0, 0.0, math.inf
    dx, dy, dz = _direction(z[0], z[1], z[2])
    for _ in range(ROUNDS):
        point[0], point[1], point[2] = support(dx, dy, dz)
        size = max(size, abs(point[0]) + abs(point[1]) + abs(point[2]))
        gain = (point[0] - x[0]) * dx + (point[1] - x[1]) * dy + (point[2] - x[2]) * dz
        if count and gain <= 2.0 * EPS * size:  # |x - prox(z)|² <= gain |z - x|
            break
        hull[count] = point
        count += 1
        if count == 1:
            weights[:] = 0.0
            weights[0] = 1.0
            square = _apart(hull, z, weights)
        else:
            square = _simplex(hull, count, z, weights)
        if square < 0.0:
            return zs, zt, ztau
        if not square < distance:
            break
        distance, kept = square, 0
        x[:] = 0.0
        for i in range(count):
            if weights[i] > 0.0:
                x += weights[i] * hull[i]
                hull[kept] = hull[i]
                kept += 1
        count = kept
        dx, dy, dz = z[0] - x[0], z[1] - x[1], z[2] - x[2]
        if max(abs(dx), abs(dy), abs(dz)) <= EPS * size:
            return zs, zt, ztau
        dx, dy, dz = _direction(dx, dy, dz)
    polish(z, dx, dy, dz, x)
    return normal * x[0], normal * x[1], normal * x[2]
