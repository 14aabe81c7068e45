"""The contact problem's arithmetic in one pass over contacts or bodies, without the blocks of J in memory."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, function


@function
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@compiled
def fill_frames(pairs, points, normals, along, positions, frames, arms):
    """Rows n, s, t of frames, and arms from the centres of both bodies; s is near to `along`, where that has rows.

    Returns whether a direction `along` was along a normal.
    """
    bad = False
    for k in range(pairs.shape[0]):
        nx, ny, nz = normals[k, 0], normals[k, 1], normals[k, 2]
        if along.shape[0] > 0:
            x, y, z = along[k, 0], along[k, 1], along[k, 2]
        else:
            x = y = z = 0.0
            if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
                x = 1.0
            elif abs(ny) <= abs(nz):
                y = 1.0
            else:
                z = 1.0
        part = x * nx + y * ny + z * nz
        x, y, z = x - part * nx, y - part * ny, z - part * nz
        length = np.sqrt(x * x + y * y + z * z)
        bad |= length < 1e-9
        x, y, z = x / length, y / length, z / length
        frames[k, 0, 0], frames[k, 0, 1], frames[k, 0, 2] = nx, ny, nz
        frames[k, 1, 0], frames[k, 1, 1], frames[k, 1, 2] = x, y, z
        frames[k, 2, 0], frames[k, 2, 1], frames[k, 2, 2] = _cross(nx, ny, nz, x, y, z)
        for side in range(2):
            body = pairs[k, side]
            for c in range(3):
                arms[k, side, c] = points[k, c] - positions[body, c]
    return bad


@function
def _relative(pairs, frames, arms, k, velocities):
    """How the contact point of body j moves past that of body i, and how j spins past i."""
    i, j = pairs[k, 0], pairs[k, 1]
    ux, uy, uz = velocities[i, 3], velocities[i, 4], velocities[i, 5]
    vx, vy, vz = velocities[j, 3], velocities[j, 4], velocities[j, 5]
    px, py, pz = _cross(ux, uy, uz, arms[k, 0, 0], arms[k, 0, 1], arms[k, 0, 2])
    qx, qy, qz = _cross(vx, vy, vz, arms[k, 1, 0], arms[k, 1, 1], arms[k, 1, 2])
    return (
        (velocities[j, 0] + qx) - (velocities[i, 0] + px),
        (velocities[j, 1] + qy) - (velocities[i, 1] + py),
        (velocities[j, 2] + qz) - (velocities[i, 2] + pz),
        vx - ux,
        vy - uy,
        vz - uz,
    )


@compiled
def relative_velocities(pairs, frames, arms, radii, velocities, out):
    """J u, (K, 4): along normal and tangents, and the spin times the radius, for velocities of bodies (M, 6)."""
    for k in range(pairs.shape[0]):
        x, y, z, u, v, w = _relative(pairs, frames, arms, k, velocities)
        for c in range(3):
            out[k, c] = frames[k, c, 0] * x + frames[k, c, 1] * y + frames[k, c, 2] * z
        out[k, 3] = radii[k] * (frames[k, 0, 0] * u + frames[k, 0, 1] * v + frames[k, 0, 2] * w)


@compiled
def normal_velocities(pairs, frames, arms, velocities, out):
    """The first of these, (K,)."""
    for k in range(pairs.shape[0]):
        x, y, z, _, _, _ = _relative(pairs, frames, arms, k, velocities)
        out[k] = frames[k, 0, 0] * x + frames[k, 0, 1] * y + frames[k, 0, 2] * z


@compiled
def wish_apart(pairs, frames, arms, gaps, velocities, restitution, bouncing, h, b):
    """Add to b what contacts want: to bounce, if they approach faster than `bouncing`, or to close no further."""
    for k in range(pairs.shape[0]):
        more = max(gaps[k], 0.0) / h
        bounce = max(restitution[pairs[k, 0]], restitution[pairs[k, 1]])
        if gaps[k] <= 0.0 and bounce > 0.0:
            x, y, z, _, _, _ = _relative(pairs, frames, arms, k, velocities)
            approach = frames[k, 0, 0] * x + frames[k, 0, 1] * y + frames[k, 0, 2] * z
            if approach < -bouncing:
                more = bounce * approach
        b[k, 0] += more


@compiled
def add_momenta(pairs, frames, arms, radii, impulses, out):
    """Jᵀ λ: what impulses (K, 4) give to bodies, added to (M, 6)."""
    for k in range(pairs.shape[0]):
        n, s, t, r = impulses[k, 0], impulses[k, 1], impulses[k, 2], impulses[k, 3] * radii[k]
        x = frames[k, 0, 0] * n + frames[k, 1, 0] * s + frames[k, 2, 0] * t
        y = frames[k, 0, 1] * n + frames[k, 1, 1] * s + frames[k, 2, 1] * t
        z = frames[k, 0, 2] * n + frames[k, 1, 2] * s + frames[k, 2, 2] * t
        for side in range(2):
            sign, body = 2.0 * side - 1.0, pairs[k, side]
            u, v, w = _cross(arms[k, side, 0], arms[k, side, 1], arms[k, side, 2], x, y, z)
            out[body, 0] += sign * x
            out[body, 1] += sign * y
            out[body, 2] += sign * z
            out[body, 3] += sign * (u + r * frames[k, 0, 0])
            out[body, 4] += sign * (v + r * frames[k, 0, 1])
            out[body, 5] += sign * (w + r * frames[k, 0, 2])


@function
def _through(matrix, x, y, z, u, v, w):
    """a M a for a = (x, y, z, u, v, w)."""
    a = (x, y, z, u, v, w)
    total = 0.0
    for i in range(6):
        for j in range(6):
            total += a[i] * matrix[i, j] * a[j]
    return total


@compiled
def diagonal(pairs, frames, arms, radii, inverse_mass, inverse_inertia, held, held_inverse, out):
    """The diagonal of J W Jᵀ, (K, 4); `held`: bodies that have an inverse inertia of 6 x 6 instead."""
    at = np.full(inverse_mass.shape[0], -1, np.int64)
    for h in range(held.shape[0]):
        at[held[h]] = h
    for k in range(pairs.shape[0]):
        for c in range(4):
            total = 0.0
            for side in range(2):
                body = pairs[k, side]
                x, y, z = frames[k, c % 3, 0], frames[k, c % 3, 1], frames[k, c % 3, 2]
                if c < 3:
                    u, v, w = _cross(arms[k, side, 0], arms[k, side, 1], arms[k, side, 2], x, y, z)
                else:
                    u, v, w = radii[k] * x, radii[k] * y, radii[k] * z
                    x, y, z = 0.0, 0.0, 0.0
                if at[body] >= 0:
                    total += _through(held_inverse[at[body]], x, y, z, u, v, w)
                    continue
                total += inverse_mass[body] * (x * x + y * y + z * z)
                m = inverse_inertia[body]
                total += u * (m[0, 0] * u + m[0, 1] * v + m[0, 2] * w)
                total += v * (m[1, 0] * u + m[1, 1] * v + m[1, 2] * w)
                total += w * (m[2, 0] * u + m[2, 1] * v + m[2, 2] * w)
            out[k, c] = total


@compiled
def accelerate(momenta, inverse_mass, inverse_inertia, out):
    """W p, (M, 6), of bodies that no springs hold."""
    for m in range(momenta.shape[0]):
        x, y, z = momenta[m, 3], momenta[m, 4], momenta[m, 5]
        for c in range(3):
            out[m, c] = inverse_mass[m] * momenta[m, c]
            out[m, 3 + c] = inverse_inertia[m, c, 0] * x + inverse_inertia[m, c, 1] * y + inverse_inertia[m, c, 2] * z


@compiled
def all_well(pairs, bodies, frames, arms, b, friction, inverse_mass, inverse_inertia):
    """Whether contacts name two bodies that there are, all numbers are finite, and no coefficient is negative."""
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        if i == j or i < 0 or j < 0 or i >= bodies or j >= bodies:
            return False
        total = 0.0  # not finite if one of them is not
        for c in range(3):
            if friction[k, c] < 0.0:
                return False
            total += 0.0 * friction[k, c] + 0.0 * arms[k, 0, c] + 0.0 * arms[k, 1, c] + 0.0 * b[k, c]
            total += 0.0 * frames[k, 0, c] + 0.0 * frames[k, 1, c] + 0.0 * frames[k, 2, c]
        if total + 0.0 * b[k, 3] != 0.0:
            return False
    for m in range(inverse_mass.shape[0]):
        total = 0.0 * inverse_mass[m]
        for c in range(3):
            total += 0.0 * inverse_inertia[m, c, 0] + 0.0 * inverse_inertia[m, c, 1] + 0.0 * inverse_inertia[m, c, 2]
        if total != 0.0:
            return False
    return True


@compiled
def fill_laws(pairs, coefficients, spin, areas, friction, radii):
    """Two bodies have the geometric mean of their coefficients, `spin` times that about the normal.

    The radius of their contact is the larger of both.
    """
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        mean = np.sqrt(coefficients[i] * coefficients[j])
        friction[k, 0], friction[k, 1], friction[k, 2] = mean, mean, spin * mean
        radii[k] = max(areas[i], areas[j])
