"""The local pass of membranes: two fibres and the angle between them, one triangle at a time in vector registers.

The four measures z of a triangle (see `constraints.membrane`) are made of its two edges from its first corner. All that
other loops want to know of it follows from the sizes of four vectors, z₀, z₁, a = z₂ + z₃ and b = z₂ - z₃, which are
found with one square root.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import inlined
from ...backends.cpu.simd import at, lane4, load4, load4_flat, max4, splat4, sqrt4, square_norms4, store4

LABEL = "local passes"  # what phases of these kernels are reported under

SMALLEST_SQUARE = np.float32(1e-20)  # of a measure: what has no length gets a zero direction


@inlined
def measures(t, vertices, operator, q):
    """z₀, z₁ and a = z₂ + z₃, b = z₂ - z₃ of triangle t, rows of four."""
    x0 = load4(q, at(vertices, 3 * t))
    e1, e2 = load4(q, at(vertices, 3 * t + 1)) - x0, load4(q, at(vertices, 3 * t + 2)) - x0
    f, g, h = load4_flat(operator, 12 * t), load4_flat(operator, 12 * t + 4), load4_flat(operator, 12 * t + 8)
    z2 = lane4(g, 3) * e1 + lane4(h, 0) * e2
    z3 = lane4(h, 2) * e1 + lane4(h, 3) * e2
    return lane4(f, 1) * e1 + lane4(f, 2) * e2, lane4(g, 0) * e1 + lane4(g, 1) * e2, z2 + z3, z2 - z3


@inlined
def sizes_of(z0, z1, a, b):
    """(|z₀|, |z₁|, |a|, |b|), none of them zero."""
    return sqrt4(max4(square_norms4(z0, z1, a, b), splat4(SMALLEST_SQUARE)))


@phase_kernel(items="weights")
def local_membranes(
    begin, end, iteration, vertices: ints, operator: floats, weights: floats, parameters: floats, slots: ints, q: rows,
    out: rows,
):  # fmt: skip
    """The local pass of membrane."""
    for t in range(begin, end):
        z0, z1, a, b = measures(t, vertices, operator, q)
        sizes = sizes_of(z0, z1, a, b)
        inverse = splat4(at(weights, t)) / sizes
        p0 = (at(parameters, 2 * t) * lane4(inverse, 0)) * z0
        p1 = (at(parameters, 2 * t + 1) * lane4(inverse, 1)) * z1
        mean = np.float32(0.25) * (lane4(sizes, 2) + lane4(sizes, 3))
        a, b = (mean * lane4(inverse, 2)) * a, (mean * lane4(inverse, 3)) * b
        p2, p3 = a + b, a - b
        f, g, h = load4_flat(operator, 12 * t), load4_flat(operator, 12 * t + 4), load4_flat(operator, 12 * t + 8)
        store4(
            out,
            at(slots, 3 * t),
            lane4(f, 0) * p0 + lane4(f, 3) * p1 + lane4(g, 2) * p2 + lane4(h, 1) * p3,
        )
        store4(
            out,
            at(slots, 3 * t + 1),
            lane4(f, 1) * p0 + lane4(g, 0) * p1 + lane4(g, 3) * p2 + lane4(h, 2) * p3,
        )
        store4(
            out,
            at(slots, 3 * t + 2),
            lane4(f, 2) * p0 + lane4(g, 1) * p1 + lane4(h, 0) * p2 + lane4(h, 3) * p3,
        )
