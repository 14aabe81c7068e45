"""Contacts for Newton's multigrid: their forces alone, and what those with walls add to the Hessian.

The right-hand sides of projective dynamics (`contact`) hold w x as well as the force, and the diagonal takes it away
again. What float32 leaves of that is nothing to a matrix that is as stiff along a wall as across it; here, where what
slides is held by its inertia alone, it would be felt as a force. So slots get forces, and ties have no contacts.

Across a wall a contact that is open counts as one that is closed, or the next step would go through it.
"""

from __future__ import annotations

import numpy as np

from .contact import pull, separation
from .gradients import xyz4
from .simd import at, dot4, lane4, load4, make4, store4, yzx4
from .team import floats, ints, longs, phase_kernel, rows


@phase_kernel
def contact_forces(table, begin, end, iteration):
    """As `pull_contacts`, with its table: w a_k times the way back."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    friction, weights, slots = floats(table, 4), floats(table, 5), ints(table, 6)
    q, out = rows(table, 7), rows(table, 8)
    for c in range(begin, min(end, longs(table, 9)[0])):
        z, _ = separation(vertices, a, c, q)
        force = pull(z, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        for k in range(4):
            store4(out, at(slots, 4 * c + k), (at(weights, c) * at(a, 4 * c + k)) * force)


@phase_kernel
def wall_forces(table, begin, end, iteration):
    """As `pull_walls`, with its table: w times the way back."""
    vertices, planes, before = ints(table, 0), rows(table, 2), rows(table, 3)
    friction, weights, slots = floats(table, 4), floats(table, 5), ints(table, 6)
    q, out = rows(table, 7), rows(table, 8)
    for c in range(begin, min(end, longs(table, 9)[0])):
        x = xyz4(load4(q, at(vertices, c)))
        force = pull(x, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        store4(out, at(slots, c), at(weights, c) * force)


@phase_kernel
def tie_to_walls(table, begin, end, iteration):
    """T_v += w [n nᵀ + t (I - n nᵀ)]: t is 1 where friction holds, less where it slips, 0 where they are apart.

    A vertex may have several: one thread, one order.
    """
    vertices, planes, before, friction = ints(table, 0), rows(table, 1), rows(table, 2), floats(table, 3)
    weights, q, ties = floats(table, 4), rows(table, 5), rows(table, 6)
    for c in range(longs(table, 7)[0]):
        v, w, n = at(vertices, c), at(weights, c), xyz4(load4(planes, c))
        x = load4(q, v)
        depth = lane4(load4(planes, c), 3) - dot4(n, x)
        t = np.float32(0.0)
        if depth > 0:
            u = x - load4(before, c)
            u = u - dot4(n, u) * n
            size = np.float32(np.sqrt(dot4(u, u)))
            holds = size <= at(friction, 2 * c) * depth
            t = np.float32(1.0) if holds else min(at(friction, 2 * c + 1) * depth / size, np.float32(1.0))
        even, along = t * w, ((np.float32(1.0) - t) * w) * n
        store4(ties, 2 * v, load4(ties, 2 * v) + along * n + make4(even, even, even, np.float32(0.0)))
        store4(ties, 2 * v + 1, load4(ties, 2 * v + 1) + along * yzx4(n))
