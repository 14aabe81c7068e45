"""Rigid bodies on their way: rotations, velocities without contacts, new poses, and kinetic energy, body by body."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, function


@compiled
def matrices(q, out):
    """Rotations (M, 3, 3) of unit quaternions (M, 4), the scalar first."""
    for m in range(q.shape[0]):
        s, x, y, z = q[m, 0], q[m, 1], q[m, 2], q[m, 3]
        out[m, 0, 0], out[m, 0, 1], out[m, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)
        out[m, 1, 0], out[m, 1, 1], out[m, 1, 2] = 2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)
        out[m, 2, 0], out[m, 2, 1], out[m, 2, 2] = 2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)


@function
def _times(a, m, x, y, z):
    return (
        a[m, 0, 0] * x + a[m, 0, 1] * y + a[m, 0, 2] * z,
        a[m, 1, 0] * x + a[m, 1, 1] * y + a[m, 1, 2] * z,
        a[m, 2, 0] * x + a[m, 2, 1] * y + a[m, 2, 2] * z,
    )


@function
def _back(a, m, x, y, z):
    """By the transposed matrix."""
    return (
        a[m, 0, 0] * x + a[m, 1, 0] * y + a[m, 2, 0] * z,
        a[m, 0, 1] * x + a[m, 1, 1] * y + a[m, 2, 1] * z,
        a[m, 0, 2] * x + a[m, 1, 2] * y + a[m, 2, 2] * z,
    )


@function
def _is_even(inertias, m):
    """Whether the inertia is the same about every axis, as a ball's is."""
    even = inertias[m, 0, 0] == inertias[m, 1, 1] and inertias[m, 1, 1] == inertias[m, 2, 2]
    for i in range(3):
        for j in range(3):
            even &= i == j or inertias[m, i, j] == 0.0
    return even


@function
def _solved(a, x, y, z):
    """A⁻¹ b of 3 x 3, by elimination with the largest of each column."""
    b = np.empty(3)
    b[0], b[1], b[2] = x, y, z
    for c in range(3):
        best = c
        for r in range(c + 1, 3):
            if abs(a[r, c]) > abs(a[best, c]):
                best = r
        if best != c:
            for k in range(3):
                a[c, k], a[best, k] = a[best, k], a[c, k]
            b[c], b[best] = b[best], b[c]
        for r in range(c + 1, 3):
            f = a[r, c] / a[c, c]
            for k in range(c, 3):
                a[r, k] -= f * a[c, k]
            b[r] -= f * b[c]
    b[2] /= a[2, 2]
    b[1] = (b[1] - a[1, 2] * b[2]) / a[1, 1]
    b[0] = (b[0] - a[0, 1] * b[1] - a[0, 2] * b[2]) / a[0, 0]
    return b[0], b[1], b[2]


@compiled
def free_velocities(velocities, spins, movable, inertias, turned, gravity, h, out):
    """Velocities and spins (M, 6) after a step without contacts.

    Spins after I (ω' - ω) = - h ω' × I ω', by one Newton step in the frame of the body.
    """
    a = np.empty((3, 3))
    for m in range(velocities.shape[0]):
        for c in range(3):
            out[m, c], out[m, 3 + c] = velocities[m, c], spins[m, c]
        if not movable[m]:
            continue
        for c in range(3):
            out[m, c] += h * gravity[c]
        if _is_even(inertias, m):
            continue
        x, y, z = _back(turned, m, spins[m, 0], spins[m, 1], spins[m, 2])
        u, v, w = _times(inertias, m, x, y, z)
        p, q, r = h * (y * w - z * v), h * (z * u - x * w), h * (x * v - y * u)
        if p == 0.0 and q == 0.0 and r == 0.0:
            continue
        for c in range(3):  # I + h (ω × I - (I ω) ×)
            i, j, k = inertias[m, 0, c], inertias[m, 1, c], inertias[m, 2, c]
            a[0, c] = i + h * (y * k - z * j)
            a[1, c] = j + h * (z * i - x * k)
            a[2, c] = k + h * (x * j - y * i)
        a[0, 1] += h * w
        a[0, 2] -= h * v
        a[1, 0] -= h * w
        a[1, 2] += h * u
        a[2, 0] += h * v
        a[2, 1] -= h * u
        p, q, r = _solved(a, p, q, r)
        out[m, 3], out[m, 4], out[m, 5] = _times(turned, m, x - p, y - q, z - r)


@compiled
def rotated(turned, inner, out):
    """R A Rᵀ, (M, 3, 3)."""
    for m in range(turned.shape[0]):
        for i in range(3):
            x = turned[m, i, 0] * inner[m, 0, 0] + turned[m, i, 1] * inner[m, 1, 0] + turned[m, i, 2] * inner[m, 2, 0]
            y = turned[m, i, 0] * inner[m, 0, 1] + turned[m, i, 1] * inner[m, 1, 1] + turned[m, i, 2] * inner[m, 2, 1]
            z = turned[m, i, 0] * inner[m, 0, 2] + turned[m, i, 1] * inner[m, 1, 2] + turned[m, i, 2] * inner[m, 2, 2]
            for j in range(3):
                out[m, i, j] = x * turned[m, j, 0] + y * turned[m, j, 1] + z * turned[m, j, 2]


@compiled
def advance(positions, orientations, velocities, h):
    """Poses a step later, with velocities (M, 6); the rotation by its exponential."""
    for m in range(positions.shape[0]):
        for c in range(3):
            positions[m, c] += h * velocities[m, c]
        x, y, z = h * velocities[m, 3], h * velocities[m, 4], h * velocities[m, 5]
        half = 0.5 * np.sqrt(x * x + y * y + z * z)
        s, f = np.cos(half), 0.5 * (np.sin(half) / half if half > 0.0 else 1.0)
        x, y, z = f * x, f * y, f * z
        t, u, v, w = orientations[m, 0], orientations[m, 1], orientations[m, 2], orientations[m, 3]
        a = s * t - x * u - y * v - z * w
        b = s * u + x * t + y * w - z * v
        c = s * v - x * w + y * t + z * u
        d = s * w + x * v - y * u + z * t
        length = np.sqrt(a * a + b * b + c * c + d * d)
        orientations[m, 0], orientations[m, 1] = a / length, b / length
        orientations[m, 2], orientations[m, 3] = c / length, d / length


@compiled
def kinetic_energy(movable, masses, inertias, orientations, velocities, spins):
    """½ m v² + ½ ω I ω of all that are free."""
    total, turned = 0.0, np.empty((1, 3, 3))
    for m in range(movable.shape[0]):
        if movable[m]:
            x, y, z = velocities[m, 0], velocities[m, 1], velocities[m, 2]
            total += 0.5 * masses[m] * (x * x + y * y + z * z)
            matrices(orientations[m : m + 1], turned)
            x, y, z = _back(turned, 0, spins[m, 0], spins[m, 1], spins[m, 2])
            u, v, w = _times(inertias, m, x, y, z)
            total += 0.5 * (x * u + y * v + z * w)
    return total
