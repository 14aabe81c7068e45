"""Whether edges pierce triangles: signs of determinants, or that rounding leaves them open."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, function

UNSURE = 2
# Of the permanent: 2u each for the differences and products of three factors, and the sums; [shewchuk1997] has 7.8e-16
# for differences that are rounded, as here.
ERROR = 1e-15


@function
def side_of(x, a, b, c, d):
    """The sign of det(a - d, b - d, c - d) of four rows of x; UNSURE if it may be rounding."""
    ax, ay, az = x[a, 0] - x[d, 0], x[a, 1] - x[d, 1], x[a, 2] - x[d, 2]
    bx, by, bz = x[b, 0] - x[d, 0], x[b, 1] - x[d, 1], x[b, 2] - x[d, 2]
    cx, cy, cz = x[c, 0] - x[d, 0], x[c, 1] - x[d, 1], x[c, 2] - x[d, 2]
    value = ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx)
    size = abs(ax) * (abs(by * cz) + abs(bz * cy)) + abs(ay) * (abs(bx * cz) + abs(bz * cx))
    size += abs(az) * (abs(bx * cy) + abs(by * cx))
    if abs(value) <= ERROR * size:
        return UNSURE
    return 1 if value > 0 else -1


@compiled
def pierce_pairs(x, edges, triangles, pairs):
    """For each (edge, triangle): 1 if it is pierced, 0 if not or if they share a vertex, UNSURE if rounding decides."""
    verdict = np.zeros(pairs.shape[0], np.int8)
    for k in range(pairs.shape[0]):
        p, q = edges[pairs[k, 0], 0], edges[pairs[k, 0], 1]
        a, b, c = triangles[pairs[k, 1], 0], triangles[pairs[k, 1], 1], triangles[pairs[k, 1], 2]
        if p == a or p == b or p == c or q == a or q == b or q == c:  # noqa: SIM109 (Numba is slower with `in`)
            continue
        over, under = side_of(x, a, b, c, p), side_of(x, a, b, c, q)
        if over == under and over != UNSURE:
            continue
        first, second, third = side_of(x, p, q, a, b), side_of(x, p, q, b, c), side_of(x, p, q, c, a)
        if UNSURE in (over, under, first, second, third):
            # A sure contradiction settles it all the same.
            plus = first == 1 or second == 1 or third == 1
            minus = first == -1 or second == -1 or third == -1
            verdict[k] = 0 if plus and minus else UNSURE
        else:
            verdict[k] = 1 if first == second and second == third else 0
    return verdict
