"""What contacts of both families of solvers share: their separation z = Σ a_k x_k, now and when a step began."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import inlined
from ...backends.cpu.simd import at, dot4, lane4, load4, make4, store4
from ...backends.cpu.vectors import xyz4

LABEL = "contacts"  # what phases of these kernels are reported under

ZERO = np.float32(0.0)


@inlined
def separation(vertices, a, c, q):
    """z of contact c, and the inverse mass it feels; a adds up to zero, so differences lose nothing.

    Those of a patch add up to one: it has its first vertex twice, and z is a point.
    """
    x0, x1 = load4(q, at(vertices, 4 * c)), load4(q, at(vertices, 4 * c + 1))
    x2, x3 = load4(q, at(vertices, 4 * c + 2)), load4(q, at(vertices, 4 * c + 3))
    a0, a1, a2, a3 = at(a, 4 * c), at(a, 4 * c + 1), at(a, 4 * c + 2), at(a, 4 * c + 3)
    z = xyz4(a1 * (x1 - x0) + a2 * (x2 - x0) + a3 * (x3 - x0))
    if at(vertices, 4 * c) == at(vertices, 4 * c + 3):
        z = z + xyz4(x0)
    weight = a0 * a0 * lane4(x0, 3) + a1 * a1 * lane4(x1, 3) + a2 * a2 * lane4(x2, 3) + a3 * a3 * lane4(x3, 3)
    return z, weight


@phase_kernel(items="planes")
def begin_contacts(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, motion: rows, q: rows,
    recovery: floats,
):  # fmt: skip
    """before = z at q, carried along by bodies that move.

    Gaps that are violated there already are lowered, to recover by so many metres a step (`recovery` of each).
    """
    for c in range(begin, end):
        z, _ = separation(vertices, a, c, q)
        z = z + load4(motion, c)
        plane = load4(planes, c)
        gap = min(lane4(plane, 3), dot4(xyz4(plane), z) + at(recovery, c))
        store4(planes, c, xyz4(plane) + make4(ZERO, ZERO, ZERO, gap))
        store4(before, c, z)


@phase_kernel(items="planes")
def begin_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, motion: rows, q: rows, recovery: floats
):
    """The same for contacts with walls: z = x, carried along by walls that move."""
    for c in range(begin, end):
        x = xyz4(load4(q, at(vertices, c))) + load4(motion, c)
        plane = load4(planes, c)
        gap = min(lane4(plane, 3), dot4(xyz4(plane), x) + at(recovery, c))
        store4(planes, c, xyz4(plane) + make4(ZERO, ZERO, ZERO, gap))
        store4(before, c, x)
